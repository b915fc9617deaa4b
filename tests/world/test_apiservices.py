"""APIServices are copied from a cluster that made them by requests, and are the same as if made by requests here."""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation
from simcluster.world import apiservices

AGGREGATOR = User("kubernetes-admin", ("system:masters", "system:authenticated"))


def served(now_ns: int) -> Client:
    sim = Simulation(7)
    sim.run_for(now_ns)
    return Client(Api(sim), AGGREGATOR, "kubeadm")


def history(client: Client) -> list[tuple[str, Json, int]]:
    return [(change.kind, dict(change.object), change.version) for change in client.api.store.history.since(0)]


def test_copies_are_what_requests_would_have_made() -> None:
    asked, copied = served(0), served(0)
    apiservices._request(asked, tuple(asked.api.resources.versions))
    for _ in range(2):  # the first may be the one that prepares them
        copied = served(0)
        apiservices.register(copied, 0)
    assert history(copied) == history(asked)
    assert copied.api.served.counts == asked.api.served.counts
    assert copied.api.sim.digest.hex() == asked.api.sim.digest.hex()


def test_copies_carry_the_time_of_their_cluster() -> None:
    client = served(90 * SECOND)
    apiservices.register(client, client.api.sim.now)
    found = client.cache.get("apiservices.apiregistration.k8s.io", "", "v1.apps")
    assert found is not None
    assert found["metadata"]["creationTimestamp"] == "2026-03-02T09:01:30Z"
    assert found["status"]["conditions"][0]["lastTransitionTime"] == "2026-03-02T09:01:30Z"
    assert {entry["time"] for entry in found["metadata"]["managedFields"]} == {"2026-03-02T09:01:30Z"}
