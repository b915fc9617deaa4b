"""On which nodes a DaemonSet's pods belong, and how a pod is tied to its node.

Source: kubernetes pkg/controller/daemon/{daemon_controller.go,util/daemonset_util.go}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json, labels_of, name_of, thaw
from simcluster.control.nodes.nodeselector import node_selector_matches
from simcluster.control.nodes.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    find_untolerated,
    taints_of,
)
from simcluster.control.pods.creation import pod_from_template, pod_template

REVISION = "controller-revision-hash"
GENERATION = "pod-template-generation"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

#: What every daemon pod tolerates (AddOrUpdateDaemonPodTolerations).
_TOLERATED = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    (DISK_PRESSURE, NO_SCHEDULE),
    (MEMORY_PRESSURE, NO_SCHEDULE),
    (PID_PRESSURE, NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)


def tolerations_for(spec: Mapping[str, Any]) -> list[Json]:
    """The template's tolerations and those of every daemon pod."""
    tolerations: list[Json] = [thaw(entry) for entry in spec.get("tolerations") or ()]
    always = [*_TOLERATED, *([(NETWORK_UNAVAILABLE, NO_SCHEDULE)] if spec.get("hostNetwork") else [])]
    for key, effect in always:
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        if wanted not in tolerations:
            tolerations.append(wanted)
    return tolerations


def pinned_affinity(affinity: Mapping[str, Any] | None, node: str) -> Json:
    """The affinity with its required node terms replaced by the name of one node."""
    pinned = thaw(affinity or {})
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    pinned.setdefault("nodeAffinity", {})[_REQUIRED] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return pinned


def target_node(pod: Mapping[str, Any]) -> str:
    """The node a daemon pod is on, or is made for."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In" and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return ""


class Placement:
    """Where one version of a DaemonSet's pods belong."""

    def __init__(self, daemon_set: Mapping[str, Any]) -> None:
        spec = pod_template(daemon_set)["spec"]
        self.node = spec.get("nodeName") or ""
        self.selector = list((spec.get("nodeSelector") or {}).items())
        self.required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
        self.tolerations = tolerations_for(spec)

    def should_run(self, node: Mapping[str, Any]) -> tuple[bool, bool]:
        """Whether a pod should be started on the node, and whether a running one may stay."""
        labels = labels_of(node)
        if self.node and self.node != name_of(node):
            return False, False
        if any(labels.get(key) != value for key, value in self.selector):
            return False, False
        if self.required is not None and not node_selector_matches(self.required, labels, name_of(node)):
            return False, False
        taints = taints_of(node)
        if not taints or find_untolerated(taints, self.tolerations, (NO_EXECUTE, NO_SCHEDULE)) is None:
            return True, True
        return False, find_untolerated(taints, self.tolerations, (NO_EXECUTE,)) is None


def should_run(daemon_set: Mapping[str, Any], node: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a pod should be started on the node, and whether a running one may stay."""
    return Placement(daemon_set).should_run(node)


def new_pod(daemon_set: ApiObject, node: str, digest: str) -> Json:
    """The pod of one node."""
    pod = pod_from_template(daemon_set)
    labels = dict(pod["metadata"].get("labels") or {})
    generation = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    if generation:
        labels[GENERATION] = generation
    labels[REVISION] = digest
    pod["metadata"]["labels"] = labels
    spec = pod["spec"]
    spec["tolerations"] = tolerations_for(spec)
    spec["affinity"] = pinned_affinity(spec.get("affinity"), node)
    return pod


def is_updated(pod: Mapping[str, Any], daemon_set: Mapping[str, Any], digest: str) -> bool:
    """Whether the pod was made from the present template (IsPodUpdated)."""
    labels = labels_of(pod)
    generation = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    return labels.get(REVISION) == digest or (generation is not None and labels.get(GENERATION) == generation)


def by_node(pods: Iterable[ApiObject]) -> dict[str, list[ApiObject]]:
    """Pods by the node they are on or made for, oldest first on each."""
    found: dict[str, list[ApiObject]] = {}
    for pod in sorted(pods, key=lambda entry: (entry["metadata"]["creationTimestamp"], name_of(entry))):
        found.setdefault(target_node(pod), []).append(pod)
    return found
