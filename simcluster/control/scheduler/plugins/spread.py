"""PodTopologySpread: replicas evenly over zones and nodes.

Pods without constraints of their own are spread softly among the pods of their controller
(the scheduler's system defaults: maxSkew 3 over hosts, 5 over zones).
Leaves out nodeInclusionPolicies' defaults other than nodeAffinityPolicy and nodeTaintsPolicy.
Source: kubernetes pkg/scheduler/framework/plugins/podtopologyspread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.objects import is_terminating
from simcluster.control.nodelifecycle.taints import NO_EXECUTE, NO_SCHEDULE, find_untolerated
from simcluster.control.replicaset.selector import selector_matches
from simcluster.control.scheduler.cache import NodeInfo
from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.plugins.nodeaffinity import requires_node
from simcluster.engine import arithmetic

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

#: systemDefaultConstraints of the plugin.
SYSTEM_DEFAULTS = ({"topologyKey": HOSTNAME, "maxSkew": 3}, {"topologyKey": ZONE, "maxSkew": 5})

Constraint = Mapping[str, Any]


def _constraints(cycle: Cycle, when: str) -> list[Constraint]:
    entries = cycle.spec.get("topologySpreadConstraints") or ()
    return [entry for entry in entries if entry.get("whenUnsatisfiable", "DoNotSchedule") == when]


def _counts_for(cycle: Cycle, constraint: Constraint, node: NodeInfo) -> bool:
    """Whether the node takes part in the constraint (inclusion policies)."""
    if constraint["topologyKey"] not in node.labels:
        return False
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not requires_node(cycle.info, node):
        return False
    if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor":
        tolerations = cycle.spec.get("tolerations") or ()
        return find_untolerated(node.taints, tolerations, (NO_SCHEDULE, NO_EXECUTE)) is None
    return True


def _selector(cycle: Cycle, constraint: Constraint) -> dict[str, Any] | None:
    selector = constraint.get("labelSelector")
    keys = constraint.get("matchLabelKeys") or ()
    if selector is None or not keys:
        return selector
    labels = cycle.info.labels
    extra = {key: labels[key] for key in keys if key in labels}
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **extra}}


def matching_pods(cycle: Cycle, constraint: Constraint) -> dict[str, int]:
    """Node name -> pods of the namespace that the constraint counts."""
    selector, cache = _selector(cycle, constraint), cycle.cache
    counts: dict[str, int] = {}
    for key, node in cache.by_namespace.get(cycle.info.namespace, {}).items():
        info = cache.pod(key)
        if info is None or key in cycle.excluded or is_terminating(info.pod):
            continue
        if selector_matches(selector, info.labels):
            counts[node] = counts.get(node, 0) + 1
    return counts


class PodTopologySpread(Plugin):
    """Refuses nodes that would make a topology too uneven; prefers the emptier domains."""

    name = "PodTopologySpread"
    weight = 2
    about_node = False
    woken_by = ("node", "pod_add", "pod_delete")
    REASON = "node(s) didn't match pod topology spread constraints"
    REASON_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Count pods per domain of each hard constraint."""
        hard = _constraints(cycle, "DoNotSchedule")
        if not hard:
            raise Skip
        prepared = []
        for constraint in hard:
            counts = matching_pods(cycle, constraint)
            domains: dict[str, int] = {}
            for node in cycle.cache.nodes:
                if _counts_for(cycle, constraint, node):
                    domain = node.labels[constraint["topologyKey"]]
                    domains[domain] = domains.get(domain, 0) + counts.get(node.name, 0)
            least = min(domains.values(), default=0)
            if len(domains) < constraint.get("minDomains", 1):
                least = 0
            own = int(selector_matches(_selector(cycle, constraint), cycle.info.labels))
            prepared.append((constraint, domains, least, own))
        cycle.state[self.name] = prepared
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes whose domain would get too many pods."""
        for constraint, domains, least, own in cycle.state[self.name]:
            domain = node.labels.get(constraint["topologyKey"])
            if domain is None:
                return Rejection((self.REASON_LABEL,), final=True)
            if domains.get(domain, 0) + own - least > constraint["maxSkew"]:
                return Rejection((self.REASON,))
        return None

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """Domains with fewer pods are better, wide topologies count more."""
        soft = _constraints(cycle, "ScheduleAnyway")
        if soft:
            counted = [(entry, matching_pods(cycle, entry)) for entry in soft]
        elif cycle.spec.get("topologySpreadConstraints") or cycle.info.owner not in cycle.cache.by_owner:
            return None
        else:
            siblings = cycle.cache.by_owner[cycle.info.owner]
            counted = [(entry, siblings) for entry in SYSTEM_DEFAULTS]
        raw = [0.0] * len(nodes)
        usable = [not soft or all(entry["topologyKey"] in node.labels for entry in soft) for node in nodes]
        for constraint, counts in counted:
            self._add(raw, usable, constraint, counts, nodes)
        return _inverted([int(value + 0.5) for value in raw], usable)

    def _add(
        self,
        raw: list[float],
        usable: list[bool],
        constraint: Constraint,
        counts: Mapping[str, int],
        nodes: Sequence[NodeInfo],
    ) -> None:
        key = constraint["topologyKey"]
        if key == HOSTNAME:
            # Each node is a domain of its own.
            weight = arithmetic.log(float(sum(usable)) + 2.0)
            for position, node in enumerate(nodes):
                raw[position] += counts.get(node.name, 0) * weight + (constraint["maxSkew"] - 1)
            return
        domains: dict[str, int] = {}
        for position, node in enumerate(nodes):
            if usable[position] and key in node.labels:
                domain = node.labels[key]
                domains[domain] = domains.get(domain, 0) + counts.get(node.name, 0)
        weight = arithmetic.log(len(domains) + 2.0)
        for position, node in enumerate(nodes):
            if key in node.labels:
                raw[position] += domains.get(node.labels[key], 0) * weight + (constraint["maxSkew"] - 1)


def _inverted(raw: Sequence[int], usable: Sequence[bool]) -> list[int] | None:
    """100 for the lowest count, less for more; unusable nodes get 0."""
    values = [value for value, ok in zip(raw, usable, strict=True) if ok]
    if not values:
        return None
    lowest, highest = min(values), max(values)
    if highest == 0:
        return [MAX_SCORE if ok else 0 for ok in usable]
    return [
        MAX_SCORE * (highest + lowest - value) // highest if ok else 0 for value, ok in zip(raw, usable, strict=True)
    ]
