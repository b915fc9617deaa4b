"""The kubelet's connection to the API server, over the node's link and by the node's clock.

A request over a bad link fails when no answer comes within the kubelet's time-out of 10 s; over
a cut one always. What a watch would have delivered meanwhile comes when the link is back. A new
connection checks the server's certificate by the node's clock; all are new when the server's
certificate was renewed, because the server restarts with it. Left out: how long requests take
that succeed (far less than any period of the kubelet).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import JSON, Query, User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.kernel.clock import BACKDATED_NS, CERTIFICATE_NS
from simcluster.models.machine.links.quality import HEALTHY, PathQuality
from simcluster.models.machine.machine import Machine

#: kubelet: the client for heartbeats gives up after nodeStatusUpdateFrequency.
TIMEOUT_NS = 10 * SECOND
#: A reflector lists anew within a second or two after its watch broke (backoff 0.8 s with jitter).
RELIST_NS = 2 * SECOND
#: Size of a request and its answer.
REQUEST_BYTES = 2_000
_ONE = 1 << 64


class Uplink(Client):
    """A client that meets the link between its node and the control plane.

    Args:
        machine: the node.
        deliver: is given what a watch tells.
    """

    def __init__(self, api: Api, user: User, agent: str, machine: Machine, deliver: Callable[[Change], None]) -> None:
        super().__init__(api, user, agent)
        self._machine = machine
        self._deliver = deliver
        self._held: list[Change] = []
        self._connected = True
        self._made = 0
        self._known_ns = api.certificate_ns  # the certificate of the connection

    def reconnect(self) -> None:
        """The process starts: it has no connection yet."""
        self._connected = False

    def path(self) -> PathQuality:
        """The way to the API server now."""
        links = self._machine.network.links
        return HEALTHY if links.calm else self._machine.network.path(self._machine.name, self._server_node())

    def holds(self, change: Change) -> bool:
        """Whether a watch cannot tell this now; it will later."""
        if not self.path().cut:
            return False
        if not self._held:
            self._machine.network.links.listeners.append(self._link_changed)
        self._held.append(change)
        return True

    def trouble(self) -> str:
        """Why a request made now fails, in Go's words; "" if it does not."""
        path = self.path()
        address = getattr(self.api, "address", "")
        if not path.is_healthy:
            cost = path.cost(REQUEST_BYTES, REQUEST_BYTES, timeout_ns=TIMEOUT_NS, connect=not self._connected)
            self._made += 1
            if mix(self._machine.sim.streams.key("uplink", self._machine.name), self._made) < int(cost.failing * _ONE):
                self._connected = False
                if path.cut:
                    return f"dial tcp {address}: i/o timeout"
                return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        if not self._connected or self._known_ns != self.api.certificate_ns:
            clock, self._known_ns = self._machine.os.clock, self.api.certificate_ns
            self._connected = False
            wrong = clock.certificate_error(self._known_ns - BACKDATED_NS, self._known_ns + CERTIFICATE_NS)
            if wrong:
                return f"tls: failed to verify certificate: {wrong}"
            self._connected = True
        return ""

    def _server_node(self) -> str:
        address = str(getattr(self.api, "address", "")).partition(":")[0]
        return self._machine.network.nodes.get(address, "")

    def _link_changed(self) -> None:
        if not self.path().cut:
            self._machine.network.links.listeners.remove(self._link_changed)
            self._machine.sim.after(RELIST_NS, self._tell)

    def _tell(self) -> None:
        held, self._held = self._held, []
        for change in held:
            self._deliver(change)

    def _reaches(self) -> bool:
        fresh = not self._connected or self._known_ns != self.api.certificate_ns
        return not fresh and self._machine.network.links.calm

    def _call(
        self,
        method: str,
        resource: str,
        namespace: str,
        name: str,
        subresource: str = "",
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
    ) -> Json:
        if not self._reaches():
            error = self.trouble()
            if error:
                path = self.api.resources.path(resource, namespace, name, subresource)
                url = f"https://{getattr(self.api, 'address', '')}{path}"
                raise ApiError(503, "", f'{method.capitalize()} "{url}": {error}')
        return super()._call(
            method, resource, namespace, name, subresource, body=body, query=query, content_type=content_type
        )
