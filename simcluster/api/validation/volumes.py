"""Volumes of pods and sources of PersistentVolumes.

Source: pkg/apis/core/validation/validation.go, ValidateVolumes and validateVolumeSource.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import names, quantity
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.claims import validate_claim_spec

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)

#: Fields that each source needs.
_REQUIRED = {
    "secret": ("secretName",),
    "configMap": ("name",),
    "persistentVolumeClaim": ("claimName",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "image": ("reference",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "local": ("path",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "vsphereVolume": ("volumePath",),
}


def validate_volumes(volumes: Sequence[Obj], path: str, causes: Causes) -> dict[str, Obj]:
    """Volumes of a pod; returns the sound ones by name."""
    sound: dict[str, Obj] = {}
    for index, volume in enumerate(volumes):
        where, found = f"{path}[{index}]", Causes()
        _validate_source(volume, where, found)
        name = volume.get("name", "")
        if not name:
            found.required(f"{where}.name")
        else:
            found.checked(f"{where}.name", name, names.dns_label(name))
        if name in sound:
            found.duplicate(f"{where}.name", name)
        if not found:
            sound[name] = volume
        causes.extend(found)
    return sound


def _validate_source(volume: Obj, path: str, causes: Causes) -> None:
    sources = [key for key, value in volume.items() if key != "name" and value is not None]
    if not sources:
        causes.required(path, "must specify a volume type")
        return
    for source in sources[1:]:
        causes.forbidden(f"{path}.{source}", "may not specify more than 1 volume type")
    source = sources[0]
    validate_source_body(source, volume[source], f"{path}.{source}", causes)


def validate_source_body(source: str, body: Obj, path: str, causes: Causes) -> None:
    """What one kind of source needs."""
    for key in _REQUIRED.get(source, ()):
        if not body.get(key):
            causes.required(f"{path}.{key}")
    mode = body.get("defaultMode")
    if mode is not None and not 0 <= mode <= 0o777:
        causes.invalid(f"{path}.defaultMode", mode, "must be a number between 0 and 0777 (octal), both inclusive")
    if source in ("secret", "configMap"):
        _validate_items(body.get("items") or (), f"{path}.items", causes)
    elif source == "hostPath":
        kind = body.get("type", "")
        if kind not in _HOST_PATH_TYPES:
            causes.not_supported(f"{path}.type", kind, _HOST_PATH_TYPES)
        if ".." in body.get("path", "").split("/"):
            causes.invalid(f"{path}.path", body["path"], "must not contain '..'")
    elif source == "emptyDir":
        limit = body.get("sizeLimit")
        if limit is not None and quantity.parse(limit).nano < 0:
            causes.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    elif source == "projected":
        _validate_projected(body, path, causes)
    elif source == "downwardAPI":
        _validate_files(body.get("items") or (), f"{path}.items", causes)
    elif source == "ephemeral":
        template, where = body.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
        if template is None:
            causes.required(where)
        else:
            validate_claim_spec(template.get("spec") or {}, f"{where}.spec", causes)


def validate_local_path(target: str, path: str, causes: Causes) -> None:
    """A path below a folder."""
    if target.startswith("/"):
        causes.invalid(path, target, "must be a relative path")
    if ".." in target.split("/"):
        causes.invalid(path, target, "must not contain '..'")


def _validate_items(items: Sequence[Obj], path: str, causes: Causes) -> None:
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if not item.get("key"):
            causes.required(f"{where}.key")
        target = item.get("path", "")
        if not target:
            causes.required(f"{where}.path")
        validate_local_path(target, f"{where}.path", causes)


def _validate_files(files: Sequence[Obj], path: str, causes: Causes) -> None:
    """What the downward API writes."""
    for index, file in enumerate(files):
        where, target = f"{path}[{index}]", file.get("path", "")
        if not target:
            causes.required(f"{where}.path")
        validate_local_path(target, f"{where}.path", causes)
        field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
        if field is not None:
            if not field.get("fieldPath"):
                causes.required(f"{where}.fieldRef.fieldPath")
            if resource is not None:
                detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
                causes.invalid(where, "resource", detail)
        elif resource is None:
            causes.required(where, "one of fieldRef and resourceFieldRef is required")
        else:
            for key in ("containerName", "resource"):
                if not resource.get(key):
                    causes.required(f"{where}.resourceFieldRef.{key}")


def _validate_projected(body: Obj, path: str, causes: Causes) -> None:
    for index, source in enumerate(body.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        kinds = [key for key, value in source.items() if value is not None]
        if len(kinds) > 1:
            causes.forbidden(where, "may not specify more than 1 volume type per source")
        for kind in kinds[:1]:
            if kind in ("secret", "configMap"):
                if not source[kind].get("name"):
                    causes.required(f"{where}.{kind}.name")
                _validate_items(source[kind].get("items") or (), f"{where}.{kind}.items", causes)
            elif kind == "downwardAPI":
                _validate_files(source[kind].get("items") or (), f"{where}.{kind}.items", causes)
            if kind == "serviceAccountToken":
                token = source[kind]
                seconds = token.get("expirationSeconds", 3600)
                if seconds < 600:
                    detail = "may not specify a duration less than 10 minutes"
                    causes.invalid(f"{where}.{kind}.expirationSeconds", seconds, detail)
                if not token.get("path"):
                    causes.required(f"{where}.{kind}.path")
