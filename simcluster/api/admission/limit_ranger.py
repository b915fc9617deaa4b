"""LimitRanger: defaults and bounds of a namespace's LimitRanges.

Source: plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import Quantity, parse
from simcluster.api.registry.attributes import CREATE, Attributes
from simcluster.api.registry.usage import pod_total

ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanger(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("pods", "persistentvolumeclaims")

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Give containers the default requests and limits."""
        if attributes.resource.storage != "pods" or attributes.subresource:
            return
        give_defaults(attributes.new, cluster.store.objects("limitranges", attributes.namespace))

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Compare with minimum, maximum and ratio."""
        if attributes.subresource:
            return
        problems: list[str] = []
        for limit_range in cluster.store.objects("limitranges", attributes.namespace):
            for item in limit_range["spec"].get("limits") or ():
                for kind, requests, limits in _subjects(attributes, item["type"]):
                    problems.extend(_violations(item, kind, requests, limits))
        if problems:
            raise refuse(attributes, problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]")


def give_defaults(pod: Json, limit_ranges: Iterable[ApiObject]) -> None:
    """Give containers of a pod the default requests and limits of LimitRanges, where they say nothing themselves."""
    for limit_range in limit_ranges:
        for item in limit_range["spec"].get("limits") or ():
            if item["type"] == "Container":
                _apply_defaults(pod, item)


def _apply_defaults(pod: Json, item: Json) -> None:
    notes: list[str] = []
    for group, word in (("initContainers", "init container"), ("containers", "container")):
        for container in pod["spec"].get(group) or ():
            resources = dict(container.get("resources") or {})
            for field, name in (("requests", "defaultRequest"), ("limits", "default")):
                current = resources.get(field) or {}
                added = {k: v for k, v in (item.get(name) or {}).items() if k not in current}
                if added:
                    resources[field] = {**current, **added}
                    shown = field.removesuffix("s")
                    notes.append(f"{', '.join(sorted(added))} {shown} for {word} {container.get('name', '')}")
            container["resources"] = resources
    if notes:
        annotations = dict(pod["metadata"].get("annotations") or {})
        annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)
        pod["metadata"]["annotations"] = annotations


def _subjects(attributes: Attributes, kind: str) -> Iterator[tuple[str, Json, Json]]:
    """What an item of that type bounds: (kind, requests, limits) of each."""
    spec = attributes.new["spec"]
    if attributes.resource.storage == "persistentvolumeclaims":
        if kind == "PersistentVolumeClaim":
            resources = spec.get("resources") or {}
            yield kind, resources.get("requests") or {}, resources.get("limits") or {}
        return
    if kind == "Container":
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            resources = container.get("resources") or {}
            yield kind, resources.get("requests") or {}, resources.get("limits") or {}
    elif kind == "Pod":
        requests, limits = pod_total(spec, "requests"), pod_total(spec, "limits")
        yield kind, {k: str(v) for k, v in requests.items()}, {k: str(v) for k, v in limits.items()}


def _violations(item: Json, kind: str, requests: Json, limits: Json) -> list[str]:
    found: list[str] = []
    for name, bound in sorted((item.get("min") or {}).items()):
        found.extend(_below(name, kind, parse(bound), requests.get(name), limits.get(name)))
    for name, bound in sorted((item.get("max") or {}).items()):
        found.extend(_above(name, kind, parse(bound), requests.get(name), limits.get(name)))
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        found.extend(_ratio(name, kind, parse(bound), requests.get(name), limits.get(name)))
    return found


def _below(name: str, kind: str, bound: Quantity, request: Any, limit: Any) -> list[str]:
    text = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        return [f"{text}.  No request is specified"]
    if parse(request) < bound:
        return [f"{text}, but request is {parse(request)}"]
    if limit is not None and parse(limit) < bound:
        return [f"{text}, but limit is {parse(limit)}"]
    return []


def _above(name: str, kind: str, bound: Quantity, request: Any, limit: Any) -> list[str]:
    text = f"maximum {name} usage per {kind} is {bound}"
    if kind == "PersistentVolumeClaim":
        return [f"{text}, but request is {parse(request)}"] if request is not None and bound < parse(request) else []
    if limit is None:
        return [f"{text}.  No limit is specified"]
    if bound < parse(limit):
        return [f"{text}, but limit is {parse(limit)}"]
    if request is not None and bound < parse(request):
        return [f"{text}, but request is {parse(request)}"]
    return []


def _ratio(name: str, kind: str, bound: Quantity, request: Any, limit: Any) -> list[str]:
    text = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or parse(request).nano == 0:
        return [f"{text}, but no request is specified or request is 0."]
    if limit is None or parse(limit).nano == 0:
        return [f"{text}, but no limit is specified or limit is 0."]
    ratio = parse(limit).nano / parse(request).nano
    return [f"{text}, but provided ratio is {ratio:f}."] if ratio * 1e9 > bound.nano else []
