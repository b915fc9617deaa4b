"""The examination of a world at rest: in order, and a failure ends it.

At rest the world is compared with its healthy twin at the same instant. Then every test is taken by a fork of its own.
What a fork does not survive counts only if the twin does, and so does the world after the task's reference fix:
otherwise the test discriminates nothing, and is listed so. Those two take a test when the world has failed it, each at
most once for a task, a seed and a noise. Chance is no harm: what the twin does not survive under other draws, or what
this world does, says nothing either. A loss is judged by what it hits: pods move, so that the twin loses the node, too,
that runs there what is missed here. Nobody looks at what watches a fork, so that writes nothing down.

A grade has a budget: tests of what differs from the twin, then time and the control plane, and a sample by the seed of
the others. `check` lets the reference fixes take all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import Snapshot
from simcluster.eval.examination import choice
from simcluster.eval.examination.controlplane import ControlPlane
from simcluster.eval.examination.latent import latent
from simcluster.eval.examination.parallel import in_order, jobs
from simcluster.eval.examination.standing import failings, lost, pods_of, ready_nodes, unfinished, workloads
from simcluster.eval.examination.trials import LIMIT_NS, Drain, Norm, Reboot, TimePasses, Trial, label
from simcluster.eval.examination.twin import twin_of
from simcluster.eval.examination.vitals import Vitals, vitals
from simcluster.eval.interventions.worlds import set_right
from simcluster.eval.oracles.check import CheckResult
from simcluster.eval.trajectory.observe import critical_components
from simcluster.eval.worlds.steps import perform
from simcluster.faults.facts import ChangedFact
from simcluster.faults.survey import standing
from simcluster.session.live import Live
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.engine.content import Library
    from simcluster.world import World


class Case(NamedTuple):
    """What an examination needs to know about the episode whose world it examines.

    Attributes:
        task: with resolved targets.
        paged: its world at the page, from which the reference fix starts; None: no fix is asked.
        slow_ns: how long the incident took from its cause to the page.
        changed: what its causes changed; what is harmless may stay as it is.
    """

    task: Task
    seed: int
    noise: str | None
    library: Library | None
    paged: Snapshot[World] | None
    slow_ns: int
    changed: tuple[ChangedFact, ...] = ()


@dataclass(frozen=True)
class Examination:
    """What was found.

    Attributes:
        results: of what was examined, in order; the last one may have failed.
        undecided: tests that the world did not survive, and neither did the twin or the reference fix: why.
    """

    results: tuple[CheckResult, ...]
    undecided: dict[str, str]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return all(result.passed for result in self.results)


class Taken(NamedTuple):
    """What came of a test.

    Attributes:
        why: it was not survived; empty if it was.
        lost: nodes and parts of the control plane that were missing at its end.
        stuck: workloads of the application that were unfinished at its end, as `kind/name`.
    """

    why: str
    lost: frozenset[str] = frozenset()
    stuck: frozenset[str] = frozenset()


SURVIVED = Taken("")
#: Other draws under which a test is taken that only this world has not survived: who comes first in a race is chance.
DRAWS = (1, 2)
#: Tests of what is done to a world, in which there are races.
_RACES = ("change", "loss")
#: What twins and fixed worlds say to tests, by task, seed and noise, test and who is asked.
_KNOWN: dict[tuple[object, ...], Taken] = {}
_AFTER_FIX: dict[tuple[object, ...], tuple[Vitals | None, frozenset[str]]] = {}
_KNOWN_MAX = 4096
#: The last worlds after the first reference fix, at rest, by task, seed and noise.
_FIXED: dict[tuple[object, ...], Snapshot[World]] = {}
_FIXED_MAX = 3


def _take(test: Trial, fork: World, norm: Norm) -> Taken:
    """Take a test in a fork of one's own."""
    why = test.take(fork, norm)
    if not why:
        return SURVIVED
    here = workloads(fork, norm.task.namespace)
    stuck = frozenset(label(one) for kind, one in here if unfinished(kind, one))
    return Taken(why, lost(fork, norm.critical), stuck)


def _on_fork(test: Trial, rest: Snapshot[World], norm: Norm, salt: int | None = None) -> Taken:
    """Take a test in a fork of a world at rest; `salt`: under other draws."""
    fork = rest.restore(salt)
    fork.stop_collecting()
    return _take(test, fork, norm)


