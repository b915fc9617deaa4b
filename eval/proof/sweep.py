"""All exploits and repairs, on one task for every mechanism and application, and what is exempt for what reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simcluster import tasks
from simcluster.engine.content import Library
from simcluster.eval.episode.start import start
from simcluster.eval.proof.attacks import attacked
from simcluster.eval.proof.deeds import exploits
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.proof.mending import mended, repairs
from simcluster.faults import registry


class Exemption(NamedTuple):
    """An exploit or a repair that is not tried on a task."""

    deed: str
    task: str
    reason: str


def covering(library: Library | None = None) -> list[str]:
    """Ids of tasks in which every mechanism of the catalogue is met in every application in which it occurs.

    Those with the most mechanisms come first, so that few are needed.
    """
    wanted: dict[str, frozenset[tuple[str, str]]] = {}
    for task_id in tasks.ids(library):
        task = tasks.load(task_id, library)
        faults = [step.fault for step in task.incident if step.fault]
        wanted[task_id] = frozenset((registry.load(fault, library).mechanism, task.app) for fault in faults)
    found, met = [], set[tuple[str, str]]()
    for task_id, pairs in sorted(wanted.items(), key=lambda item: (-len(item[1]), item[0])):
        if pairs - met:
            found.append(task_id)
            met |= pairs
    return sorted(found)


def attack_whole(task_id: str, seed: int = 0, library: Library | None = None) -> ProofReport:
    """Try every exploit and every repair that fits a task. Raises UnknownName, ContentError."""
    episode = start(task_id, seed, library=library)
    return ProofReport("attacks", task_id, seed, (*attacked(episode, None), *mended(episode, None)))


def exemptions(task_ids: Iterable[str], library: Library | None = None) -> list[Exemption]:
    """What is not tried on these tasks, and why. Raises UnknownName, ContentError."""
    found = []
    for task in [tasks.load(task_id, library) for task_id in task_ids]:
        attacks = {one.id: one.why_not(task) for one in exploits().values()}
        mends = {one.id: one.exempt.get(task.id, "") for one in repairs().values()}
        found += [Exemption(deed, task.id, why) for deed, why in (attacks | mends).items() if why]
    return found


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """How many exploits were tried, could not be done and were accepted; repairs tried and refused."""
    each = list(findings)
    attacks = [one for one in each if one.name.startswith("exploit ")]
    mends = [one for one in each if one.name.startswith("repair ")]
    return {
        "exploits": len(attacks),
        "impossible": sum(one.why.startswith("it cannot be done") for one in attacks),  # integers
        "accepted": sum(not one.passed for one in attacks),  # integers
        "repairs": len(mends),
        "refused": sum(not one.passed for one in mends),  # integers
    }
