"""How the operator talks to the database it manages: HTTP to PD and to every TiDB, over the cluster's network."""

from __future__ import annotations

import json
from typing import Any

from simcluster.apps.tidb.operator.cluster import Cluster
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ReconcileError
from simcluster.engine import SECOND
from simcluster.models.machine.imagetools.network import Contact, contact
from simcluster.models.machine.process import Call

#: Timeout of the operator's HTTP clients (pdapi.DefaultTimeout).
TIMEOUT_NS = 5 * SECOND
_PD = "/pd/api/v1"


class DatabaseClient:
    """Requests to one cluster's members.

    Args:
        connection: whose container sends them; what they take is counted there.
    """

    def __init__(self, connection: PodConnection, cluster: Cluster) -> None:
        self.connection = connection
        self.cluster = cluster

    def pd(self, path: str, method: str = "GET") -> Any:
        """Ask PD. Raises ReconcileError."""
        host = f"{self.cluster.set_name('pd')}.{self.cluster.namespace}"
        reached = self._send(host, 2379, f"{_PD}/{path}", method)
        url = f"http://{host}:2379{_PD}/{path}"
        if reached.outcome != "ok" or reached.answer is None:
            raise ReconcileError(f'{method.capitalize()} "{url}": {_why(reached, host, 2379)}')
        if reached.answer.status != 200:
            raise ReconcileError(f"Error response {reached.answer.body} URL {url}")
        return json.loads(reached.answer.body)

    def tidb_is_healthy(self, pod: str) -> bool:
        """Whether a TiDB server answers on its status port."""
        host = f"{pod}.{self.cluster.set_name('tidb')}-peer.{self.cluster.namespace}"
        reached = self._send(host, 10080, "/status")
        return reached.outcome == "ok" and reached.answer is not None and reached.answer.status == 200

    def _send(self, host: str, port: int, path: str, method: str = "GET") -> Contact:
        call = Call("http", port, path, method=method)
        reached = contact(self.connection.container, host, call, TIMEOUT_NS)
        self.connection.waited_ns += reached.delay_ns
        return reached


def _why(reached: Contact, host: str, port: int) -> str:
    if reached.outcome == "unknown host":
        return f"dial tcp: lookup {host} on 10.96.0.10:53: no such host"
    if reached.outcome == "refused":
        return f"dial tcp {reached.address}:{port}: connect: connection refused"
    return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
