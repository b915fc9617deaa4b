"""Where the transformers write: labels, annotations, images, names that point elsewhere.

The tables are those of kustomize's built-in configuration
(api/internal/konfig/builtinpluginconsts), as far as Kubernetes 1.32 has the fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.api.objects import Json

#: Kind -> path of its pod template.
TEMPLATES = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "Job": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
}
#: Kind -> (path of its selector, whether it is made if it is missing).
SELECTORS = {
    "CronJob": (("spec", "jobTemplate", "spec", "selector", "matchLabels"), False),
    "DaemonSet": (("spec", "selector", "matchLabels"), True),
    "Deployment": (("spec", "selector", "matchLabels"), True),
    "Job": (("spec", "selector", "matchLabels"), False),
    "NetworkPolicy": (("spec", "podSelector", "matchLabels"), False),
    "PodDisruptionBudget": (("spec", "selector", "matchLabels"), False),
    "ReplicaSet": (("spec", "selector", "matchLabels"), True),
    "ReplicationController": (("spec", "selector"), True),
    "Service": (("spec", "selector"), True),
    "StatefulSet": (("spec", "selector", "matchLabels"), True),
}
_CONTAINERS = ("containers", "initContainers")


def at(obj: Any, path: tuple[str, ...], *, create: bool = False) -> Any:
    """The mapping or value at a path, or None; `create` makes missing mappings."""
    for part in path:
        if not isinstance(obj, dict):
            return None
        if obj.get(part) is None:
            if not create:
                return None
            obj[part] = {}
        obj = obj[part]
    return obj


def pod_spec(obj: Json) -> Json | None:
    """The pod spec inside, if the kind has one."""
    if obj["kind"] == "Pod":
        of_pod: Json | None = at(obj, ("spec",))
        return of_pod
    template = TEMPLATES.get(obj["kind"])
    found: Json | None = at(obj, (*template, "spec")) if template else None
    return found


def add(obj: Json, path: tuple[str, ...], values: Json, *, create: bool) -> None:
    """Merge `values` into the mapping at a path."""
    found = at(obj, path, create=create)
    if isinstance(found, dict):
        found.update(values)


def add_labels(obj: Json, labels: Json, *, selectors: bool, templates: bool) -> None:
    """Label an object, and its selectors and templates if that is asked for."""
    kind = obj["kind"]
    add(obj, ("metadata", "labels"), labels, create=True)
    template = TEMPLATES.get(kind)
    if template and (templates or selectors):
        add(obj, (*template, "metadata", "labels"), labels, create=True)
        if kind == "CronJob":
            add(obj, ("spec", "jobTemplate", "metadata", "labels"), labels, create=True)
        if kind == "StatefulSet":
            for claim in at(obj, ("spec", "volumeClaimTemplates")) or ():
                add(claim, ("metadata", "labels"), labels, create=True)
    if not selectors:
        return
    path, create = SELECTORS.get(kind, ((), False))
    if path:
        add(obj, path, labels, create=create)
    if kind in ("Deployment", "StatefulSet"):
        _label_constraints(at(obj, ("spec", "template", "spec")) or {}, labels)
    if kind == "NetworkPolicy":
        for direction, side in (("ingress", "from"), ("egress", "to")):
            for rule in at(obj, ("spec", direction)) or ():
                for peer in rule.get(side) or ():
                    add(peer, ("podSelector", "matchLabels"), labels, create=False)


def _label_constraints(spec: Json, labels: Json) -> None:
    for constraint in spec.get("topologySpreadConstraints") or ():
        add(constraint, ("labelSelector", "matchLabels"), labels, create=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        found = at(spec, ("affinity", kind)) or {}
        for term in found.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            add(term, ("labelSelector", "matchLabels"), labels, create=False)
        for term in found.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            add(term, ("podAffinityTerm", "labelSelector", "matchLabels"), labels, create=False)


def add_annotations(obj: Json, annotations: Json) -> None:
    """Annotate an object and its templates."""
    add(obj, ("metadata", "annotations"), annotations, create=True)
    template = TEMPLATES.get(obj["kind"])
    if template and at(obj, template) is not None:
        add(obj, (*template, "metadata", "annotations"), annotations, create=True)
    if obj["kind"] == "CronJob":
        add(obj, ("spec", "jobTemplate", "metadata", "annotations"), annotations, create=True)


def containers(value: Any) -> Iterator[Json]:
    """Every container anywhere in an object (the images transformer does not ask for kinds)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _CONTAINERS and isinstance(inner, list):
                yield from (entry for entry in inner if isinstance(entry, dict))
            yield from containers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from containers(inner)
