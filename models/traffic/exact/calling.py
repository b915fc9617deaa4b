"""The caller's side: one logical call with its attempts, their time-outs, retries and hedges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from simcluster.models.traffic.exact.draws import Durations, Uniforms
from simcluster.models.traffic.exact.loop import Entry
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.result import EdgeWindow, LoadWindow

if TYPE_CHECKING:
    from simcluster.models.traffic.exact.callers import Caller
    from simcluster.models.traffic.exact.graph import Engine
    from simcluster.models.traffic.exact.program import Op
    from simcluster.models.traffic.exact.replica import Replica

#: States of an attempt at the callee.
TRAVELLING, QUEUED, SERVED, GONE = 0, 1, 2, 3


class Owner(Protocol):
    """Who wants to know how a call ended."""

    def call_done(self, calling: Calling, kind: str | None) -> None:
        """The call succeeded (None) or failed in that way."""


class Meter(Protocol):
    """A load, or calls between two services, whose attempts are counted."""

    @property
    def window(self) -> LoadWindow | EdgeWindow:
        """Where they are counted now."""


class EdgeMeter:
    """Counts the attempts of one service's calls of another."""

    def __init__(self) -> None:
        self.window = EdgeWindow()

    def roll(self) -> EdgeWindow:
        """What was counted; it begins anew."""
        done, self.window = self.window, EdgeWindow()
        return done


class Edge:
    """A place in the graph from which calls are made.

    Attributes:
        attempts: attempts of a call; an event may lower it.
        blocked: callee -> (end of the outage, whether messages are held until then).
        meter: where attempts are counted.
    """

    __slots__ = (
        "attempts", "backoff", "blocked", "cancel", "chance", "deadline", "engine", "hedge", "meter", "name", "network",
        "patience", "policy", "pool", "propagate", "retried", "stateful", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        name: str,
        policy: Policy,
        network: Durations | None,
        patience: Durations | None,
        chance: Uniforms,
    ) -> None:
        self.engine = engine
        self.name = name
        self.policy = policy
        self.network = network
        self.patience = patience
        self.chance = chance
        self.timeout = policy.timeout
        self.deadline = policy.deadline
        self.propagate = policy.propagate
        self.cancel = policy.cancel
        self.hedge = policy.hedge
        self.pool = policy.pool
        self.attempts = policy.attempts
        self.retried = policy.retries.on if policy.retries is not None else ()
        self.backoff = policy.retries.backoff if policy.retries is not None else None
        self.stateful = policy.throttle is not None or policy.breaker is not None
        self.blocked: dict[str, tuple[int, bool]] = {}
        self.meter: Meter | None = None

    def delay_before(self, retry: int, slept: int) -> int:
        """Nanoseconds to wait before the `retry`-th retry (from 1), jitter included; `slept`: before the last one."""
        backoff = self.backoff
        if backoff is None:
            return 0
        delay = float(backoff.base)
        limit = float(backoff.max) if backoff.max is not None else 3.6e12
        if backoff.jitter == "decorrelated":
            last = float(slept) if retry > 1 else delay
            return int(min(delay + (3.0 * last - delay) * self.chance.draw(), limit))
        for _ in range(retry - 1):
            if delay >= limit:
                break
            delay *= backoff.factor
        delay = min(delay, limit)
        if backoff.jitter == "full":
            return int(delay * self.chance.draw())
        if backoff.jitter == "equal":
            return int(0.5 * delay + 0.5 * delay * self.chance.draw())
        return int(delay)


class Attempt:
    """One message to a callee, and what becomes of it there.

    Attributes:
        calling: None for a message nobody waits for.
        settled: its caller waits no longer.
        connected: it holds a connection of the caller's pool.
        deadline: instant from which nobody needs its answer, as far as the callee knows.
        children: calls that its service is making for it.
    """

    __slots__ = (
        "arrived_ns", "calling", "children", "connected", "deadline", "holds", "op", "priority", "replica", "settled",
        "state",
    )  # fmt: skip

    def __init__(self, calling: Calling | None, op: Op, priority: int, deadline: int | None) -> None:
        self.calling = calling
        self.op = op
        self.priority = priority
        self.deadline = deadline
        self.settled = False
        self.connected = False
        self.holds = False
        self.state = TRAVELLING
        self.arrived_ns = 0
        self.replica: Replica | None = None
        self.children: dict[Calling, None] | None = None


