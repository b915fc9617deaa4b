"""`info(v)`: labels of info metrics (`target_info`) copied to the series of the same `job` and `instance`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcluster.telemetry.promql.context import Context, QueryError, Vector, get, merged, without
from simcluster.telemetry.promql.selection import instant
from simcluster.telemetry.promql.storage import Labels, Matcher
from simcluster.telemetry.promql.syntax import Expr, Selector

IDENTIFYING = ("instance", "job")
DEFAULT = Matcher("__name__", "=", "target_info")


def info(ctx: Context, vector: Vector, args: Sequence[Expr]) -> Vector:
    """The series with the labels of their info series.

    Raises:
        QueryError: two info series would say different things of one target.
    """
    matchers: tuple[Matcher, ...] = ()
    if args:
        assert isinstance(args[0], Selector)
        matchers = args[0].matchers
    wanted = {one.name for one in matchers if one.name != "__name__"}
    named = [one for one in matchers if one.name == "__name__"] or [DEFAULT]
    infos, _ = instant(ctx, Selector("", (*named, *(one for one in matchers if one.name != "__name__"))))
    infos = infos.filled()
    places: dict[Labels, list[int]] = {}
    for row, labels in enumerate(infos.labels):
        places.setdefault(_identity(labels), []).append(row)
    parts: list[Vector] = []
    own = {get(labels, "__name__") for labels in infos.labels}
    for row, labels in enumerate(vector.labels):
        one = vector.rows([row])
        rows = [] if get(labels, "__name__") in own else places.get(_identity(labels), [])
        there = np.zeros(ctx.steps, dtype=bool)
        for info_row in rows:
            both = one.present[0] & infos.present[info_row]
            if bool((both & there).any()) and get(infos.labels[info_row], "__name__") == get(
                infos.labels[rows[0]], "__name__"
            ):
                raise QueryError("found duplicate series for info metric")
            there |= both
            added = {
                name: value
                for name, value in without(infos.labels[info_row], "__name__", *IDENTIFYING)
                if not wanted or name in wanted
            }
            with_info = tuple(sorted({**added, **dict(labels)}.items()))
            parts.append(Vector([with_info], one.values, both[None, :], one.dropped))
        rest = one.present[0] & ~there
        needed = any((each.op == "=" and each.value) or each.op == "=~" for each in matchers if each.name != "__name__")
        if not needed:
            parts.append(Vector([labels], one.values, rest[None, :], one.dropped))
    if not parts:
        return Vector.empty(ctx.steps)
    return merged(
        Vector(
            [part.labels[0] for part in parts],
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.present for part in parts]),
            [part.dropped[0] for part in parts],
        ).filled()
    )


def _identity(labels: Labels) -> Labels:
    return tuple(pair for pair in labels if pair[0] in IDENTIFYING)
