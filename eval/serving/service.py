"""One session behind sockets, from the open port to its end. Signals and what is left on disk are the caller's."""

from __future__ import annotations

import asyncio
import datetime
import importlib
import importlib.util
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from simcluster.api.request import ADMIN
from simcluster.eval.episode import Episode
from simcluster.eval.serving.endpoints import AGENT, Endpoints, places
from simcluster.eval.serving.incident import ServedIncident
from simcluster.session.door import SessionDoor
from simcluster.session.live import Live
from simcluster.surface.http.application import Application
from simcluster.surface.http.authentication import Credentials
from simcluster.surface.http.certificates import Authority, server_context
from simcluster.surface.http.desk import Desk
from simcluster.surface.http.door import Turns
from simcluster.surface.http.kubernetes import KubernetesApi
from simcluster.surface.http.server import LOOPBACK, Served
from simcluster.surface.mcp.toolbox import Toolbox

#: Under a `realtime` clock the world follows the operator's this often.
PACE_S = 0.1


@dataclass(frozen=True)
class Wanted:
    """What to serve.

    Attributes:
        start: makes the session; called in a thread once the ports are open.
        folder: where the kubeconfig is written.
        policy: a clock policy instead of the session's own, or empty.
        port: of the API; the desk listens on the next one. 0 takes free ones.
    """

    start: Callable[[], Live]
    folder: Path
    policy: str = ""
    port: int = 0


class Status(NamedTuple):
    """What is going on.

    Attributes:
        simulated_s: since the cluster was started.
        requests: HTTP requests and WebSockets of the API so far.
        commands: that a budget counts.
        commands_left: None of a session without an end.
        time_left_s: likewise, simulated.
        alerts: how many fire.
    """

    simulated_s: float
    requests: int
    commands: int
    commands_left: int | None
    time_left_s: float | None
    alerts: int


class Service:
    """One served session.

    Attributes:
        live: the session, once it has been started.
        endpoints: where it is reached.
        problem: why it could not be started; None if it could.
        incident: what the desk knows of it, likewise.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.live: Live | None = None
        self.problem: Exception | None = None
        self.incident: ServedIncident | None = None
        token = secrets.token_urlsafe(24)
        self._api = KubernetesApi(Credentials(AGENT, token))
        self._desk = Desk(token)
        self._ended = asyncio.Event()
        self._authority = Authority(datetime.datetime.now(datetime.UTC))
        self._places = places(wanted.port)
        ports = [place.getsockname()[1] for place in self._places]
        desk = f"http://agent:{token}@{LOOPBACK}:{ports[1]}"
        path = (wanted.folder / "kubeconfig").resolve()
        self.endpoints = Endpoints(path, f"https://{LOOPBACK}:{ports[0]}", desk, token)
        self.endpoints.write_kubeconfig(self._authority.certificate)

    async def run(self, ready: Callable[[Service], None]) -> None:
        """Serve until `end`.

        Args:
            ready: called when the cluster answers.
        """
        pair = self._authority.server(LOOPBACK)
        with tempfile.TemporaryDirectory() as folder:
            context = server_context(pair, self._authority.certificate, Path(folder))
        api = Served(Application(self._api), self._places[0], context)
        desk = Served(self._desk.application(), self._places[1], None)
        async with api.running(), desk.running():
            try:
                await self._begin()
            except Exception as problem:
                self.problem = problem
                return
            ready(self)
            beside = [asyncio.create_task(self._pace()), asyncio.create_task(self._offer_tools())]
            await self._ended.wait()
            for each in beside:
                each.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    def end(self) -> None:
        """Stop serving; called on the loop's own thread."""
        self._ended.set()

    @property
    def task_id(self) -> str:
        """The task's id; empty of a sandbox."""
        return self.live.task.id if isinstance(self.live, Episode) else ""

    @property
    def status(self) -> Status | None:
        """What is going on; None until there is a cluster."""
        live = self.live
        if live is None:
            return None
        inbox, episode = live.inbox, live if isinstance(live, Episode) else None
        return Status(
            live.now_s,
            self._api.requests,
            inbox.used,
            None if episode is None else max(0, inbox.budget.commands - inbox.used),
            None if episode is None else max(0.0, (inbox.ends_ns - live.world.sim.now) / 1e9),
            0 if episode is None else len(episode.pager.alerts.firing),
        )

    async def _begin(self) -> None:
        starting = asyncio.create_task(asyncio.to_thread(self.wanted.start))
        ended = asyncio.create_task(self._ended.wait())
        await asyncio.wait({starting, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        live = self.live = await starting
        if self.wanted.policy:
            live.inbox.policy = live.inbox.policy.model_copy(update={"policy": self.wanted.policy})
        if live.operator != ADMIN:
            self._api.credentials = self._api.credentials._replace(user=live.operator)
        self.incident = ServedIncident(live)
        turns = Turns(SessionDoor(live))
        self._api.turns = self._desk.turns = turns
        self._desk.incident = self.incident

    async def _offer_tools(self) -> None:
        """Serve MCP beside the desk, if its package is there; that it loads late keeps nobody waiting."""
        if importlib.util.find_spec("mcp") is None:
            return
        servers = await asyncio.to_thread(importlib.import_module, "simcluster.surface.mcp.servers")
        assert self._desk.turns is not None
        assert self.incident is not None
        endpoints = servers.Endpoints(Toolbox(self._desk.turns, self.incident))
        async with endpoints.running():
            self._desk.tools = endpoints.application
            await asyncio.Event().wait()

    async def _pace(self) -> None:
        """Let the world follow the operator's clock, though nobody asks anything."""
        assert self.live is not None
        while self.live.inbox.policy.realtime:
            await asyncio.sleep(PACE_S)
            assert self._api.turns is not None
            await self._api.turns.take_long(lambda: None)
