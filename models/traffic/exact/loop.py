"""A heap of (instant, order, function, argument): the event loop of one bare graph.

Leaner than `engine.Simulation` (no timer objects, one argument), with the same order: ties
are served as they were scheduled.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import repeat
from typing import Any

Entry = tuple[int, int, Callable[[Any], None], Any]


class Full(Exception):
    """More requests are inside than the run allows."""


class Endless(Exception):
    """More events happened than the run allows."""


#: After so many events it is looked at whether the run goes on too long, or the heap is full of what is void.
_CHUNK = 200_000
_ROOMY = 500_000


class Loop:
    """Time and the heap.

    Attributes:
        now: nanoseconds since the beginning.
        most: events that a run may have.
        is_void: tells entries that nothing would come of (time-outs of attempts that were answered).
    """

    __slots__ = ("heap", "is_void", "most", "now", "roomy", "sequence")

    def __init__(self, most: int = 1 << 62, is_void: Callable[[Entry], bool] | None = None) -> None:
        self.heap: list[Entry] = []
        self.sequence = 0
        self.now = 0
        self.most = most
        self.is_void = is_void
        self.roomy = _ROOMY

    def at(self, t_ns: int, fn: Callable[[Any], None], argument: Any) -> None:
        """Call `fn(argument)` at an instant that is not before now."""
        self.sequence += 1
        heappush(self.heap, (t_ns, self.sequence, fn, argument))

    def run_until(self, end_ns: int) -> None:
        """Serve every event before `end_ns`, then stand there. Raises Endless."""
        heap = self.heap
        while True:
            if self.sequence > self.most:
                raise Endless
            for _ in repeat(None, _CHUNK):
                if not heap or heap[0][0] >= end_ns:
                    self.now = end_ns
                    return
                t_ns, _, fn, argument = heappop(heap)
                self.now = t_ns
                fn(argument)
            if len(heap) > self.roomy and self.is_void is not None:
                is_void = self.is_void
                heap[:] = [entry for entry in heap if not is_void(entry)]
                heapify(heap)
                self.roomy = max(_ROOMY, 2 * len(heap))