def is_void(entry: Entry) -> bool:
    """Whether an entry of the heap is the time-out of an attempt that was answered."""
    return isinstance(entry[3], Attempt) and entry[3].settled and entry[2].__name__ == "timed_out"


class Calling:
    """One call. `attempt()` begins it."""

    __slots__ = (
        "begun_ns", "caller", "deadline", "done", "edge", "made", "op", "outstanding", "owner", "priority", "slept",
    )  # fmt: skip

    def __init__(self, edge: Edge, caller: Caller, op: Op, owner: Owner, priority: int, deadline: int | None) -> None:
        self.edge = edge
        self.caller = caller
        self.op = op
        self.owner = owner
        self.begun_ns = edge.engine.loop.now
        self.priority = priority
        self.made = self.slept = 0
        self.done = False
        self.outstanding: list[Attempt] = []
        if edge.deadline is not None:
            own = self.begun_ns + edge.deadline
            deadline = own if deadline is None or own < deadline else deadline
        self.deadline = deadline

    def attempt(self) -> None:
        """Make the next attempt."""
        edge = self.edge
        self.made += 1
        if self.made == 1:
            bucket = self.caller.bucket
            if bucket is not None:
                bucket.earn(bucket.budget.per_call)
            if self.caller.breaker is not None:
                self.caller.breaker.called(edge.engine.loop.now)
        if edge.meter is not None:
            edge.meter.window.attempts += 1
        if edge.stateful and not self._allowed():
            self._failed("refused")
            return
        self._launch()
        hedge = edge.hedge
        if hedge is not None and not self.done:
            edge.engine.loop.at(edge.engine.loop.now + hedge.after, self._hedge, (self.made, hedge.extra))

    def again(self, _: object) -> None:
        """Make the next attempt, unless nobody wants it any more."""
        if not self.done:
            self.attempt()

    def _allowed(self) -> bool:
        caller, now = self.caller, self.edge.engine.loop.now
        if caller.throttle is not None:
            refusal = caller.throttle.refusal(now)
            caller.throttle.counts.add(now, 0, 1)
            if refusal > 0.0 and self.edge.chance.draw() < refusal:
                return False
        breaker = caller.breaker
        if breaker is None or breaker.spec.guards == "retries":
            return True
        return breaker.allows(now)

    def _launch(self) -> None:
        edge = self.edge
        loop = edge.engine.loop
        policy = edge.policy
        limit = loop.now + edge.timeout if edge.timeout is not None else None
        if edge.patience is not None:
            patient_until = loop.now + edge.patience.draw()
            limit = patient_until if limit is None or patient_until < limit else limit
        if self.deadline is not None and (limit is None or self.deadline < limit):
            limit = self.deadline
        priority = self.priority
        if self.made > 1 and policy.retry_priority is not None:
            priority = policy.retry_priority
        attempt = Attempt(self, self.op, priority, limit if edge.propagate else None)
        self.outstanding.append(attempt)
        if limit is not None:
            loop.at(limit if limit > loop.now else loop.now, self.timed_out, attempt)
        connections = self.caller.connections
        if connections is None:
            self.send(attempt)
        elif connections.free:
            connections.free -= 1
            attempt.connected = True
            self.send(attempt)
        elif edge.pool is not None and edge.pool.waiting is not None and connections.waiting >= edge.pool.waiting:
            self.outstanding.remove(attempt)
            attempt.settled = True
            self._failed("refused")
        else:
            connections.waiting += 1
            connections.queue.append(attempt)

    def _hedge(self, state: tuple[int, int]) -> None:
        made, left = state
        if self.done or self.made != made or not self.outstanding:
            return
        edge = self.edge
        if edge.meter is not None:
            edge.meter.window.attempts += 1
        self._launch()
        assert edge.hedge is not None
        if left > 1:
            edge.engine.loop.at(edge.engine.loop.now + edge.hedge.after, self._hedge, (made, left - 1))

    def send(self, attempt: Attempt) -> None:
        """Give the message to the network."""
        edge = self.edge
        loop = edge.engine.loop
        service = attempt.op.service
        pool = self.caller.connections
        if pool is None or pool.reuse is None:
            replica = service.choose(self.caller)
        else:
            replica = pool.take(service, edge.chance)
        attempt.replica = replica
        if replica is None:
            loop.at(loop.now, self.heard, (attempt, "error"))
            return
        if edge.network is None and not edge.blocked:
            replica.receive(attempt)
            return
        arrives = edge.engine.passage(edge, service.name)
        if arrives is not None:
            loop.at(arrives, replica.receive, attempt)

    def heard(self, answer: tuple[Attempt, str | None]) -> None:
        """An answer came back: None is a success."""
        attempt, kind = answer
        pool = self.edge.pool
        if attempt.settled:
            if pool is not None and pool.hold == "answer":
                self._disconnect(attempt)
            return
        attempt.settled = True
        self.outstanding.remove(attempt)
        if pool is not None:
            self._disconnect(attempt)
        if kind is not None:
            self._failed(kind)
            return
        self._learn(True)
        if self.caller.bucket is not None:
            self.caller.bucket.earn(self.caller.bucket.budget.per_success)
        self._end(None)

    def timed_out(self, attempt: Attempt) -> None:
        """The caller waits no longer for this attempt."""
        if attempt.settled:
            return
        self._abandon(attempt)
        self.outstanding.remove(attempt)
        self._failed("timeout")

    def give_up(self) -> None:
        """Whom the call was for is gone: stop quietly."""
        if not self.done:
            self.done = True
            for attempt in self.outstanding:
                self._abandon(attempt)
            self.outstanding.clear()

    def _abandon(self, attempt: Attempt) -> None:
        attempt.settled = True
        edge = self.edge
        pool = edge.pool
        if pool is not None:
            connections = self.caller.connections
            if not attempt.connected and connections is not None:
                connections.waiting -= 1  # its entry is skipped when its turn comes
                if len(connections.queue) > 2 * connections.waiting + 64:
                    connections.queue = type(connections.queue)(a for a in connections.queue if not a.settled)
                return
            if pool.hold == "attempt" or attempt.state == GONE:  # dropped, or answered and the answer is under way
                self._disconnect(attempt, closed=True)
        if edge.cancel != "no" and attempt.replica is not None and attempt.state != GONE:
            edge.engine.cancel(edge, attempt)

    def _disconnect(self, attempt: Attempt, *, closed: bool = False) -> None:
        connections = self.caller.connections
        if not attempt.connected or connections is None:
            return
        attempt.connected = False
        connections.free += 1
        if connections.reuse is not None and not closed and attempt.replica is not None:
            connections.idle.append(attempt.replica)
        if connections.handing:
            return  # whom the connection was just given was turned away at once; the loop below goes on
        connections.handing = True
        while connections.queue and connections.free:
            following = connections.queue.popleft()
            if following.settled:
                continue
            connections.waiting -= 1
            connections.free -= 1
            following.connected = True
            assert following.calling is not None
            following.calling.send(following)
        connections.handing = False

    def _learn(self, ok: bool) -> None:
        caller, now = self.caller, self.edge.engine.loop.now
        if caller.breaker is not None:
            caller.breaker.heard(now, ok)
        if ok and caller.throttle is not None:
            caller.throttle.counts.add(now, 1, 0)

    def _failed(self, kind: str) -> None:
        edge = self.edge
        if edge.meter is not None:
            edge.meter.window.attempts_failed[kind] += 1
        if kind != "refused" and edge.stateful:
            self._learn(False)
        if self.outstanding:
            return  # a hedge is still on its way
        if kind not in edge.retried or self.made >= edge.attempts or not self._may_retry(kind):
            self._end(kind)
            return
        loop = edge.engine.loop
        self.slept = edge.delay_before(self.made, self.slept)
        at = loop.now + self.slept
        if self.deadline is not None and at >= self.deadline:
            self._end(kind)
        else:
            loop.at(at, self.again, None)

    def _may_retry(self, kind: str) -> bool:
        caller = self.caller
        breaker = caller.breaker
        if breaker is not None and breaker.spec.guards == "retries" and not breaker.allows(self.edge.engine.loop.now):
            return False
        return caller.bucket is None or caller.bucket.pay(kind)

    def _end(self, kind: str | None) -> None:
        self.done = True
        if self.outstanding:
            for attempt in self.outstanding:
                self._abandon(attempt)
            self.outstanding.clear()
        self.owner.call_done(self, kind)
