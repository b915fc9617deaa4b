"""Preemption: which less important pods must go so that a pod fits.

Disruption budgets are respected as far as possible, and no further. Leaves out extenders.
Source: kubernetes pkg/scheduler/framework/preemption and plugins/defaultpreemption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simcluster.api.objects import is_terminating, name_of, namespace_of
from simcluster.api.store import Store
from simcluster.control.labelselector import selector_matches
from simcluster.control.scheduler.framework import Cycle, Rejection
from simcluster.control.scheduler.messages import NO_VICTIMS, NOT_HELPFUL
from simcluster.control.scheduler.nodeinfo import NodeInfo, PodInfo
from simcluster.control.scheduler.search import Search
from simcluster.engine import parse_rfc3339

BUDGETS = "poddisruptionbudgets.policy"
#: minCandidateNodesPercentage and minCandidateNodesAbsolute: so many nodes are tried out at least.
LEAST_PERCENT, LEAST_CANDIDATES = 10, 100


class Candidate(NamedTuple):
    """A node on which the pod fits once the victims are gone.

    Attributes:
        violations: how many of the victims a disruption budget would keep.
    """

    node: str
    victims: tuple[PodInfo, ...]
    violations: int


class NoVictim(NamedTuple):
    """A node on which the pod would fit as it is: preemption is wrong there, and the scheduler says so."""

    node: str

    @property
    def text(self) -> str:
        """What the scheduler says."""
        return f'expected at least one victim pod on node "{self.node}"'


def _start(info: PodInfo) -> int:
    status = info.pod.get("status") or {}
    return parse_rfc3339(status.get("startTime") or info.pod["metadata"]["creationTimestamp"])


def _importance(info: PodInfo) -> tuple[int, int, str]:
    """Sort key: less important first (lower priority, started later)."""
    return (info.priority, -_start(info), info.key)


def protected(store: Store, pods: Sequence[PodInfo]) -> dict[str, None]:
    """Keys of the pods whose removal, one after the other, would violate a disruption budget."""
    budgets = store.objects(BUDGETS)
    allowed = [int((budget.get("status") or {}).get("disruptionsAllowed", 0)) for budget in budgets]
    found: dict[str, None] = {}
    for info in pods:
        for position, budget in enumerate(budgets):
            selector = budget["spec"].get("selector")
            if not info.labels or not selector or namespace_of(budget) != info.namespace:
                continue
            if not selector_matches(selector, info.labels):
                continue
            if name_of(info.pod) in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue  # its eviction is counted already
            allowed[position] -= 1
            if allowed[position] < 0:
                found[info.key] = None
    return found


def select_victims(cycle: Cycle, node: NodeInfo, search: Search) -> Candidate | NoVictim | Rejection:
    """The fewest, least important pods of a node whose removal makes the pod fit.

    All pods of lower priority are taken away; if the pod fits then, they are put back one by
    one as long as it still fits: first those that a disruption budget protects, then the
    others, of each the most important first.
    """
    lower = [info for info in node.pods.values() if info.priority < cycle.info.priority]
    if not lower:
        return Rejection((NO_VICTIMS,), final=True)
    gone = {info.key: None for info in lower}
    refusal = _try(cycle, node, gone, search)
    if refusal is not None:
        return refusal
    lower.sort(key=_importance, reverse=True)
    kept = protected(cycle.store, lower)
    for info in [*(one for one in lower if one.key in kept), *(one for one in lower if one.key not in kept)]:
        fewer = {key: None for key in gone if key != info.key}
        if _try(cycle, node, fewer, search) is None:
            gone = fewer
    victims = tuple(info for info in lower if info.key in gone)
    if not victims:
        return NoVictim(node.name)
    return Candidate(node.name, victims, sum(info.key in kept for info in victims))


def _try(cycle: Cycle, node: NodeInfo, gone: dict[str, None], search: Search) -> Rejection | None:
    trial = Cycle(cycle.info, cycle.cache, cycle.store, gone)
    refusal = search.prepare(trial)
    return refusal if refusal is not None else search.check(trial, search.with_reserved(trial, node.without(gone)))


def choose(candidates: list[Candidate]) -> Candidate:
    """The node that loses least (pickOneNodeForPreemption).

    Fewest violated budgets, then the lowest highest-priority victim, the lowest sum, the fewest
    victims, the latest start of the most important victim, and the name.
    """

    def cost(candidate: Candidate) -> tuple[int, int, int, int, int, str]:
        victims = candidate.victims
        highest = max((info.priority for info in victims), default=-(2**31))
        earliest = min((_start(info) for info in victims if info.priority == highest), default=0)
        # Upstream shifts priorities so that more victims never cost less.
        total = sum(info.priority + 2**31 for info in victims)
        return (candidate.violations, highest, total, len(victims), -earliest, candidate.node)

    return min(candidates, key=cost)


def find_candidates(
    cycle: Cycle, refused: Mapping[str, Rejection], search: Search
) -> tuple[list[Candidate], list[str], list[NoVictim]]:
    """(nodes on which preemption works, reasons of the others in node order, nodes that need none)."""
    candidates: list[Candidate] = []
    reasons: list[str] = []
    needless: list[NoVictim] = []
    nodes = cycle.cache.nodes
    enough = max(LEAST_CANDIDATES, len(nodes) * LEAST_PERCENT // 100)
    for node in nodes:
        refusal = refused.get(node.name)
        if refusal is None or refusal.final:
            reasons.append(NOT_HELPFUL)
            continue
        if len(candidates) >= enough and any(not one.violations for one in candidates):
            break
        result = select_victims(cycle, node, search)
        if isinstance(result, Candidate):
            candidates.append(result)
        elif isinstance(result, NoVictim):
            needless.append(result)
        else:
            reasons.extend(result.reasons)
    return candidates, reasons, needless


def waits_for_victims(info: PodInfo, node: NodeInfo | None) -> bool:
    """Whether pods already preempted for it are still leaving the nominated node."""
    if node is None:
        return False
    return any(is_terminating(other.pod) and other.priority < info.priority for other in node.pods.values())
