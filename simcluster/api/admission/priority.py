"""Priority: the number behind a pod's priority class.

Source: plugin/pkg/admission/priority; the two system classes are made by the API server
itself at start (pkg/apis/scheduling).
"""

from __future__ import annotations

from typing import ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.registry.attributes import CREATE, Attributes

_CLASSES = "priorityclasses.scheduling.k8s.io"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_LOWER = "PreemptLowerPriority"


class Priority(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE,)
    resources: ClassVar[tuple[str, ...] | None] = ("pods",)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Resolve the class into priority and preemption policy."""
        spec = attributes.new["spec"]
        if attributes.subresource or (not cluster.is_bootstrapped and "priority" in spec):
            return
        name, value, policy = self._resolve(attributes, cluster, spec.get("priorityClassName", ""))
        if name:
            spec["priorityClassName"] = name
        given = spec.get("priority")
        if given is not None and given != value:
            raise refuse(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {value} from the given PriorityClass name",
            )
        asked = spec.get("preemptionPolicy")
        if asked is not None and asked != policy:
            raise refuse(
                attributes,
                f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority admission "
                f"controller computed {policy} from the given PriorityClass name",
            )
        spec["priority"], spec["preemptionPolicy"] = value, policy

    def _resolve(self, attributes: Attributes, cluster: Cluster, name: str) -> tuple[str, int, str]:
        if not name:
            for found in cluster.store.objects(_CLASSES):
                if found.get("globalDefault"):
                    return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy", _LOWER)
            return "", 0, _LOWER
        entry = cluster.by_name(_CLASSES, "", name)
        if entry is not None:
            return name, entry.get("value", 0), entry.get("preemptionPolicy", _LOWER)
        if name in SYSTEM_CLASSES:
            return name, SYSTEM_CLASSES[name], _LOWER
        raise refuse(attributes, f"no PriorityClass with name {name} was found")
