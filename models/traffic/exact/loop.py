"""A heap of (instant, order, function, argument): the event loop of one bare graph.

Leaner than `engine.Simulation` (no timer objects, one argument), with the same order: ties
are served as they were scheduled.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Entry = tuple[int, int, Callable[[Any], None], Any]


class Full(Exception):
    """More requests are inside than the run allows."""


class Loop:
    """Time and the heap.

    Attributes:
        now: nanoseconds since the beginning.
    """

    __slots__ = ("heap", "now", "sequence")

    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.sequence = 0
        self.now = 0

    def at(self, t_ns: int, fn: Callable[[Any], None], argument: Any) -> None:
        """Call `fn(argument)` at an instant that is not before now."""
        self.sequence += 1
        heappush(self.heap, (t_ns, self.sequence, fn, argument))

    def run_until(self, end_ns: int) -> None:
        """Serve every event before `end_ns`, then stand there."""
        heap = self.heap
        while heap and heap[0][0] < end_ns:
            t_ns, _, fn, argument = heappop(heap)
            self.now = t_ns
            fn(argument)
        self.now = end_ns
