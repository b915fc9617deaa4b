"""A session behind sockets: what an exchange costs, which exchanges are one command, and for whom time passes.

Clock policies over sockets: a command of kubectl (one `Kubectl-Session`) is charged once, by its first exchange that
counts; discovery, OpenAPI, version and health are free; a client that names no command is charged for each request. A
watch or a followed log moves a stepped clock if it belongs to a command, until that command's patience is used up;
informers never do. A drain that asks again what it has asked has slept in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from simcluster.api.encoding.wire import Encoder
from simcluster.api.request import Request as ApiRequest
from simcluster.api.request import Response
from simcluster.engine import MILLISECOND, SECOND
from simcluster.session import http
from simcluster.session.clock import Charge
from simcluster.session.kinds import Request
from simcluster.session.live import Live
from simcluster.session.looks import kubectl_charge
from simcluster.surface.http.door import Caller
from simcluster.surface.protocols import HttpAnswer, Outcome

#: A watch without news moves a stepped clock by so much, and is then closed.
FOLLOW_NS = 30 * SECOND
#: How far the clock moves between two looks at what is followed.
STEP_NS = 50 * MILLISECOND
#: How long kubectl sleeps before it asks for an object again, and before it tries again to evict a pod
#: (k8s.io/kubectl, pkg/drain/drain.go, the only command that polls).
POLL_NS = SECOND
EVICTION_RETRY_NS = 5 * SECOND
#: Paths that tell what a server is, not what is in it.
_FREE = ("/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/openapi", "/.well-known", "/openid", "/")
_LOOKS = ("exec", "attach", "portforward")
#: Commands whose sessions are remembered; an older one that goes on is charged anew.
_REMEMBERED = 1024


class SessionDoor:
    """The door of one session (implements `surface.http.door.Door`).

    Args:
        wall_ns: the operator's clock, for a `realtime` policy.
    """

    def __init__(self, live: Live, wall_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.live = live
        self._wall_ns = wall_ns
        self._opened_ns = (wall_ns(), live.world.sim.now)
        self._encoder = Encoder()
        self._commands: dict[str, _Command] = {}  # by session

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return self.live.world.sim.now

    def exchange(self, request: ApiRequest, caller: Caller) -> HttpAnswer:
        """Let one exchange take effect. Raises BudgetExceeded."""
        if _is_free(request):  # kubectl asks these side by side: their order means nothing, and they leave no trace
            return http.answer(request, self.look(request), self._encoder)
        if caller.session:
            request = replace(request, query=_without_chance(request))
        charge, counts = self._charge(request, caller)
        self._sleep(request, caller)
        text = http.written(request, charge, counts=counts)
        result = self.live.inbox.submit(Request("http", text, at_ns=self._arrives_ns()))
        return result if isinstance(result, HttpAnswer) else http.interrupted(result)

    def look(self, request: ApiRequest) -> Response:
        """Ask the API server and leave no trace."""
        return self.live.world.api.handle(request)

    def follow(self, caller: Caller, seen: Callable[[], bool]) -> bool:
        """Let time pass until there is news, 30 simulated seconds at most; whether there is."""
        command = self._commands.get(caller.session)
        left_ns = command.ends_ns - self.live.world.sim.now if command is not None else 0
        return self.live.inbox.follow(seen, STEP_NS, min(FOLLOW_NS, max(0, left_ns)))

    def drives(self, caller: Caller) -> bool:
        """Whether time passes for what this caller follows."""
        return self.live.inbox.policy.policy == "stepped" and caller.session in self._commands

    def catch_up(self) -> None:
        """Under a `realtime` clock: let the world live up to now."""
        at_ns = self._arrives_ns()
        if at_ns is not None:
            self.live.world.advance(at_ns - self.live.world.sim.now)

    def fork(self) -> SessionDoor:
        """A door to a fork of the session."""
        return SessionDoor(self.live.fork(), self._wall_ns)

    def run(self, tool: str, text: str, target: str = "", stdin: str = "") -> Outcome:
        """Any other request. Raises ValueError, BudgetExceeded."""
        return self.live.inbox.submit(Request(tool, text, target, stdin, at_ns=self._arrives_ns()))

    def _sleep(self, request: ApiRequest, caller: Caller) -> None:
        """Let the time pass that a command has slept if this request begins another round of its polling.

        Others that ask twice, as `describe` does, have not slept.
        """
        if caller.command.split()[1:2] != ["drain"] or request.flag("watch") or not self.drives(caller):
            return
        asked, key = self._commands[caller.session].asked, (request.method, request.target)
        if key in asked and request.path.endswith("/eviction"):
            self.live.inbox.follow(lambda: False, STEP_NS, EVICTION_RETRY_NS)
        elif key in asked and request.method == "GET":
            asked.clear()
            self.live.inbox.follow(lambda: False, STEP_NS, POLL_NS)
        asked.add(key)

    def _arrives_ns(self) -> int | None:
        policy = self.live.inbox.policy
        if not policy.realtime:
            return None
        wall_ns, simulated_ns = self._opened_ns
        return max(self.live.world.sim.now, simulated_ns + policy.simulated_ns(self._wall_ns() - wall_ns))

    def _charge(self, request: ApiRequest, caller: Caller) -> tuple[Charge, bool]:
        """What an exchange costs, and whether it begins a command."""
        if not caller.session:
            charge = _charge_of(request)
            return charge, charge != "free"
        if caller.session in self._commands:
            return "free", False
        if len(self._commands) >= _REMEMBERED:
            del self._commands[next(iter(self._commands))]
        self._commands[caller.session] = _Command(self.live.world.sim.now + self.live.inbox.policy.patience_ns, set())
        words = caller.command.removeprefix("kubectl").strip()
        by_request = _charge_of(request)
        return (by_request if by_request == "look" or not words else kubectl_charge(words)), True


def _without_chance(request: ApiRequest) -> tuple[tuple[str, str], ...]:
    """The query without what every kubectl draws by chance and means nothing.

    That is when a watch times out (such a one ends by itself when nothing comes), and the order of the terms of a field
    selector, which stand in a map of Go.
    """
    watches = request.flag("watch")
    return tuple(
        (key, ",".join(sorted(value.split(","))) if key == "fieldSelector" and "\\" not in value else value)
        for key, value in request.query
        if not (watches and key == "timeoutSeconds")
    )


class _Command(NamedTuple):
    """A command that is under way: until when its watches move the clock, and what it has asked in this round."""

    ends_ns: int
    asked: set[tuple[str, str]]


def _is_free(request: ApiRequest) -> bool:
    path = request.path
    if request.method not in ("GET", "HEAD", "OPTIONS"):
        return False
    if path in _FREE or path.startswith(
        tuple(f"{prefix}/" for prefix in _FREE if prefix not in ("/", "/api", "/apis"))
    ):
        return True
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) == 2) or (parts[0] == "apis" and len(parts) <= 3)


def _charge_of(request: ApiRequest) -> Charge:
    """What a single request costs of a client that names no command."""
    last = request.path.rpartition("/")[2]
    if last in _LOOKS or "/proxy" in request.path:
        return "look"
    if request.method not in ("GET", "HEAD", "OPTIONS"):
        return "read" if last.endswith("reviews") else "write"
    if request.flag("watch") or "/watch/" in request.path:
        return "free"  # an informer's: others move the clock
    return "look" if last == "log" and request.flag("follow") else "read"
