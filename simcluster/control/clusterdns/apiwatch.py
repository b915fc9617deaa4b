"""How CoreDNS' kubernetes plugin comes to know the cluster: its lists of what it watches.

It lists under the pod's own service account, over the pod's own network. Until each list has come
once, the plugin answers for nothing and the ready plugin waits. A list that fails is tried
again after 0.8 s, doubling to 30 s, with jitter; where nobody answers at all, the connection is
tried as TCP does and given up after 30 s. Texts: CoreDNS 1.11.3 with client-go 0.29.3.
Left out: what becomes of a watch that the server ends later and does not open again.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.server import Api
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.failure import ConfigurationError
from simcluster.control.operator.reflector import BACKOFF_MAX_NS, BACKOFF_NS
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.container import Container

#: What is listed, and what client-go calls it.
_KINDS = {
    "services": "*v1.Service",
    "endpointslices.discovery.k8s.io": "*v1.EndpointSlice",
    "namespaces": "*v1.Namespace",
}
#: With `pods verified` also these.
_PODS = {"pods": "*v1.Pod"}
_WHERE = "pkg/mod/k8s.io/client-go@v0.29.3/tools/cache/reflector.go:229"
#: When SYNs are sent again after the first one; the dialer of client-go gives up after 30 s.
_SYN_NS = (SECOND, 3 * SECOND, 7 * SECOND, 15 * SECOND, 30 * SECOND)
#: The server waits for the first lists this long, and says so every half second.
_START_NS, _SAY_NS = 5 * SECOND, 500 * MILLISECOND
#: The client's own limit of requests (client-go's default).
_QPS, _BURST = 5, 10
_AGENT = "CoreDNS"
_QUERY = "?limit=500&resourceVersion=0"


class ApiWatch:
    """The lists of one CoreDNS process.

    Args:
        pods: whether pods are watched too.
        synced: called when the last list has come.

    Raises:
        ConfigurationError: the pod has no service account token, or no address to connect to.
    """

    def __init__(self, api: Api, container: Container, synced: Callable[[], None], *, pods: bool) -> None:
        self.container = container
        self.kinds = {**_KINDS, **(_PODS if pods else {})}
        self._connection = PodConnection(api, container, _AGENT, qps=_QPS, burst=_BURST)
        self._missing = dict.fromkeys(self.kinds)
        self._failures = dict.fromkeys(self.kinds, 0)
        self._stream = container.sim.stream("coredns", "lists", container.container_id)
        self._synced = synced
        self._began_ns = container.sim.now

    @property
    def synced(self) -> bool:
        """Whether every list has come."""
        return not self._missing

    def start(self) -> None:
        """List."""
        for resource in self.kinds:
            self._list(resource, 0)
        if self._missing:
            self.container.sim.after(_SAY_NS, self._say)

    def _say(self) -> None:
        """What the server says while it waits for the lists."""
        container = self.container
        if self.synced or not container.running:
            return
        if container.sim.now < self._began_ns + _START_NS:
            container.write("[INFO] plugin/kubernetes: waiting for Kubernetes API before starting server")
            container.sim.after(_SAY_NS, self._say)
        else:
            container.write("[WARNING] plugin/kubernetes: starting server with unsynced Kubernetes API")

    def _list(self, resource: str, attempt: int) -> None:
        """Ask for one list; `attempt` counts the SYNs of this connection before."""
        container = self.container
        if not container.running:
            return
        if attempt < len(_SYN_NS) and self._connection.problem().endswith("i/o timeout"):
            waited_ns = _SYN_NS[attempt - 1] if attempt else 0
            container.sim.after(_SYN_NS[attempt] - waited_ns, self._list, resource, attempt + 1)
            return
        try:
            self._connection.list_once(resource)
        except ApiError as error:
            self._fail(resource, error.message)
            return
        self._missing.pop(resource, None)
        if self.synced:
            self._synced()

    def _fail(self, resource: str, why: str) -> None:
        container, kind = self.container, self.kinds[resource]
        said = f"failed to list {kind}: {why}".replace('": dial', _QUERY + '": dial')
        container.write(f"[INFO] plugin/kubernetes: {_WHERE}: {said}")
        container.write(f"[ERROR] plugin/kubernetes: {_WHERE}: Failed to watch {kind}: {said}")
        delay = min(BACKOFF_MAX_NS, BACKOFF_NS << min(self._failures[resource], 6))
        self._failures[resource] += 1
        container.sim.after(delay + self._stream.uniform_ns(0, delay), self._list, resource, 0)


__all__ = ["ApiWatch", "ConfigurationError"]
