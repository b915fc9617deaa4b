"""Which pods a change of an object reaches only when they are made anew."""

from __future__ import annotations

from typing import Any

from simcluster.api.client import Client
from simcluster.api.objects import name_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.faults.facts import Place
from simcluster.faults.readers import readers_at_start

NS = "default"
HOOK, RANGE = Place("MutatingWebhookConfiguration", "", "limits"), Place("LimitRange", NS, "usual")


def cluster() -> Client:
    client = Client(Api(Simulation(0)), User(), "kubectl")
    client.create("namespaces", "", {"metadata": {"name": NS}})
    client.create("serviceaccounts", NS, {"metadata": {"name": "default"}})
    return client


def pod(client: Client, name: str, owner: Any, **container: Any) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    meta = {"name": name, "labels": {"app": "web"}, "ownerReferences": [reference]}
    client.create("pods", NS, {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "a:1", **container}]}})


def test_pods_that_a_webhook_gave_other_limits_are_known_by_their_template() -> None:
    client = cluster()
    spec = {"containers": [{"name": "c", "image": "a:1"}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    selector = {"matchLabels": {"app": "web"}}
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 0, "selector": selector, "template": template}}
    owner = client.create("replicasets.apps", NS, body)
    pod(client, "plain", owner)
    pod(client, "changed", owner, resources={"limits": {"memory": "16Mi"}})
    client.create("pods", NS, {"metadata": {"name": "alone"}, "spec": {"containers": [{"name": "c", "image": "a:1"}]}})
    store = client.api.store
    assert [name_of(one) for one in readers_at_start(store, HOOK)] == ["changed"]
    limits = {"metadata": {"name": "usual"}, "spec": {"limits": [{"type": "Container", "default": {"memory": "16Mi"}}]}}
    client.create("limitranges", NS, limits)
    assert [name_of(one) for one in readers_at_start(store, RANGE)] == ["plain"]  # which would now get one
    client.delete("limitranges", NS, "usual")
    assert [name_of(one) for one in readers_at_start(store, RANGE)] == ["changed"]
