"""Volumes, classes of storage, attachments, and what CSI drivers say of themselves.

Sources: pkg/apis/core/validation, ValidatePersistentVolumeSpec; pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import names, quantity
from simcluster.api.validation.causes import IMMUTABLE, NOT_NEGATIVE, Causes, GoText, Obj, quoted
from simcluster.api.validation.claims import ACCESS_MODES, VOLUME_MODES
from simcluster.api.validation.metadata import validate_selector
from simcluster.api.validation.scheduling import validate_node_selector
from simcluster.api.validation.volumes import validate_source_body

_NO_SOURCE = (
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
)


def validate_volume(volume: Obj, causes: Causes) -> None:
    """core/v1 PersistentVolume."""
    validate_volume_spec(volume.get("spec") or {}, "spec", causes)


def validate_volume_spec(spec: Obj, path: str, causes: Causes, *, inline: bool = False) -> None:
    """A PersistentVolumeSpec; one that is written `inline` into an attachment may be claimed by nobody."""
    if inline:
        for key in ("claimRef", "capacity", "persistentVolumeReclaimPolicy", "storageClassName"):
            if spec.get(key):
                causes.forbidden(f"{path}.{key}", "may not be specified in the context of inline volumes")
        if "csi" not in spec:
            causes.required(f"{path}.csi", "has to be specified in the context of inline volumes")
    if not spec.get("accessModes"):
        causes.required(f"{path}.accessModes")
    for mode in spec.get("accessModes") or ():
        if mode not in ACCESS_MODES:
            causes.not_supported(f"{path}.accessModes", mode, ACCESS_MODES)
    if not inline:
        _validate_capacity(spec.get("capacity") or {}, f"{path}.capacity", causes)
    policy = spec.get("persistentVolumeReclaimPolicy")
    causes.one_of(f"{path}.persistentVolumeReclaimPolicy", policy, ("Delete", "Recycle", "Retain"), required=False)
    sources = [key for key, value in spec.items() if key not in _NO_SOURCE and value is not None]
    if not sources:
        causes.required(path, "must specify a volume type")
    for source in sources[1:]:
        causes.forbidden(f"{path}.{source}", "may not specify more than 1 volume type")
    for source in sources[:1]:
        validate_source_body(source, spec[source], f"{path}.{source}", causes)
        if source == "csi" and not spec["csi"].get("volumeHandle"):
            causes.required(f"{path}.csi.volumeHandle")
    affinity = (spec.get("nodeAffinity") or {}).get("required")
    if affinity is not None:
        validate_node_selector(affinity, f"{path}.nodeAffinity.required", causes)
    elif "local" in sources:
        causes.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    causes.one_of(f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES, required=False)


def _validate_capacity(capacity: Obj, path: str, causes: Causes) -> None:
    if not capacity:
        causes.required(path)
    if list(capacity) != ["storage"]:
        causes.not_supported(path, GoText(_go_capacity(capacity)), ("storage",))
    elif quantity.parse(capacity["storage"]).nano <= 0:
        causes.invalid(f"{path}[storage]", capacity["storage"], "must be greater than zero")


def _go_capacity(capacity: Obj) -> str:
    inner = ", ".join(f"{quoted(name)}:{capacity[name]}" for name in sorted(capacity))
    return f"core.ResourceList{{{inner}}}"


def validate_volume_update(volume: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 PersistentVolume after a write: its source stays."""
    validate_volume(volume, causes)
    spec, before = volume["spec"], old["spec"]
    if {k: v for k, v in spec.items() if k not in _NO_SOURCE} != {
        k: v for k, v in before.items() if k not in _NO_SOURCE
    }:
        causes.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation\n")
    if spec.get("volumeMode") != before.get("volumeMode"):
        causes.invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE)


