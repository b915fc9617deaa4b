import json

import pytest

from simcluster.api import schema
from simcluster.api.resources import BUILT_IN
from simcluster.testing.recordings import recordings

DEPLOYMENT = BUILT_IN.by_name["deployments.apps"]
POD = BUILT_IN.by_name["pods"]
SERVICE = BUILT_IN.by_name["services"]
SECRET = BUILT_IN.by_name["secrets"]


def deployment(container=(), **spec):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", **dict(container)}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"template": template, **spec},
    }


def test_unknown_fields_are_named_with_their_path():
    body = deployment({"imagee": "x"}, replica=2)
    assert schema.unknown_fields(DEPLOYMENT, body) == [
        'unknown field "spec.template.spec.containers[0].imagee"',
        'unknown field "spec.replica"',
    ]
    assert schema.decode(DEPLOYMENT, body).object["spec"].keys() == {"template"}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (deployment(replicas="x"), "string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (deployment(replicas=1.5), "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (deployment(replicas=2**31), f"number {2**31} into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (deployment(paused="no"), "string into Go struct field DeploymentSpec.spec.paused of type bool"),
        (
            deployment({"name": 1}),
            "number into Go struct field Container.spec.template.spec.containers.name of type string",
        ),
        (
            deployment({"args": "x"}),
            "string into Go struct field Container.spec.template.spec.containers.args of type []string",
        ),
        (
            deployment({"args": [1]}),
            "number into Go struct field Container.spec.template.spec.containers.args of type string",
        ),
        (
            deployment({"env": [{"name": "A", "value": 5}]}),
            "number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
        ),
        (
            deployment({"ports": [{"containerPort": "80"}]}),
            "string into Go struct field ContainerPort.spec.template.spec.containers.ports.containerPort of type int32",
        ),
        (
            deployment({"ports": {"containerPort": 80}}),
            "object into Go struct field Container.spec.template.spec.containers.ports of type []v1.ContainerPort",
        ),
        ({"metadata": {"labels": {"a": 1}}}, "number into Go struct field ObjectMeta.metadata.labels of type string"),
        (
            {"metadata": {"labels": ["a"]}},
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        ({"spec": "x"}, "string into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        ([], "array into Go value of type v1.Deployment"),
        (
            deployment({"livenessProbe": {"tcpSocket": {"port": True}}}),
            "bool into Go struct field TCPSocketAction.spec.template.spec.containers.livenessProbe.tcpSocket.port"
            " of type int32",
        ),
    ],
)
def test_wrong_types_get_the_error_of_go(body, error):
    assert schema.check_types(DEPLOYMENT, body) == f"json: cannot unmarshal {error}"


def test_the_first_wrong_type_is_reported_but_a_bad_quantity_ends_decoding():
    both = deployment({"name": 1, "resources": {"limits": {"cpu": "abc"}}}, replicas="x")
    assert schema.check_types(DEPLOYMENT, both).startswith("quantities must match the regular expression '^([+-]?")


def test_times_and_base64_are_read():
    pod = {"metadata": {"creationTimestamp": "yesterday"}}
    assert schema.check_types(POD, pod) == (
        'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'
    )
    assert schema.check_types(SECRET, {"data": {"a": "not base64"}}) == "illegal base64 data at input byte 3"
    assert schema.check_types(SECRET, {"data": {"a": "aGk="}}) is None


def test_what_go_would_not_print_is_gone_and_amounts_are_canonical():
    body = deployment(
        {"args": [], "env": None, "tty": False, "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}},
        replicas=0,
        paused=False,
        minReadySeconds=0,
    )
    spec = schema.decode(DEPLOYMENT, body).object["spec"]
    assert spec["template"]["spec"]["containers"] == [
        {"name": "c", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}}
    ]
    assert set(spec) == {"template", "replicas"}
    assert body["spec"]["paused"] is False  # the body itself is left alone


def test_empty_structs_and_pointers_to_empty_texts_stay():
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/", "type": ""}}]
    body = {"metadata": {"name": "a"}, "spec": {"volumes": volumes, "securityContext": {}}}
    assert schema.decode(POD, body).object["spec"] == {"volumes": volumes, "securityContext": {}}


def test_times_are_normalized_to_utc():
    body = {"metadata": {"creationTimestamp": "2026-03-02T10:00:00.5+01:00"}}
    assert schema.decode(POD, body).object["metadata"]["creationTimestamp"] == "2026-03-02T09:00:00Z"


def test_objects_of_a_real_server_come_through_unchanged():
    seen = 0
    for path in sorted((recordings() / "kubernetes-http/raw-1.32").glob("*_list_*.body")):
        document = json.loads(path.read_text())
        group, _, version = document["apiVersion"].rpartition("/")
        kind = document["kind"].removesuffix("List")
        resource = BUILT_IN.by_kind.get((group, version, kind))
        if resource is None or schema.type_of(group, version, kind) is None:
            continue
        for obj in document["items"] or ():
            decoded = schema.decode(resource, obj)
            assert (decoded.unknown, decoded.error) == ([], None)
            assert decoded.object == obj
            seen += 1
    assert seen > 200


def test_a_time_that_is_null_in_a_map_stays_null() -> None:
    body = {"status": {"disruptedPods": {"a": None}}}
    resource = BUILT_IN.by_name["poddisruptionbudgets.policy"]
    once = schema.decode(resource, body)
    assert once.object == body
    assert schema.decode(resource, once.object) == once
