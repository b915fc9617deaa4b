"""A kubelet's configuration, as far as it shows in its Node (KubeletConfiguration v1beta1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simcluster.engine import Shared

#: What kubeadm gives the node of the control plane.
CONTROL_PLANE_LABELS: Mapping[str, str] = {
    "node-role.kubernetes.io/control-plane": "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
}


@dataclass(frozen=True)
class SoftThreshold(Shared):
    """A threshold that must be crossed for a while before pods are evicted."""

    signal: str
    value: str
    grace_ns: int


@dataclass(frozen=True)
class KubeletConfig(Shared):
    """What differs between kubelets that register nodes of the same size.

    Attributes:
        port: of the kubelet's server (default 10250).
        eviction_memory_kib: hard eviction threshold `memory.available` in KiB (default 100Mi).
        eviction_disk_percent: hard eviction threshold `nodefs.available` (default 10%).
        eviction_pids: hard eviction threshold `pid.available`, a number or a percentage (default: none).
        pod_pids_limit: most tasks of a pod (podPidsLimit; default -1: no limit).
        eviction_soft: soft eviction thresholds (default: none).
        eviction_max_pod_grace_s: longest grace period of a pod that a soft threshold evicts, in seconds.
        enforce_allocatable: whether pods as a whole live in a limited cgroup (enforceNodeAllocatable).
        cluster_dns: name servers of pods with dnsPolicy ClusterFirst (kubeadm: 10.96.0.10).
        max_pods: most pods of the node; 0: as many as its machine takes (default 110).
        reserved_millicores, reserved_kib: systemReserved and kubeReserved together, which pods do not get.
        addresses: node addresses besides InternalIP and Hostname, as (type, address).
        control_plane_labels: labels of a node of the control plane.
    """

    port: int = 10250
    eviction_memory_kib: int = 100 << 10
    eviction_disk_percent: int = 10
    eviction_pids: str = ""
    pod_pids_limit: int = -1
    eviction_soft: tuple[SoftThreshold, ...] = ()
    eviction_max_pod_grace_s: int = 0
    enforce_allocatable: bool = True
    cluster_dns: tuple[str, ...] = ("10.96.0.10",)
    max_pods: int = 0
    reserved_millicores: int = 0
    reserved_kib: int = 0
    addresses: tuple[tuple[str, str], ...] = ()
    control_plane_labels: Mapping[str, str] = field(default_factory=lambda: dict(CONTROL_PLANE_LABELS))
