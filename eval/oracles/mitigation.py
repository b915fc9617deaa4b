"""Checks of fields that a task names, over a window long enough to see a relapse; they explain a grade.

After the agent has finished, containers that wait out a back-off are tried once more, and
rollouts in flight may settle; then every check of state is sampled every 5 s and must hold at
every sample, and checks of what happened during the window are asked at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simcluster.engine import SECOND
from simcluster.engine.content import Library
from simcluster.eval.oracles.baseline import Baseline
from simcluster.eval.oracles.check import CheckResult, Context
from simcluster.eval.oracles.registry import checks_of
from simcluster.faults.facts import ChangedFact
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.steps import mechanism_of
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

SAMPLE_NS = 5 * SECOND
#: What containers wait for that are tried again by themselves, and how long they may (MaxContainerBackOff 300 s, and a
#: pull or a start).
BACKED_OFF, PATIENCE_NS = ("CrashLoopBackOff", "ImagePullBackOff"), 330 * SECOND


@dataclass(frozen=True)
class MitigationVerdict:
    """Whether the incident is over.

    Attributes:
        results: what decides, one by one.
        undecided: tests that say nothing, because the healthy twin or the reference fix fails them: why.
        fields: checks of fields that the task names; they explain, and decide nothing.
    """

    passed: bool
    results: tuple[CheckResult, ...]
    undecided: dict[str, str] = field(default_factory=dict)
    fields: tuple[CheckResult, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form in reports."""
        return {
            "passed": self.passed,
            "checks": [result._asdict() for result in self.results],
            "undecided": dict(self.undecided),
            "fields": [result._asdict() for result in self.fields],
        }

    @property
    def why_not(self) -> str:
        """What failed, in one line."""
        return "; ".join(f"{r.name}: {r.why}" for r in self.results if not r.passed)

    def explain(self) -> str:
        """One line a result; checks of fields that do not hold are named after them."""
        lines = [f"{'pass' if r.passed else 'FAIL'} {r.name} {r.why}".rstrip() for r in self.results]
        lines += [f"says nothing: {name}: {why}" for name, why in self.undecided.items()]
        return "\n".join([*lines, *(f"note {r.name} {r.why}" for r in self.fields if not r.passed)])


class Mitigation:
    """Judges worlds.

    Args:
        library: where faults of third parties are found.
    """

    def __init__(self, library: Library | None = None) -> None:
        self.library = library

    def judge(
        self, world: World, task: Task, baseline: Baseline, record: Mapping[int, tuple[ChangedFact, ...]] | None = None
    ) -> MitigationVerdict:
        """Let the world live through the acceptance window and judge it.

        Noise must have been silenced before.

        Args:
            world: is advanced by the longest back-off that somebody waits out, and the task's `settle` and `window`.
            task: with resolved targets.
            baseline: taken before the incident.
            record: what each fault changed, by step.
        """
        checks = checks_of(task)
        _tried_again(world, task.namespace)
        world.run_for(task.acceptance.settle)
        ctx = Context(world, task.namespace, baseline, self.mechanisms(task, record), world.sim.now)
        failed: dict[int, CheckResult] = {}
        for check in checks:
            check.begin(ctx)
        end = world.sim.now + task.acceptance.window
        while True:
            last = world.sim.now >= end
            for check in checks:
                if check.index not in failed and (check.lasting or last):
                    result = check.evaluate(ctx)
                    if not result.passed:
                        after_s = (world.sim.now - ctx.opened_ns) // SECOND
                        failed[check.index] = result._replace(why=f"{result.why} (after {after_s} s)")
            if last:
                break
            world.run_for(min(SAMPLE_NS, end - world.sim.now))
        results = tuple(failed.get(check.index, CheckResult(check.name, True)) for check in checks)
        return MitigationVerdict(not failed, results)

    def mechanisms(
        self, task: Task, record: Mapping[int, tuple[ChangedFact, ...]] | None = None
    ) -> tuple[Mechanism, ...]:
        """What the incident did."""
        known, found = record or {}, []
        for index, step in enumerate(task.incident):
            if step.fault:
                one = mechanism_of(step, task.namespace, self.library).knowing(known.get(index, ()))
                one.lasting = one.lasting and not step.harmless  # a circumstance may stay
                found.append(one)
        return tuple(found)


def _tried_again(world: World, namespace: str) -> None:
    """Let containers that wait out a back-off be tried once more: what they failed for may be gone."""
    end_ns, waiting = world.sim.now + PATIENCE_NS, _waiting(world, namespace)
    while waiting and world.sim.now < end_ns:
        world.run_for(min(SAMPLE_NS, end_ns - world.sim.now))
        waiting &= _waiting(world, namespace)


def _waiting(world: World, namespace: str) -> set[tuple[str, str, int]]:
    """Containers that wait out a back-off: uid of the pod, name, how often they were started again."""
    found = set()
    for pod in world.api.store.objects("pods", namespace):
        status = pod.get("status") or {}
        for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            if ((one.get("state") or {}).get("waiting") or {}).get("reason") in BACKED_OFF:
                found.add((pod["metadata"]["uid"], one["name"], one.get("restartCount", 0)))
    return found
