"""The types of Kubernetes 1.32: fields, patch strategies and list keys, as immutable values.

The facts lie in `kubernetes-1.32.json`, written by `compile.py`. They are loaded once for
each process and hold no state, so worlds and forks share them.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from simcluster.engine import Shared

_FACTS = Path(__file__).with_name("kubernetes-1.32.json")

#: Code of a scalar in the facts: its kind here, and the Go type that error texts name.
_SCALARS = {
    "s": ("string", "string"),
    "i": ("integer", "int32"),
    "l": ("integer", "int64"),
    "d": ("number", "float64"),
    "b": ("boolean", "bool"),
    "y": ("bytes", "[]uint8"),
    "q": ("quantity", "resource.Quantity"),
    "x": ("int-or-string", "intstr.IntOrString"),
    "t": ("time", "v1.Time"),
    "u": ("microtime", "v1.MicroTime"),
    "*": ("any", "interface {}"),
}

#: Go names of string types, for error texts; the definitions only say "string".
#: Source: k8s.io/api types.go.
_GO_STRING_TYPES = {
    "core.v1.PodSpec.restartPolicy": "v1.RestartPolicy",
    "core.v1.PodSpec.dnsPolicy": "v1.DNSPolicy",
    "core.v1.PodSpec.preemptionPolicy": "v1.PreemptionPolicy",
    "core.v1.Container.imagePullPolicy": "v1.PullPolicy",
    "core.v1.Container.terminationMessagePolicy": "v1.TerminationMessagePolicy",
    "core.v1.ContainerPort.protocol": "v1.Protocol",
    "core.v1.ServicePort.protocol": "v1.Protocol",
    "core.v1.ServiceSpec.type": "v1.ServiceType",
    "core.v1.ServiceSpec.sessionAffinity": "v1.ServiceAffinity",
    "core.v1.ServiceSpec.externalTrafficPolicy": "v1.ServiceExternalTrafficPolicy",
    "core.v1.ServiceSpec.internalTrafficPolicy": "v1.ServiceInternalTrafficPolicy",
    "core.v1.ServiceSpec.ipFamilyPolicy": "v1.IPFamilyPolicy",
    "core.v1.Toleration.effect": "v1.TaintEffect",
    "core.v1.Toleration.operator": "v1.TolerationOperator",
    "core.v1.Taint.effect": "v1.TaintEffect",
    "core.v1.HTTPGetAction.scheme": "v1.URIScheme",
    "core.v1.Secret.type": "v1.SecretType",
    "core.v1.PodStatus.phase": "v1.PodPhase",
    "core.v1.PersistentVolumeClaimSpec.volumeMode": "v1.PersistentVolumeMode",
    "apps.v1.DeploymentStrategy.type": "v1.DeploymentStrategyType",
    "apps.v1.StatefulSetSpec.podManagementPolicy": "v1.PodManagementPolicyType",
    "batch.v1.CronJobSpec.concurrencyPolicy": "v1.ConcurrencyPolicy",
    "batch.v1.JobSpec.completionMode": "v1.CompletionMode",
    "networking.v1.HTTPIngressPath.pathType": "v1.PathType",
    "meta.v1.LabelSelectorRequirement.operator": "v1.LabelSelectorOperator",
    "meta.v1.ObjectMeta.uid": "types.UID",
}


class Field(Shared):
    """One field of a type, or what a list or a map holds.

    Attributes:
        kind: string, integer, number, boolean, bytes, quantity, int-or-string, time,
            microtime, object, list, map or any.
        go_type: its type in the server's error texts, as in `int32` or `[]v1.Container`.
        ref: name of the type of an object, as in `core.v1.Container`; else empty.
        type: that type; None unless `kind` is object.
        item: what a list or a map holds; None otherwise.
        required: whether the published definition requires it.
        patch_strategy: of strategic merge patch: empty, `merge`, `retainKeys`, `merge,retainKeys`.
        merge_key: the key by which strategic merge patch joins list items, or empty.
        list_type: of server-side apply: atomic, set, map or empty.
        list_map_keys: the keys of a list of type map.
        map_type: atomic, granular or empty.
    """

    __slots__ = (
        "go_type",
        "item",
        "kind",
        "list_map_keys",
        "list_type",
        "map_type",
        "merge_key",
        "name",
        "patch_strategy",
        "ref",
        "required",
        "type",
    )

    def __init__(self, name: str, code: str, extras: dict[str, Any], required: bool, owner: str) -> None:
        self.name = name
        self.required = required
        self.patch_strategy: str = extras.get("patch", "")
        self.merge_key: str = extras.get("key", "")
        self.list_type: str = extras.get("list", "")
        self.list_map_keys: tuple[str, ...] = tuple(extras.get("keys", ()))
        self.map_type: str = extras.get("map", "")
        self.ref = ""
        self.type: TypeSchema | None = None
        self.item: Field | None = None
        if code[0] == "@":
            self.kind, self.ref = "object", code[1:]
            self.go_type = go_name(self.ref)
        elif code[0] in "[{":
            self.kind = "list" if code[0] == "[" else "map"
            self.item = Field("", code[1:], {}, False, "")
            self.go_type = ("[]" if code[0] == "[" else "map[string]") + self.item.go_type
            if self.go_type == "map[string]resource.Quantity":
                self.go_type = "v1.ResourceList"
        else:
            self.kind, self.go_type = _SCALARS[code]
            if code == "s":
                self.go_type = _GO_STRING_TYPES.get(f"{owner}.{name}", "string")

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.go_type})"


class TypeSchema(Shared):
    """One type.

    Attributes:
        name: short name, as in `core.v1.PodSpec`.
        fields: its fields by name, sorted.
        required: names of the required ones.
        kinds: (group, version, kind) of the kinds with this type.
        map_type: atomic if server-side apply replaces it as a whole.
    """

    __slots__ = ("fields", "go_struct", "go_type", "kinds", "map_type", "name", "required")

    def __init__(self, name: str, facts: dict[str, Any]) -> None:
        self.name = name
        self.go_type = go_name(name)
        self.go_struct = self.go_type.rpartition(".")[2]
        self.required: tuple[str, ...] = tuple(facts.get("required", ()))
        self.kinds = tuple((group, version, kind) for group, version, kind in facts.get("kinds", ()))
        self.map_type: str = facts.get("map", "")
        self.fields: dict[str, Field] = {}
        for field, value in facts["fields"].items():
            code, extras = (value, {}) if isinstance(value, str) else value
            self.fields[field] = Field(field, code, extras, field in self.required, name)

    def __repr__(self) -> str:
        return f"TypeSchema({self.name})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # By name: types refer to each other in circles.
        return (_type_named, (self.name,))


class Schema(Shared):
    """All types, by short name and by group, version and kind."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.types = {name: TypeSchema(name, facts[name]) for name in facts}
        self.by_kind: dict[tuple[str, str, str], TypeSchema] = {}
        for entry in self.types.values():
            for field in entry.fields.values():
                innermost = field
                while innermost.item is not None:
                    innermost = innermost.item
                if innermost.ref:
                    innermost.type = self.types[innermost.ref]
            if "metadata" in entry.fields or len(entry.kinds) == 1:
                for kind in entry.kinds:
                    self.by_kind[kind] = entry

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return (load, ())


def go_name(name: str) -> str:
    """`v1.PodSpec` for `core.v1.PodSpec`, as Go prints the type."""
    return ".".join(name.rsplit(".", 2)[-2:])


@functools.cache
def load() -> Schema:
    """The facts about Kubernetes 1.32. Do not change them."""
    return Schema(json.loads(_FACTS.read_text(encoding="utf-8")))


def _type_named(name: str) -> TypeSchema:
    return load().types[name]


def type_of(group: str, version: str, kind: str) -> TypeSchema | None:
    """The type of a built-in kind, or None.

    >>> type_of("apps", "v1", "Deployment").fields["spec"].type.fields["replicas"].go_type
    'int32'
    """
    return load().by_kind.get((group, version, kind))
