"""The API server behind its socket: it answers only while its process runs and etcd answers.

Components keep reading from their watch caches, which stand still while nobody can write.
"""

from __future__ import annotations

from simcluster.api.handlers import health
from simcluster.api.request import Request, Response
from simcluster.api.server import Api
from simcluster.engine import Simulation

#: What the status of an answer that never came from a server says as its reason.
REFUSED = "ConnectionRefused"
#: etcd's own text when no member answers in time (etcd 3.5, rpctypes.ErrGRPCTimeout).
ETCD_TIMEOUT = "etcdserver: request timed out"
#: The health checks that ask etcd.
_ETCD_CHECKS = ("etcd", "etcd-readiness")


class GatedApi(Api):
    """The API server as its clients reach it.

    Attributes:
        address: host and port to which clients connect.
        serving: whether a kube-apiserver accepts connections there.
        storing: whether etcd answers it.
    """

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.address = ""
        self.serving = True
        self.storing = True

    @property
    def available(self) -> bool:
        """Whether requests succeed at all."""
        return self.serving and self.storing

    def handle(self, request: Request) -> Response:
        """Serve one request, if there is anybody to serve it."""
        if self.serving and self.storing:
            return super().handle(request)
        if not self.serving:
            # No answer at all: what net/http tells the client. There is no status on the wire; 503 stands for it.
            dial = f"dial tcp {self.address}: connect: connection refused"
            message = f'{request.method.capitalize()} "https://{self.address}{request.path}": {dial}'
            return Response(503, _status(503, REFUSED, message))
        path = request.path.strip("/")
        checked = health.serve(request, path, _ETCD_CHECKS) if path.split("/")[0] in health.ENDPOINTS else None
        return checked or Response(500, _status(500, "", ETCD_TIMEOUT))


def _status(code: int, reason: str, message: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
