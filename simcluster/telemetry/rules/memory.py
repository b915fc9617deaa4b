"""What one evaluation of a group has read already: several rules of a group ask for the same series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.telemetry.promql.storage import Matcher, Queryable, SeriesData, Tables


class Remembered:
    """A store at one instant, which remembers what it was asked (a `Queryable`)."""

    def __init__(self, store: Queryable) -> None:
        self._store = store
        self._known: dict[tuple[object, ...], Any] = {}
        if hasattr(store, "tables") and hasattr(store, "newest"):
            self.tables, self.newest = self._tables, self._newest

    def forget(self) -> None:
        """Something was written."""
        self._known.clear()

    def select(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> list[SeriesData]:
        """As the store does."""
        found: list[SeriesData] = self._asked("select", matchers, from_ms, to_ms)
        return found

    def _tables(self, matchers: Sequence[Matcher], from_ms: int, to_ms: int) -> Tables | None:
        """As the store does."""
        found: Tables | None = self._asked("tables", matchers, from_ms, to_ms)
        return found

    def _newest(self, matchers: Sequence[Matcher], at_ms: int, lookback_ms: int) -> Tables | None:
        """As the store does."""
        found: Tables | None = self._asked("newest", matchers, at_ms, lookback_ms)
        return found

    def _asked(self, what: str, matchers: Sequence[Matcher], *span: int) -> Any:
        key = (what, tuple(matchers), span)
        if key not in self._known:
            self._known[key] = getattr(self._store, what)(matchers, *span)
        return self._known[key]
