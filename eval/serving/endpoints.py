"""Where a served session is reached: ports on loopback, the kubeconfig of an agent, variables to export."""

from __future__ import annotations

import contextlib
import socket
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import yaml

from simcluster.api.request import User
from simcluster.surface.http.server import listening
from simcluster.surface.kubectl.kubeconfig import CLUSTER

#: The agent is one of the cluster's administrators, as kubeadm binds them by RBAC: no member of `system:masters`.
AGENT = User("oncall", ("kubeadm:cluster-admins", "system:authenticated"))


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
            "SIMCLUSTER_MCP": f"{self.desk}/mcp",
            "PROMETHEUS_URL": f"{self.desk}/prometheus",
            "LOKI_URL": self.desk,
            "JAEGER_URL": f"{self.desk}/jaeger",
            "ALERTMANAGER_URL": f"{self.desk}/alertmanager",
            "SIMCLUSTER_TOKEN": self.token,
        }

    def write_kubeconfig(self, authority: bytes) -> None:
        """Write the agent's kubeconfig, for this user alone. Raises OSError.

        Args:
            authority: the certificate that signed the server's, PEM.
        """
        cluster = {"server": self.api, "certificate-authority-data": b64encode(authority).decode()}
        context = {"cluster": CLUSTER, "user": AGENT.name}
        named = f"{AGENT.name}@{CLUSTER}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CLUSTER, "cluster": cluster}],
            "users": [{"name": AGENT.name, "user": {"token": self.token}}],
            "contexts": [{"name": named, "context": context}],
            "current-context": named,
        }
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self.kubeconfig.unlink()
        self.kubeconfig.touch(0o600)
        self.kubeconfig.write_text(yaml.safe_dump(config, sort_keys=False))


def places(port: int) -> list[socket.socket]:
    """Two sockets: a port and the next, or any two. Raises OSError."""
    first = listening(port)
    try:
        return [first, listening(port + 1 if port else 0)]
    except OSError:
        first.close()
        raise
