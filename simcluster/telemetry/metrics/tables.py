"""From stretches of scrapes to series: which of a form's columns match, and how their samples are put together."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from simcluster.telemetry.metrics.block import Layout, Places, Times, Values
from simcluster.telemetry.metrics.columns import Columns, Labels
from simcluster.telemetry.metrics.matching import Asked, Honour, group_passes
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, SeriesData


class Table(NamedTuple):
    """Samples of several series at the same instants: a row of values a series, sorted by labels."""

    labels: tuple[Labels, ...]
    times: Times
    values: Values


@functools.lru_cache(maxsize=4096)
def chosen(
    honour: Honour, form: Columns, layout: Layout, columns: tuple[int, ...], asked: tuple[Asked, ...]
) -> tuple[tuple[Labels, ...], Places]:
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
    return tuple([labels for labels, _ in found]), np.array([place for _, place in found], dtype=np.int64)


def merged(tables: Iterable[Table]) -> list[SeriesData]:
    """Series of all tables, sorted by labels."""
    by_labels: dict[tuple[Labels, ...], list[Table]] = {}
    for table in tables:
        by_labels.setdefault(table.labels, []).append(table)
    if len(by_labels) == 1:
        ((labels, parts),) = by_labels.items()
        times, values = _side_by_side(parts)
        if times is not None:
            return [SeriesData(one, times, row) for one, row in zip(labels, values, strict=True)]
    found: dict[Labels, list[tuple[Times, Values]]] = {}
    for labels, parts in by_labels.items():
        times, values = _side_by_side(parts)
        wholes = [Table(labels, times, values)] if times is not None else parts
        for whole in wholes:
            for one, row in zip(labels, whole.values, strict=True):
                found.setdefault(one, []).append((whole.times, row))
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
