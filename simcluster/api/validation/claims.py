"""Claims of storage.

Source: pkg/apis/core/validation, ValidatePersistentVolumeClaimSpec. Left out: `dataSource`, of which the server
drops what it does not know.
"""

from __future__ import annotations

from simcluster.api import names, quantity
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.metadata import validate_selector

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def validate_claim(claim: Obj, causes: Causes) -> None:
    """core/v1 PersistentVolumeClaim."""
    validate_claim_spec(claim.get("spec") or {}, "spec", causes)


def validate_claim_spec(spec: Obj, path: str, causes: Causes) -> None:
    """What a claim asks for, also in the template of a pod's own volume."""
    modes = spec.get("accessModes") or ()
    if not modes:
        causes.required(f"{path}.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in ACCESS_MODES:
            causes.not_supported(f"{path}.accessModes", mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        causes.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    validate_selector(spec.get("selector"), f"{path}.selector", causes)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        causes.required(f"{path}.resources[storage]")
    elif quantity.parse(storage).nano <= 0:
        causes.invalid(f"{path}.resources[storage]", storage, "must be greater than zero")
    if spec.get("storageClassName"):
        name = spec["storageClassName"]
        causes.checked(f"{path}.storageClassName", name, names.dns_subdomain(name))
    source = spec.get("dataSourceRef")
    if source is not None:
        _validate_data_source(source, f"{path}.dataSourceRef", causes)
    causes.one_of(f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES, required=False)


def _validate_data_source(source: Obj, path: str, causes: Causes) -> None:
    for key in ("name", "kind"):
        if not source.get(key):
            causes.required(f"{path}.{key}")
    group, kind = source.get("apiGroup", ""), source.get("kind", "")
    if group:
        causes.checked(f"{path}.apiGroup", group, names.dns_subdomain(group))
    elif kind != "PersistentVolumeClaim":
        causes.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")


def validate_claim_update(claim: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 PersistentVolumeClaim after a write: once bound only its request may grow."""
    validate_claim(claim, causes)
    spec, before = claim["spec"], old["spec"]
    bound = bool(before.get("volumeName")) and (old.get("status") or {}).get("phase") == "Bound"
    # The volume's name may be filled in once; the request of a bound claim may change.
    free = ("volumeAttributesClassName",) + (("volumeName",) if not before.get("volumeName") else ())
    request, was = _storage(spec), _storage(before)
    if bound and request is not None and was is not None:
        if request < was:
            held = ((old.get("status") or {}).get("capacity") or {}).get("storage")
            if held is not None and request <= quantity.parse(held):
                causes.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
        free += ("resources",)
    if {k: v for k, v in spec.items() if k not in free} != {k: v for k, v in before.items() if k not in free}:
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        causes.forbidden("spec", detail + "\n")


def _storage(spec: Obj) -> quantity.Quantity | None:
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return None if text is None else quantity.parse(text)
