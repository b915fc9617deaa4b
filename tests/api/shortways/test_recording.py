"""New Events of recorders take a short way, to the same object as the long one."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.api.shortways import recording
from simcluster.engine import SECOND, Simulation

NODE = User("system:node:n1", ("system:nodes", "system:authenticated"))
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "geo-0", "namespace": "shop", "uid": "8f3d", "resourceVersion": "7"},
}


def cluster() -> Api:
    api = Api(Simulation(0))
    admin = Client(api, ADMIN, "kubectl")
    for name in ("default", "shop"):
        admin.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return api


def recorders(api: Api) -> list[EventRecorder]:
    scheduler = Client(api, User("system:kube-scheduler"), "kube-scheduler")
    return [
        EventRecorder(api.sim, Client(api, NODE, "kubelet"), "kubelet", "n1"),
        EventRecorder(api.sim, scheduler, "default-scheduler"),
    ]


def tell(api: Api) -> list[ApiObject]:
    """A few events about a pod and a node; one of them twice."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"}}
    for recorder in recorders(api):
        for message in ("one", "two", "two"):
            recorder.event(POD, "Normal", "Pulled", message, field_path="spec.containers{geo}")
            recorder.event(node, "Warning", "Rebooted", message)
            api.sim.run_for(SECOND)
    return api.store.objects("events")


def test_both_ways_lead_to_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    short = cluster()
    first = tell(short)
    monkeypatch.setattr(recording, "recorded", lambda *_: None)
    long = cluster()
    assert first == tell(long)
    assert len(first) == 8
    assert short.sim.digest.hex() == long.sim.digest.hex()


@pytest.mark.parametrize(
    "change",
    [
        {"count": 0},
        {"message": ""},
        {"type": None},
        {"eventTime": "2026-03-02T09:00:00.000000Z"},
        {"firstTimestamp": "2026-03-02T09:00:00.5Z"},
        {"source": {}},
        {"involvedObject": {"kind": "Pod", "name": "geo-0", "namespace": "shop", "uid": ""}},
        {"metadata": {"name": "geo-0.1", "namespace": "shop", "labels": {"a": "b"}}},
    ],
)
def test_what_a_recorder_does_not_write_is_read_with_care(monkeypatch: pytest.MonkeyPatch, change: Json) -> None:
    first = written({**event(), **change}, cluster())
    monkeypatch.setattr(recording, "recorded", lambda *_: None)
    assert first == written({**event(), **change}, cluster())


def event() -> Json:
    involved = {"kind": "Pod", "namespace": "shop", "name": "geo-0", "uid": "8f3d", "apiVersion": "v1"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "geo-0.1", "namespace": "shop"},
        "involvedObject": involved,
        "source": {"component": "kubelet"},
        "firstTimestamp": "2026-03-02T09:00:00Z",
        "lastTimestamp": "2026-03-02T09:00:00Z",
        "count": 1,
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": "",
        "reason": "Pulled",
        "message": "done",
        "type": "Normal",
    }


def written(body: Json, api: Api) -> Any:
    return Client(api, ADMIN, "kubelet").create("events", "shop", body)


def test_refusals_are_those_of_every_create() -> None:
    api = cluster()
    written(event(), api)
    for body, reason in (
        (event(), "AlreadyExists"),
        ({**event(), "metadata": {"name": "Geo 0", "namespace": "shop"}}, "Invalid"),
        ({**event(), "involvedObject": {**event()["involvedObject"], "namespace": "other"}}, "Invalid"),
        ({**event(), "count": "many"}, "BadRequest"),
    ):
        with pytest.raises(ApiError) as refused:
            written(body, api)
        assert refused.value.reason == reason


def test_what_was_sent_is_not_kept() -> None:
    api, body = cluster(), event()
    stored = written(body, api)
    body["involvedObject"]["name"] = "another"
    body["source"]["component"] = "another"
    assert (stored["involvedObject"]["name"], stored["source"]["component"]) == ("geo-0", "kubelet")


def test_nothing_is_recorded_in_a_namespace_that_is_not_there() -> None:
    api = cluster()
    body = {**event(), "metadata": {"name": "geo-0.1", "namespace": "gone"}}
    body["involvedObject"] = {**body["involvedObject"], "namespace": "gone"}
    with pytest.raises(ApiError) as refused:
        Client(api, ADMIN, "kubelet").create("events", "gone", body)
    assert refused.value.code == 404
