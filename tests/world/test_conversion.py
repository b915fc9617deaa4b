"""Custom resources of two versions, converted by a webhook in the cluster."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import Json, thaw
from simcluster.engine import SECOND
from simcluster.models.machine.certificate import authority, issued
from simcluster.world import World

AUTHORITY = authority("crd-ca", "2025")
IMAGE = "ghcr.io/platform-tools/policy-webhook:v1.0.0"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
V1, V2 = "boxes.v1.acme.com", "boxes.v2.acme.com"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def schema(field: str) -> Json:
    spec = {"type": "object", "properties": {field: {"type": "integer"}}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def definition() -> Json:
    service = {"service": {"name": "conv", "namespace": "sys", "path": "/convert"}}
    webhook = {
        "clientConfig": {**service, "caBundle": encoded(AUTHORITY.pem())},
        "conversionReviewVersions": ["v1"],
    }
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema("size")},
        {"name": "v2", "served": True, "storage": False, "schema": schema("replicas")},
    ]
    names = {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    spec = {"group": "acme.com", "names": names, "scope": "Namespaced", "versions": versions, "conversion": conversion}
    return {"metadata": {"name": "boxes.acme.com"}, "spec": spec}


def serve(client: Client) -> None:
    labels = {"app": "conv"}
    env = [{"name": "CONVERT", "value": "v1:spec.size=v2:spec.replicas"}]
    container: dict[str, Any] = {"name": "c", "image": IMAGE, "ports": [{"containerPort": 8443}], "env": env}
    container["volumeMounts"] = [{"name": "tls", "mountPath": "/certs"}]
    spec = {"containers": [container], "volumes": [{"name": "tls", "secret": {"secretName": "tls"}}]}
    certificate = issued(AUTHORITY, ("conv.sys.svc",))
    data = {"tls.crt": encoded(certificate.pem()), "tls.key": encoded("key")}
    client.create("secrets", "sys", {"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "data": data})
    body = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    client.create("deployments.apps", "sys", {"metadata": {"name": "conv"}, "spec": body})
    service = {"selector": labels, "ports": [{"port": 443, "targetPort": 8443}]}
    client.create("services", "sys", {"metadata": {"name": "conv"}, "spec": service})


_CLEAN = World(9, workers=1)
_ADMIN = _CLEAN.client("kubernetes-admin", "kubectl")
_ADMIN.create("namespaces", "", {"metadata": {"name": "sys"}})
_CLEAN.run_for(2 * SECOND)
serve(_ADMIN)
_ADMIN.create(DEFINITIONS, "", definition())
_CLEAN.run_for(20 * SECOND)


@pytest.fixture
def world() -> World:
    return _CLEAN.fork()


def kubectl(world: World, command: str, stdin: str = "") -> str:
    result = world.kubectl().run(command, stdin=stdin) if stdin else world.kubectl().run(command)
    return result.stdout + result.stderr


def box(version: str, field: str, value: int, name: str = "one") -> str:
    return f"apiVersion: acme.com/{version}\nkind: Box\nmetadata: {{name: {name}}}\nspec: {{{field}: {value}}}\n"


def test_both_versions_are_read_and_written(world: World) -> None:
    assert kubectl(world, "apply -f -", box("v2", "replicas", 3)) == "box.acme.com/one created\n"
    stored = world.api.store.get("boxes.acme.com", "default", "one")
    assert stored is not None
    assert (stored["apiVersion"], stored["spec"]) == ("acme.com/v1", {"size": 3})
    assert kubectl(world, f"get {V1} one -o jsonpath={{.spec}}") == '{"size":3}'
    assert kubectl(world, f"get {V2} one -o jsonpath={{.spec}}") == '{"replicas":3}'
    assert kubectl(world, f"get {V2} -o jsonpath={{.items[*].spec.replicas}}") == "3"
    patch = '{"spec":{"replicas":5}}'
    assert kubectl(world, f"patch {V2} one --type=merge -p '{patch}'") == "box.acme.com/one patched\n"
    assert kubectl(world, f"get {V1} one -o jsonpath={{.spec.size}}") == "5"
    assert kubectl(world, "apply -f -", box("v2", "replicas", 6)) == "box.acme.com/one configured\n"
    assert kubectl(world, f"get {V1} one -o jsonpath={{.metadata.generation}}") == "3"
    assert kubectl(world, f"delete {V2} one") == 'box.acme.com "one" deleted\n'


def test_what_happens_when_nobody_converts(world: World) -> None:
    kubectl(world, "apply -f -", box("v1", "size", 3))
    kubectl(world, "delete service conv -n sys")
    assert kubectl(world, f"get {V1} one -o jsonpath={{.spec.size}}") == "3"
    post = 'Post "https://conv.sys.svc:443/convert?timeout=30s": service "conv" not found\n'
    why = f"conversion webhook for acme.com/v1, Kind=Box failed: {post}"
    assert kubectl(world, f"get {V2} one") == f"Error from server: {why}"
    assert kubectl(world, f"get {V2}") == f"Error from server: {why}"
    said = kubectl(world, "create -f -", box("v2", "replicas", 3, "two"))
    assert f"conversion webhook for acme.com/v2, Kind=Box failed: {post}" in said


def test_a_new_storage_version(world: World) -> None:
    client = world.client("kubernetes-admin", "kubectl")
    kubectl(world, "apply -f -", box("v1", "size", 3))
    found = world.api.store.get(DEFINITIONS, "", "boxes.acme.com")
    assert found is not None
    changed = thaw(found)
    assert changed["status"]["storedVersions"] == ["v1"]
    for version in changed["spec"]["versions"]:
        version["storage"] = version["name"] == "v2"
    client.update(DEFINITIONS, changed)
    world.run_for(SECOND)
    now = world.api.store.get(DEFINITIONS, "", "boxes.acme.com")
    assert now is not None
    assert now["status"]["storedVersions"] == ["v1", "v2"]
    assert kubectl(world, f"get {V1} one -o jsonpath={{.spec.size}}") == "3"
    # Written without a change, as storage version migration does it.
    client.update("boxes.acme.com", json.loads(kubectl(world, f"get {V2} one -o json")))
    stored = world.api.store.get("boxes.acme.com", "default", "one")
    assert stored is not None
    assert (stored["apiVersion"], stored["spec"]) == ("acme.com/v2", {"replicas": 3})


def test_webhooks_see_the_version_of_their_rule(world: World) -> None:
    hook = {
        "name": "boxes.acme.com",
        "clientConfig": {
            "service": {"name": "conv", "namespace": "sys", "path": "/m"},
            "caBundle": encoded(AUTHORITY.pem()),
        },
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{"apiGroups": ["acme.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["boxes"]}],
    }
    client = world.client("kubernetes-admin", "kubectl")
    kind = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    kubectl(world, "set env deploy/conv -n sys ADD_LABELS=seen=yes")
    world.run_for(30 * SECOND)
    for policy, seen in (("Exact", ""), ("Equivalent", "yes")):
        body = {"metadata": {"name": policy.lower()}, "webhooks": [{**hook, "matchPolicy": policy}]}
        client.create(kind, "", body)
        world.run_for(SECOND)
        kubectl(world, "apply -f -", box("v2", "replicas", 2, policy.lower()))
        assert kubectl(world, f"get {V2} {policy.lower()} -o jsonpath={{.metadata.labels.seen}}") == seen
        assert kubectl(world, f"get {V2} {policy.lower()} -o jsonpath={{.spec.replicas}}") == "2"


def test_definitions_whose_conversion_is_refused(world: World) -> None:
    wrong = definition()
    wrong["metadata"]["name"] = "crates.acme.com"
    wrong["spec"]["names"] = {"plural": "crates", "kind": "Crate"}
    wrong["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v3"]}}
    said = kubectl(
        world,
        "create -f -",
        json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **wrong}),
    )
    assert "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook" in said
    assert "must include at least one of v1, v1beta1" in said
