"""The service account controller and the root CA publisher.

Each namespace has a ServiceAccount `default` and a ConfigMap `kube-root-ca.crt`; both come
back when they are deleted or changed. Tokens are made on request, or by `tokens` for Secrets.
Source: kubernetes pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher.
"""

from __future__ import annotations

import base64

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, is_terminating, name_of, namespace_of, thaw
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

DEFAULT_ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
#: Bytes of a DER certificate with a 2048-bit key; its content means nothing here.
_CERTIFICATE_BYTES = 789


class _PerNamespace(Controller):
    """Base: one object of a fixed name in every namespace. Work-queue keys are namespaces."""

    resource = ""
    object_name = ""

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch("namespaces", self.enqueue_object)
        self.watch(self.resource, self._on_object)

    def _on_object(self, change: Change) -> None:
        if name_of(change.object) == self.object_name and change.kind != "ADDED":
            self.enqueue("", namespace_of(change.object))

    def sync(self, namespace: str, name: str) -> None:
        """Make one namespace's object what it must be."""
        holder = self.client.cache.get("namespaces", "", name)
        if holder is None or is_terminating(holder):
            return
        wanted = self.wanted(name)
        current = self.client.cache.get(self.resource, name, self.object_name)
        if current is None:
            try:
                self.client.create(self.resource, name, wanted)
            except ApiError as error:
                if "NamespaceTerminating" not in str(error.details):
                    raise
        elif wanted.get("data") is not None and current.get("data") != wanted["data"]:
            self.client.update(self.resource, {**thaw(current), "data": wanted["data"]})

    def wanted(self, namespace: str) -> Json:
        """The object of a namespace."""
        raise AssertionError("a base class")


class ServiceAccountController(_PerNamespace):
    """Creates `default` service accounts."""

    name = "service-account-controller"
    resource = "serviceaccounts"
    object_name = DEFAULT_ACCOUNT

    def wanted(self, namespace: str) -> Json:
        """An account without secrets."""
        return {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": DEFAULT_ACCOUNT, "namespace": namespace},
        }


class RootCaPublisher(_PerNamespace):
    """Publishes the cluster's certificate authority."""

    name = "root-ca-certificate-publisher-controller"
    resource = "configmaps"
    object_name = ROOT_CA

    def __init__(self, sim: Simulation, api: Api) -> None:
        stream = sim.stream("cluster-ca")
        content = b"".join(stream.bits().to_bytes(8, "big") for _ in range(_CERTIFICATE_BYTES // 8))
        text = base64.b64encode(b"\x30\x82\x03\x11\x30\x82\x01\xf9" + content).decode()
        lines = [text[start : start + 64] for start in range(0, len(text), 64)]
        self.certificate = "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])
        super().__init__(sim, api)

    def wanted(self, namespace: str) -> Json:
        """The ConfigMap that pods mount beside their token."""
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": ROOT_CA,
                "namespace": namespace,
                "annotations": {DESCRIPTION: ROOT_CA_DESCRIPTION},
            },
            "data": {"ca.crt": self.certificate},
        }
