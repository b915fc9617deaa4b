"""InterPodAffinity: near to or far from other pods.

Source: kubernetes pkg/scheduler/framework/plugins/interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simcluster.api.objects import labels_of
from simcluster.control.labelselector import selector_matches
from simcluster.control.scheduler.framework import MAX_SCORE, Cycle, Plugin, Rejection, Skip
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.table import Integers, NodeTable, Rows

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

#: Score of an existing pod's required affinity for the incoming pod (HardPodAffinityWeight).
HARD_AFFINITY_WEIGHT = 1

Term = Mapping[str, Any]
Domains = dict[tuple[str, str], int]  # (topology key, value) -> weight or count


def term_selects(cycle: Cycle, term: Term, owner: PodInfo, other: PodInfo) -> bool:
    """Whether a PodAffinityTerm of `owner` is about `other`."""
    selector: dict[str, Any] | None = term.get("labelSelector")
    if not selector_matches(selector, other.labels):
        return False
    if not _same_values(term.get("matchLabelKeys") or (), owner, other, equal=True):
        return False
    if not _same_values(term.get("mismatchLabelKeys") or (), owner, other, equal=False):
        return False
    names, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    if other.namespace in names:
        return True
    if chosen is None:
        return not names and other.namespace == owner.namespace
    if not chosen:
        return True  # the empty selector is about all namespaces
    namespace = cycle.store.get("namespaces", "", other.namespace)
    return namespace is not None and selector_matches(chosen, labels_of(namespace))


def _same_values(keys: Sequence[str], owner: PodInfo, other: PodInfo, *, equal: bool) -> bool:
    """Whether the values of these labels are equal (or all different); keys the owner lacks do not count."""
    mine, theirs = owner.labels, other.labels
    return all((theirs.get(key) == mine[key]) is equal for key in keys if key in mine)


def _bump(domains: Domains, term: Term, node: NodeInfo, amount: int) -> None:
    key = term["topologyKey"]
    value = node.labels.get(key)
    if value is not None:
        domains[key, value] = domains.get((key, value), 0) + amount


class _Prepared:
    """Counts per topology domain, for the filter."""

    __slots__ = ("affinity", "anti", "existing_anti", "self_match", "wanted", "wanted_anti")

    def __init__(self, cycle: Cycle) -> None:
        info = cycle.info
        self.wanted: list[Term] = list(info.affinity("podAffinity").get(REQUIRED) or ())
        self.wanted_anti: list[Term] = list(info.affinity("podAntiAffinity").get(REQUIRED) or ())
        self.affinity: Domains = {}
        self.anti: Domains = {}
        self.existing_anti: Domains = {}
        self.self_match = all(term_selects(cycle, term, info, info) for term in self.wanted)


def _placed(cycle: Cycle, namespaces: Sequence[str] | None) -> Iterator[tuple[PodInfo, NodeInfo]]:
    """Pods that stand on existing nodes, with the node; of some namespaces or of all."""
    cache = cycle.cache
    for namespace in sorted(cache.by_namespace) if namespaces is None else namespaces:
        for key, place in cache.by_namespace.get(namespace, {}).items():
            info, node = cache.pod(key), cache.node(place)
            if info is not None and node is not None and key not in cycle.excluded:
                yield info, node


def _namespaces(info: PodInfo, terms: Sequence[Term]) -> list[str] | None:
    """Namespaces that the terms speak of; None for all."""
    found: dict[str, None] = {}
    for term in terms:
        if term.get("namespaceSelector") is not None:
            return None
        found.update(dict.fromkeys(term.get("namespaces") or (info.namespace,)))
    return list(found)


class InterPodAffinity(Plugin):
    """Required and preferred pod affinity and anti-affinity, in both directions."""

    name = "InterPodAffinity"
    weight = 2
    about_node = False
    woken_by = ("node", "pod_add", "pod_delete")
    REASON_AFFINITY = "node(s) didn't match pod affinity rules"
    REASON_ANTI = "node(s) didn't match pod anti-affinity rules"
    REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

    def prepare(self, cycle: Cycle) -> Rejection | None:
        """Count matching pods per domain of every required term."""
        info = cycle.info
        prepared = _Prepared(cycle)
        for owner, node in self._with_terms(cycle):
            for term in owner.affinity("podAntiAffinity").get(REQUIRED) or ():
                if term_selects(cycle, term, owner, info):
                    _bump(prepared.existing_anti, term, node, 1)
        terms = [*prepared.wanted, *prepared.wanted_anti]
        if terms:
            for other, node in _placed(cycle, _namespaces(info, terms)):
                if prepared.wanted and all(term_selects(cycle, term, info, other) for term in prepared.wanted):
                    for term in prepared.wanted:
                        _bump(prepared.affinity, term, node, 1)
                for term in prepared.wanted_anti:
                    if term_selects(cycle, term, info, other):
                        _bump(prepared.anti, term, node, 1)
        elif not prepared.existing_anti:
            raise Skip
        cycle.state[self.name] = prepared
        return None

    def _with_terms(self, cycle: Cycle) -> Iterator[tuple[PodInfo, NodeInfo]]:
        """Existing pods that have affinity terms of their own."""
        for name in sorted(cycle.cache.with_affinity):
            node = cycle.cache.node(name)
            if node is None:
                continue
            for key in node.with_affinity:
                if key not in cycle.excluded:
                    yield node.pods[key], node

    def filter(self, cycle: Cycle, node: NodeInfo) -> Rejection | None:
        """Refuse nodes in the wrong domains."""
        prepared: _Prepared = cycle.state[self.name]
        if not self._near_enough(prepared, node):
            return Rejection((self.REASON_AFFINITY,), final=True)
        for term in prepared.wanted_anti:
            domain = (term["topologyKey"], node.labels.get(term["topologyKey"], ""))
            if prepared.anti.get(domain):
                return Rejection((self.REASON_ANTI,))
        if prepared.existing_anti:
            for key, value in node.labels.items():
                if prepared.existing_anti.get((key, value)):
                    return Rejection((self.REASON_EXISTING,))
        return None

    def _near_enough(self, prepared: _Prepared, node: NodeInfo) -> bool:
        exists = True
        for term in prepared.wanted:
            value = node.labels.get(term["topologyKey"])
            if value is None:
                return False
            exists = exists and bool(prepared.affinity.get((term["topologyKey"], value)))
        # The first of a group that wants to be together may stand anywhere.
        return exists or (not prepared.affinity and prepared.self_match)

    def scores_of(self, cycle: Cycle, table: NodeTable, rows: Rows) -> Integers | None:
        """Nothing where neither the pod nor one that runs wishes for anything."""
        info = cycle.info
        if not cycle.cache.with_affinity and not info.affinity("podAffinity") and not info.affinity("podAntiAffinity"):
            return None
        return super().scores_of(cycle, table, rows)

    def scores(self, cycle: Cycle, nodes: Sequence[NodeInfo]) -> list[int] | None:
        """The weights of preferred terms, the pod's own and those of pods already there."""
        info = cycle.info
        domains: Domains = {}
        near = info.affinity("podAffinity").get(PREFERRED) or ()
        far = info.affinity("podAntiAffinity").get(PREFERRED) or ()
        if near or far:
            own = [*((entry, 1) for entry in near), *((entry, -1) for entry in far)]
            terms = [entry["podAffinityTerm"] for entry, _ in own]
            for other, node in _placed(cycle, _namespaces(info, terms)):
                for entry, sign in own:
                    if term_selects(cycle, entry["podAffinityTerm"], info, other):
                        _bump(domains, entry["podAffinityTerm"], node, sign * int(entry["weight"]))
        for owner, node in self._with_terms(cycle):
            self._add_wishes_of(cycle, owner, node, domains)
        if not domains:
            return None
        raw = [sum(domains.get(pair, 0) for pair in node.labels.items()) for node in nodes]
        lowest, highest = min(raw), max(raw)
        if lowest == highest:
            return None
        return [(value - lowest) * MAX_SCORE // (highest - lowest) for value in raw]

    def _add_wishes_of(self, cycle: Cycle, owner: PodInfo, node: NodeInfo, domains: Domains) -> None:
        info = cycle.info
        for term in owner.affinity("podAffinity").get(REQUIRED) or ():
            if term_selects(cycle, term, owner, info):
                _bump(domains, term, node, HARD_AFFINITY_WEIGHT)
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for entry in owner.affinity(kind).get(PREFERRED) or ():
                if term_selects(cycle, entry["podAffinityTerm"], owner, info):
                    _bump(domains, entry["podAffinityTerm"], node, sign * int(entry["weight"]))
