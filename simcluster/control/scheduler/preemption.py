"""Preemption: which less important pods must go so that a pod fits.

Leaves out PodDisruptionBudgets (victims that violate one are not avoided).
Source: kubernetes pkg/scheduler/framework/preemption and plugins/defaultpreemption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from simcluster.api.objects import is_terminating
from simcluster.control.scheduler.cache import NodeInfo, PodInfo
from simcluster.control.scheduler.framework import Cycle, Rejection
from simcluster.control.scheduler.messages import NO_VICTIMS, NOT_HELPFUL
from simcluster.engine import parse_rfc3339

#: Runs all filters for a node in a cycle.
Filter = Callable[[Cycle, NodeInfo], Rejection | None]
#: Prepares all plugins for a cycle.
Prepare = Callable[[Cycle], Rejection | None]


class Candidate(NamedTuple):
    """A node on which the pod fits once the victims are gone."""

    node: str
    victims: tuple[PodInfo, ...]


def _start(info: PodInfo) -> int:
    status = info.pod.get("status") or {}
    return parse_rfc3339(status.get("startTime") or info.pod["metadata"]["creationTimestamp"])


def _importance(info: PodInfo) -> tuple[int, int, str]:
    """Sort key: less important first (lower priority, started later)."""
    return (info.priority, -_start(info), info.key)


def select_victims(cycle: Cycle, node: NodeInfo, prepare: Prepare, check: Filter) -> Candidate | Rejection:
    """The fewest, least important pods of a node whose removal makes the pod fit.

    All pods of lower priority are taken away; if the pod fits then, they are put back one
    by one, the most important first, as long as it still fits.
    """
    lower = [info for info in node.pods.values() if info.priority < cycle.info.priority]
    if not lower:
        return Rejection((NO_VICTIMS,), final=True)
    gone = {info.key: None for info in lower}
    refusal = _try(cycle, node, gone, prepare, check)
    if refusal is not None:
        return refusal
    for info in sorted(lower, key=_importance, reverse=True):
        fewer = {key: None for key in gone if key != info.key}
        if _try(cycle, node, fewer, prepare, check) is None:
            gone = fewer
    victims = sorted((info for info in lower if info.key in gone), key=_importance, reverse=True)
    return Candidate(node.name, tuple(victims))


def _try(cycle: Cycle, node: NodeInfo, gone: dict[str, None], prepare: Prepare, check: Filter) -> Rejection | None:
    trial = Cycle(cycle.info, cycle.cache, cycle.store, gone)
    refusal = prepare(trial)
    return refusal if refusal is not None else check(trial, node.without(gone))


def choose(candidates: list[Candidate]) -> Candidate:
    """The node that loses least (pickOneNodeForPreemption).

    Lowest highest-priority victim, then the lowest sum, the fewest victims, the latest start
    of the most important victim, and the name.
    """

    def cost(candidate: Candidate) -> tuple[int, int, int, int, str]:
        victims = candidate.victims
        highest = max((info.priority for info in victims), default=-(2**31))
        earliest = min((_start(info) for info in victims if info.priority == highest), default=0)
        # Upstream shifts priorities so that more victims never cost less.
        total = sum(info.priority + 2**31 for info in victims)
        return (highest, total, len(victims), -earliest, candidate.node)

    return min(candidates, key=cost)


def find_candidates(
    cycle: Cycle, refused: Mapping[str, Rejection], prepare: Prepare, check: Filter
) -> tuple[list[Candidate], list[str]]:
    """(nodes on which preemption works, reasons of the others in node order)."""
    candidates: list[Candidate] = []
    reasons: list[str] = []
    for node in cycle.cache.nodes:
        refusal = refused.get(node.name)
        if refusal is None or refusal.final:
            reasons.append(NOT_HELPFUL)
            continue
        result = select_victims(cycle, node, prepare, check)
        if isinstance(result, Candidate):
            candidates.append(result)
        else:
            reasons.extend(result.reasons)
    return candidates, reasons


def waits_for_victims(info: PodInfo, node: NodeInfo | None) -> bool:
    """Whether pods already preempted for it are still leaving the nominated node."""
    if node is None:
        return False
    return any(is_terminating(other.pod) and other.priority < info.priority for other in node.pods.values())
