"""One single request, now: what a probe, a curl or a debug pod would meet."""

from __future__ import annotations

from simcluster.engine import MILLISECOND, Simulation
from simcluster.engine.streams import uniform_at
from simcluster.models.machine.exposed import answered
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.plan import OTHER_NODE_NS, SAME_NODE_NS
from simcluster.models.traffic.cluster.resolve import container_at

#: The answer to a connection that nobody takes comes at once.
REFUSAL_NS = MILLISECOND // 2


def send_request(
    sim: Simulation,
    network: Network,
    origin: tuple[str, str],
    to: tuple[str, int],
    kind: str,
    path: str,
    source: str = "",
) -> Answer:
    """Resolve, route, connect and ask.

    Args:
        origin: node and namespace of the process that asks.
        to: host and port.
        source: address of the pod that asks, whom policies may keep out; the node itself if it is empty.

    Among several backends one is chosen by the instant and the address alone: asking twice
    at one instant gives one answer.
    """
    node, namespace = origin
    host, port = to
    address = network.lookup(host, namespace, node)
    if address is None:
        return Answer("no such host")
    route = network.route(node, address, port, source)
    if route.outcome != "ok":
        return Answer(route.outcome, delay_ns=REFUSAL_NS if route.outcome == "refused" else 0)
    key = sim.streams.key("request", node, namespace, host, port, path)
    backend = route.backends[int(uniform_at(key, sim.now) * len(route.backends))]
    outcome = network.connect(backend, source)
    if outcome != "ok":
        return Answer(outcome, delay_ns=REFUSAL_NS if outcome == "refused" else 0)
    there = network.sandboxes[backend[0]].node
    trip = SAME_NODE_NS if there == node else OTHER_NODE_NS
    container = container_at(network, backend)
    if container is None:
        return Answer("ok", 200, delay_ns=trip + MILLISECOND)
    answer = answered(container.program, Call(kind, backend[1], path))
    return answer._replace(delay_ns=answer.delay_ns + trip)