def _by_chance(test: Trial, rest: Snapshot[World], norm: Norm) -> str:
    """Why it is chance that a world has not survived a test; empty if it survives it under no other draws either."""
    draws = DRAWS if test.group in _RACES else ()
    return "under other draws it does" if any(not _on_fork(test, rest, norm, salt).why for salt in draws) else ""


class Examiner:
    """Examines worlds of one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._key = (case.task.model_dump_json(), case.seed, case.noise, case.library)

    def examine(self, world: World, *, whole: bool = False) -> Examination:
        """Examine a world that has settled and lived through the acceptance window without noise; it stays as it is.

        Args:
            whole: take all tests, not a sample, and go on after a failure.
        """
        case, undecided = self.case, dict[str, str]()
        twin = twin_of(case.task, case.seed, case.noise, world.sim.now, case.library)
        norm = self._norm(twin)
        results = [self._rest(world, twin, norm)]
        if not results[0].passed:
            norm = self._eased(norm)
            results = [self._rest(world, twin, norm)]
            if not whole and not results[0].passed:
                return Examination(tuple(results), undecided)
        rest = Snapshot(world)
        tests = self._tests(world, twin, whole)
        done = in_order([partial(_on_fork, test, rest, norm) for test in tests], jobs())
        for test in tests:
            if not whole and not results[-1].passed:
                break
            taken = next(done)
            excuse = (self._excuse(test, taken, twin, norm) or _by_chance(test, rest, norm)) if taken.why else ""
            if excuse:
                undecided[test.name] = excuse
            else:
                results.append(CheckResult(test.name, not taken.why, taken.why))
        done.close()
        return Examination(tuple(results), undecided)

    def sees(self, world: World) -> str:
        """What is found at rest where, of all that the incident changed, only that stands which stands in a world.

        Whose world passes although it stands has mended elsewhere what can be seen. Where nothing stands any more, all
        of it is tried. Empty if nothing is found, or nobody can tell: noise may hurt, too.
        """
        case, changed = self.case, self.case.changed
        if case.paged is None or case.noise is not None:
            return ""
        left = [fact for fact in changed if standing(world, (fact,))] or changed
        broken, task = case.paged.restore(), case.task
        broken.stop_collecting()
        if set_right(broken, [fact for fact in changed if fact not in left]):
            return ""
        broken.run_for(LIMIT_NS + task.acceptance.settle + task.acceptance.window)
        twin = twin_of(task, case.seed, case.noise, broken.sim.now, case.library)
        return self._rest(broken, twin, self._eased(self._norm(twin))).why

    def _norm(self, twin: World) -> Norm:
        task = self.case.task
        rest = vitals(twin, task.namespace, task.acceptance.window)
        lived_ns = task.acceptance.settle + task.acceptance.window
        critical = critical_components(twin.api.store)
        return Norm(task, self.case.library, rest, critical, self.case.slow_ns, lived_ns)

    def _rest(self, world: World, twin: World, norm: Norm) -> CheckResult:
        """At rest: what is unfinished, nodes that are gone, users and calls against the twin."""
        namespace, lasts_ns = norm.task.namespace, norm.task.acceptance.window
        healthy = failings(twin, norm.task.homes, norm.critical)
        found = [why for why in norm.failings(world) if why not in healthy]
        have, wanted = ready_nodes(world), ready_nodes(twin)
        if have < wanted:
            found.append(f"{have} of {wanted} nodes are left")
        found += norm.worse(vitals(world, namespace, lasts_ns))
        found += latent(world, twin, norm.task.homes, self.case.changed)
        return CheckResult("at rest: users, calls, workloads and nodes are as without the incident", not found,
                           "; ".join(found[:3]))  # fmt: skip

    def _tests(self, world: World, twin: World, whole: bool) -> list[Trial]:
        """In order; in a grade tests of what differs from the twin come first, for a failure ends it."""
        task, seed = self.case.task, None if whole else self.case.seed
        returns = choice.returns(world, twin, task, self.case.changed)
        found: list[Trial] = [
            *(TimePasses(), ControlPlane()),
            *returns,
            *choice.changes(world, twin, task, seed, self.case.library),
            *choice.losses(world, twin, task, seed),
        ]
        first = frozenset() if whole else choice.suspects(world, twin, task) | {test.subject for test in returns}
        return sorted(found, key=lambda test: test.subject not in first)

    # --- whether a test discriminates -------------------------------------------------------

    def _excuse(self, test: Trial, taken: Taken, twin: World, norm: Norm) -> str:
        """Why a test that the world did not survive says nothing; empty if it does.

        Who serves nobody after a test that the twin does not survive either is excused; who has lost a node or a part
        of the control plane that the twin has then is not.
        """
        asked: list[tuple[str, str, Callable[[], Taken]]] = [
            ("twin", "nor does it without the incident", partial(self._healthy, test, twin, norm)),
            ("fix", "nor does it after the reference fix", partial(self._fixed, test, norm)),
        ]
        for salt in DRAWS if test.group in _RACES else ():
            words = "nor does it always without the incident"
            asked.append((f"twin {salt}", words, partial(self._healthy, test, twin, norm, salt)))
        for who, words, ask in asked:
            other = self._known(test, who, ask)
            if other.why and taken.lost <= other.lost:
                return f"{words}: {other.why}"
        for node in self._elsewhere(test, taken, twin):
            there = replace(test, subject=node)
            other = self._known(there, "twin", partial(self._healthy, there, twin, norm))
            if other.why and taken.lost <= other.lost and taken.stuck <= other.stuck:
                return f"nor does {node} without the incident, which runs there what is missed: {other.why}"
        return ""

    def _elsewhere(self, test: Trial, taken: Taken, twin: World) -> list[str]:
        """Nodes that run in the twin the workloads that a loss of another node left unfinished here: pods move."""
        if not isinstance(test, (Reboot, Drain)) or not taken.stuck or taken.lost:
            return []
        pods = [pod for name in sorted(taken.stuck) for pod in pods_of(twin, self.case.task.namespace, name)]
        return list(dict.fromkeys(pod["spec"]["nodeName"] for pod in pods if pod["spec"]["nodeName"] != test.subject))

    def _known(self, test: Trial, who: str, ask: Callable[[], Taken]) -> Taken:
        key = (*self._key, test.name, who)
        if key not in _KNOWN:
            _KNOWN[key] = ask()
            if len(_KNOWN) > _KNOWN_MAX:
                del _KNOWN[next(iter(_KNOWN))]
        return _KNOWN[key]

    def _healthy(self, test: Trial, twin: World, norm: Norm, salt: int | None = None) -> Taken:
        return _take(test, Snapshot(twin).restore(salt), norm) if choice.applies(test, twin, norm.task) else SURVIVED

    def _fixed(self, test: Trial, norm: Norm) -> Taken:
        world = self._mended()
        if world is None or not choice.applies(test, world, norm.task):
            return SURVIVED
        return _take(test, world, norm)

    def _eased(self, norm: Norm) -> Norm:
        """What is normal after the reference fix at rest; the same if nobody knows one.

        What users and programs meet counts only if it serves users, what is unfinished only if it is a workload.
        """
        if self._key not in _AFTER_FIX:
            world, task = self._mended(), self.case.task
            seen, left = None, frozenset[str]()
            if world is not None:
                seen = vitals(world, task.namespace, task.acceptance.window)
                left = frozenset(norm.failings(world)) - lost(world, norm.critical)
            _AFTER_FIX[self._key] = (None if seen is None or seen.collapsed else seen, left)
            if len(_AFTER_FIX) > _KNOWN_MAX:
                del _AFTER_FIX[next(iter(_AFTER_FIX))]
        eased, left = _AFTER_FIX[self._key]
        return replace(norm, eased=eased, left=left)

    def _mended(self) -> World | None:
        """A world after the first reference fix, at rest; None if nobody knows one."""
        if self._key not in _FIXED:
            if self.case.paged is None or not self.case.task.reference_fixes:
                return None
            task, world = self.case.task, self.case.paged.restore()
            world.stop_collecting()
            hand = Live(world, task.clock, task.budget)
            for step in task.reference_fixes[0]:
                perform(hand, step)
            world.run_for(task.acceptance.settle + task.acceptance.window)
            _FIXED[self._key] = Snapshot(world)
            if len(_FIXED) > _FIXED_MAX:
                del _FIXED[next(iter(_FIXED))]
        return _FIXED[self._key].restore()
