"""What was asked for last is remembered: so many values, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """Remembers the `keep` values that were asked for last."""

    def __init__(self, keep: int) -> None:
        assert keep > 0
        self._keep = keep
        self._made: dict[Hashable, V] = {}  # the one that was asked for last is the last

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of a key, made if it is not remembered; whatever `make` raises, nothing is forgotten for it."""
        value = self._made.pop(key) if key in self._made else make()
        self._made[key] = value
        if len(self._made) > self._keep:
            del self._made[next(iter(self._made))]
        return value
