"""Admission webhooks in a whole cluster: Services, certificates, programs, and what clients see."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.certificate import Certificate, authority, issued
from simcluster.world import World
from simcluster.world.webhooks import ServiceWebhooks

AUTHORITY = authority("policy-ca", "2025")
NAMES = ("hook.sys.svc", "hook.sys.svc.cluster.local")
IMAGE = "ghcr.io/platform-tools/policy-webhook:v1.0.0"

_CLEAN = World(5, workers=1)
for _name in ("sys", "shop"):
    _CLEAN.client("kubernetes-admin", "kubectl").create("namespaces", "", {"metadata": {"name": _name}})
_CLEAN.run_for(5 * SECOND)


@pytest.fixture
def world() -> World:
    return _CLEAN.fork()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def configure(world: World, bundle: str = AUTHORITY.pem(), policy: str = "Fail", timeout_s: int = 5) -> None:
    webhook = {
        "name": "limits.example.com",
        "clientConfig": {
            "service": {"name": "hook", "namespace": "sys", "path": "/mutate"},
            "caBundle": encoded(bundle),
        },
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": policy,
        "timeoutSeconds": timeout_s,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    body = {"metadata": {"name": "limits"}, "webhooks": [webhook]}
    resource = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    world.client("kubernetes-admin", "kubectl").create(resource, "", body)
    world.run_for(SECOND)


def serve(world: World, certificate: Certificate | None = None, *, image: str = IMAGE, **env: str) -> None:
    """A Deployment and a Service for it, with a certificate from a Secret unless it is None."""
    client = world.client("kubernetes-admin", "kubectl")
    container: dict[str, Any] = {
        "name": "c",
        "image": image,
        "ports": [{"containerPort": 8443}],
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    spec: dict[str, Any] = {"containers": [container]}
    if certificate is not None:
        data = {"tls.crt": encoded(certificate.pem()), "tls.key": encoded("key")}
        client.create("secrets", "sys", {"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "data": data})
        container["volumeMounts"] = [{"name": "tls", "mountPath": "/certs"}]
        spec["volumes"] = [{"name": "tls", "secret": {"secretName": "tls"}}]
    labels = {"app": "hook"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {"metadata": {"name": "hook"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    client.create("deployments.apps", "sys", deployment)
    service = {"selector": labels, "ports": [{"port": 443, "targetPort": 8443}]}
    client.create("services", "sys", {"metadata": {"name": "hook"}, "spec": service})
    world.run_for(20 * SECOND)


def run(world: World, name: str = "web") -> str:
    """What `kubectl run` prints."""
    result = world.kubectl().run(f"run {name} --image=nginx -n shop")
    return result.stdout + result.stderr


def why(text: str) -> str:
    head = 'Post "https://hook.sys.svc:443/mutate?timeout=5s": '
    assert head in text, text
    return text.partition(head)[2].strip()


def test_a_webhook_changes_pods(world: World) -> None:
    serve(world, issued(AUTHORITY, NAMES), SET_MEMORY_LIMIT="64Mi", ADD_LABELS="team=core", TARGET="run=web")
    configure(world)
    assert run(world) == "pod/web created\n"
    pod = world.api.store.get("pods", "shop", "web")
    assert pod is not None
    assert pod["metadata"]["labels"] == {"run": "web", "team": "core"}
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}}
    run(world, "other")
    other = world.api.store.get("pods", "shop", "other")
    assert other is not None
    assert other["metadata"]["labels"] == {"run": "other"}
    log = world.kubectl().run("logs deploy/hook -n sys").stdout
    assert "INFO CREATE pods shop/web: allowed patched\n" in log


def test_refusals_and_warnings(world: World) -> None:
    serve(world, issued(AUTHORITY, NAMES), REQUIRE_LABELS="owner", WARN="labels are checked")
    configure(world)
    assert run(world) == (
        "Warning: labels are checked\n"
        'Error from server: admission webhook "limits.example.com" denied the request: missing required labels: owner\n'
    )


def test_no_service_no_endpoints_nobody_listening(world: World) -> None:
    configure(world)
    assert why(run(world)) == 'service "hook" not found'
    serve(world, issued(AUTHORITY, NAMES))
    assert run(world) == "pod/web created\n"
    world.kubectl().run("scale deploy hook -n sys --replicas=0")
    world.run_for(20 * SECOND)
    address = world.api.store.get("services", "sys", "hook")
    assert address is not None
    assert why(run(world, "a")) == f"dial tcp {address['spec']['clusterIP']}:443: connect: connection refused"
    backend = world.api.registry.admission.cluster.backend
    assert isinstance(backend, ServiceWebhooks)
    backend.aggregator_routing = True
    assert why(run(world, "a")) == 'no endpoints available for service "hook"'


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (
            issued(authority("other-ca", "1"), NAMES),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (
            issued(authority("policy-ca", "2026"), NAMES),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of "
            '"crypto/rsa: verification error" while trying to verify candidate authority certificate "policy-ca")',
        ),
        (
            issued(AUTHORITY, ("old.sys.svc",)),
            "tls: failed to verify certificate: x509: certificate is valid for old.sys.svc, not hook.sys.svc",
        ),
        (
            issued(AUTHORITY, NAMES, not_after_ns=SECOND),
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ",
        ),
    ],
)
def test_wrong_certificates(world: World, certificate: Certificate, said: str) -> None:
    serve(world, certificate)
    configure(world)
    assert why(run(world)).startswith(said)


def test_slow_answers_take_the_clients_time(world: World) -> None:
    serve(world, issued(AUTHORITY, NAMES), DELAY="3s")
    configure(world)
    before = world.now
    assert run(world) == "pod/web created\n"
    assert 3 * SECOND <= world.now - before < 4 * SECOND
    world.kubectl().run("set env deploy/hook -n sys DELAY=7s")
    world.run_for(40 * SECOND)
    before = world.now
    assert why(run(world, "a")) == "context deadline exceeded"
    assert 5 * SECOND <= world.now - before < 6 * SECOND


def test_controllers_say_what_stops_them(world: World) -> None:
    configure(world)
    world.kubectl().run("create deployment web --image=nginx -n shop")
    world.run_for(3 * SECOND)
    events = [e["message"] for e in world.api.store.objects("events", "shop") if e["reason"] == "FailedCreate"]
    assert events[0].startswith(
        'Error creating: Internal error occurred: failed calling webhook "limits.example.com": '
    )
    assert why(events[0]) == 'service "hook" not found'


def test_servers_nobody_described(world: World) -> None:
    serve(world, image="acme/guard:1")
    configure(world, bundle=authority("any", "1").pem())
    assert run(world) == "pod/web created\n"
    world.kubectl().run("set image deploy/hook -n sys c=nginx:1.27")
    ports = '{"spec": {"ports": [{"port": 443, "targetPort": 80}]}}'  # where it listens, whatever the pod declares
    world.kubectl().run(f"patch service hook -n sys --type merge -p '{ports}'")
    world.run_for(40 * SECOND)
    assert why(run(world, "a")) == "http: server gave HTTP response to HTTPS client"


def test_policies_bind_the_calls_of_the_api_server(world: World) -> None:
    serve(world, issued(AUTHORITY, NAMES))
    configure(world)
    assert run(world) == "pod/web created\n"
    client = world.client("kubernetes-admin", "kubectl")
    deny: dict[str, Any] = {"metadata": {"name": "deny"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    client.create("networkpolicies.networking.k8s.io", "sys", deny)
    world.run_for(20 * SECOND)
    assert why(run(world, "late")) == "context deadline exceeded"
    block = {"ipBlock": {"cidr": f"{world.machines['control-plane'].address}/32"}}
    client.create(
        "networkpolicies.networking.k8s.io",
        "sys",
        {"metadata": {"name": "let"}, "spec": {"podSelector": {}, "ingress": [{"from": [block]}]}},
    )
    world.run_for(20 * SECOND)
    assert run(world, "again") == "pod/again created\n"
