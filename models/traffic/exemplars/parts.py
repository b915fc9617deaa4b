"""The parts of a followed request: visits of servers, calls that a visit makes, attempts of a call.

They know servers and edges by name, because plans come and go while a request is on its way.
"""

from __future__ import annotations

from simcluster.engine.streams import mix, uniform_at
from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.exemplars.spans import Context


class Journey:
    """One request of a user, with all that it causes; `key` is that of its draws."""

    __slots__ = ("_drawn", "_numbered", "entry", "key", "spans")

    def __init__(self, key: int, entry: tuple[str, int]) -> None:
        self.key = key
        self.entry = entry  # users, and the number of the operation among theirs
        self.spans = 0
        self._drawn = self._numbered = 0

    def uniform(self) -> float:
        """The next draw."""
        self._drawn += 1
        return uniform_at(self.key, self._drawn)

    def number(self) -> int:
        """The next number of a span, never 0."""
        self._numbered += 1
        return mix(self.key, -self._numbered) or 1


class Visit:
    """A request inside a server.

    Attributes:
        container_id, operation: where.
        context: of its span, or of the next one above it; None of a trace that is not sampled.
        traced: whether it has a span; parent: number of the span above it.
        number: by which it is found; step: of which the calls are under way; waiting: how many it waits for.
    """

    __slots__ = (
        "attempt", "container_id", "context", "done", "journey", "number", "operation", "parent", "start_ns", "step",
        "traced", "waiting",
    )  # fmt: skip

    def __init__(self, attempt: Attempt, container_id: str, operation: int, start_ns: int) -> None:
        self.attempt = attempt
        self.journey = attempt.journey
        self.container_id, self.operation = container_id, operation
        self.context: Context | None = None
        self.traced = self.done = False
        self.parent = 0
        self.start_ns = start_ns
        self.step = -1
        self.waiting = self.number = 0


class Calls:
    """Calls of one edge that a visit makes one after the other; without a visit, a user's request."""

    __slots__ = ("left", "place", "step", "visit")

    def __init__(self, visit: Visit | None, step: int, place: int, left: int) -> None:
        self.visit = visit
        self.step, self.place = step, place
        self.left = left


class Attempt:
    """One attempt of a call.

    Attributes:
        number: 1 for the first.
        context: of its own span or of the one above it; traced: whether it has one.
        address, peer: whom it asked, as far as that came; back_ns: how long the answer takes.
        calls: None once its outcome is known.
    """

    __slots__ = (
        "address", "back_ns", "calls", "context", "failed", "journey", "number", "parent", "peer",
        "start_ns", "traced", "visit",
    )  # fmt: skip

    def __init__(self, journey: Journey, calls: Calls, number: int, start_ns: int) -> None:
        self.journey = journey
        self.calls: Calls | None = calls
        self.number = number
        self.start_ns = start_ns
        self.context: Context | None = None
        self.traced = False
        self.parent = self.back_ns = 0
        self.address = self.peer = ""
        self.visit: Visit | None = None
        self.failed: Cause | None = None
