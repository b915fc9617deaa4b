"""The C++ services of Social Network: how they start, where they find each other, what they wait for.

A program reads two mounted files and exits without them; it connects to the agent for traces and then makes the index
of its MongoDB, each as often as it takes, and listens only then. Addresses are those of `service-config.json` at its
start. Sources: the programs' `main`, `tracing.h`, `utils_mongodb.h`, `ClientPool.h`.

Left out: TLS between the services, Redis Cluster and replicas, connections kept for 10 s (a changed address is seen at
once).
"""

from __future__ import annotations

import json
from typing import Any

from simcluster.apps.social_network.wording import SocialWording, line
from simcluster.engine import SECOND
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.nativewording import words
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.causes import DNS_TIMEOUT, NO_SUCH_HOST, PROTOCOL, REFUSED, TIMEOUT, Cause

#: Where the programs find their files.
FOLDER = "/social-network-microservices/config"
TRACING, SERVICES = f"{FOLDER}/jaeger-config.yml", f"{FOLDER}/service-config.json"
#: Between two attempts to reach the agent for traces, and the store.
AGAIN_NS = SECOND
FATAL = 1
_KINDS = {"refused": REFUSED, "timeout": TIMEOUT, "unknown host": NO_SUCH_HOST, "protocol": PROTOCOL}


class SocialProgram(ServerProgram):
    """One of the eleven services.

    Attributes:
        config: `service-config.json` as it was read at the start.
        agent: host and port of the agent for traces; empty if there are no traces.
    """

    config: dict[str, Any]
    agent = ("", 0)

    def start(self) -> None:
        """Read the files and begin to load."""
        files = FileTree(self.container)
        self.config = {}
        try:
            self.config = json.loads(files.read(SERVICES))
            tracing = files.read(TRACING)
        except FileError:
            self._say("error", "utils.h:25:load_config_file", "Cannot open service-config.json")
            self.container.exit(FATAL)
            return
        except ValueError as problem:
            self.container.write(
                "terminate called after throwing an instance of 'nlohmann::detail::parse_error'", "stderr"
            )
            self.container.write(f"  what():  [json.exception.parse_error.101] parse error: {problem}", "stderr")
            self.container.exit(134)
            return
        self.agent = _agent(tracing)
        self.environment = {**self.environment, **self._addresses(), "localAgentHostPort": "{}:{}".format(*self.agent)}
        super().start()

    def wording(self) -> Wording:
        """Lines of calls that reached nobody are the pool's."""
        return SocialWording(self.container.spec.pod_name)

    def _ready(self) -> None:
        """Loaded: the agent for traces, then the store, then the port."""
        self._timer = None
        host, _ = self.agent
        network, sandbox = self._traffic.network, self.container.sandbox
        if host and not network.resolve_for(sandbox, host).address:
            self._say("error", "tracing.h:78:SetUpTracer", "Failed to connect to jaeger, retrying ...")
            self._timer = self.container.sim.after(AGAIN_NS, self._ready)
            return
        store = next((name for name in self._stores() if name.endswith("-mongodb")), "")
        if store and self._lacks(store):
            self._timer = self.container.sim.after(AGAIN_NS, self._ready)
            return
        super()._ready()

    def _lacks(self, store: str) -> bool:
        """Whether the index cannot be made, with what the program says of it."""
        host, port = parse_address(self.environment[store])
        found = reach(self._traffic.network, self.container, host, port)
        outcome = found.outcome
        if (
            outcome == "ok"
            and found.container is not None
            and getattr(found.container.program, "tls", "") == "requireTLS"
        ):
            outcome = "protocol"
        if outcome == "ok":
            return False
        why = words("mongoc", Cause(_KINDS.get(outcome, DNS_TIMEOUT), host, port))
        self._say("error", "utils_mongodb.h:87:CreateIndex", f"Error in createIndexes: {why}")
        self._say("error", f"{self.behaviour.program}.cpp:63:main", "Failed to create mongodb index, try again")
        return True

    def _stores(self) -> list[str]:
        """Names of whom its operations call."""
        return list(
            {call.env: None for op in self.behaviour.service().operations for step in op.steps for call in step}
        )

    def _addresses(self) -> dict[str, str]:
        """Addresses of its peers by their names."""
        found: dict[str, str] = {}
        for name, entry in self.config.items():
            if isinstance(entry, dict) and isinstance(entry.get("addr"), str) and isinstance(entry.get("port"), int):
                found[name] = f"{entry['addr']}:{entry['port']}"
        return found

    def _say(self, level: str, where: str, message: str) -> None:
        self.container.write(line(self.container.sim.now, level, where, message), "stderr")


def _agent(text: str) -> tuple[str, int]:
    """`localAgentHostPort` of the tracing library's file.

    >>> _agent('reporter:\\n  localAgentHostPort: "jaeger:6831"')
    ('jaeger', 6831)
    """
    for row in text.splitlines():
        key, colon, value = row.strip().partition(":")
        if colon and key == "localAgentHostPort":
            return parse_address(value.strip().strip("\"'"))
    return "", 0
