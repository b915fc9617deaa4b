"""Requests of servers that call others, by how they end while queues are followed: as their callers' calls end.

A request is over when its caller has its answer, or has given up waiting for one; nobody hears of those that get lost
on their way. Calls are counted on edges, of all their targets together: a target gets of those that were answered well,
and of the others, by what came to it and by what its own calls say of how many it can answer well.

Left out: what a server still does for a caller who has gone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simcluster.models.traffic.cluster.causes import DEADLINE, KIND_INDEX, STATUS, TIMEOUT
from simcluster.models.traffic.cluster.nodes import Edge
from simcluster.models.traffic.cluster.server import Failed

_BAD, _LATE, _LOST = KIND_INDEX[STATUS], KIND_INDEX[DEADLINE], KIND_INDEX[TIMEOUT]
#: Rounding leaves so much of a share that is nothing.
_NOBODY = 1e-9


class Answered(NamedTuple):
    """Requests of a node that have ended in a period.

    Attributes:
        well, bad: that were answered; `late`: whose caller had gone before, `lost`: that nobody answers, because they
            never arrived; both after `after_ns`.
        open: those of which callers wait.
    """

    well: float
    bad: float
    late: float = 0.0
    lost: float = 0.0
    open: float = 0.0
    after_ns: int = 0


def answered(
    edges: Iterable[Edge], well: Sequence[int], lost: Mapping[int, Sequence[tuple[int, int]]],
    able: Mapping[int, float], waiting: Sequence[int],
) -> dict[int, Answered]:  # fmt: skip
    """Requests that ended at the nodes to which edges lead; of messages, for which nobody waits, nothing is said.

    Args:
        well: calls of each edge that ended well; `lost`: kind and number of those that failed.
        able: the share of each node's requests that it can answer well.
        waiting: calls of each edge that are under way.
    """
    found: dict[int, Answered] = {}
    for edge in edges:
        targets = [target for target in edge.targets if target.node >= 0]
        if not targets or edge.call.asynchronous:
            continue
        kinds = dict(lost.get(edge.index, ()))
        fine, bad = float(well[edge.index]), float(kinds.get(_BAD, 0))
        goods = [able[target.node] for target in targets]
        all_ = math.fsum(target.weight for target in targets) or 1.0
        right = math.fsum(target.weight * share for target, share in zip(targets, goods, strict=True))
        wrong = all_ - right
        for target, share in zip(targets, goods, strict=True):
            whole = target.weight / all_
            part = target.weight * share / right if right > 0.0 else whole
            rest = target.weight * (1.0 - share) / wrong if wrong > _NOBODY else whole
            before = found.get(target.node, Answered(0.0, 0.0))
            found[target.node] = Answered(
                before.well + fine * part,
                before.bad + bad * rest,
                before.late + kinds.get(_LATE, 0) * whole,
                before.lost + kinds.get(_LOST, 0) * whole,
                before.open + waiting[edge.index] * whole,
                max(before.after_ns, edge.call.timeout_ns),
            )
    return found


def as_many(failed: list[Failed], bad: float) -> list[Failed]:
    """Calls by which requests failed: of required ones together as many as there are such requests, the others all.

    A request whose calls of several kinds fail ends by one of them; edges of one caller and callee share what is known
    of them, whether a caller can do without the call or not.
    """
    found, left, owed = [], bad, sum(each.calls for each in failed if each.call.required)  # integers
    for each in failed:
        calls = each.calls
        if each.call.required:
            share = math.floor(left * calls / owed + 0.5)
            left, owed = left - share, owed - calls
            calls = share
        if calls > 0:
            found.append(each._replace(calls=calls))
    return found
