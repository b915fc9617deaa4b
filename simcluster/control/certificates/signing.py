"""The signers of kube-controller-manager: approved requests for the cluster's own signers get a certificate.

A request that its signer cannot accept gets the condition Failed. Nobody signs for other signers.
The certificates are only texts of the right form: nothing here verifies them.
Source: kubernetes pkg/controller/certificates/signer and pkg/apis/certificates/helpers.go of 1.32. Left out:
alternative names, the durations of certificates, the controller that approves kubelets' requests.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from simcluster.api.objects import ApiObject, Json, name_of, thaw
from simcluster.api.server import Api
from simcluster.control.certificates.request import Subject, subject_of
from simcluster.control.controller import Controller
from simcluster.engine import Simulation, format_rfc3339

REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_CLIENT, _KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
_SERVING, _UNKNOWN = "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown"
SIGNERS = (_CLIENT, _KUBELET, _SERVING, _UNKNOWN)
_OPTIONAL = ("digital signature", "key encipherment")
_NODES, _NODE = "system:nodes", "system:node:"
#: Bytes of a DER certificate with a 2048-bit key.
_CERTIFICATE_BYTES = 864


class RequestSigner(Controller):
    """Work-queue keys are names of CertificateSigningRequests."""

    name = "certificatesigningrequest-signing-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(REQUESTS, self.enqueue_object)

    def sync(self, namespace: str, name: str) -> None:
        """Sign one request, or say why not."""
        request = self.client.cache.get(REQUESTS, "", name)
        if request is None or request["spec"]["signerName"] not in SIGNERS:
            return
        status = thaw(request.get("status") or {})
        kinds = conditions_of(request)
        if "Approved" not in kinds or "Denied" in kinds or "Failed" in kinds or status.get("certificate"):
            return
        try:
            subject = subject_of(request["spec"]["request"])
        except ValueError:
            return  # the queue would try it again and again, to no effect
        why = refusal(request["spec"]["signerName"], subject, request["spec"].get("usages") or ())
        if why:
            now = format_rfc3339(self.sim.now)
            entry = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why}
            status.setdefault("conditions", []).append({**entry, "lastUpdateTime": now, "lastTransitionTime": now})
        else:
            status["certificate"] = self._certificate(name_of(request))
        self.client.update_status(REQUESTS, {**thaw(request), "status": status})

    def _certificate(self, name: str) -> str:
        stream = self.sim.stream("certificate", name)
        content = b"".join(stream.bits().to_bytes(8, "big") for _ in range(_CERTIFICATE_BYTES // 8))
        text = base64.b64encode(b"\x30\x82\x03\x5c\x30\x82\x02\x44" + content).decode()
        lines = [text[start : start + 64] for start in range(0, len(text), 64)]
        pem = "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])
        return base64.b64encode(pem.encode()).decode()


def conditions_of(request: ApiObject) -> dict[str, Json]:
    """The true conditions of a request by type."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    return {entry.get("type"): entry for entry in conditions if entry.get("status", "True") == "True"}


def refusal(signer: str, subject: Subject, usages: Sequence[str]) -> str:
    """Why a signer does not accept a request; "" if it does."""
    if signer == _UNKNOWN:
        return ""
    if signer == _CLIENT:
        return _client_refusal(usages)
    if subject.organizations != (_NODES,):
        return f"subject organization is not {_NODES}"
    needed = "server auth" if signer == _SERVING else "client auth"
    all_usages = sorted((*_OPTIONAL, needed))
    named = "" if subject.common_name.startswith(_NODE) else f"subject common name does not begin with {_NODE}"
    fits = sorted(usages) in (all_usages, sorted((_OPTIONAL[0], needed)))
    used = "" if fits else f"usages did not match [{' '.join(all_usages)}]"
    return used or named if signer == _SERVING else named or used


def _client_refusal(usages: Sequence[str]) -> str:
    needed = "client auth"
    for usage in usages:
        if usage not in (*_OPTIONAL, needed):
            return f"invalid usage for client certificate: {usage}"
    return "" if needed in usages else f"missing required usage for client certificate: {needed}"
