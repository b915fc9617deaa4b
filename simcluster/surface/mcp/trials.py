"""kubectl as it prepares what may be taken back: it takes no simulated time, changes nothing, and leaves no trace."""

from __future__ import annotations

from simcluster.api.request import Request, Response
from simcluster.surface.http.door import Door
from simcluster.surface.kubectl import Kubectl


def free_kubectl(door: Door) -> Kubectl:
    """A kubectl whose requests nobody counts."""
    return Kubectl(_Free(door), _Still())


class _Free:
    """The API server as somebody asks it who leaves no trace."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def handle(self, request: Request) -> Response:
        """Ask; what would change something for good is not asked."""
        if request.method not in ("GET", "HEAD") and not request.flag("dryRun") and not request.params("dryRun"):
            return Response(403, {"kind": "Status", "message": "only trials", "reason": "Forbidden", "code": 403})
        return self._door.look(request)


class _Still:
    """Time does not pass."""

    now = 0

    def advance(self, duration_ns: int) -> None:
        """Nothing waits."""
