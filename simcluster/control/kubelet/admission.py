"""The kubelet's own check before it runs a pod: does it fit this node after all?

Source: sysctl/allowlist.go, lifecycle/predicate.go (canAdmitPod, generalFilter) and kubelet.go (rejectPod), 1.32.
Leaves out: device plugins, topology manager, eviction under pressure, OS selectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simcluster.api.objects import ApiObject, Json, name_of
from simcluster.control.kubelet.config import KubeletConfig
from simcluster.control.kubelet.podspec import (
    Pod,
    containers_of,
    cpu_millis,
    init_containers_of,
    is_sidecar,
    memory_bytes,
    sysctls_of,
)
from simcluster.control.nodes.nodeselector import node_selector_matches
from simcluster.control.nodes.taints import NO_EXECUTE, find_untolerated, taints_of
from simcluster.models.machine.kernel.namespaces import SAFE
from simcluster.models.machine.machine import Machine

#: What kubeadm's file says.
KUBEADM = KubeletConfig()


class Rejection(NamedTuple):
    """Reason (`OutOfcpu`) and message, as they stand in the event."""

    reason: str
    message: str


def admit(
    pod: Pod,
    others: Iterable[Pod],
    machine: Machine,
    node: ApiObject | None,
    used: Sequence[tuple[int, int]] | None = None,
    wanted: tuple[int, int] | None = None,
    config: KubeletConfig = KUBEADM,
) -> Rejection | None:
    """Why the pod may not run here, or None. `used`, `wanted`: what the others and it reserve, if that is known."""
    for name in sysctls_of(pod):
        if (plain := name.replace("/", ".")) not in SAFE:
            return Rejection("SysctlForbidden", f'forbidden sysctl: "{plain}" not allowlisted')
        if pod["spec"].get("hostNetwork") and plain.startswith("net."):
            return Rejection("SysctlForbidden", f'forbidden sysctl: "{plain}" not allowed with host net enabled')
    if node is not None and not matches_node(pod, node):
        return Rejection(
            "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        )
    ports = host_ports(pod)
    running = list(others) if ports or used is None else []
    if ports and any(_clash(mine, its) for mine in ports for other in running for its in host_ports(other)):
        text = "node(s) didn't have free ports for the requested pod ports"
        return Rejection("NodePorts", f"Predicate NodePorts failed: {text}")
    if node is not None and not is_static(pod):
        tolerations = pod["spec"].get("tolerations") or ()
        if find_untolerated(taints_of(node), tolerations, (NO_EXECUTE,)) is not None:
            text = "node(s) had taints that the pod didn't tolerate"
            return Rejection("TaintToleration", f"Predicate TaintToleration failed: {text}")
    if used is None:
        used = [requests_of(other) for other in running]
    wanted = requests_of(pod) if wanted is None else wanted
    capacity = (
        machine.cpu_cores * 1000 - config.reserved_millicores,
        machine.memory_bytes - (config.reserved_kib << 10),
    )
    most = config.max_pods or machine.pods
    if len(used) + 1 > most:
        return _short("pods", 1, len(used), most)
    for index, name in enumerate(("cpu", "memory")):
        total = sum([amounts[index] for amounts in used])
        if wanted[index] and total + wanted[index] > capacity[index]:
            return _short(name, wanted[index], total, capacity[index])
    return None


def _short(name: str, wanted: int, used: int, capacity: int) -> Rejection:
    text = f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}"
    return Rejection(f"OutOf{name}", text)


def is_static(pod: Pod) -> bool:
    """Whether the pod comes from the node itself: taints do not concern it."""
    annotations = pod["metadata"].get("annotations") or {}
    return bool(annotations.get("kubernetes.io/config.source", "api") != "api")


def host_ports(pod: Pod) -> list[tuple[str, str, int]]:
    """(address, protocol, port) of every port of the node that the pod wants."""
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", int(port["hostPort"]))
        for container in containers_of(pod)
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


def _clash(mine: tuple[str, str, int], theirs: tuple[str, str, int]) -> bool:
    return mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0]))


def requests_of(pod: Pod) -> tuple[int, int]:
    """CPU (millicores) and memory (bytes) that a pod reserves: max(init, sum of the rest)."""
    sums, largest = [0, 0], [0, 0]
    for container in containers_of(pod):
        _add(sums, container)
    for container in init_containers_of(pod):
        if is_sidecar(container):
            _add(sums, container)
            continue
        amounts = list(sums)
        _add(amounts, container)
        largest = [max(a, b) for a, b in zip(largest, amounts, strict=True)]
    return max(sums[0], largest[0]), max(sums[1], largest[1])


def _add(sums: list[int], container: Json) -> None:
    sums[0] += cpu_millis(container, "requests") or 0
    sums[1] += memory_bytes(container, "requests") or 0


def matches_node(pod: Pod, node: ApiObject) -> bool:
    """Whether nodeSelector and required node affinity accept the node."""
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    for key, value in (pod["spec"].get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return node_selector_matches(required, labels, name_of(node))
