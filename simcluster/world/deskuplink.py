"""The way from the operator's desk to the API server: over the network of the machine on which it runs.

The desk stands outside of the cluster. A healthy way costs nothing beyond what a command is charged; loss, delay and a
narrow link make every exchange longer, a cut one ends where net/http gives up.
Source of the time-outs: net/http's DefaultTransport (dial 30 s) and Linux' neighbour table (three ARP requests).
"""

from __future__ import annotations

from simcluster.api.request import Request, Response
from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.links.quality import HEALTHY, PathQuality
from simcluster.models.machine.machine import Machine
from simcluster.surface.protocols import Clock
from simcluster.world.world import World

DIAL_NS = 30 * SECOND
NEIGHBOUR_NS = 3 * SECOND
#: What an answer says as its reason that never came from a server.
UNREACHABLE = "Unreachable"
#: A request and its answer on the wire: some fields, an object or a page of a Table.
REQUEST_BYTES, ANSWER_BYTES = 600, 8_000
_ONE = 1 << 64


class DeskUplink:
    """The API server as the desk reaches it (`surface.protocols.ApiEndpoint`).

    Args:
        clock: by which exchanges last; it interrupts them as it does any command.
    """

    def __init__(self, world: World, clock: Clock) -> None:
        self._world = world
        self._clock = clock
        self._made = 0

    def handle(self, request: Request) -> Response:
        """Ask, once the request has arrived; the answer when it has."""
        world = self._world
        server = self._server()
        if server is not None and not server.power.running:
            return self._lost(request, NEIGHBOUR_NS, "connect: no route to host")
        path = HEALTHY if world.network.links.calm or server is None else world.network.path("", server.name)
        if not path.is_healthy:
            lost = self._travel(request, path)
            if lost is not None:
                return lost
        return world.api.handle(request)

    def beside(self) -> Machine | None:
        """The machine through whose network the desk reaches others; None if it is off."""
        server = self._server() or next(iter(self._world.machines.values()), None)
        return server if server is not None and server.power.running else None

    def _travel(self, request: Request, path: PathQuality) -> Response | None:
        """Spend the time that the way takes; the failure of what never arrives."""
        cost = path.cost(REQUEST_BYTES, ANSWER_BYTES, timeout_ns=DIAL_NS, connect=True)
        self._made += 1
        if path.cut or mix(self._world.sim.streams.key("desk"), self._made) < int(cost.failing * _ONE):
            return self._lost(request, DIAL_NS, "i/o timeout")
        self._clock.advance(round(cost.mean_ns))
        return None

    def _server(self) -> Machine | None:
        address = str(getattr(self._world.api, "address", "")).partition(":")[0]
        return self._world.machines.get(self._world.network.nodes.get(address, ""))

    def _lost(self, request: Request, after_ns: int, why: str) -> Response:
        self._clock.advance(after_ns)
        address = str(getattr(self._world.api, "address", ""))
        message = f'{request.method.capitalize()} "https://{address}{request.path}": dial tcp {address}: {why}'
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        return Response(503, status | {"message": message, "reason": UNREACHABLE, "code": 503})
