"""What Kubernetes calls required is required of every kind, but for fields at which the real server does not look.

Walks the types of all kinds: an object in which nothing stands beside a required field must be refused for its sake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from simcluster.api.handlers import vetting
from simcluster.api.objects import Json
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.api.schema import decode
from simcluster.api.schema.types import Field, TypeSchema, type_of

Path = tuple[str, ...]
KINDS = [
    resource
    for resource in BUILT_IN.all
    if {"create", "get"} <= set(resource.verbs) and resource.storage == resource.name and resource.kind != "Binding"
]

#: Required by the schema alone, and why.
FREE = {
    # The zero value is a value.
    r"\.(httpHeaders|sysctls)\[0\]\.value": "may be empty",
    r"\.iscsi\.lun": "0 is one",
    r"\.scaleIO\.secretRef": "not looked at",
    r"^(data|endpoints|involvedObject|revision|spec|value)$": "empty or 0 will do",
    r"(^spec\.limits|^spec\.drivers|^spec\.podSelector|podFailurePolicy\.rules)$": "may be empty",
    r"^spec\.serviceName$": "may be empty",
    r"\.preference$": "an empty term selects nothing",
    r"\.(forZones\[0\]\.name|tokenRequests\[0\]\.audience)$": "may be empty",
    r"^spec\.versions\[0\]\.(served|storage)$": "false is a value",
    r"^roleRef\.apiGroup$": "has a default",
    r"onPodConditions\[0\]\.status$": "has a default",
    r"\.metric\.selector\.": "left alone by the server",
    r"^spec\.volumeClaimTemplates": "left to the claims that are made of them",
    r"^spec\.template\.spec\.": "StatefulSets leave it to their pods; the others are walked as PodTemplate",
    r"^spec\.(jobTemplate\.spec|jobTemplate)\.template\.": "walked as PodTemplate",
    r"(?i)template\.metadata\.ownerReferences": "dropped",
    r"(^spec\.configSource|\.dataSource)\.": "dropped",
    r"(resizePolicy|resourceClaims|spec\.resources|resources\.claims|clusterTrustBundle)(\[0\])?\.": "feature is off",
    r"initContainers\[0\]\.(lifecycle|livenessProbe|readinessProbe|startupProbe)\.": "forbidden as a whole",
    r"jobTemplate\.spec\.selector\.": "forbidden as a whole",
    # Refused under another name.
    r"httpHeaders\[0\]\.name": "httpHeaders",
    r"^spec\.scopeSelector\.": "without an index",
    r"additionalPrinterColumns\[0\]\.jsonPath": "JSONPath",
    r"^spec\.conversion\.webhook\.": "webhookClientConfig, and only with the strategy Webhook",
    r"ephemeralContainers": "may not be written so",
    # Only with the right type beside it.
    r"^spec\.rules\[0\]\.subjects\[0\]\.": "kind",
    r"^spec\.limited\.": "type",
    r"selectableFields\[0\]\.jsonPath": "not imitated",
}


def required(entry: TypeSchema | None, path: Path, seen: frozenset[str]) -> Iterator[Path]:
    if entry is None or entry.name in seen:
        return
    for field in entry.fields.values():
        if not path and field.name in ("metadata", "status", "apiVersion", "kind"):
            continue
        inner: Field = field
        steps: Path = (field.name,)
        while inner.item is not None:
            steps += ("[]" if inner.kind == "list" else "{}",)
            inner = inner.item
        if field.required:
            yield (*path, field.name)
        yield from required(inner.type, path + steps, seen | {entry.name})


def holder(path: Path) -> Json:
    """An object with nothing but what holds the field."""
    value: Any = {}
    for step in reversed(path[:-1]):
        value = [value] if step == "[]" else {"k": value} if step == "{}" else {step: value}
    return value if isinstance(value, dict) else {}


def text(path: Path) -> str:
    return "".join("[0]" if step == "[]" else "[k]" if step == "{}" else f".{step}" for step in path).lstrip(".")


@pytest.mark.parametrize("resource", KINDS, ids=lambda resource: resource.name)
def test_what_is_required_is_asked_for(resource: Resource) -> None:
    entry = type_of(resource.group, resource.version, resource.kind)
    assert entry is not None
    missing = []
    for path in required(entry, (), frozenset()):
        field, above = text(path), text(path[:-1])
        if any(re.search(pattern, field) for pattern in FREE):
            continue
        obj = decode(resource, {**holder(path), "metadata": {"name": "x", "namespace": "default"}}).object
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        vetting.default(resource, obj)
        fields = [cause.field for cause in vetting.refuse_create(resource, obj)]
        if not any(found in (field, above) or found.startswith((f"{field}.", f"{field}[")) for found in fields):
            missing.append(field)
    assert not missing
