"""Consul in development mode: the services that registered, in memory.

A restarted agent has forgotten all of them, and nobody registers twice. Services register without
health checks, so an instance stays listed after its pod is gone. Left out: the key-value store,
gossip, DNS on port 8600.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from simcluster.engine import format_rfc3339
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.userland.outcome import Outcome

API_PORT = 8500


class Instance(NamedTuple):
    """One registered instance of a service."""

    identity: str
    address: str
    port: int


class ConsulProgram(ServerProgram):
    """`consul agent -dev`.

    Attributes:
        services: instances by the name of their service, in order of registration.
        version: how often the list has changed.
    """

    services: dict[str, list[Instance]]
    version: int

    def start(self) -> None:
        """An agent that knows nobody."""
        self.services, self.version = {}, 0
        super().start()

    def register(self, name: str, instance: Instance) -> None:
        """PUT /v1/agent/service/register."""
        before = self.services.get(name, [])
        self.services[name] = [*(each for each in before if each.identity != instance.identity), instance]
        self.version += 1
        now = format_rfc3339(self.container.sim.now, digits=3)
        self.container.write(f"{now} [INFO]  agent: Synced service: service={instance.identity}")
        self.container.write(
            f"{now} [DEBUG] agent.http: Request finished: method=PUT url=/v1/agent/service/register "
            f"from={instance.address}:{_client_port(instance.identity)} latency=1.1ms"
        )

    def instances(self, name: str) -> tuple[Instance, ...]:
        """GET /v1/health/service/NAME?passing=1."""
        return tuple(self.services.get(name, ()))

    def answer(self, call: Call) -> Answer:
        """The HTTP API, as far as somebody may look at it."""
        answer = super().answer(call)
        if call.kind != "http" or answer.outcome != "ok" or not call.path.startswith("/v1/"):
            return answer
        found = self._api(call.path.partition("?")[0])
        return answer._replace(status=404) if found is None else answer._replace(status=200, body=json.dumps(found))

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`consul members`, `consul catalog services`."""
        if not argv or argv[0].rpartition("/")[2] != "consul":
            return None
        if self.server is None:
            url = f"http://127.0.0.1:{API_PORT}/v1/agent/members"
            return Outcome("", f'Get "{url}": dial tcp 127.0.0.1:{API_PORT}: connect: connection refused\n', 1)
        if argv[1:] == ("catalog", "services"):
            return Outcome("".join(f"{name}\n" for name in sorted(["consul", *self.services])))
        if argv[1:] == ("members",):
            node = self.container.spec.pod_name
            head = f"{'Node':{len(node)}}  Address         Status  Type    Build   Protocol  DC   Partition  Segment\n"
            version = self.container.spec.image.rpartition(":")[2]
            return Outcome(
                f"{head}{node}  127.0.0.1:8301  alive   server  {version:6}  2         dc1  default    <all>\n"
            )
        return Outcome("", "Usage: consul [--version] [--help] <command> [<args>]\n", 127)

    def _api(self, path: str) -> object | None:
        if path == "/v1/status/leader":
            return "127.0.0.1:8300"
        if path == "/v1/catalog/services":
            return {"consul": [], **{name: [] for name in self.services}}
        if path == "/v1/agent/services":
            return {each.identity: _entry(name, each) for name, known in self.services.items() for each in known}
        for prefix in ("/v1/catalog/service/", "/v1/health/service/"):
            if path.startswith(prefix):
                name = path.removeprefix(prefix)
                entries = [_entry(name, each) for each in self.instances(name)]
                return [{"Service": entry, "Checks": []} for entry in entries] if "health" in prefix else entries
        return None


def _entry(name: str, instance: Instance) -> dict[str, object]:
    return {"ID": instance.identity, "Service": name, "Address": instance.address, "Port": instance.port, "Tags": []}


def _client_port(identity: str) -> int:
    """An ephemeral port, the same for the same instance."""
    return 32768 + int(identity[:6], 16) % 28232
