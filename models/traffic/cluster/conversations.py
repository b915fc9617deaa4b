"""The traffic as conversations between addresses: a plan, walked with the rates of its users.

What is asked for is worked out when somebody looks, from the plan as it is; looking changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcluster.models.machine.links.conversation import OK, REFUSED, TIMEOUT, Conversation
from simcluster.models.machine.network import OUTSIDE, Network
from simcluster.models.traffic.cluster import causes
from simcluster.models.traffic.cluster.nodes import Edge, Target
from simcluster.models.traffic.cluster.plan import ANSWER_BYTES, REQUEST_BYTES, Plan
from simcluster.models.traffic.cluster.users import UserLoad

#: Fewer requests a second than one in a day are nobody's.
LEAST_PER_S = 1e-5


class _Walk:
    """One walk over a plan."""

    def __init__(self, plan: Plan, network: Network) -> None:
        self.plan, self.network = plan, network
        self.calls = [0.0] * len(plan.nodes)
        self.found: dict[tuple[str, tuple[str, int], tuple[str, int], str], Conversation] = {}

    def edge(self, edge: Edge, attempts: float, caller: int) -> None:
        """So many attempts a second on an edge; `caller`: index of the server, below zero for users."""
        source = self.plan.servers[caller].container.sandbox.address if caller >= 0 else OUTSIDE
        node = self.plan.servers[caller].node if caller >= 0 else next(iter(self.network.entries()), "")
        for target in edge.targets:
            per_s = attempts * target.weight
            if target.node >= 0:
                self.calls[target.node] += per_s
            place = self._place(edge, target, node, source)
            if per_s < LEAST_PER_S or place is None:
                continue
            kind = {causes.REFUSED: REFUSED, causes.TIMEOUT: TIMEOUT}.get(target.kind, OK)
            asked = (edge.address or place[0], edge.port)
            key = (source, asked, place, kind)
            before = self.found.get(key)
            self.found[key] = Conversation(
                source,
                asked,
                place,
                per_s + (before.per_s if before is not None else 0.0),
                edge.call.opening if kind == OK else 1.0,
                kind,
                REQUEST_BYTES,
                ANSWER_BYTES,
                int(edge.latency.mean),
            )

    def _place(self, edge: Edge, target: Target, node: str, source: str) -> tuple[str, int] | None:
        """Where the calls of a target end: a pod, or a backend that is no longer there."""
        route = self.network.route(node, edge.address, edge.port, source) if edge.address else None
        backends = () if route is None else route.backends
        if target.node >= 0:
            container = self.plan.servers[self.plan.nodes[target.node].server].container
            address, ports = container.sandbox.address, container.spec.ports
            known = next((backend for backend in backends if backend[0] == address), None)
            return known or (address, edge.port if edge.port in ports or not ports else ports[0])
        if not target.kind or not edge.address:
            return None
        dead = next((one for one in backends if self.network.connect(one, source) != OK), None)
        return dead or (edge.address, edge.port)


def conversations(plan: Plan, users: Sequence[UserLoad], network: Network) -> list[Conversation]:
    """Everybody who calls somebody in a plan, with requests a second."""
    walk = _Walk(plan, network)
    for load, edges in zip(users, plan.roots, strict=False):
        took = 0.0
        for edge in edges if load.concurrency is not None else ():
            lost = math.fsum(failure.probability * failure.after_ns for failure in edge.causes)
            took += edge.call.count * (edge.ok * edge.latency.mean + lost)
        per_s = load.rate(took)
        for edge in edges if per_s > 0.0 else ():
            walk.edge(edge, per_s * edge.call.count * edge.reached, -1)
    for index in plan.order:
        requests = walk.calls[index]
        if requests > 0.0:
            node = plan.nodes[index]
            for step in node.steps:
                for edge in step:
                    walk.edge(edge, requests * edge.call.count * edge.reached, node.server)
    return list(walk.found.values())
