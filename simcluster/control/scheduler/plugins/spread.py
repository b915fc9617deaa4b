"""PodTopologySpread: replicas evenly over zones and nodes.

Pods without constraints of their own are spread softly among the pods that the selectors of
their ReplicaSet or StatefulSet and of their Services have in common (the scheduler's system
defaults: maxSkew 3 over hosts, 5 over zones). Of a ReplicaSet's pod these are the pods of the
ReplicaSet; of a bare pod or a Job's those of its Services.
Source: kubernetes pkg/scheduler/framework/plugins/{podtopologyspread,helper/spread.go}.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simcluster.api.objects import controller_of, is_terminating
from simcluster.control.labelselector import selector_matches
from simcluster.control.nodes.taints import NO_EXECUTE, NO_SCHEDULE, find_untolerated
from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo
from simcluster.control.scheduler.plugins.nodeaffinity import requires_node
from simcluster.control.scheduler.table import Integers, NodeTable, Rows
from simcluster.engine import arithmetic

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

#: maxSkew of the systemDefaultConstraints over hosts and over zones.
HOST_SKEW, ZONE_SKEW = 3, 5
#: Controllers whose selector tells the group of a pod.
SELECTING = ("ReplicaSet", "ReplicationController", "StatefulSet")


class Constraint(NamedTuple):
    """One topology spread constraint of a pod, with the API's defaults.

    Attributes:
        selector: labelSelector and matchLabelKeys in one; None matches nothing.
    """

    key: str
    max_skew: int
    min_domains: int
    selector: dict[str, Any] | None
    honors_affinity: bool
    honors_taints: bool


def constraints_of(cycle: Cycle, when: str) -> list[Constraint]:
    """The pod's own constraints of one kind: DoNotSchedule or ScheduleAnyway."""
    return [
        Constraint(
            entry["topologyKey"],
            int(entry["maxSkew"]),
            int(entry.get("minDomains") or 1),
            _selector(cycle, entry),
            entry.get("nodeAffinityPolicy", "Honor") == "Honor",
            entry.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for entry in cycle.spec.get("topologySpreadConstraints") or ()
        if entry.get("whenUnsatisfiable", "DoNotSchedule") == when
    ]


def _selector(cycle: Cycle, constraint: Mapping[str, Any]) -> dict[str, Any] | None:
    selector: dict[str, Any] | None = constraint.get("labelSelector")
    labels = cycle.info.labels
    extra = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
    if selector is None or not extra:
        return selector
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **extra}}


def _includes(cycle: Cycle, constraint: Constraint, node: NodeInfo) -> bool:
    """Whether the node takes part in the constraint (node inclusion policies)."""
    if constraint.honors_affinity and not requires_node(cycle.info, node):
        return False
    if not constraint.honors_taints:
        return True
    tolerations = cycle.spec.get("tolerations") or ()
    return find_untolerated(node.taints, tolerations, (NO_SCHEDULE, NO_EXECUTE)) is None


def matching_pods(cycle: Cycle, constraint: Constraint) -> dict[str, int]:
    """Node name -> pods of the namespace that the constraint counts."""
    cache = cycle.cache
    counts: dict[str, int] = {}
    for key, node in cache.by_namespace.get(cycle.info.namespace, {}).items():
        info = cache.pod(key)
        if info is None or key in cycle.excluded or is_terminating(info.pod):
            continue
        if selector_matches(constraint.selector, info.labels):
            counts[node] = counts.get(node, 0) + 1
    return counts


def _default_group(cycle: Cycle, table: NodeTable) -> Integers | None:
    """Pods by node among which a pod without constraints is spread; None if it is not."""
    cache, info = cycle.cache, cycle.info
    controller = controller_of(info.pod)
    if controller is not None and controller["kind"] in SELECTING:
        return table.siblings(info.owner, cache.by_owner[info.owner]) if info.owner in cache.by_owner else None
    wanted: dict[str, str] = {}
    for service in cycle.store.objects("services", info.namespace):
        selector = service["spec"].get("selector")
        if selector and all(info.labels.get(key) == value for key, value in selector.items()):
            wanted.update(selector)
    if not wanted:
        return None
    constraint = Constraint(HOSTNAME, HOST_SKEW, 1, {"matchLabels": wanted}, True, False)
    found: Integers = np.zeros(len(table), dtype=np.int64)
    for node, count in matching_pods(cycle, constraint).items():
        if node in table.row:
            found[table.row[node]] = count
    return found


