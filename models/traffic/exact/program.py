"""Operations as compiled steps, and the frames that walk through them for one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.traffic.exact.calling import GONE, Attempt, Calling, Edge
from simcluster.models.traffic.exact.draws import Durations, Uniforms

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.caches import Holding, Popularity
    from simcluster.models.traffic.exact.station import Station


class Op:
    """One operation of a service."""

    __slots__ = ("allocation", "chance", "contention", "failing", "failure", "name", "service", "steps", "work")

    def __init__(self, service: Station, name: str, work: Durations | None, chance: Uniforms) -> None:
        self.service = service
        self.name = name
        self.work = work
        self.chance = chance
        self.contention = 0
        self.failure = 0.0
        self.allocation = 0
        self.steps: tuple[Node, ...] = ()
        #: what is done for a request that fails, before its error is answered
        self.failing: tuple[Node, ...] = ()


class Node:
    """One compiled step."""

    __slots__ = ()

    def begin(self, frame: Frame) -> None:
        """Do it; calls `frame.advance()` or `frame.fail()` in the end."""
        raise AssertionError(type(self))


class WorkNode(Node):
    """Uses the CPU."""

    __slots__ = ("time",)

    def __init__(self, time: Durations) -> None:
        self.time = time

    def begin(self, frame: Frame) -> None:
        """Work, then go on."""
        replica = frame.attempt.replica
        assert replica is not None
        replica.work_more(frame, self.time.draw())


class FailNode(Node):
    """Answers with what the request failed of."""

    __slots__ = ()

    def begin(self, frame: Frame) -> None:
        """The end of a request that failed."""
        assert isinstance(frame, Failing)
        replica = frame.attempt.replica
        assert replica is not None
        replica.finish(frame.attempt, frame.kind)


class WaitNode(Node):
    """Time without CPU."""

    __slots__ = ("time",)

    def __init__(self, time: Durations) -> None:
        self.time = time

    def begin(self, frame: Frame) -> None:
        """Wait, then go on."""
        replica = frame.attempt.replica
        assert replica is not None
        replica.let_go(frame.attempt)
        loop = replica.engine.loop
        loop.at(loop.now + self.time.draw(), replica.waited, frame)


class CallNode(Node):
    """Calls and waits for the answer."""

    __slots__ = ("edge", "op", "required", "times")

    def __init__(self, edge: Edge, op: Op, times: int, required: bool) -> None:
        self.edge = edge
        self.op = op
        self.times = times
        self.required = required

    def begin(self, frame: Frame) -> None:
        """Make the first of its calls."""
        replica = frame.attempt.replica
        assert replica is not None
        replica.let_go(frame.attempt)
        frame.left = self.times
        self.call(frame)

    def call(self, frame: Frame) -> None:
        """Make one call."""
        attempt = frame.attempt
        replica = attempt.replica
        assert replica is not None
        policy = self.edge.policy
        priority = attempt.priority if policy.priority is None else policy.priority
        calling = Calling(self.edge, replica.caller(self.edge), self.op, frame, priority, attempt.deadline)
        if attempt.children is None:
            attempt.children = {}
        attempt.children[calling] = None
        frame.left -= 1
        replica.engine.entered()
        calling.attempt()


class SendNode(Node):
    """A message nobody waits for."""

    __slots__ = ("edge", "op", "priority")

    def __init__(self, edge: Edge, op: Op, priority: int | None) -> None:
        self.edge = edge
        self.op = op
        self.priority = priority

    def begin(self, frame: Frame) -> None:
        """Send it and go on."""
        replica = frame.attempt.replica
        assert replica is not None
        priority = frame.attempt.priority if self.priority is None else self.priority
        message = Attempt(None, self.op, priority, None)
        if self.edge.meter is not None:
            self.edge.meter.window.attempts += 1
        target = self.op.service.choose(replica.caller(self.edge))
        message.replica = target
        if target is not None:
            arrives = replica.engine.passage(self.edge, self.op.service.name)
            if arrives is not None:
                replica.engine.loop.at(arrives, target.receive, message)
        frame.advance()


class ParallelNode(Node):
    """All branches at once; a sequence is one branch of several steps."""

    __slots__ = ("branches",)

    def __init__(self, branches: tuple[tuple[Node, ...], ...]) -> None:
        self.branches = branches

    def begin(self, frame: Frame) -> None:
        """Begin all branches."""
        frame.left = len(self.branches)
        frame.failed = False
        for branch in self.branches:
            Frame(frame.attempt, branch, frame).advance()


class ChooseNode(Node):
    """One branch by probability."""

    __slots__ = ("branches", "chance")

    def __init__(self, branches: tuple[tuple[float, tuple[Node, ...]], ...], chance: Uniforms) -> None:
        self.branches = branches  # (cumulative probability, steps)
        self.chance = chance

    def begin(self, frame: Frame) -> None:
        """Draw a branch and begin it."""
        u = self.chance.draw()
        for below, steps in self.branches:
            if u < below:
                frame.left, frame.failed = 1, False
                Frame(frame.attempt, steps, frame).advance()
                return
        frame.advance()


class CachedNode(Node):
    """A look-up with a miss path."""

    __slots__ = ("cache", "hit", "items", "miss")

    def __init__(self, cache: str, items: Popularity, hit: Durations | None, miss: tuple[Node, ...]) -> None:
        self.cache = cache
        self.items = items
        self.hit = hit
        self.miss = miss

    def begin(self, frame: Frame) -> None:
        """Look up (which takes its time); on a miss do the steps."""
        replica = frame.attempt.replica
        assert replica is not None
        holding = replica.cache(self.cache)
        item = self.items.draw()
        now = replica.engine.loop.now
        frame.left, frame.failed = 1, False
        steps: tuple[Node, ...] = ()
        window = replica.station.window
        window.lookups += 1
        if holding.has(item, now):
            window.hits += 1
            child = Frame(frame.attempt, (), frame)
        else:
            steps = self.miss
            child = Filling(frame.attempt, steps, frame, holding, item)
        if self.hit is None:
            child.advance()
        else:
            replica.let_go(frame.attempt)
            replica.engine.loop.at(now + self.hit.draw(), replica.waited, child)


class Frame:
    """Where one request stands in a list of steps."""

    __slots__ = ("attempt", "failed", "index", "left", "parent", "steps")

    def __init__(self, attempt: Attempt, steps: tuple[Node, ...], parent: Frame | None) -> None:
        self.attempt = attempt
        self.steps = steps
        self.parent = parent
        self.index = 0
        self.left = 0
        self.failed = False

    def advance(self) -> None:
        """Begin the next step, or tell the parent that all are done."""
        if self.attempt.state == GONE:
            return  # the replica was lost, or the request cancelled, in the middle
        if self.index < len(self.steps):
            self.index += 1
            self.steps[self.index - 1].begin(self)
        else:
            self.end(True)

    def end(self, ok: bool) -> None:
        """Tell who waits for these steps."""
        if self.parent is not None:
            self.parent.child_done(ok)
            return
        replica = self.attempt.replica
        assert replica is not None
        if ok:
            replica.finish(self.attempt, None)
        else:
            replica.fail(self.attempt, "error")

    def child_done(self, ok: bool) -> None:
        """A branch has ended; go on when all have."""
        if self.attempt.state == GONE:
            return
        self.left -= 1
        self.failed = self.failed or not ok
        if self.left == 0:
            if self.failed:
                self.end(False)
            else:
                self.advance()

    def call_done(self, calling: Calling, kind: str | None) -> None:
        """The call of the present step has ended."""
        attempt = self.attempt
        assert attempt.replica is not None
        attempt.replica.engine.left()
        if attempt.state == GONE:
            return
        if attempt.children is not None:
            attempt.children.pop(calling, None)
        node = self.steps[self.index - 1]
        assert isinstance(node, CallNode)
        if kind is not None and node.required:
            self.end(False)
        elif self.left:
            node.call(self)
        else:
            self.advance()


class Failing(Frame):
    """The slow error path of a request; `kind` says of what it failed."""

    __slots__ = ("kind",)

    def __init__(self, attempt: Attempt, kind: str) -> None:
        super().__init__(attempt, attempt.op.failing, None)
        self.kind = kind


class Filling(Frame):
    """The steps of a miss: when they succeed the item is stored."""

    __slots__ = ("holding", "item")

    def __init__(self, attempt: Attempt, steps: tuple[Node, ...], parent: Frame, holding: Holding, item: int) -> None:
        super().__init__(attempt, steps, parent)
        self.holding = holding
        self.item = item

    def end(self, ok: bool) -> None:
        """Store the item if somebody got it."""
        if ok and (not self.attempt.settled or self.holding.cache.fill == "late"):
            assert self.attempt.replica is not None
            self.holding.store(self.item, self.attempt.replica.engine.loop.now)
        super().end(ok)
