"""How the sockets see a session: one door, through which everything enters in turn. `session` implements it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

from simcluster.api.request import Request, Response
from simcluster.models.userland.outcome import Outcome
from simcluster.surface.protocols import HttpAnswer

Found = TypeVar("Found")


class Caller(NamedTuple):
    """The command to which an exchange belongs, as its client says.

    Attributes:
        session: `Kubectl-Session`: one value for all exchanges of a command; empty of other clients.
        command: `Kubectl-Command`: as in `kubectl rollout status`.
    """

    session: str = ""
    command: str = ""


class Door(Protocol):
    """One session, as whoever listens on sockets uses it. Not for two at a time."""

    @property
    def now_ns(self) -> int:
        """Simulated nanoseconds since the cluster was started."""

    def exchange(self, request: Request, caller: Caller) -> HttpAnswer:
        """Let one exchange take effect.

        Raises:
            BudgetExceeded: nothing is taken any more; the message says why.
        """

    def look(self, request: Request) -> Response:
        """Ask the API server for what somebody is being shown already: it costs nothing and leaves no trace."""

    def follow(self, caller: Caller, seen: Callable[[], bool]) -> bool:
        """Let time pass until a watch or a log of a command has news, or 30 simulated seconds; whether it has.

        Nothing passes for whoever belongs to no command, and under another clock than `stepped`.
        """

    def drives(self, caller: Caller) -> bool:
        """Whether time passes for what this caller follows."""

    def catch_up(self) -> None:
        """Under a `realtime` clock: let the world live up to now."""

    def fork(self) -> Door:
        """A door to a copy of the session: both futures are real, and neither knows of the other."""

    def run(self, tool: str, text: str, target: str = "", stdin: str = "") -> Outcome:
        """Any other request of a session: `node`, `wait`, `diagnose`.

        Raises:
            ValueError: it makes no sense; nothing has happened.
            BudgetExceeded: nothing is taken any more.
        """


class Turns:
    """Lets requests through a door one after the other, as they came, and wakes those who wait for news."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self._lock = asyncio.Lock()
        self._news: set[asyncio.Future[None]] = set()

    async def take(self, what: Callable[[], Found]) -> Found:
        """Do something with the world; quick, on the loop's own thread."""
        async with self._lock:
            self.door.catch_up()
            try:
                return what()
            finally:
                self._tell()

    async def take_long(self, what: Callable[[], Found]) -> Found:
        """Do something that may let much time pass; the loop goes on serving what needs no world."""
        async with self._lock:
            self.door.catch_up()
            try:
                return await asyncio.to_thread(what)
            finally:
                self._tell()

    async def news(self, given_up: Awaitable[object] | None = None) -> None:
        """Return when something has been done, or when nobody waits any more."""
        waiting = asyncio.get_running_loop().create_future()
        self._news.add(waiting)
        try:
            if given_up is None:
                await waiting
            else:
                await asyncio.wait({waiting, asyncio.ensure_future(given_up)}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._news.discard(waiting)

    def _tell(self) -> None:
        for waiting in self._news:
            if not waiting.done():
                waiting.set_result(None)
        self._news.clear()
