"""An API server and a kubectl, with nobody who reconciles: for tests of verbs. It keeps what the last one asked for."""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.api.request import Request, Response
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.protocols import Outcome


class BareServer:
    """The server, its clock and the desk with `files` on it; `requests` are those of the last command."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.sim = Simulation(1)
        self.api = Api(self.sim)
        self.requests: list[Request] = []
        self.kubectl = Kubectl(self, self)
        self.files = dict(files)

    @property
    def now(self) -> int:
        return self.sim.now

    def advance(self, duration_ns: int) -> None:
        self.sim.run_until(self.sim.now + duration_ns)

    def handle(self, request: Request) -> Response:
        self.requests.append(request)
        return self.api.handle(request)

    def run(self, line: str, stdin: str = "") -> Outcome:
        self.requests.clear()
        return self.kubectl.run(line, stdin, self.files)

    def ok(self, line: str, stdin: str = "") -> str:
        result = self.run(line, stdin)
        assert result.exit_code == 0, result
        return result.stdout
