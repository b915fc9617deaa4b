"""`simcluster serve`: a session behind sockets, from the open port to the written log."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import secrets
import signal
import socket
import tempfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.request import User
from simcluster.eval.episode import Episode
from simcluster.session.door import SessionDoor
from simcluster.session.live import Live
from simcluster.surface.http.application import Application
from simcluster.surface.http.authentication import Credentials
from simcluster.surface.http.certificates import Authority, server_context
from simcluster.surface.http.desk import Desk
from simcluster.surface.http.door import Turns
from simcluster.surface.http.kubernetes import KubernetesApi
from simcluster.surface.http.server import LOOPBACK, Served, listening

#: The agent is one of the cluster's administrators, as kubeadm binds them by RBAC: no member of `system:masters`.
AGENT = User("oncall", ("kubeadm:cluster-admins", "system:authenticated"))
#: Under a `realtime` clock the world follows the operator's this often.
PACE_S = 0.1


@dataclass(frozen=True)
class Wanted:
    """What to serve.

    Attributes:
        start: makes the session; called in a thread once the ports are open.
        policy: a clock policy instead of the session's own, or empty.
        port: of the API; the desk listens on the next one. 0 takes free ones.
        out: where kubeconfig, replay log and report are written.
        blind: nothing that is written before the end says which task it is.
    """

    start: Callable[[], Live]
    policy: str
    port: int
    out: Path
    blind: bool = False


@dataclass(frozen=True)
class Endpoints:
    """What to export: names of environment variables and their values."""

    kubeconfig: Path
    api: str
    desk: str
    token: str

    def environment(self) -> dict[str, str]:
        """For a process that is to find everything."""
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "SIMCLUSTER_API": self.api,
            "SIMCLUSTER_DESK": self.desk,
            "SIMCLUSTER_TOKEN": self.token,
        }


class Service:
    """One served session.

    Attributes:
        live: the session, once it has been started.
        endpoints: where it is reached.
        problem: why it could not be started; None if it could.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.live: Live | None = None
        self.problem: Exception | None = None
        self.stage = "setup"
        self._token = secrets.token_urlsafe(24)
        self._api = KubernetesApi(Credentials(AGENT, self._token))
        self._desk = Desk(self._token)
        self._ended = asyncio.Event()
        self._authority = Authority(datetime.datetime.now(datetime.UTC))
        wanted.out.mkdir(parents=True, exist_ok=True)
        self._places = _places(wanted.port)
        ports = [place.getsockname()[1] for place in self._places]
        desk = f"http://agent:{self._token}@{LOOPBACK}:{ports[1]}"
        path = (wanted.out / "kubeconfig").resolve()
        self.endpoints = Endpoints(path, f"https://{LOOPBACK}:{ports[0]}", desk, self._token)
        _write_private(path, self._kubeconfig())

    async def run(self, ready: Callable[[Service], None]) -> None:
        """Serve until a signal comes or the work is done.

        Args:
            ready: called when the cluster answers.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended.set)
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
            pacing = asyncio.create_task(self._pace())
            await self._ended.wait()
            pacing.cancel()
        self._write()

    async def _begin(self) -> None:
        starting = asyncio.create_task(asyncio.to_thread(self.wanted.start))
        ended = asyncio.create_task(self._ended.wait())
        await asyncio.wait({starting, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        live = self.live = await starting
        if self.wanted.policy:
            live.inbox.policy = live.inbox.policy.model_copy(update={"policy": self.wanted.policy})
        self.stage = "diagnosis"
        turns = Turns(SessionDoor(live))
        self._api.turns = self._desk.turns = turns
        self._desk.incident = self

    async def _pace(self) -> None:
        """Let the world follow the operator's clock, though nobody asks anything."""
        assert self.live is not None
        while self.live.inbox.policy.realtime:
            await asyncio.sleep(PACE_S)
            assert self._api.turns is not None
            await self._api.turns.take_long(lambda: None)

    # What the desk asks (`surface.http.desk.Incident`).

    @property
    def alert(self) -> str:
        """The page."""
        return str(getattr(self.live, "alert", ""))

    def application(self) -> dict[str, Any]:
        """What the agent is responsible for."""
        task = self.live.task if isinstance(self.live, Episode) else None
        name = task.app if task is not None else ""
        namespace = task.namespace if task is not None else "default"
        return {"app_name": name, "namespace": namespace, "namespaces": [namespace], "descriptions": self.alert}

    def submit(self, solution: str) -> None:
        """The diagnosis first; then the end of the work, which is graded."""
        assert self.live is not None
        if self.stage == "diagnosis":
            self.live.diagnose(solution)
            self.stage = "mitigation"
            return
        if isinstance(self.live, Episode):
            self.live.finish()
        self.stage = "done"

    # What is left at the end.

    def _write(self) -> None:
        if self.live is None:
            return
        if isinstance(self.live, Episode):
            report = self.live.finish()
            text = json.dumps(report.to_dict(), indent=2, sort_keys=True) + "\n"
            (self.wanted.out / "report.json").write_text(text)
        self.live.write_log(self.wanted.out / "replay.jsonl")

    def _kubeconfig(self) -> str:
        cluster = {
            "server": self.endpoints.api,
            "certificate-authority-data": b64encode(self._authority.certificate).decode(),
        }
        context = {"cluster": "simcluster", "user": AGENT.name}
        named = f"{AGENT.name}@simcluster"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "simcluster", "cluster": cluster}],
            "users": [{"name": AGENT.name, "user": {"token": self._token}}],
            "contexts": [{"name": named, "context": context}],
            "current-context": named,
        }
        return str(yaml.safe_dump(config, sort_keys=False))


def _places(port: int) -> list[socket.socket]:
    """Two sockets: a port and the next, or any two. Raises OSError."""
    first = listening(port)
    try:
        return [first, listening(port + 1 if port else 0)]
    except OSError:
        first.close()
        raise


def _write_private(path: Path, text: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    path.touch(0o600)
    path.write_text(text)
