"""The network as the API server's own process reaches it: what stands behind `.../proxy`.

The API server runs in the network of its node: it meets pods at their addresses, past the
service rules, and nodes at theirs. Left out: IPv6, HTTP/2, headers beyond the content type.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.api.backends import ProxyCall, ProxyReply
from simcluster.control.kubelet import Kubelet
from simcluster.engine import MILLISECOND, SECOND, Simulation
from simcluster.engine.streams import mix
from simcluster.models.machine.certificate import presented_by
from simcluster.models.machine.container import Container
from simcluster.models.machine.exposed import answered
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import ANY_SERVER, Answer, Call
from simcluster.world import kubeletserver

#: Round trip inside a cluster: a typical magnitude.
_ROUND_TRIP_NS = MILLISECOND // 2
#: The dialer of the API server gives up after so long (apimachinery/pkg/util/net, SetTransportDefaults).
_DIAL_TIMEOUT_NS = 30 * SECOND
_TEXT = "text/plain; charset=utf-8"
#: Ports on which servers that make a certificate for themselves speak TLS.
_TLS_PORTS = (443, 4443, 6443, 8443, 9443, 10250, 10257, 10259)


class ClusterProxy:
    """Passes requests on from a control-plane node (a `ProxyTransport`)."""

    def __init__(self, sim: Simulation, network: Network, kubelets: Mapping[str, Kubelet], node: str) -> None:
        self.sim = sim
        self.network = network
        self.kubelets = kubelets
        self.node = node

    def send(self, call: ProxyCall) -> ProxyReply:
        """Connect, send, wait for the answer."""
        where = f"dial tcp {call.host}:{call.port}"
        own = self.kubelets[self.node].machine.address
        way_ns = self._way_ns(call.host, own)
        if way_ns is None:
            return ProxyReply(f"{where}: i/o timeout", delay_ns=_DIAL_TIMEOUT_NS)
        if call.kubelet:
            return self._kubelet(call, where, way_ns)
        outcome = self.network.connect((call.host, call.port), own)
        if outcome == "timeout":
            return ProxyReply(f"{where}: i/o timeout", delay_ns=_DIAL_TIMEOUT_NS)
        if outcome != "ok":
            return ProxyReply(f"{where}: connect: connection refused", delay_ns=way_ns)
        owner = self.network.sandboxes.get(call.host)
        find = getattr(owner, "container_on", None)
        listener: Container | None = None if find is None else find(call.port)
        if listener is None:  # a process of the host that speaks no HTTP
            return ProxyReply("EOF", delay_ns=way_ns)
        return _asked(call, listener, way_ns)

    def reached(self, node: str) -> Kubelet | None:
        """The kubelet of a node, if it answers the API server."""
        kubelet = self.kubelets.get(node)
        if kubelet is None or not kubelet.machine.power.on or not kubelet.running:
            return None
        own = self.kubelets[self.node].machine.address
        return kubelet if self._way_ns(kubelet.machine.address, own) is not None else None

    def _way_ns(self, host: str, own: str) -> int | None:
        """What the way to the host takes; None if nothing arrives."""
        there = getattr(self.network.sandboxes.get(host), "node", "")
        if self.network.links.calm or not there:
            return _ROUND_TRIP_NS
        draw = mix(self.sim.streams.key("proxy way", host), self.sim.now)
        sampled = self.network.path(self.node, there, own, host).sample(draw / (1 << 64))
        return None if sampled is None else _ROUND_TRIP_NS + sampled

    def _kubelet(self, call: ProxyCall, where: str, way_ns: int) -> ProxyReply:
        kubelet = self.kubelets.get(call.kubelet)
        if kubelet is None or not kubelet.machine.power.on:
            return ProxyReply(f"{where}: connect: no route to host", delay_ns=3 * SECOND)
        if not kubelet.running:
            return ProxyReply(f"{where}: connect: connection refused", delay_ns=way_ns)
        status, body, media = kubeletserver.answer(kubelet, call.method, call.path)
        return ProxyReply("", status, body, media, way_ns)


def _asked(call: ProxyCall, listener: Container, way_ns: int) -> ProxyReply:
    speaks_tls = call.port in _TLS_PORTS or bool(presented_by(listener)[0])
    if call.scheme == "https" and not speaks_tls:
        return ProxyReply("http: server gave HTTP response to HTTPS client", delay_ns=way_ns)
    if call.scheme != "https" and speaks_tls:
        return ProxyReply("", 400, "Client sent an HTTP request to an HTTPS server.\n", _TEXT, way_ns)
    headers = (("content-type", call.content_type),) if call.body else ()
    secure = call.scheme == "https"
    trust = ANY_SERVER if secure else ""
    host = f"{call.host}:{call.port}"
    post = Call("http", call.port, call.path, host, call.method, secure, headers, call.body, trust)
    answer = answered(listener.program, post)
    if answer.outcome != "ok":
        return ProxyReply("EOF", delay_ns=way_ns + answer.delay_ns)
    return ProxyReply("", answer.status, answer.body, _media(answer), way_ns + answer.delay_ns)


def _media(answer: Answer) -> str:
    """The content type: as the server says, else as Go and most servers guess it from the body."""
    if answer.content_type:
        return answer.content_type
    start = answer.body.lstrip()[:1]
    if start in ("{", "["):
        return "application/json"
    return "text/html; charset=utf-8" if start == "<" else _TEXT
