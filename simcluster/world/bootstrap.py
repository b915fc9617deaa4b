"""What `kubeadm init` leaves behind: namespaces, static pods, cluster DNS, metrics-server."""

from __future__ import annotations

import functools
from importlib import resources

from simcluster.api.authorization import bootstrap as access
from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.models.machine.machine import Machine
from simcluster.world.hostsetup import control_plane_files, host_files

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

#: Manifests of the control plane's static pods, as kubeadm 1.32 writes them.
STATIC_MANIFESTS = ("etcd.yaml", "kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml")

#: `clusterDNS` of every kubelet, and cluster IP of the Service kube-dns.
CLUSTER_DNS = "10.96.0.10"

#: What kubeadm installs as workloads: cluster DNS and metrics-server, kube-proxy.
ADDONS = ("system.yaml", "kube-proxy.yaml")

#: What watches the cluster; rules first, so that Prometheus starts with them.
OBSERVE = (
    "observe-rules.yaml",
    "observe.yaml",
    "observe-stores.yaml",
    "observe-alertmanager.yaml",
    "observe-traces.yaml",
    "logging.yaml",
)

#: Images that a node made by kubeadm has before the first pod runs there.
PRELOADED = (
    "registry.k8s.io/etcd:3.5.16-0",
    "registry.k8s.io/kube-apiserver:v1.32.13",
    "registry.k8s.io/kube-controller-manager:v1.32.13",
    "registry.k8s.io/kube-scheduler:v1.32.13",
    "registry.k8s.io/kube-proxy:v1.32.13",
    "registry.k8s.io/coredns/coredns:v1.11.3",
    "registry.k8s.io/pause:3.10",
)


@functools.cache
def manifest(name: str) -> str:
    """A file of this package's manifests."""
    return resources.files("simcluster.world").joinpath("manifests", name).read_text()


def namespace(name: str) -> Json:
    """The manifest of a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def create_namespaces(client: Client) -> None:
    """The four namespaces that exist from the first second."""
    for name in NAMESPACES:
        client.create("namespaces", "", namespace(name))


def enforce_access(client: Client) -> None:
    """The roles of a new cluster; from here on the API server asks them (Node,RBAC)."""
    access.enforce(client.api)


def create_priority_classes(client: Client) -> None:
    """The two built-in priority classes."""
    for name, value, what in (
        ("system-cluster-critical", 2_000_000_000, "cluster, but they can be moved to another node if necessary"),
        ("system-node-critical", 2_000_001_000, "node, such as the daemons that every pod needs"),
    ):
        client.create(
            "priorityclasses.scheduling.k8s.io",
            "",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "description": f"Used for system critical pods that must run in the {what}.",
            },
        )


def write_node_files(machine: Machine, address: str, *, control_plane: bool) -> None:
    """What `kubeadm init` or `kubeadm join` leaves on a node's disk. `address`: host and port of the API server."""
    host_files(machine, address)
    if control_plane:
        control_plane_files(machine, address, {name: manifest(f"static/{name}") for name in STATIC_MANIFESTS})
