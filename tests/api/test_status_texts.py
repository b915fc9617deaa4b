"""Refusals word by word, where a real API server's text is known (kube-apiserver 1.32)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.api import errors
from simcluster.api.request import APPLY_PATCH, JSON, MERGE_PATCH, Response, request_of
from simcluster.api.server import Api
from tests.api.hostile import hostile_server
from tests.pins import Pins

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture(scope="module", name="api")
def served() -> Api:
    return hostile_server()


def send(api: Api, method: str, target: str, body: Any = None, content_type: str = JSON) -> Response:
    return api.handle(request_of(method, target, body=body, content_type=content_type))


def refusal(api: Api, method: str, target: str, body: Any = None, content_type: str = JSON) -> tuple[int, str]:
    response = send(api, method, target, body, content_type)
    return response.code, response.body["message"]


def test_owner_references_of_a_changed_object(api: Api) -> None:
    body = {"metadata": {"ownerReferences": [{"kind": "Pod"}]}}
    code, message = refusal(api, "PATCH", f"{CONFIG_MAPS}/x", body, MERGE_PATCH)
    where = "metadata.ownerReferences"
    assert (code, message) == (
        422,
        f'ConfigMap "x" is invalid: [{where}.apiVersion: Invalid value: "": version must not be empty, '
        f'{where}.name: Invalid value: "": name must not be empty, '
        f'{where}.uid: Invalid value: "": uid must not be empty]',
    )


def test_two_controllers(api: Api) -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in ("a", "b")]
    body = {"metadata": {"ownerReferences": owners}}
    _, message = refusal(api, "PATCH", f"{CONFIG_MAPS}/x", body, MERGE_PATCH)
    assert message.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b'
    )


def test_a_finalizer_without_domain(api: Api) -> None:
    body = {"metadata": {"finalizers": ["hold"]}}
    assert refusal(api, "PATCH", f"{CONFIG_MAPS}/x", body, MERGE_PATCH) == (
        422,
        'ConfigMap "x" is invalid: metadata.finalizers[0]: Invalid value: "hold": '
        "name is neither a standard finalizer name nor is it fully qualified",
    )


def test_a_write_without_name(api: Api) -> None:
    body = {"metadata": {"labels": {"a": "b"}}}
    expected = "the name of the object (x based on URL) was undeterminable: name must be provided"
    assert refusal(api, "PUT", f"{CONFIG_MAPS}/x", body) == (400, expected)
    assert refusal(api, "PATCH", f"{CONFIG_MAPS}/x", {"metadata": {"name": None}}, MERGE_PATCH) == (400, expected)


def test_too_much_data(api: Api) -> None:
    body = {"metadata": {"name": "big"}, "data": {"a": "x" * (1 << 20) + "y"}}
    assert refusal(api, "POST", CONFIG_MAPS, body) == (
        422,
        'ConfigMap "big" is invalid: []: Too long: may not be more than 1048576 bytes',
    )


def test_preconditions_of_a_deletion(api: Api) -> None:
    uid = send(api, "GET", f"{DEPLOYMENTS}/x").body["metadata"]["uid"]
    assert refusal(api, "DELETE", f"{DEPLOYMENTS}/x", {"preconditions": {"uid": "other"}}) == (
        409,
        'Operation cannot be fulfilled on Deployment.apps "x": the UID in the precondition (other) does not match '
        f"the UID in record ({uid}). The object might have been deleted and then recreated",
    )


def test_apply_of_another_version(api: Api) -> None:
    body = {"apiVersion": "apps/v2", "kind": "Deployment", "metadata": {"name": "x"}}
    assert refusal(api, "PATCH", f"{DEPLOYMENTS}/x?fieldManager=f", body, APPLY_PATCH) == (
        400,
        "Incorrect version specified in apply patch. Specified patch version: apps/v2, expected: apps/v1",
    )


def test_the_range_of_a_node(api: Api) -> None:
    first, second = ({"spec": {"podCIDR": f"10.0.{n}.0/24", "podCIDRs": [f"10.0.{n}.0/24"]}} for n in (1, 2))
    assert send(api, "PATCH", "/api/v1/nodes/x", first, MERGE_PATCH).ok
    for body in (second, {"spec": {"podCIDR": "10.0.3.0/24"}}):
        assert refusal(api, "PATCH", "/api/v1/nodes/x", body, MERGE_PATCH) == (
            422,
            'Node "x" is invalid: spec.podCIDRs: Forbidden: '
            'node updates may not change podCIDR except from "" to valid',
        )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("resourceVersion=x", 'strconv.ParseUint: parsing "x": invalid syntax'),
        (f"resourceVersion={'9' * 24}", "value out of range"),
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        (f"limit={'9' * 24}", "value out of range"),
    ],
)
def test_numbers_in_the_query(api: Api, query: str, text: str) -> None:
    code, message = refusal(api, "GET", f"{CONFIG_MAPS}?{query}")
    assert (code, message.endswith(text)) == (400, True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"[" * 100_000, "json parse error: exceeded max depth"),
        (b'{"metadata":NaN}', "json parse error: invalid character 'N' looking for beginning of value"),
        (b'{"spec":{"replicas":1e999}}', "json: cannot unmarshal number 1e999 into Go value of type float64"),
        (b'{"a":1}{"b":2}', "json parse error: invalid character '{' after top-level value"),
    ],
)
def test_texts_that_are_no_json(api: Api, body: bytes, text: str) -> None:
    code, message = refusal(api, "POST", DEPLOYMENTS, body)
    assert (code, text in message) == (400, True)


def test_half_a_character_becomes_a_whole_one(api: Api) -> None:
    made = send(api, "POST", f"{CONFIG_MAPS}?dryRun=All", b'{"metadata":{"name":"half"},"data":{"a":"x\\ud800"}}')
    assert made.body["data"]["a"] == "x�"


def test_the_template_of_a_job(api: Api) -> None:
    body = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}
    code, message = refusal(api, "PATCH", "/apis/batch/v1/namespaces/default/jobs/x", body, MERGE_PATCH)
    begin = 'Job.batch "x" is invalid: spec.template: Invalid value: core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{'
    assert (code, message.startswith(begin)) == (422, True)
    for part in (
        "CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>, ",
        'Containers:[]core.Container{core.Container{Name:"a", Image:"b", Command:[]string(nil), Args:[]string(nil), ',
        "Limits:core.ResourceList(nil), Requests:core.ResourceList(nil), Claims:[]core.ResourceClaim(nil)}, ",
        'RestartPolicy:"Never", TerminationGracePeriodSeconds:(*int64)(0xc00',
        'NodeSelector:map[string]string{"disk":"ssd"}, ServiceAccountName:"", ',
        "AutomountServiceAccountToken:(*bool)(nil), ",
    ):
        assert part in message
    assert message.endswith("Resources:(*core.ResourceRequirements)(nil)}}: field is immutable")
    assert refusal(api, "PATCH", "/apis/batch/v1/namespaces/default/jobs/x", body, MERGE_PATCH)[1] == message


def test_what_a_client_makes_of_plain_answers(pins: Pins) -> None:
    texts = [
        f"{code} {text!r}: {json.dumps(errors.of_plain_answer(code, text), sort_keys=True)}"
        for code in range(400, 512)
        for text in ("", " went wrong \n")
    ]
    pins.hold("plain-answers.txt", texts)
