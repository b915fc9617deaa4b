"""What PromQL reads: series by matchers. Who keeps samples implements `Queryable`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simcluster.telemetry.promql.native import Native

#: Labels of a series as pairs sorted by name, `__name__` among them.
Labels = tuple[tuple[str, str], ...]
#: Bits of the sample that ends a series (`value.StaleNaN` of Prometheus); other NaN are values like any other.
STALE_NAN_BITS = 0x7FF0000000000002
STALE_NAN = float(np.array([STALE_NAN_BITS], dtype=np.uint64).view(np.float64)[0])


class Matcher(NamedTuple):
    """A condition on one label; a label that is absent is empty.

    Attributes:
        op: one of `=`, `!=`, `=~`, `!~`; expressions have RE2's syntax and match the whole value.
    """

    name: str
    op: str
    value: str


class SeriesData(NamedTuple):
    """Samples of one series in order of time.

    Attributes:
        labels: sorted by name, with `__name__`.
        times: int64 milliseconds since the Unix epoch, strictly ascending.
        values: float64, as many; `STALE_NAN` by its bits where the series ended.
    """

    labels: Labels
    times: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def natives(self) -> tuple[tuple[int, Native], ...]:
        """Native histograms with their milliseconds, at other instants than the numbers."""
        return ()


class NativeSeries(SeriesData):
    """A series that has native histograms."""

    _natives: tuple[tuple[int, Native], ...]

    def __new__(cls, data: SeriesData, natives: tuple[tuple[int, Native], ...]) -> NativeSeries:
        """The numbers of a series and its histograms."""
        self = super().__new__(cls, *data)
        self._natives = natives
        return self

    @property
    def natives(self) -> tuple[tuple[int, Native], ...]:
        """Native histograms with their milliseconds."""
        return self._natives


class LabelSets(list[Labels]):
    """Labels of many series, never changed: what follows from them is remembered by the object that they are."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Tables(NamedTuple):
    """Series that were sampled together: a table for those of the same instants, a row of it for each of them.

    Attributes:
        labels: of all series, sorted; order: which row each of them is, of all tables one after the other.
        parts: instants and values of each table.
    """

    labels: LabelSets
    order: NDArray[np.int64]
    parts: tuple[tuple[NDArray[np.int64], NDArray[np.float64]], ...]

    @property
    def ended(self) -> bool:
        """Whether a marker that ends a series is among the values."""
        return any(bool((values.view(np.uint64) == STALE_NAN_BITS).any()) for _, values in self.parts)


class Queryable(Protocol):
    """Where series are."""

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """Series that match all `matchers` and have samples in [from_ms, to_ms], both included, with just those.

        Each series once, in an order that is the same whenever it is asked for (by labels, best).

        A store may also have `tables(matchers, from_ms, to_ms)`, the same as tables, and `newest(matchers, at_ms,
        lookback_ms)`, of each series its newest sample in (at - lookback, at], be it a marker of an end: quicker, and
        None where that cannot be done.
        """


def series(store: Queryable, selections: Iterable[Sequence[Matcher]], from_ms: int, to_ms: int) -> list[Labels]:
    """Labels of what matches any of the selections, sorted; `/api/v1/series`."""
    found = {one.labels: None for matchers in selections for one in store.select(matchers, from_ms, to_ms)}
    return sorted(found)


def label_names(store: Queryable, selections: Sequence[Sequence[Matcher]], from_ms: int, to_ms: int) -> list[str]:
    """Names of labels that occur, sorted; no selection means every series."""
    found = series(store, selections or [()], from_ms, to_ms)
    return sorted({name for labels in found for name, _ in labels})


def label_values(
    store: Queryable, name: str, selections: Sequence[Sequence[Matcher]], from_ms: int, to_ms: int
) -> list[str]:
    """Values that a label has, sorted; no selection means every series."""
    found = series(store, selections or [()], from_ms, to_ms)
    return sorted({value for labels in found for key, value in labels if key == name})
