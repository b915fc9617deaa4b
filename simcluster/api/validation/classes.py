"""Rules of IngressClasses, RuntimeClasses, APIServices and CertificateSigningRequests.

Sources: pkg/apis/{networking,node,certificates}/validation, kube-aggregator pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

import base64
import binascii

from simcluster.api import names
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj
from simcluster.api.validation.metadata import validate_labels
from simcluster.api.validation.resources import validate_requirements
from simcluster.api.validation.scheduling import validate_tolerations

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
                causes.required(f"spec.parameters.{key}", f"{key} is required")


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


def validate_runtime_class(entry: Obj, causes: Causes) -> None:
    """node.k8s.io/v1 RuntimeClass."""
    handler, scheduling = entry.get("handler", ""), entry.get("scheduling") or {}
    causes.checked("handler", handler, names.dns_label(handler))
    validate_requirements({"limits": (entry.get("overhead") or {}).get("podFixed")}, "overhead", causes)
    validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", causes)
    validate_tolerations(scheduling.get("tolerations") or (), "scheduling.tolerations", causes)


def validate_runtime_class_update(entry: Obj, old: Obj, causes: Causes) -> None:
    """The handler stays."""
    if entry.get("handler") != old.get("handler"):
        causes.invalid("handler", entry.get("handler", ""), IMMUTABLE)


def validate_api_service(entry: Obj, causes: Causes) -> None:
    """apiregistration.k8s.io/v1 APIService."""
    spec = entry.get("spec") or {}
    group, version, service = spec.get("group", ""), spec.get("version", ""), spec.get("service")
    name, wanted = entry["metadata"].get("name", ""), f"{version}.{group}"
    if name and name != wanted:
        causes.invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if group:
        causes.checked("spec.group", group, names.dns_subdomain(group))
    elif version != "v1":
        causes.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    causes.checked("spec.version", version, names.dns1035_label(version))
    for key, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1000)):
        if not 0 < spec.get(key, 0) <= most:
            causes.invalid(f"spec.{key}", spec.get(key, 0), f"must be positive and less than {most}")
    insecure, bundle = spec.get("insecureSkipTLSVerify"), base64.b64decode(spec.get("caBundle") or "")
    if service is None:
        if bundle:
            causes.invalid("spec.caBundle", f"{len(bundle)} bytes", "local APIServices may not have a caBundle")
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            causes.invalid("spec.insecureSkipTLSVerify", True, detail)
        return
    for key in ("namespace", "name"):
        if not service.get(key):
            causes.required(f"spec.service.{key}")
    problems = names.port_number(service.get("port", 0))
    if problems:
        causes.invalid("spec.service.port", service.get("port", 0), f"port is not valid: {', '.join(problems)}")
    if insecure and bundle:
        causes.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")
