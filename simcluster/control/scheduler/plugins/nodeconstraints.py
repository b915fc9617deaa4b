"""NodeUnschedulable, NodeName, TaintToleration: what the node itself forbids.

Source: kubernetes pkg/scheduler/framework/plugins/{nodeunschedulable,nodename,tainttoleration}.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.nodes.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    UNSCHEDULABLE,
    find_untolerated,
    tolerates,
)
from simcluster.control.scheduler.framework import Cycle, Plugin, Rejection, Skip, mask_of, normalised
from simcluster.control.scheduler.nodeinfo import NodeInfo
from simcluster.control.scheduler.table import Integers, Mask, NodeTable, Rows

_CORDON_TAINT = {"key": UNSCHEDULABLE, "effect": NO_SCHEDULE}


class NodeUnschedulable(Plugin):
    """Cordoned nodes take only pods that tolerate it."""

    name = "NodeUnschedulable"
    woken_by = ("node",)
    REASON = "node(s) were unschedulable"

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse cordoned nodes."""
        if not node.unschedulable:
            return None
        tolerations = cycle.spec.get("tolerations") or ()
        if any(tolerates(entry, _CORDON_TAINT) for entry in tolerations):
            return None
        return Rejection((self.REASON,), final=True)

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """The same for all nodes."""
        return mask_of(self.filter, cycle, table, cycle.spec.get("tolerations"))


class NodeName(Plugin):
    """A pod that names its node accepts no other."""

    name = "NodeName"
    woken_by = ("node",)
    REASON = "node(s) didn't match the requested node name"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Only pods with `spec.nodeName` matter."""
        if not cycle.spec.get("nodeName"):
            raise Skip
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse every other node."""
        if cycle.spec["nodeName"] == node.name:
            return None
        return Rejection((self.REASON,), final=True)

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """The same for all nodes."""
        return mask_of(self.filter, cycle, table, cycle.spec["nodeName"])


class TaintToleration(Plugin):
    """Taints NoSchedule and NoExecute repel; PreferNoSchedule costs score."""

    name = "TaintToleration"
    weight = 3
    woken_by = ("node",)

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes with a taint that the pod does not tolerate."""
        if not node.taints:
            return None
        tolerations = cycle.spec.get("tolerations") or ()
        taint = find_untolerated(node.taints, tolerations, (NO_SCHEDULE, NO_EXECUTE))
        if taint is None:
            return None
        text = f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        return Rejection((text,), final=True)

    def mask(self, cycle: Cycle, table: NodeTable) -> Mask | None:
        """The same for all nodes."""
        return mask_of(self.filter, cycle, table, cycle.spec.get("tolerations"))

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """Nothing where no node has such a taint."""
        return super().scores_of(cycle, table, rows) if table.prefers else None

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """Fewer untolerated PreferNoSchedule taints are better."""
        tolerations = [
            entry
            for entry in cycle.spec.get("tolerations") or ()
            if entry.get("effect") in (None, "", PREFER_NO_SCHEDULE)
        ]
        counts = [
            sum(
                taint["effect"] == PREFER_NO_SCHEDULE and not any(tolerates(entry, taint) for entry in tolerations)
                for taint in node.taints
            )
            for node in nodes
        ]
        return normalised(counts, reverse=True)