def validate_storage_class(storage_class: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 StorageClass."""
    provisioner = storage_class.get("provisioner", "")
    if not provisioner:
        causes.required("provisioner")
    else:
        causes.checked("provisioner", provisioner, names.qualified_name(provisioner.lower()))
    causes.one_of("reclaimPolicy", storage_class.get("reclaimPolicy"), ("Delete", "Retain"), required=False)
    mode = storage_class.get("volumeBindingMode")
    causes.one_of("volumeBindingMode", mode, ("Immediate", "WaitForFirstConsumer"))
    _validate_topologies(storage_class.get("allowedTopologies") or (), causes)


def _validate_topologies(terms: Sequence[Obj], causes: Causes) -> None:
    # The server compares each term with as many empty ones as there are terms: an empty term is a duplicate.
    known: list[dict[str, list[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        path, found = f"allowedTopologies[{index}].matchLabelExpressions", {}
        for position, wanted in enumerate(term.get("matchLabelExpressions") or ()):
            where, key, values = f"{path}[{position}]", wanted.get("key", ""), wanted.get("values") or ()
            if not values:
                causes.required(f"{where}.values")
            for number, value in enumerate(values):
                if value in values[:number]:
                    causes.duplicate(f"{where}.values[{number}]", value)
            causes.checked(f"{where}.key", key, names.qualified_name(key))
            if key in found:
                causes.duplicate(f"{where}.key", key)
            found[key] = sorted(dict.fromkeys(values))
        for other in known:
            if found == other:
                causes.duplicate(path, "")
        known.append(found)


def validate_storage_class_update(storage_class: Obj, old: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 StorageClass after a write."""
    for key in ("parameters", "provisioner", "reclaimPolicy"):
        if storage_class.get(key) != old.get(key):
            if key == "reclaimPolicy":
                causes.invalid(key, storage_class.get(key), IMMUTABLE)
            else:
                causes.forbidden(key, f"updates to {key} are forbidden.")
    if storage_class.get("volumeBindingMode") != old.get("volumeBindingMode"):
        causes.invalid("volumeBindingMode", storage_class.get("volumeBindingMode"), IMMUTABLE)


def _validate_driver_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
    if len(name) > _LONGEST_DRIVER:
        causes.too_long(path, _LONGEST_DRIVER)
    causes.checked(path, name, names.dns_subdomain(name.lower()))


#: Longest name of a CSI driver, and longest name that one gives a node (csiNodeIDLongerMaxLength).
_LONGEST_DRIVER, _LONGEST_NODE_ID = 63, 256


def validate_attachment(attachment: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 VolumeAttachment."""
    spec = attachment.get("spec") or {}
    source, attacher, node = spec.get("source") or {}, spec.get("attacher", ""), spec.get("nodeName", "")
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if not attacher:
        causes.required("spec.attacher")
    one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if volume is None and inline is None:
        causes.required("spec.source", one)
    elif volume is not None and inline is not None:
        causes.forbidden("spec.source", one)
    elif volume == "":
        causes.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    elif inline is not None:
        validate_volume_spec(inline, "spec.source.inlineVolumeSpec", causes, inline=True)
    causes.checked("spec.nodeName", node, names.dns_subdomain(node))
    _validate_driver_name(attacher, "spec.attacher", causes)
    if volume is not None:
        causes.checked("spec.source.persistentVolumeName", volume, names.dns_subdomain(volume))


def validate_attachment_update(attachment: Obj, old: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 VolumeAttachment after a write: what is to be attached stays."""
    validate_attachment(attachment, causes)
    if attachment.get("spec") != old.get("spec"):
        causes.invalid("spec", None, IMMUTABLE)


def validate_driver(driver: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 CSIDriver."""
    spec = driver.get("spec") or {}
    for key, path in _DRIVER_SWITCHES.items():
        if spec.get(key) is None:
            causes.required(f"spec.{path}")
    policy = spec.get("fsGroupPolicy")
    causes.one_of("spec.fsGroupPolicy", policy, ("File", "None", "ReadWriteOnceWithFSType"), required=False)
    seen: dict[str, None] = {}
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        audience, life_s = request.get("audience", ""), request.get("expirationSeconds")
        if audience in seen:
            causes.duplicate(f"spec.tokenRequests[{index}].audience", audience)
        elif life_s is not None and not 600 <= life_s <= 1 << 32:
            bound = "less than 10 minutes" if life_s < 600 else "larger than 2^32 seconds"
            where = f"spec.tokenRequests[{index}].expirationSeconds"
            causes.invalid(where, life_s, f"may not specify a duration {bound}")
        seen[audience] = None
    for mode in spec.get("volumeLifecycleModes") or ():
        causes.one_of("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))


#: What is required by the time it is validated, and what the server calls it.
_DRIVER_SWITCHES = {
    "attachRequired": "attachedRequired",
    "podInfoOnMount": "podInfoOnMount",
    "storageCapacity": "storageCapacity",
    "seLinuxMount": "seLinuxMount",
}


def validate_csi_node(node: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 CSINode."""
    seen: dict[str, None] = {}
    for index, driver in enumerate((node.get("spec") or {}).get("drivers") or ()):
        path, name, identity = f"spec.drivers[{index}]", driver.get("name", ""), driver.get("nodeID", "")
        _validate_driver_name(name, f"{path}.name", causes)
        if not identity:
            causes.required(f"{path}.nodeID")
        elif len(identity) > _LONGEST_NODE_ID:
            causes.invalid(f"{path}.nodeID", identity, f"must be {_LONGEST_NODE_ID} characters or less")
        causes.not_negative(f"{path}.allocatable.count", (driver.get("allocatable") or {}).get("count"))
        if name in seen:
            causes.duplicate(f"{path}.name", name)
        seen[name] = None
        keys = driver.get("topologyKeys") or ()
        for position, key in enumerate(keys):
            if not key:
                causes.required(path)
            if key in keys[:position]:
                causes.duplicate(path, key)
            causes.checked(path, key, names.qualified_name(key))


def validate_storage_capacity(capacity: Obj, causes: Causes) -> None:
    """storage.k8s.io/v1 CSIStorageCapacity."""
    validate_selector(capacity.get("nodeTopology"), "nodeTopology", causes)
    name, amount = capacity.get("storageClassName", ""), capacity.get("capacity")
    causes.checked("storageClassName", name, names.dns_subdomain(name))
    if amount is not None and quantity.parse(amount).nano < 0:
        causes.invalid("capacity", amount, NOT_NEGATIVE)
