"""From stretches of scrapes to series: which of a form's columns match, and how their samples are put together."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from simcluster.telemetry.metrics.block import Layout, Places, Times, Values
from simcluster.telemetry.metrics.columns import Columns, Labels
from simcluster.telemetry.metrics.matching import Asked, Honour, group_passes
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, LabelSets, SeriesData, Tables


class Table(NamedTuple):
    """Samples of several series at the same instants: a row of values a series, sorted by labels."""

    labels: LabelSets
    times: Times
    values: Values


@functools.lru_cache(maxsize=4096)
def chosen(
    honour: Honour, form: Columns, layout: Layout, columns: tuple[int, ...], asked: tuple[Asked, ...]
) -> tuple[LabelSets, Places]:
    """Labels of a sheet's series that match, sorted, and where their numbers stand in it.

    Args:
        columns: of the form, that may match; asked: what the labels of a group have to pass for them.
    """
    found = []
    for place, scraped in enumerate(layout.labels):
        if asked and not group_passes(asked, scraped):
            continue
        for column in columns:
            name, own = form.series[column]
            found.append((honour.compose(name, scraped, own), place * len(form) + column))
    found.sort()
    return LabelSets(labels for labels, _ in found), np.array([place for _, place in found], dtype=np.int64)


@functools.lru_cache(maxsize=1024)
def _ordered(parts: tuple[LabelSets, ...]) -> tuple[LabelSets, Places] | None:
    """Labels of several tables, sorted, and which row of all of them each is; None if two rows are of one series."""
    if len(parts) == 1:
        whole = parts[0]
        distinct = all(one != other for one, other in pairwise(whole))
        return (whole, np.arange(len(whole))) if distinct else None
    rows = sorted((labels, row) for row, labels in enumerate(chain.from_iterable(parts)))
    if any(one[0] == other[0] for one, other in pairwise(rows)):
        return None
    return LabelSets(labels for labels, _ in rows), np.array([row for _, row in rows], dtype=np.int64)


def together(tables: Iterable[Table]) -> Tables | None:
    """All tables as one answer; None if samples of a series lie in several of them."""
    by_labels: dict[LabelSets, list[Table]] = {}
    for table in tables:
        by_labels.setdefault(table.labels, []).append(table)
    parts = []
    for same in by_labels.values():
        times, values = _side_by_side(same)
        if times is None:
            return None
        parts.append((times, values))
    known = _ordered(tuple(by_labels))
    return None if known is None else Tables(*known, tuple(parts))


def merged(tables: Sequence[Table]) -> list[SeriesData]:
    """Series of all tables, sorted by labels."""
    whole = together(tables)
    if whole is not None:
        rows = [(times, row) for times, values in whole.parts for row in values]
        return [SeriesData(labels, *rows[at]) for labels, at in zip(whole.labels, whole.order.tolist(), strict=True)]
    found: dict[Labels, list[tuple[Times, Values]]] = {}
    for table in tables:
        for labels, row in zip(table.labels, table.values, strict=True):
            found.setdefault(labels, []).append((table.times, row))
    return [SeriesData(labels, *_joined(found[labels])) for labels in sorted(found)]


def _side_by_side(parts: list[Table]) -> tuple[Times | None, Values]:
    """Tables of the same series as one; None if they are not in order of time."""
    if len(parts) == 1:
        return parts[0].times, parts[0].values
    times = np.concatenate([one.times for one in parts])
    if not (times[1:] > times[:-1]).all():
        return None, parts[0].values
    return times, np.concatenate([one.values for one in parts], axis=1)


def _joined(pieces: list[tuple[Times, Values]]) -> tuple[Times, Values]:
    """Samples of one series from several places, in order of time; an end that was none is left out."""
    if len(pieces) == 1:
        return pieces[0]
    times, values = np.concatenate([one for one, _ in pieces]), np.concatenate([one for _, one in pieces])
    if (times[1:] > times[:-1]).all():
        return times, values
    ended = values.view(np.uint64) == STALE_NAN_BITS
    order = np.lexsort((ended, times))  # of several at an instant a real sample first
    times, values = times[order], values[order]
    kept = np.concatenate(([True], times[1:] != times[:-1]))
    return times[kept], values[kept]
