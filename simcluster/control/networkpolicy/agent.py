"""The policy agent of the network plugin: from NetworkPolicies to what each pod may reach.

One agent for all nodes: whenever a policy, a pod's labels or address, or a namespace's labels
change, it computes the isolation of every selected pod anew, a moment later. As long as there
is no policy it does nothing. Source: networking.k8s.io/v1 and the Network Policies page of the
Kubernetes documentation. Left out: host-network pods (which policies do not bind), the
services' own addresses in ipBlocks (packets are judged after the translation to a pod).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of
from simcluster.api.selectors import matches, of_label_selector
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import MILLISECOND, Simulation
from simcluster.models.machine.isolation import Isolation, Peers, block_of
from simcluster.models.machine.network import Network

POLICIES = "networkpolicies.networking.k8s.io"
#: From the change to the programmed rules on the nodes (agents batch their updates).
PROGRAM_NS = 200 * MILLISECOND


class _Changes(Informer):
    """A watch that costs nothing while there are no policies."""

    def __init__(self, agent: NetworkPolicyAgent, resource: str) -> None:
        super().__init__(agent.sim, "network-policy", resource, agent.changed)
        self.agent = agent

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        moved = change.kind != "MODIFIED" or _facts(change.object) != _facts(change.previous)
        if self.resource == POLICIES or (moved and self.agent.active):
            super().notify(change)


class NetworkPolicyAgent:
    """Keeps `network.isolation`."""

    def __init__(self, sim: Simulation, api: Api, network: Network) -> None:
        self.sim = sim
        self.store = api.store
        self.network = network
        self._scheduled = False
        for resource in (POLICIES, "pods", "namespaces"):
            api.store.subscribe(resource, _Changes(self, resource))
        if self.active:
            self.sim.after(PROGRAM_NS, self._program)

    @property
    def active(self) -> bool:
        """Whether there is or was a policy whose traces must be kept right."""
        return self.store.count(POLICIES) > 0 or bool(self.network.isolation)

    def changed(self, change: Change) -> None:
        """Something changed: compute soon."""
        if not self._scheduled:
            self._scheduled = True
            self.sim.after(PROGRAM_NS, self._program)

    def _program(self) -> None:
        self._scheduled = False
        wanted = isolations(self.store.objects(POLICIES), self.store.objects("pods"), self.store.objects("namespaces"))
        for address in [known for known in self.network.isolation if known not in wanted]:
            self.network.set_isolation(address, None)
        for address, isolation in wanted.items():
            if self.network.isolation.get(address) != isolation:
                self.network.set_isolation(address, isolation)


def isolations(
    policies: Sequence[ApiObject], pods: Sequence[ApiObject], namespaces: Sequence[ApiObject]
) -> dict[str, Isolation]:
    """What the policies mean for each address of a pod that they select."""
    world = _Pods(pods, namespaces)
    ingress: dict[str, tuple[Peers, ...]] = {}
    egress: dict[str, tuple[Peers, ...]] = {}
    for policy in policies:
        spec = policy["spec"]
        kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
        for pod in world.selected(namespace_of(policy), spec.get("podSelector")):
            address = pod["status"]["podIP"]
            if "Ingress" in kinds:
                rules = tuple(world.rule(policy, rule, "from", pod) for rule in spec.get("ingress") or ())
                ingress[address] = (*ingress.get(address, ()), *rules)
            if "Egress" in kinds:
                rules = tuple(world.rule(policy, rule, "to", None) for rule in spec.get("egress") or ())
                egress[address] = (*egress.get(address, ()), *rules)
    return {address: Isolation(ingress.get(address), egress.get(address)) for address in {**ingress, **egress}}


class _Pods:
    """The pods that policies can select, by namespace."""

    def __init__(self, pods: Sequence[ApiObject], namespaces: Sequence[ApiObject]) -> None:
        self.labels = {name_of(namespace): labels_of(namespace) for namespace in namespaces}
        self.pods: dict[str, list[ApiObject]] = {}
        for pod in pods:
            if _facts(pod)[1] and not pod["spec"].get("hostNetwork"):
                self.pods.setdefault(namespace_of(pod), []).append(pod)

    def selected(self, namespace: str, selector: Mapping[str, Any] | None) -> list[ApiObject]:
        """Pods of a namespace that a selector picks; an empty one picks all."""
        wanted = of_label_selector(selector or {})
        return [pod for pod in self.pods.get(namespace, ()) if matches(wanted, labels_of(pod))]

    def rule(self, policy: ApiObject, rule: Json, side: str, target: ApiObject | None) -> Peers:
        """One rule; `target` is the pod whose ports the names of ingress ports mean."""
        peers = rule.get(side)
        addresses: dict[str, None] = {}
        blocks = []
        pods: list[ApiObject] = []
        for peer in peers or ():
            block = peer.get("ipBlock")
            if block is not None:
                blocks.append((block_of(block["cidr"]), tuple(block_of(cidr) for cidr in block.get("except") or ())))
                continue
            for namespace in self._namespaces(policy, peer):
                pods += self.selected(namespace, peer.get("podSelector"))
        for pod in pods:
            addresses[pod["status"]["podIP"]] = None
        everybody = not peers
        named = [target] if target is not None else pods
        return Peers(everybody, frozenset(addresses), tuple(blocks), _ports(rule.get("ports"), named))

    def _namespaces(self, policy: ApiObject, peer: Json) -> list[str]:
        selector = peer.get("namespaceSelector")
        if selector is None:
            return [namespace_of(policy)]
        wanted = of_label_selector(selector)
        return [name for name, labels in self.labels.items() if matches(wanted, labels)]


def _ports(ports: Sequence[Json] | None, pods: Sequence[ApiObject]) -> tuple[tuple[int, int, str], ...] | None:
    """Ranges of ports of a protocol; an entry without a port means all of them."""
    if not ports:
        return None
    found: dict[tuple[int, int, str], None] = {}
    for entry in ports:
        port, protocol = entry.get("port"), entry.get("protocol", "TCP")
        if port is None:
            found[0, 65535, protocol] = None
            continue
        if isinstance(port, int):
            found[port, int(entry.get("endPort") or port), protocol] = None
            continue
        for pod in pods:
            for container in pod["spec"]["containers"]:
                for known in container.get("ports") or ():
                    if known.get("name") == port and known.get("protocol", "TCP") == protocol:
                        found[known["containerPort"], known["containerPort"], protocol] = None
    return tuple(found)


def _facts(obj: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """What matters of a pod or namespace: its labels, and a pod's address while it may run."""
    if obj is None:
        return None, None
    status = obj.get("status") or {}
    over = status.get("phase") in ("Succeeded", "Failed")
    return labels_of(obj), "" if over else status.get("podIP", "")
