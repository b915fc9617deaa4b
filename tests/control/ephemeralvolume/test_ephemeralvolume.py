"""Claims of generic ephemeral volumes."""

from simcluster.api.client import Client
from simcluster.api.request import ADMIN
from simcluster.api.server import Api
from simcluster.control.ephemeralvolume import EphemeralVolumeController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import pod_object

TEMPLATE = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def cluster():
    sim = Simulation(0)
    api = Api(sim)
    EphemeralVolumeController(sim, api)
    return sim, api, Client(api, ADMIN, "test")


def test_a_pod_gets_its_claim():
    sim, api, user = cluster()
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}
    pod = user.create("pods", "default", pod_object("app", volumes=[volume]))
    sim.run_for(2 * SECOND)
    claim = api.store.get("persistentvolumeclaims", "default", "app-scratch")
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"


def test_a_claim_of_somebody_else_is_not_taken():
    sim, api, user = cluster()
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "app-scratch"}, **TEMPLATE}
    user.create("persistentvolumeclaims", "default", body)
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}
    user.create("pods", "default", pod_object("app", volumes=[volume]))
    sim.run_for(2 * SECOND)
    assert [e["reason"] for e in api.store.objects("events")] == ["ConflictingPVC"]