def default_scores(siblings: Integers, table: NodeTable, rows: Rows) -> Integers | None:
    """Scores of a pod without constraints of its own, by the system defaults.

    Args:
        siblings: pods of its group, by row.
    """
    raw = siblings[rows] * topology_weight(len(rows)) + (HOST_SKEW - 1)
    domains, count = table.domains(ZONE)
    if count:
        everywhere, here = domains >= 0, domains[rows]
        pods = np.zeros(count, dtype=np.int64)
        np.add.at(pods, domains[everywhere], siblings[everywhere])
        has_zone = here >= 0
        weight = topology_weight(len(np.unique(here[has_zone])))
        raw[has_zone] += pods[here[has_zone]] * weight + (ZONE_SKEW - 1)
    whole = (raw + 0.5).astype(np.int64)
    lowest, highest = int(whole.min()), int(whole.max())
    if highest == 0:
        return None
    scores: Integers = MAX_SCORE * (highest + lowest - whole) // highest
    return scores


@functools.lru_cache(maxsize=4096)
def topology_weight(domains: int) -> float:
    """How much a topology of so many domains counts (topologyNormalizingWeight)."""
    return arithmetic.log(domains + 2.0)


def _has_keys(node: NodeInfo, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.key in node.labels for constraint in constraints)


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
        hard = constraints_of(cycle, "DoNotSchedule")
        if not hard:
            raise Skip
        nodes = [node for node in cycle.cache.nodes if _has_keys(node, hard)]
        prepared = []
        for constraint in hard:
            counts = matching_pods(cycle, constraint)
            domains: dict[str, int] = {}
            for node in nodes:
                if _includes(cycle, constraint, node):
                    domain = node.labels[constraint.key]
                    domains[domain] = domains.get(domain, 0) + counts.get(node.name, 0)
            least = 0 if len(domains) < constraint.min_domains else min(domains.values(), default=0)
            own = int(selector_matches(constraint.selector, cycle.info.labels))
            prepared.append((constraint, domains, least, own))
        cycle.state[self.name] = prepared
        return None

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes whose domain would get too many pods."""
        for constraint, domains, least, own in cycle.state[self.name]:
            domain = node.labels.get(constraint.key)
            if domain is None:
                return Rejection((self.REASON_LABEL,), final=True)
            if domains.get(domain, 0) + own - least > constraint.max_skew:
                return Rejection((self.REASON,))
        return None

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """Domains with fewer pods are better, wide topologies count more."""
        if cycle.spec.get("topologySpreadConstraints"):
            return super().scores_of(cycle, table, rows)
        siblings = _default_group(cycle, table)
        if siblings is None:
            return None
        return default_scores(siblings, table, rows)

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """The same for constraints of the pod itself."""
        soft = constraints_of(cycle, "ScheduleAnyway")
        if not soft:
            return None
        usable = [_has_keys(node, soft) for node in nodes]
        raw = [0.0] * len(nodes)
        for constraint in soft:
            self._add(cycle, raw, usable, constraint, soft, nodes)
        return _inverted([int(value + 0.5) for value in raw], usable)

    def _add(
        self,
        cycle: Cycle,
        raw: list[float],
        usable: list[bool],
        constraint: Constraint,
        soft: list[Constraint],
        nodes: Sequence[NodeInfo],
    ) -> None:
        counts, key = matching_pods(cycle, constraint), constraint.key
        kept = [node for node, ok in zip(nodes, usable, strict=True) if ok]
        domains: dict[str, int] = {node.labels[key]: 0 for node in kept}
        if key == HOSTNAME:  # each node is a domain of its own
            weight = arithmetic.log(len(kept) + 2.0)
            domains = {node.labels[key]: counts.get(node.name, 0) for node in kept}
        else:
            weight = arithmetic.log(len(domains) + 2.0)
            for node in cycle.cache.nodes:
                if _has_keys(node, soft) and node.labels[key] in domains and _includes(cycle, constraint, node):
                    domains[node.labels[key]] += counts.get(node.name, 0)
        for position, node in enumerate(nodes):
            if key in node.labels:
                raw[position] += domains.get(node.labels[key], 0) * weight + (constraint.max_skew - 1)


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
