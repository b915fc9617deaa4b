"""The requests recorded against a real API server over a real socket: what comes back is what the process answers."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Callable
from typing import Any

from simcluster.api.encoding.wire import Encoder
from simcluster.api.request import ADMIN, Request, Response
from simcluster.api.server import Api
from simcluster.engine import SECOND
from simcluster.session import http as exchanges
from simcluster.surface.http.application import Application
from simcluster.surface.http.authentication import Credentials
from simcluster.surface.http.door import Caller, Turns
from simcluster.surface.http.kubernetes import KubernetesApi
from simcluster.surface.http.server import LOOPBACK, Served, listening
from simcluster.surface.protocols import HttpAnswer, Outcome
from simcluster.testing.golden.requests import Recording, Replayed, differences, replay
from simcluster.testing.recordings import recordings

FOLDER = recordings() / "kubernetes-http" / "raw-1.32"
TOKEN = "secret"


class ApiDoor:
    """The door of a server without a world (implements `surface.http.door.Door`)."""

    def __init__(self) -> None:
        self.api: Api | None = None
        self._encoder = Encoder()

    def exchange(self, request: Request, caller: Caller) -> HttpAnswer:
        return exchanges.answer(request, self.look(request), self._encoder)

    def look(self, request: Request) -> Response:
        assert self.api is not None
        return self.api.handle(request)

    def follow(self, caller: Caller, seen: Callable[[], bool]) -> bool:
        return False

    def drives(self, caller: Caller) -> bool:
        return False

    def catch_up(self) -> None:
        """Time passes when the test says so."""

    def run(self, tool: str, text: str, target: str = "", stdin: str = "") -> Outcome:
        raise ValueError(tool)


class Listener:
    """A listener in a thread of its own, and a client that has one connection."""

    def __init__(self) -> None:
        self._door = ApiDoor()
        api = KubernetesApi(Credentials(ADMIN, TOKEN))
        self._turns = api.turns = Turns(self._door)
        place = listening(0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._served = Served(Application(api), place, None).running()
        self._do(self._served.__aenter__())
        self._client = http.client.HTTPConnection(LOOPBACK, place.getsockname()[1], timeout=300)

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        self._client.close()
        self._do(self._served.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, api: Api, recording: Recording, request: Request) -> Replayed:
        """As `testing.golden.requests.answered`, over the socket."""
        self._door.api = api
        headers = {"Accept": request.accept, "Content-Type": request.content_type}
        if "system:unauthenticated" not in request.user.groups:
            headers["Authorization"] = f"Bearer {request.token or TOKEN}"
        if request.user != ADMIN and "Authorization" in headers and not request.token:
            headers["Impersonate-User"] = request.user.name
        self._client.request(request.method, request.target, request.body, headers)
        answer = self._client.getresponse()
        if "watch" in dict(request.query) and answer.status == 200:
            self._do(self._turns.take(lambda: api.sim.run_for(2 * SECOND)))
        body = answer.read().decode()
        named = {_shown(name): value for name, value in answer.getheaders() if name.lower() != "connection"}
        return Replayed(recording, answer.status, named, body)


def _shown(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


def test_a_socket_adds_nothing_and_leaves_nothing_out() -> None:
    listener = Listener()
    try:
        over_a_socket = {a.recording.number: differences(a) for a in replay(FOLDER, listener.ask)}
    finally:
        listener.close()
    in_process = {a.recording.number: differences(a) for a in replay(FOLDER)}
    assert over_a_socket == in_process
