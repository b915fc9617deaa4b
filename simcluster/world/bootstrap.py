"""What `kubeadm init` leaves behind: namespaces, static pods, cluster DNS, metrics-server."""

from __future__ import annotations

from typing import Any

from simcluster.api.authorization import bootstrap as access
from simcluster.api.client import Client
from simcluster.api.objects import Json, name_of, uid_of

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

#: Static pods of the control-plane node: name -> image, port, CPU request in millicores.
#: Source: kubeadm 1.32 defaults (etcd 100m, apiserver 250m, controller-manager 200m, scheduler 100m).
STATIC_PODS: dict[str, tuple[str, int, str]] = {
    "etcd": ("registry.k8s.io/etcd:3.5.16-0", 2379, "100m"),
    "kube-apiserver": ("registry.k8s.io/kube-apiserver:v1.32.13", 6443, "250m"),
    "kube-controller-manager": ("registry.k8s.io/kube-controller-manager:v1.32.13", 10257, "200m"),
    "kube-scheduler": ("registry.k8s.io/kube-scheduler:v1.32.13", 10259, "100m"),
}

#: Images that a node made by kubeadm has before the first pod runs there.
PRELOADED = (
    *(image for image, _, _ in STATIC_PODS.values()),
    "registry.k8s.io/kube-proxy:v1.32.13",
    "registry.k8s.io/coredns/coredns:v1.11.3",
    "registry.k8s.io/pause:3.10",
)


def namespace(name: str) -> Json:
    """The manifest of a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def create_namespaces(client: Client) -> None:
    """The four namespaces and the Service `kubernetes` that exist from the first second."""
    for name in NAMESPACES:
        client.create("namespaces", "", namespace(name))
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    }
    client.create("services", "default", service)


def enforce_access(client: Client) -> None:
    """The roles of a new cluster; from here on the API server asks them (Node,RBAC)."""
    access.enforce(client.api)


def create_api_endpoints(client: Client, address: str) -> None:
    """The endpoints of the Service `kubernetes`, which the API server keeps itself."""
    port: Json = {"name": "https", "port": 6443, "protocol": "TCP"}
    client.create(
        "endpoints",
        "default",
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{"addresses": [{"ip": address}], "ports": [port]}],
        },
    )
    client.create(
        "endpointslices.discovery.k8s.io",
        "default",
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [port],
        },
    )


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


def create_static_pods(client: Client, node: Any) -> None:
    """The mirror pods of the control plane, bound to their node from the start."""
    for component, (image, port, cpu) in STATIC_PODS.items():
        labels = {"component": component, "tier": "control-plane"}
        client.create(
            "pods", "kube-system", _node_pod(f"{component}-{name_of(node)}", component, image, port, cpu, labels, node)
        )


def create_proxy_pod(client: Client, node: Any, suffix: str) -> None:
    """The kube-proxy pod of one node."""
    image = "registry.k8s.io/kube-proxy:v1.32.13"
    labels = {"k8s-app": "kube-proxy", "controller-revision-hash": "6f9d9d5c8f", "pod-template-generation": "1"}
    client.create(
        "pods", "kube-system", _node_pod(f"kube-proxy-{suffix}", "kube-proxy", image, 10256, "0", labels, node)
    )


def _node_pod(name: str, component: str, image: str, port: int, cpu: str, labels: dict[str, str], node: Any) -> Json:
    """A host-network pod that lives and dies with its node."""
    container: Json = {
        "name": component,
        "image": image,
        "command": [component],
        "ports": [{"containerPort": port, "hostPort": port, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": cpu}} if cpu != "0" else {},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "labels": labels,
            "annotations": {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": uid_of(node)},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": name_of(node), "uid": uid_of(node), "controller": True}
            ],
        },
        "spec": {
            "nodeName": name_of(node),
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        },
    }
