"""Renewals of Leases take a short way, to the same object as the long one."""

from __future__ import annotations

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.api.shortways import renewal
from simcluster.engine import SECOND, Simulation

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
SPACE = "kube-node-lease"


def cluster() -> tuple[Api, Client]:
    api = Api(Simulation(0))
    admin = Client(api, ADMIN, "kubectl")
    for name in ("default", SPACE):
        admin.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    kubelet = Client(api, NODE, "kubelet")
    spec = {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2026-03-02T09:00:00.000000Z"}
    lease: Json = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n1", "namespace": SPACE},
        "spec": spec,
    }
    kubelet.create(renewal.LEASES, SPACE, lease)
    return api, kubelet


def renewed_by(api: Api, client: Client, text: str = "2026-03-02T09:00:10.123456Z") -> ApiObject:
    api.sim.run_for(10 * SECOND)
    return client.patch(renewal.LEASES, SPACE, "n1", {"spec": {"renewTime": text}}, kind="merge")


def test_both_ways_lead_to_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    short, kubelet = cluster()
    first = renewed_by(short, kubelet)
    monkeypatch.setattr(renewal, "renewed", lambda *_: None)
    long, other = cluster()
    second = renewed_by(long, other)
    assert first == second
    assert short.sim.digest.hex() == long.sim.digest.hex()


def test_other_writers_and_malformed_times_take_the_long_way() -> None:
    api, kubelet = cluster()
    with pytest.raises(ApiError):
        renewed_by(api, kubelet, "yesterday")
    lease = renewed_by(api, Client(api, ADMIN, "kubectl"))
    managers = [entry["manager"] for entry in lease["metadata"]["managedFields"]]
    assert managers == ["kubectl", "kubelet"] or managers == ["kubelet", "kubectl"]


def test_admission_is_asked() -> None:
    api, _ = cluster()
    stranger = Client(api, User("system:node:n2", ("system:nodes", "system:authenticated")), "kubelet")
    with pytest.raises(ApiError) as refused:
        renewed_by(api, stranger)
    assert refused.value.code == 403
