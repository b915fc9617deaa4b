"""CertificateSigningRequests: who signs them, who refuses, and when they go."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import thaw
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.certificates import RequestCleaner, RequestSigner
from simcluster.control.certificates.request import Subject, subject_of
from simcluster.control.certificates.signing import REQUESTS, refusal
from simcluster.engine import MINUTE, SECOND, Simulation, format_rfc3339

#: openssl req -new -newkey ec: /CN=jane/O=dev
PEM = """-----BEGIN CERTIFICATE REQUEST-----
MIHYMH8CAQAwHTENMAsGA1UEAwwEamFuZTEMMAoGA1UECgwDZGV2MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEUcfkrpF2QNA8U5cY6Mw0MaZMbewQz/Xnaje+xVoP
K3ZTlmX2jiSROoGexbfvhIKU+VtrerRZ3zoxcdOkktYf7KAAMAoGCCqGSM49BAMC
A0kAMEYCIQCu7u7dbcNlh6MgoXfajA//7+BBFQeEldBggGPLBEa/qwIhAJ+caxBd
UgIK7Yw62ckrQU6eO+K97tja76wToB4lMMBf
-----END CERTIFICATE REQUEST-----
"""
CLIENT, KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.parts = [RequestSigner(self.sim, self.api), RequestCleaner(self.sim, self.api)]

    def ask(self, name: str, signer: str, *, usages: Sequence[str] = ("client auth",)) -> None:
        spec = {"request": encoded(PEM), "signerName": signer, "usages": list(usages)}
        self.user.create(REQUESTS, "", {"metadata": {"name": name}, "spec": spec})

    def decide(self, name: str, kind: str) -> None:
        now = format_rfc3339(self.sim.now)
        entry = {"type": kind, "status": "True", "reason": "Test", "lastUpdateTime": now}
        request = thaw(self.find(name))
        request["status"] = {"conditions": [entry]}
        self.user._call("PUT", REQUESTS, "", name, "approval", body=request)
        self.sim.run_for(SECOND)

    def find(self, name: str) -> Any:
        return self.api.store.get(REQUESTS, "", name)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_an_approved_request_gets_a_certificate(cluster: Cluster) -> None:
    cluster.ask("jane", CLIENT)
    cluster.sim.run_for(SECOND)
    assert "certificate" not in (cluster.find("jane").get("status") or {})
    cluster.decide("jane", "Approved")
    text = base64.b64decode(cluster.find("jane")["status"]["certificate"]).decode()
    assert text.startswith("-----BEGIN CERTIFICATE-----\n")


def test_nobody_signs_for_others(cluster: Cluster) -> None:
    cluster.ask("jane", "example.com/own")
    cluster.decide("jane", "Approved")
    assert "certificate" not in cluster.find("jane")["status"]


def test_a_request_that_the_signer_cannot_accept_fails(cluster: Cluster) -> None:
    cluster.ask("jane", CLIENT, usages=("server auth",))
    cluster.decide("jane", "Approved")
    failed = cluster.find("jane")["status"]["conditions"][-1]
    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
    assert failed["message"] == "invalid usage for client certificate: server auth"


def test_decided_ones_go_after_an_hour_and_others_after_a_day(cluster: Cluster) -> None:
    cluster.ask("denied", CLIENT)
    cluster.ask("waiting", CLIENT)
    cluster.decide("denied", "Denied")
    cluster.sim.run_for(125 * MINUTE)
    assert cluster.find("denied") is None
    assert cluster.find("waiting") is not None
    cluster.sim.run_for(24 * 60 * MINUTE)
    assert cluster.find("waiting") is None


def test_subjects() -> None:
    assert subject_of(encoded(PEM)) == Subject("jane", ("dev",))
    for text in ("", "words", PEM.replace("REQUEST", "THING")):
        with pytest.raises(ValueError, match="PEM block type must be CERTIFICATE REQUEST"):
            subject_of(encoded(text))


def test_what_kubelets_may_ask_for() -> None:
    node, usages = Subject("system:node:n", ("system:nodes",)), ("digital signature", "client auth")
    assert refusal(KUBELET, node, usages) == ""
    assert refusal(KUBELET, Subject("n", ("system:nodes",)), usages).startswith("subject common name does not begin")
    assert refusal(KUBELET, Subject("system:node:n"), usages) == "subject organization is not system:nodes"
    expected = "usages did not match [client auth digital signature key encipherment]"
    assert refusal(KUBELET, node, ("client auth",)) == expected
