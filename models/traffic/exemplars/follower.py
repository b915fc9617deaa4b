"""Follows requests through the traffic of now: every step happens in the state that its own instant finds.

Where a request goes follows from the routes, how long it waits from the queues, what it costs from the laws of the
operations; deadlines end attempts while servers work on, failed attempts are made again, a container that dies takes
its requests along. The draws are a function of the request alone, and nothing here changes the traffic.

What is left out: breakers, budgets, hedges and cancellation; priorities in queues; what holds connections of pools.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

from simcluster.engine.streams import mix
from simcluster.models.traffic.cluster.causes import (
    DEADLINE,
    DNS_TIMEOUT,
    PROTOCOL,
    RESET,
    STATUS,
    TIMEOUT,
    UNCONNECTED,
    Cause,
)
from simcluster.models.traffic.cluster.evaluation import QUICK_FAILURE_NS, failure_ns
from simcluster.models.traffic.cluster.nodes import Edge, Node, Target
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.traffic.exemplars.draws import calls_of, chosen, inside_ns, pause_ns, way_ns
from simcluster.models.traffic.exemplars.parts import Attempt, Calls, Journey, Visit
from simcluster.models.traffic.exemplars.spans import Context, Finished, Printed, Tracer

#: Attempts that one request of a user may cause: of more the rest is not followed.
MOST_ATTEMPTS = 2000
#: Deadlines of attempts that have ended are thrown out when so many wait.
_MANY = 512
#: Nobody keeps the spans of this trace.
_UNSAMPLED = Context(0)
_QUICK_NS = int(QUICK_FAILURE_NS)
#: Counter of the key from which details of a request follow, far from those of its draws.
_DETAILS = 1 << 40


class Traffic(Protocol):
    """What is followed: the plan of now, and servers by container id."""

    servers: dict[str, Server]

    @property
    def plan(self) -> Plan:
        """Who calls whom now."""


class Follower:
    """Requests on their way.

    Attributes:
        ratio: the largest of all tracers': requests are followed with this probability at most.
        printing: servers that were given something to print, by container id, until somebody takes them.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._due: list[tuple[int, int, str, Any, Any]] = []
        self._made = 0
        self._inside: dict[int, Visit] = {}
        self.ratio = 1.0
        self.printing: dict[str, Server] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nobody is under way."""
        return not self._due

    def begin(self, key: int, entry: tuple[str, int], load: int, t_ns: int) -> None:
        """A user's attempt begins: one of the edges through which a load enters."""
        journey = Journey(key, entry)
        self._push(t_ns, "send", (journey, Calls(None, load, entry[1], 1)), 1)

    def advance(self, until_ns: int) -> None:
        """Let everything happen that happens by an instant."""
        due, steps = self._due, self._steps()
        while due and due[0][0] <= until_ns:
            t_ns, _, what, about, more = heappop(due)
            steps[what](about, more, t_ns)
        if len(due) > _MANY:
            left = [entry for entry in due if entry[2] != "expire" or entry[3].calls is not None]
            if 2 * len(left) < len(due):
                heapify(left)
                self._due = left

    def lose(self, now_ns: int) -> None:
        """The plan was made anew: requests in containers that are gone end with them."""
        known = self._traffic.plan.index_of
        for number in [number for number, visit in self._inside.items() if visit.container_id not in known]:
            visit = self._inside.pop(number)
            visit.done = True
            self._reset(visit.attempt, now_ns)

    def _steps(self) -> dict[str, Callable[[Any, Any, int], None]]:
        return {
            "send": self._sent, "arrive": self._arrive, "work": self._worked, "hear": self._heard,
            "expire": self._expire,
        }  # fmt: skip

    def _push(self, t_ns: int, what: str, about: object, more: object = None) -> None:
        self._made += 1
        heappush(self._due, (t_ns, self._made, what, about, more))

    # --- calls ----------------------------------------------------------------------------

    def _sent(self, about: tuple[Journey, Calls], number: int, t_ns: int) -> None:
        """An attempt is made."""
        journey, calls = about
        edge = self._edge(calls)
        visit = calls.visit
        if visit is not None and visit.done:
            return
        target = None if edge is None else chosen(edge, journey.uniform())
        if edge is None or target is None:  # it would close a circle, or the program no longer makes it
            self._done(calls, t_ns)
            return
        journey.spans += 1
        if journey.spans > MOST_ATTEMPTS:
            return
        attempt = Attempt(journey, calls, number, t_ns)
        attempt.address = edge.address
        if visit is not None and visit.context is not None:
            tracer = self._tracer(visit)
            attempt.context = visit.context
            if visit.traced and tracer is not None and tracer.notes(edge.call):
                attempt.traced, attempt.parent = True, visit.context.span
                attempt.context = visit.context._replace(span=journey.number())
        self._travel(attempt, edge, target, t_ns)
        if edge.call.asynchronous:
            self._heard(attempt, None, t_ns)
        elif attempt.calls is not None:
            self._push(t_ns + edge.call.timeout_ns, "expire", attempt)

    def _travel(self, attempt: Attempt, edge: Edge, target: Target, t_ns: int) -> None:
        """On the way: it arrives, fails soon, or never comes back."""
        call, journey = edge.call, attempt.journey
        if target.kind:
            cause = _cause(edge, target.kind, target.text)
            if target.kind in (TIMEOUT, DNS_TIMEOUT):
                attempt.failed = cause
            else:
                self._push(t_ns + int(failure_ns(target, call)), "hear", attempt, cause)
            return
        if target.node < 0:
            self._push(t_ns + target.round_trip_ns + target.answer_ns, "hear", attempt)
            return
        node = self._traffic.plan.nodes[target.node]
        server = self._traffic.plan.servers[node.server]
        attempt.peer = server.container.sandbox.address
        if not server.spec.understands(call.client):
            self._push(t_ns + _QUICK_NS, "hear", attempt, _cause(edge, PROTOCOL))
            return
        toll = target.toll
        if toll is not None:
            if journey.uniform() < toll.refused:
                self._push(t_ns + _QUICK_NS, "hear", attempt, _cause(edge, UNCONNECTED, toll.errno))
                return
            if journey.uniform() < toll.lost:
                attempt.failed = _cause(edge, TIMEOUT)
                return
            if journey.uniform() < toll.starved:
                return
        if target.way.failing and journey.uniform() < target.way.failing:
            return
        attempt.back_ns = target.round_trip_ns // 2
        there = target.round_trip_ns - attempt.back_ns + way_ns(target, journey)
        operation = target.node - self._traffic.plan.first_node[node.server]
        self._push(t_ns + there, "arrive", attempt, (server.container.container_id, operation))

    def _heard(self, attempt: Attempt, cause: Cause | None, t_ns: int) -> None:
        """The caller knows the outcome of an attempt."""
        calls = attempt.calls
        if calls is None:
            return
        edge = self._edge(calls)
        attempt.calls = None
        visit = calls.visit
        if attempt.traced and edge is not None and visit is not None:
            self._close(visit, attempt, edge, cause, t_ns)
        if visit is None or visit.done or edge is None:
            return
        if edge.call.asynchronous:
            calls.left -= 1
            if calls.left > 0:
                self._sent((visit.journey, calls), 1, t_ns)
            return
        if cause is None:
            self._print(visit, edge.call.done, t_ns)
            self._done(calls, t_ns)
        elif attempt.number <= edge.call.retries:
            pause = pause_ns(edge.call, attempt.number, attempt.journey)
            self._push(t_ns + pause, "send", (attempt.journey, calls), attempt.number + 1)
        elif edge.call.required:
            self._leave(visit, t_ns, cause)
        else:
            self._print(visit, edge.call.log, t_ns, cause)
            self._done(calls, t_ns)

    def _done(self, calls: Calls, t_ns: int) -> None:
        """A call has ended, and not so badly that the request fails."""
        calls.left -= 1
        visit = calls.visit
        if visit is None or visit.done:
            return
        if calls.left > 0:
            self._sent((visit.journey, calls), 1, t_ns)
            return
        visit.waiting -= 1
        if not visit.waiting:
            self._go_on(visit, t_ns)

    def _expire(self, attempt: Attempt, more: None, t_ns: int) -> None:
        """The deadline of an attempt; what it asked for may go on."""
        if attempt.calls is None:
            return
        edge = self._edge(attempt.calls)
        self._heard(attempt, attempt.failed or (_cause(edge, DEADLINE) if edge is not None else None), t_ns)

    # --- servers --------------------------------------------------------------------------

    def _arrive(self, attempt: Attempt, where: tuple[str, int], t_ns: int) -> None:
        node = self._node(*where)
        journey = attempt.journey
        if node is None:
            self._reset(attempt, t_ns)
            return
        server = self._traffic.plan.servers[node.server]
        if server.rejected and journey.uniform() < server.rejected:
            self._reset(attempt, t_ns + attempt.back_ns)
            return
        visit = attempt.visit = Visit(attempt, *where, t_ns)
        self._enter(visit, server.tracer, attempt.context)
        self._made += 1
        self._inside[self._made] = visit
        visit.number = self._made
        self._print(visit, node.operation.log, t_ns, begins=True)
        self._push(t_ns + inside_ns(server, node, journey), "work", visit)

    def _enter(self, visit: Visit, tracer: Tracer | None, above: Context | None) -> None:
        """The span of a visit: the first tracer on the way decides for all behind it."""
        visit.context = above
        if tracer is None or above == _UNSAMPLED:
            return
        journey = visit.journey
        if above is None:
            if journey.uniform() * self.ratio >= tracer.ratio:
                visit.context = _UNSAMPLED
                return
            first = journey.number()
            visit.context = Context(first, first, tracer.wide)
        else:
            visit.context, visit.parent = above._replace(span=journey.number()), above.span
        visit.traced = True

    def _worked(self, visit: Visit, more: None, t_ns: int) -> None:
        """Its own work is done."""
        node = self._node(visit.container_id, visit.operation)
        if visit.done or node is None:
            return
        operation = node.operation
        if operation.failure and visit.journey.uniform() < operation.failure:
            self._leave(visit, t_ns, Cause(STATUS, text=operation.answer))
        else:
            self._go_on(visit, t_ns)

    def _go_on(self, visit: Visit, t_ns: int) -> None:
        """The next step that makes a call, or the answer."""
        node = self._node(visit.container_id, visit.operation)
        made = self._traffic.plan.made
        while node is not None:
            visit.step += 1
            if visit.step >= len(node.steps):
                self._leave(visit, t_ns, None)
                return
            found = []
            for place, edge in enumerate(node.steps[visit.step]):
                count = calls_of(edge, made.get(edge.index, 1.0), visit.journey)
                if count:
                    found.append(Calls(visit, visit.step, place, count))
                    visit.waiting += not edge.call.asynchronous
            if visit.waiting:
                for calls in found:
                    self._sent((visit.journey, calls), 1, t_ns)
                return
            for calls in found:  # messages
                self._sent((visit.journey, calls), 1, t_ns)

    def _leave(self, visit: Visit, t_ns: int, cause: Cause | None) -> None:
        """The server answers."""
        failed = cause.path[0] if cause is not None and cause.path else None
        if failed is not None:
            self._print(visit, failed.log, t_ns, cause, status=failed.status)
        else:
            ended = self._node(visit.container_id, visit.operation)
            self._print(visit, ended.operation.log if ended is not None else (), t_ns)
        visit.done = True
        self._inside.pop(visit.number, None)
        node, attempt = self._node(visit.container_id, visit.operation), visit.attempt
        tracer = self._tracer(visit)
        edge = self._edge(attempt.calls) if attempt.calls is not None else None
        if visit.traced and tracer is not None and node is not None and visit.context is not None:
            status = node.operation.status
            if cause is not None:
                status = cause.path[0].status if cause.path else 500
            own = Finished(
                visit.context, visit.parent, visit.start_ns, t_ns, node.operation, None, status=status, cause=cause,
                peer=self._caller_of(attempt),
            )  # fmt: skip
            tracer.end(own)
        if edge is not None:
            self._push(t_ns + attempt.back_ns, "hear", attempt, cause.behind(edge.call) if cause is not None else None)

    def _close(self, visit: Visit, attempt: Attempt, edge: Edge, cause: Cause | None, t_ns: int) -> None:
        tracer = self._tracer(visit)
        if tracer is None or attempt.context is None:
            return
        own = Finished(
            attempt.context, attempt.parent, attempt.start_ns, t_ns, None, edge.call, edge.host, edge.port,
            attempt.address, attempt.peer, cause=cause,
        )  # fmt: skip
        tracer.end(own)

    def _print(
        self, visit: Visit, log: tuple[LogTemplate, ...], t_ns: int, cause: Cause | None = None, status: int = 0,
        begins: bool = False,
    ) -> None:  # fmt: skip
        """Lines of the server's log that have ids of the visit's span; of others nobody knows whose they are."""
        server = self._traffic.servers.get(visit.container_id)
        if not log or not visit.traced or server is None or server.logger is None or visit.context is None:
            return
        node = self._node(visit.container_id, visit.operation)
        if server.tracer is None or not server.tracer.correlates or node is None:
            return
        key = mix(visit.journey.key, _DETAILS)  # the same products and customers in all services
        status = status or node.operation.status
        server.logger.log_followed(Printed(visit.context, key, visit.start_ns, t_ns, log, begins, status, cause))
        self.printing[visit.container_id] = server

    # --- names ----------------------------------------------------------------------------

    def _reset(self, attempt: Attempt, t_ns: int) -> None:
        edge = self._edge(attempt.calls) if attempt.calls is not None else None
        if edge is not None:
            self._push(t_ns, "hear", attempt, _cause(edge, RESET))

    def _tracer(self, visit: Visit) -> Tracer | None:
        server = self._traffic.servers.get(visit.container_id)
        return None if server is None else server.tracer

    def _caller_of(self, attempt: Attempt) -> str:
        visit = attempt.calls.visit if attempt.calls is not None else None
        server = self._traffic.servers.get(visit.container_id) if visit is not None else None
        return "" if server is None else server.container.sandbox.address

    def _node(self, container_id: str, operation: int) -> Node | None:
        plan = self._traffic.plan
        index = plan.index_of.get(container_id)
        if index is None or operation >= len(plan.servers[index].spec.operations):
            return None
        return plan.nodes[plan.first_node[index] + operation]

    def _edge(self, calls: Calls) -> Edge | None:
        """The edge of calls as it is now; None if the program no longer makes them."""
        visit = calls.visit
        if visit is None:
            roots = self._traffic.plan.roots
            edges = roots[calls.step] if calls.step < len(roots) else []
        else:
            node = self._node(visit.container_id, visit.operation)
            edges = node.steps[calls.step] if node is not None and calls.step < len(node.steps) else []
        return edges[calls.place] if calls.place < len(edges) else None


def _cause(edge: Edge, kind: str, text: str = "") -> Cause:
    path: tuple[CallSpec, ...] = (edge.call,)
    return Cause(kind, edge.host, edge.port, edge.address, path, text)
