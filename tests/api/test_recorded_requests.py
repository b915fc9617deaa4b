"""Requests recorded against a real kube-apiserver 1.32, replayed against ours.

The store is filled with the recorded lists; then each recorded request is sent and the
answer compared as JSON, after versions, times and generated values are folded.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simcluster.api.authorization import bootstrap as access
from simcluster.api.request import Request, Response, User, request_of
from simcluster.api.server import Api
from simcluster.api.wire import encode
from simcluster.engine import SECOND, Simulation
from simcluster.testing.shared import shared_folder

SHARED = shared_folder()
FOLDER = SHARED / "golden" / "kubernetes-http" / "raw-1.32" if SHARED is not None else Path("absent")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings of a real API server are not at hand")

_FOLDED = {
    "resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "time", "managedFields", "continue",
    "serverAddressByClientCIDRs",
}  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def fold(value: Any) -> Any:
    """A JSON value without what differs between two runs of the same server."""
    if isinstance(value, dict):
        return {
            k: "*" if k in _FOLDED and k != "managedFields" else fold(v)
            for k, v in value.items()
            if k != "managedFields"
        }
    if isinstance(value, list):
        return [fold(item) for item in value]
    return _UUID.sub("*", value) if isinstance(value, str) else value


def recorded(number: int) -> tuple[Request, int, str, str]:
    """Request, code, head and body of one recording."""
    (path,) = FOLDER.glob(f"{number:03d}_*.req")
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    line, *headers = head.splitlines()
    method, target = line.split(" ", 1)
    named = {k.lower(): v for k, v in (h.split(": ", 1) for h in headers)}
    answer_head = path.with_suffix(".head").read_text(encoding="utf-8")
    answer = path.with_suffix(".body").read_text(encoding="utf-8")
    request = request_of(  # the bearer token was left out of the recording
        method,
        target,
        token="unknown" if number == 156 else "",
        body=body.strip().encode() or None,
        accept=named.get("accept", "application/json"),
        content_type=named.get("content-type", "application/json"),
    )
    return request, int(answer_head.split()[1]), answer_head, answer


@pytest.fixture(scope="module", name="api")
def served() -> Api:
    return recorded_cluster()


def recorded_cluster() -> Api:
    """A server with the recorded objects, its requests answered in the recorded order."""
    api = Api(Simulation(1))
    access.enforce(api)
    for path in sorted(FOLDER.glob("*_list_*.body")):
        listed = json.loads(path.read_text(encoding="utf-8"))
        group, _, version = listed["apiVersion"].rpartition("/")
        resource = api.resources.by_kind.get((group, version, listed["kind"].removesuffix("List")))
        if resource is None or resource.storage_name or group == "metrics.k8s.io":
            continue
        for item in listed["items"]:
            api.store.put(resource.name, {"apiVersion": listed["apiVersion"], "kind": resource.kind, **item})
    # Before the requests were sent, the recorder raised minAvailable to the number of pods.
    budget = api.store.get("poddisruptionbudgets.policy", "hotel", "frontend-pdb")
    assert budget is not None
    status = {**budget["status"], "disruptionsAllowed": 0, "desiredHealthy": 3}
    api.store.put("poddisruptionbudgets.policy", {**budget, "metadata": {**budget["metadata"]}, "status": status})
    return api


def answer(api: Api, number: int) -> tuple[Response, int, str, str]:
    request, code, head, body = recorded(number)
    return api.handle(request), code, head, body


WHOLE = [
    104, 105, 106, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 133, 134, 135,
    136, 137, 138, 139, 140, 141, 142, 144, 145, 147, 154, 155, 156,
]  # fmt: skip


@pytest.mark.parametrize("number", WHOLE)
def test_answers_as_recorded(api: Api, number: int) -> None:
    response, code, head, body = answer(api, number)
    assert response.code == code
    if response.body is None:
        assert response.text == body
        return
    got, wanted = fold(response.body), fold(json.loads(body))
    if number in (144,):
        wanted["details"].pop("uid", None), got["details"].pop("uid", None)
    assert got == wanted
    for warning in response.warnings:
        assert warning in head.replace('\\"', '"')


def test_rules_of_an_administrator(api: Api) -> None:
    response, code, _, body = answer(api, 150)
    wanted = json.loads(body)["status"]
    assert response.code == code
    for key in ("resourceRules", "nonResourceRules"):  # a real server finds bindings in no certain order
        assert sorted(map(str, response.body["status"][key])) == sorted(map(str, wanted[key]))


@pytest.mark.parametrize(
    ("number", "user"),
    [(157, User("system:anonymous", ("system:unauthenticated",))), (158, User("viewer", ("system:authenticated",)))],
)
def test_who_may_not(api: Api, number: int, user: User) -> None:
    request, code, _, body = recorded(number)
    response = api.handle(replace(request, user=user))
    assert (response.code, response.body) == (code, json.loads(body))


def test_wrong_type_in_a_merge_patch() -> None:
    response, code, _, body = answer(recorded_cluster(), 132)
    assert response.code == code
    wanted = json.loads(body)
    got = response.body
    assert got["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert got["message"].rsplit(": ", 1)[1] == wanted["message"].rsplit(": ", 1)[1]
    assert list(got["details"]) == list(wanted["details"])


@pytest.mark.parametrize("number", [110, 109])
def test_first_page(api: Api, number: int) -> None:
    response, code, _, body = answer(api, number)
    wanted = json.loads(body)
    assert response.code == code
    assert [i["metadata"]["name"] for i in response.body["items"]] == [i["metadata"]["name"] for i in wanted["items"]]
    assert response.body["metadata"]["remainingItemCount"] == wanted["metadata"]["remainingItemCount"]
    assert fold(response.body["metadata"]) == fold(wanted["metadata"])


def test_deleting_a_pod_answers_with_the_pod(api: Api) -> None:
    response, code, _, body = answer(api, 146)
    assert (response.code, response.body["kind"]) == (code, "Pod")
    wanted = json.loads(body)
    assert response.body["metadata"]["deletionGracePeriodSeconds"] == wanted["metadata"]["deletionGracePeriodSeconds"]


@pytest.mark.parametrize("number", [7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
def test_discovery(number: int) -> None:
    response, _, _, body = answer(Api(Simulation(1)), number)
    wanted = json.loads(body)
    served = {entry["name"]: entry for entry in response.body["resources"]}
    not_served = {"pods/proxy", "nodes/proxy", "services/proxy"}
    names = [entry["name"] for entry in wanted["resources"] if entry["name"] not in not_served]
    assert list(served) == names
    for entry in wanted["resources"]:
        if entry["name"] in served:
            assert served[entry["name"]] == entry
    assert {k: v for k, v in wanted.items() if k != "resources"} == {
        k: v for k, v in response.body.items() if k != "resources"
    }


def test_version_and_groups() -> None:
    api = Api(Simulation(1))
    assert api.handle(request_of("GET", "/version")).body == json.loads(recorded(1)[3])
    wanted = [g for g in json.loads(recorded(6)[3])["groups"] if g["name"] != "metrics.k8s.io"]
    assert api.handle(request_of("GET", "/apis")).body["groups"] == wanted


#: Events are compared by the Tables of both groups: their items differ in what each group leaves out.
@pytest.mark.parametrize("number", [*range(39, 94, 2), 97])
def test_lists_on_the_wire(number: int) -> None:
    api = recorded_cluster()
    request, code, _, body = recorded(number)
    answer = encode(request, api.handle(request))
    wanted = fold(json.loads(body))
    if number == 85:  # raised afterwards by the recorder
        wanted["items"][0]["status"].update(disruptionsAllowed=0, desiredHealthy=3)
    got = fold(json.loads(answer.body))
    assert (answer.code, got["items"], got["kind"]) == (code, wanted["items"], wanted["kind"])


@pytest.mark.parametrize("number", [112, 113, 114])
def test_watches(number: int) -> None:
    api = recorded_cluster()
    request, _, _, body = recorded(number)
    stream = api.handle(request).stream
    assert stream is not None
    events = stream.poll()
    api.sim.run_for(2 * SECOND)
    events += stream.poll()
    wanted = [json.loads(line) for line in body.splitlines()]
    assert [event["type"] for event in events] == [event["type"] for event in wanted]
    for got, real in zip(events, wanted, strict=True):
        if number == 113:
            assert got["object"]["columnDefinitions"] == real["object"]["columnDefinitions"]
        else:
            assert fold(got["object"]) == fold(real["object"])


@pytest.mark.parametrize("number", [*WHOLE, 23, 24, 38])
def test_heads(number: int) -> None:
    request, _, head, _ = recorded(number)
    answer = encode(request, recorded_cluster().handle(request))
    wanted = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    got = dict(answer.headers)
    for name in ("Cache-Control", "Content-Type", "Retry-After"):
        assert got.get(name) == wanted.get(name), name
