"""How the API server reaches admission webhooks: the network of its node, then the process itself.

A Service is called at its cluster IP, so what the node's kube-proxy knows decides; with
`--enable-aggregator-routing`, which kubeadm does not set, the API server picks an endpoint
itself. Left out: HTTP/2, keep-alive, proxies.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from simcluster.api.backends import WebhookCall, WebhookReply
from simcluster.api.store import Store
from simcluster.engine import MILLISECOND, Simulation
from simcluster.engine.streams import mix
from simcluster.models.machine.certificate import objection, presented_by
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.imagetools.call import FOREVER_NS
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call

#: Round trip inside a cluster, and the handshakes of TCP and TLS: typical magnitudes.
_ROUND_TRIP_NS = MILLISECOND // 2
_HANDSHAKE_NS = 2 * MILLISECOND


class ServiceWebhooks:
    """The webhooks' servers, as seen from a control-plane node (a `WebhookBackend`).

    Attributes:
        aggregator_routing: `--enable-aggregator-routing` of the API server.
    """

    def __init__(self, sim: Simulation, store: Store, network: Network, node: str) -> None:
        self.sim = sim
        self.store = store
        self.network = network
        self.node = node
        self.aggregator_routing = False

    def call(self, call: WebhookCall) -> WebhookReply:
        """Connect, shake hands, post the review."""
        parts = urlsplit(call.url)
        host, port, path = parts.hostname or "", parts.port or 443, parts.path or "/"
        if call.service:
            address, problem = self._service_address(call)
        else:
            address, problem = self._host_address(host)
        if call.service and self.aggregator_routing and not problem:
            address, port = self._endpoint(call)
            problem = "" if address else f'no endpoints available for service "{call.service}"'
        if problem:
            return WebhookReply(problem, delay_ns=_ROUND_TRIP_NS)
        outcome, container, target = self._dial(address, port)
        if outcome == "timeout":
            return WebhookReply(f"dial tcp {address}:{port}: i/o timeout", delay_ns=FOREVER_NS)
        if outcome != "ok" or container is None:
            return WebhookReply(f"dial tcp {address}:{port}: connect: connection refused", delay_ns=_ROUND_TRIP_NS)
        return self._posted(call, container, host, Call("http", target, path))

    def _service_address(self, call: WebhookCall) -> tuple[str, str]:
        """The address of a Service, or why there is none. Source: apiserver pkg/util/proxy ResolveCluster."""
        service = self.store.get("services", call.namespace, call.service)
        if service is None:
            return "", f'service "{call.service}" not found'
        spec: Mapping[str, object] = service["spec"]
        if spec.get("type") == "ExternalName":
            return self._host_address(str(spec.get("externalName", "")))
        address = str(spec.get("clusterIP") or "")
        if not address or address == "None":
            return "", f'cannot route to service with ClusterIP "{address}"'
        ports = service["spec"].get("ports") or ()
        if not any(entry["port"] == call.port for entry in ports):
            return "", f'no service port {call.port} found for service "{call.service}"'
        return address, ""

    def _endpoint(self, call: WebhookCall) -> tuple[str, int]:
        """A ready endpoint of the Service, or an empty address. Source: apiserver pkg/util/proxy ResolveEndpoint."""
        service = self.store.get("services", call.namespace, call.service)
        endpoints = self.store.get("endpoints", call.namespace, call.service)
        if service is None or endpoints is None:
            return "", 0
        names = [port.get("name", "") for port in service["spec"]["ports"] if port["port"] == call.port]
        found = [
            (address["ip"], port["port"])
            for subset in endpoints.get("subsets") or ()
            for port in subset.get("ports") or ()
            for address in subset.get("addresses") or ()
            if port.get("name", "") in names
        ]
        draw = mix(self.sim.streams.key("webhook endpoint", call.namespace, call.service), self.sim.now)
        backend: tuple[str, int] = found[draw % len(found)] if found else ("", 0)
        return backend

    def _host_address(self, host: str) -> tuple[str, str]:
        """The address of a host: the node's resolver does not know the cluster's zone."""
        digits = host.split(".")
        if len(digits) == 4 and all(part.isdecimal() for part in digits):
            return host, ""
        return "", f"dial tcp: lookup {host}: no such host"

    def _dial(self, address: str, port: int) -> tuple[str, Container | None, int]:
        route = self.network.route(self.node, address, port)
        if route.outcome != "ok":
            return route.outcome, None, port
        draw = mix(self.sim.streams.key("webhook connection", address, port), self.sim.now)
        backend = route.backends[draw % len(route.backends)]
        # It comes from the control plane's own address: policies bind it wherever the pod is not on this very node.
        own = next((known for known, name in self.network.nodes.items() if name == self.node), "")
        outcome = self.network.connect(backend, own)
        owner = self.network.sandboxes.get(backend[0])
        container = owner.container_on(backend[1]) if isinstance(owner, Sandbox) else None
        return outcome, container, backend[1]

    def _posted(self, call: WebhookCall, container: Container, host: str, post: Call) -> WebhookReply:
        presented, beside = presented_by(container)
        answer = None
        if presented:
            problem = objection(call.ca_bundle, presented, beside, host, self.sim.now)
        else:
            # A server that keeps no certificate in its files is plain, or made one itself.
            answer = container.program.admission_review(post, call.review)
            if answer is None:
                problem = "http: server gave HTTP response to HTTPS client"
            else:
                problem = objection(call.ca_bundle, [], [], host, self.sim.now)
        if problem:
            return WebhookReply(problem, delay_ns=_ROUND_TRIP_NS + _HANDSHAKE_NS)
        if answer is None:
            answer = container.program.admission_review(post, call.review)
        return _reply(answer if answer is not None else container.program.answer(post))


def _reply(answer: Answer) -> WebhookReply:
    delay_ns = _HANDSHAKE_NS + _ROUND_TRIP_NS + answer.delay_ns
    if answer.outcome != "ok":
        return WebhookReply("EOF", delay_ns=delay_ns)
    return WebhookReply("", answer.status, answer.body, delay_ns)
