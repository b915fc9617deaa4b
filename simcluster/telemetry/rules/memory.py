"""What one evaluation of a group has read already: several rules of a group ask for the same series."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.telemetry.promql.storage import Matcher, Queryable, SeriesData


class Remembered:
    """A store at one instant, which remembers what it was asked (a `Queryable`)."""

    def __init__(self, store: Queryable) -> None:
        self._store = store
        self._known: dict[tuple[object, ...], list[SeriesData]] = {}
        newest = getattr(store, "newest", None)
        if newest is not None:
            self.newest = self._newest

    def forget(self) -> None:
        """Something was written."""
        self._known.clear()

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """As the store does."""
        key = (tuple(matchers), from_ms, to_ms)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._store.select(matchers, from_ms, to_ms)
        return found

    def _newest(self, matchers: Sequence[Matcher], at_ms: int, lookback_ms: int) -> list[SeriesData]:
        """As the store does."""
        key = (tuple(matchers), at_ms, lookback_ms, "newest")
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._store.newest(matchers, at_ms, lookback_ms)  # type: ignore[attr-defined]
        return found
