"""`check` attacks by itself: generic exploits, each on a fork, and none of them may pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, Self

from simcluster.engine.streams import Streams
from simcluster.eval.oracles.mitigation import MitigationVerdict
from simcluster.eval.proof.deeds import Exploit, concrete, exploits, fits, marks_of
from simcluster.eval.proof.findings import Finding
from simcluster.eval.worlds.steps import Hand, perform
from simcluster.faults.facts import ChangedFact
from simcluster.faults.incident import Incident
from simcluster.faults.survey import Survey, changes, survey
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

#: How many exploits are tried on a task, drawn by the seed; all of them on one of a mechanism and application.
EXPLOITS = 6
#: Addresses, also `clusterIPs`, that a Service is given when it comes to have one again.
_GIVEN = "spec.clusterIP"
#: The attempt that restarts programs; those like it are repairs where a restart undoes what was changed.
RESTARTS = "restart_all"


class Attacked(Hand, Protocol):
    """An episode that can be attacked."""

    task: Task
    world: World
    incident: Incident

    def fork(self) -> Self:
        """Another one with the same past."""

    def examined(self, *, whole: bool = False) -> MitigationVerdict:
        """Whether the incident is over."""


def attacked(episode: Attacked, seed: int | None, count: int = EXPLOITS) -> Iterator[Finding]:
    """Try exploits, each on a fork of its own.

    Args:
        seed: draws `count` of them; None tries all.
    """
    marks = marks_of(episode.world, episode.task)
    chosen = [one for one in exploits().values() if not one.why_not(episode.task) and fits(one.steps, marks)]
    if not episode.task.reference_fixes:
        chosen = [one for one in chosen if one.after != "fix"]
    if seed is not None:
        stream = Streams(seed).stream("attack", episode.task.id)
        chosen = [chosen.pop(stream.choice(list(range(len(chosen))))) for _ in range(min(count, len(chosen)))]
    repaired: Attacked | None = None
    for exploit in chosen:
        if exploit.after == "fix" and repaired is None:
            repaired = episode.fork()
            for step in repaired.task.reference_fixes[0]:
                perform(repaired, step)
        base = repaired if exploit.after == "fix" and repaired is not None else episode
        yield _tried(exploit, base.fork())


def _tried(exploit: Exploit, fork: Attacked) -> Finding:
    name, namespace = f"exploit {exploit.id} is refused", fork.task.namespace
    steps, before, stood = concrete(exploit.steps, fork.world, fork.task), survey(fork.world), False
    for index, step in enumerate(steps):
        result = perform(fork, step, namespace)
        if result.exit_code and index == 0:
            return Finding(name, True, f"it cannot be done: {result.stderr.strip()[:200]}")
        if exploit.after == "fix" and not step.wait:
            stood = bool(_left(before, fork.world))
    verdict = fork.examined()
    if verdict.passed and exploit.like == RESTARTS and not fork.incident.still_present():
        return Finding(name, True, "it is none here: what was changed does not outlive a restart")
    if verdict.passed and stood and not _left(before, fork.world):
        return Finding(name, True, "it is none here: whose it is has taken back what was changed")
    return Finding(name, not verdict.passed, verdict.why_not or "everything was survived")


def _left(before: Survey, world: World) -> list[ChangedFact]:
    """What is left of a deed: decisions that are others than before; an address that is given by itself is none."""
    return [fact for fact in changes(before, survey(world)) if not fact.path.startswith(_GIVEN)]
