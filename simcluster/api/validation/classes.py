"""Rules of IngressClasses and CertificateSigningRequests.

Sources: pkg/apis/networking/validation, pkg/apis/certificates/validation.
"""

from __future__ import annotations

import base64
import binascii

from simcluster.api import names
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj

_LONGEST_CONTROLLER = 250
_PREFIXED = 'must be a domain-prefixed path (such as "acme.io/foo")'
_PEM = b"-----BEGIN CERTIFICATE REQUEST-----"
_SIGNER = 'must be a fully qualified domain and path of the form "example.com/signer-name"'


def validate_ingress_class(entry: Obj, causes: Causes) -> None:
    """networking.k8s.io/v1 IngressClass."""
    spec = entry.get("spec") or {}
    controller = spec.get("controller", "")
    if not controller:
        causes.required("spec.controller")
    elif len(controller) > _LONGEST_CONTROLLER:
        causes.too_long("spec.controller", _LONGEST_CONTROLLER)
    elif not _is_prefixed(controller):
        causes.invalid("spec.controller", controller, _PREFIXED)
    parameters = spec.get("parameters")
    if parameters is not None:
        for key in ("kind", "name"):
            if not parameters.get(key):
                causes.required(f"spec.parameters.{key}")


def validate_ingress_class_update(entry: Obj, old: Obj, causes: Causes) -> None:
    """The controller stays."""
    before = (old.get("spec") or {}).get("controller", "")
    if (entry.get("spec") or {}).get("controller", "") != before:
        causes.invalid("spec.controller", (entry.get("spec") or {}).get("controller", ""), IMMUTABLE)
    validate_ingress_class(entry, causes)


def _is_prefixed(text: str) -> bool:
    domain, found, path = text.partition("/")
    return bool(found and path) and not names.dns_subdomain(domain)


def validate_signing_request(entry: Obj, causes: Causes) -> None:
    """certificates.k8s.io/v1 CertificateSigningRequest."""
    spec = entry.get("spec") or {}
    try:
        request = base64.b64decode(spec.get("request") or "")
    except binascii.Error:
        request = b""
    if not request.lstrip().startswith(_PEM):
        shown = GoText("[]byte{" + ", ".join(f"0x{byte:x}" for byte in request) + "}")
        causes.invalid("spec.request", shown, "PEM block type must be CERTIFICATE REQUEST")
    if not spec.get("usages"):
        causes.required("spec.usages")
    signer = spec.get("signerName", "")
    if not signer:
        causes.required("spec.signerName")
    elif "." not in signer.partition("/")[0] or not _is_prefixed(signer):
        causes.invalid("spec.signerName", signer, _SIGNER)
    life_s = spec.get("expirationSeconds")
    if life_s is not None and life_s < 600:
        causes.invalid(
            "spec.expirationSeconds", life_s, "may not specify a duration less than 600 seconds (10 minutes)"
        )
