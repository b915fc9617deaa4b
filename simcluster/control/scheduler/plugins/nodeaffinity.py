"""NodeAffinity: `nodeSelector` and node affinity.

Source: kubernetes pkg/scheduler/framework/plugins/nodeaffinity and
component-helpers scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.nodes.nodeselector import node_selector_matches, term_matches
from simcluster.control.scheduler.framework import Cycle, Plugin, Rejection, Skip, mask_of, normalised
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.table import Integers, Mask, NodeTable, Rows


def requires_node(info: PodInfo, node: NodeInfo) -> bool:
    """Whether the node satisfies the pod's `nodeSelector` and required node affinity."""
    selector = info.pod["spec"].get("nodeSelector") or {}
    for key, value in selector.items():
        if node.labels.get(key) != value:
            return False
    required = info.affinity("nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    return not required or node_selector_matches(required, node.labels, node.name)


def named_nodes(info: PodInfo) -> tuple[str, ...] | None:
    """The nodes that the pod's affinity names (`metadata.name`), or None if any node may do.

    Every other node is left out before the filters, as for the pods of DaemonSets (PreFilter).
    """
    required = info.affinity("nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    names: dict[str, None] = {}
    for term in (required or {}).get("nodeSelectorTerms") or ():
        fields = [
            entry["values"]
            for entry in term.get("matchFields") or ()
            if entry["key"] == "metadata.name" and entry["operator"] == "In"
        ]
        if not fields:
            return None
        names.update(dict.fromkeys(name for name in fields[0] if all(name in values for values in fields)))
    return tuple(names) if required else None


class NodeAffinity(Plugin):
    """Only nodes whose labels the pod asks for; preferred ones score."""

    name = "NodeAffinity"
    weight = 2
    woken_by = ("node",)
    REASON = "node(s) didn't match Pod's node affinity/selector"
    REASON_ABSENT = "node(s) didn't satisfy plugin(s) [NodeAffinity]"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Only pods with a selector or required affinity matter."""
        required = cycle.info.affinity("nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
        if not cycle.spec.get("nodeSelector") and not required:
            raise Skip
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes with other labels."""
        return None if requires_node(cycle.info, node) else Rejection((self.REASON,), final=True)

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """The same for all nodes."""
        required = cycle.info.affinity("nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
        return mask_of(self.filter, cycle, table, cycle.spec.get("nodeSelector"), required)

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """Nothing where the pod prefers nothing."""
        preferred = cycle.info.affinity("nodeAffinity").get("preferredDuringSchedulingIgnoredDuringExecution")
        return super().scores_of(cycle, table, rows) if preferred else None

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """The sum of the weights of the preferred terms that match."""
        preferred = cycle.info.affinity("nodeAffinity").get("preferredDuringSchedulingIgnoredDuringExecution")
        if not preferred:
            return None
        raw = [
            sum(
                int(entry["weight"]) for entry in preferred if term_matches(entry["preference"], node.labels, node.name)
            )
            for node in nodes
        ]
        return normalised(raw)
