"""Kubelets' most frequent writes leave the way of requests, and lead to the same bytes."""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.api.shortways import heartbeat, renewal
from simcluster.engine import SECOND, Simulation, fork

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
SPACE = "kube-node-lease"
LATER = "2026-03-02T09:10:00Z"


def conditions(text: str, ready: str = "True") -> list[Json]:
    times = {"lastHeartbeatTime": text, "lastTransitionTime": "2026-03-02T09:00:00Z"}
    return [
        {"type": "MemoryPressure", "status": "False", "reason": "Fine", "message": "fine", **times},
        {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "ready", **times},
    ]


def cluster() -> Api:
    """A node that reports and renews, after its first heartbeat."""
    api = Api(Simulation(0))
    admin, kubelet = Client(api, ADMIN, "kubectl"), Client(api, NODE, "kubelet")
    for name in ("default", SPACE):
        admin.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    status: Json = {"conditions": conditions("2026-03-02T09:00:00Z"), "images": [{"names": ["a"], "sizeBytes": 5}]}
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}
    kubelet.create("nodes", "", node)
    lease: Json = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n1", "namespace": SPACE},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2026-03-02T09:00:00.000000Z"},
    }
    kubelet.create(renewal.LEASES, SPACE, lease)
    api.sim.run_for(300 * SECOND)
    patched(api, conditions("2026-03-02T09:05:00Z"))
    api.sim.run_for(300 * SECOND)
    return api


def patched(api: Api, wanted: list[Json]) -> None:
    client = Client(api, NODE, "kubelet")
    client.patch("nodes", "", "n1", {"status": {"conditions": wanted}}, kind="merge", subresource="status")


def node_of(api: Api) -> ApiObject:
    node = api.store.get("nodes", "", "n1")
    assert node is not None
    return node


def test_a_heartbeat_is_the_patch_it_stands_for() -> None:
    long = cluster()
    short = fork(long)
    patched(long, conditions(LATER))
    assert heartbeat.beat(short, NODE, "kubelet", "n1", conditions(LATER))
    assert short.sim.digest.hex() == long.sim.digest.hex()
    assert short.served.counts == long.served.counts
    assert list(node_of(short).items()) == list(node_of(long).items())


def test_whatever_is_more_than_a_heartbeat_is_requested() -> None:
    api = cluster()
    before = api.store.version
    assert not heartbeat.beat(api, NODE, "kubelet", "n1", conditions(LATER, ready="False"))
    assert not heartbeat.beat(api, NODE, "kubelet", "n1", conditions(LATER)[:1])
    assert not heartbeat.beat(api, NODE, "another", "n1", conditions(LATER))
    stranger = User("system:node:n2", NODE.groups)
    assert not heartbeat.beat(api, stranger, "kubelet", "n1", conditions(LATER))
    assert api.store.version == before
    Client(api, NODE, "kubelet").beat("n1", conditions(LATER, ready="False"))
    assert node_of(api)["status"]["conditions"][1]["status"] == "False"


def test_a_renewal_is_the_patch_it_stands_for() -> None:
    long = cluster()
    short = fork(long)
    text = "2026-03-02T09:10:00.123456Z"
    client = Client(long, NODE, "kubelet")
    client.patch(renewal.LEASES, SPACE, "n1", {"spec": {"renewTime": text}}, kind="merge")
    assert renewal.renew(short, NODE, "kubelet", (SPACE, "n1"), text)
    assert short.sim.digest.hex() == long.sim.digest.hex()
    assert short.served.counts == long.served.counts


def test_webhooks_see_renewals_as_requests() -> None:
    api = cluster()
    hooks: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "all"},
    }
    admin = Client(api, ADMIN, "kubectl")
    admin.create("validatingwebhookconfigurations.admissionregistration.k8s.io", "", hooks)
    assert not renewal.renew(api, NODE, "kubelet", (SPACE, "n1"), "2026-03-02T09:10:00.000000Z")
    assert not heartbeat.beat(api, NODE, "kubelet", "n1", conditions(LATER))
