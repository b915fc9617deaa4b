"""The proof of a task, as CI runs it and `simcluster check` shows it.

Healthy before the incident; noticed by users or the monitor after it; the oracle refuses
the faulty world and every forbidden attempt, and accepts every reference fix; the judge
accepts the right diagnoses and refuses the plausible wrong ones; nothing that an agent can
read holds the answer's words. Each attempt and each fix starts from a fork of one world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from simcluster import tasks
from simcluster.apps.registry import applications
from simcluster.engine.content import ContentError, Library, UnknownName, load_content, read_document
from simcluster.eval.episode.start import start
from simcluster.eval.interventions import Court, Paged, diagnosed, proved
from simcluster.eval.judge import DiagnosisVerdict, judge, judge_faultless
from simcluster.eval.judge.judge import family_of
from simcluster.eval.oracles import Baseline, Mitigation, MitigationVerdict
from simcluster.eval.oracles.registry import WrongCheck, checks_of
from simcluster.eval.proof.apps import check_app
from simcluster.eval.proof.attacks import EXPLOITS, attacked
from simcluster.eval.proof.attempts import REACTION_NS, attempt
from simcluster.eval.proof.faults import case_findings
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.proof.leaks import leaks
from simcluster.eval.proof.looks import revealed
from simcluster.eval.proof.mending import REPAIRS, mended, restored
from simcluster.eval.proof.pairs import drawn_proof
from simcluster.eval.trajectory import Recorder, Verdict
from simcluster.eval.trajectory.verifiers import depth
from simcluster.eval.worlds.healthy import NotAnIncident
from simcluster.eval.worlds.steps import perform
from simcluster.faults import registry as faults
from simcluster.faults.incident import Incident
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ImpossibleTarget
from simcluster.models.apps.behaviour import read_application
from simcluster.noise import plan as noise
from simcluster.surface.protocols import Outcome, Shell
from simcluster.tasks.calm import is_calm
from simcluster.tasks.model import Step, Task

if TYPE_CHECKING:
    from simcluster.world import World

#: The suite of incidents of which the usual looks tell nothing.
HARD = "hard"
#: Share of the users' requests that succeed in a healthy application.
HEALTHY_RATIO = 0.99


class Provable(Protocol):
    """What the proof needs of an episode that has been paged."""

    task: Task  # resolved
    world: World
    incident: Incident
    baseline: Baseline
    recorder: Recorder
    at_page: Paged | None

    @property
    def alert(self) -> str:
        """The page, empty if nobody noticed."""

    def fork(self) -> Self:
        """A second episode with the same past."""

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""

    def node(self, name: str) -> Shell:
        """A root shell on a node."""

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""

    def examined(self, *, whole: bool = False) -> MitigationVerdict:
        """Whether the incident is over, after the acceptance window; `whole`: by every test there is."""

    def verified(self) -> Verdict:
        """Whether it did no harm on the way, once examined."""


#: Opens an episode: task (id or path) and seed.
Opener = Callable[[str, int], Provable]


def check(
    target: str,
    seed: int = 0,
    *,
    library: Library | None = None,
    opener: Opener | None = None,
    tries: tuple[int, int] = (EXPLOITS, REPAIRS),
    quick: bool = False,
    shaken: bool = False,
) -> ProofReport:
    """Prove an application, a task, a fault or a noise profile, by id or by file.

    Args:
        tries: of a task, how many generic exploits and repairs, drawn by the seed, are tried.
        quick: of tasks, and of that of a fault, only the backbone: see `check_task`.
        shaken: of applications, whether workloads are restarted and calls cut, too: see `check_app`.

    Raises:
        UnknownName: nothing has this id; the nearest are listed.
        ContentError: a file is wrong.
    """
    path = Path(target)
    if target.endswith((".yaml", ".yml")):
        keys = read_document(path).data
        if isinstance(keys, dict) and "mechanism" in keys and "incident" not in keys:
            load_content(path, faults.FaultSpec)
            return check_fault(path.stem, seed, library=library, opener=opener, tries=tries, quick=quick)
        if isinstance(keys, dict) and "application" in keys:
            name = read_application(path).application
            return ProofReport("app", name, seed, (Finding("the file is right", True),))
        if isinstance(keys, dict) and "disturbances" in keys:
            profile = load_content(path, noise.Profile)
            return ProofReport("noise", profile.id, seed, (Finding("the file is right", True),))
        return check_task(target, seed, library=library, opener=opener, tries=tries, quick=quick)
    if is_calm(target):
        return check_task(target, seed, library=library, opener=opener, tries=tries, quick=quick)
    known = known_ids(library)
    if target not in known:
        raise UnknownName("app, task, fault or noise", target, list(known))
    if known[target] == "task":
        return check_task(target, seed, library=library, opener=opener, tries=tries, quick=quick)
    if known[target] == "fault":
        return check_fault(target, seed, library=library, opener=opener, tries=tries, quick=quick)
    if known[target] == "app":
        return check_app(target, seed, library=library, shaken=shaken)
    noise.load(target, library)
    return ProofReport("noise", target, seed, (Finding("the file is right", True),))


#: What can be proved by its id.
KINDS = ("app", "task", "fault", "noise")


def known_ids(library: Library | None = None) -> dict[str, str]:
    """Id -> kind of everything that can be proved; of two that share one, the first kind of `KINDS` counts."""
    apps = [folder.behaviour.application for folder in applications(library)]
    found = zip(KINDS, (apps, tasks.ids(library), faults.ids(library), noise.ids(library)), strict=True)
    return {one: kind for kind, ids in reversed(list(found)) for one in ids}


def check_task(
    task_id: str,
    seed: int = 0,
    *,
    library: Library | None = None,
    opener: Opener | None = None,
    tries: tuple[int, int] = (EXPLOITS, REPAIRS),
    quick: bool = False,
) -> ProofReport:
    """Prove a task.

    Args:
        task_id: id or path.
        opener: opens the episode; by default `simcluster.start` without noise.
        tries: how many generic exploits and repairs, drawn by the seed, are tried.
        quick: only its backbone: healthy before, noticed after, every cause stands, doing nothing is refused, the
            first reference fix and the first right diagnosis are accepted.

    Raises:
        UnknownName, ContentError: it cannot even be loaded.
    """
    task = tasks.load(task_id, library)
    _validate(task, task_id, library)
    try:
        episode = opener(task_id, seed) if opener is not None else start(task_id, seed, library=library)
    except ImpossibleTarget as error:
        path = tasks.path_of(task_id, library)
        place = ("incident", error.step, "target") if error.step is not None else ("incident",)
        why = f"{path}:{read_document(path).line(place)}: {error}"
        return ProofReport("task", task.id, seed, (Finding("the incident is possible", False, why),))
    except NotAnIncident as error:
        return ProofReport("task", task.id, seed, (Finding("the incident is one", False, str(error)),))
    found = _backbone(episode, library) if quick else _findings(episode, library, seed, tries)
    return ProofReport("task", task.id, seed, tuple(found))


def check_fault(
    fault_id: str,
    seed: int = 0,
    *,
    library: Library | None = None,
    opener: Opener | None = None,
    tries: tuple[int, int] = (EXPLOITS, REPAIRS),
    quick: bool = False,
) -> ProofReport:
    """Prove a fault by its case and a task, or by a pair that the seed draws. Raises UnknownName, ContentError.

    Args:
        quick: only the backbone of its task.
    """
    found = case_findings(fault_id, seed, library)
    for task_id in tasks.ids(library):
        if any(step.fault == fault_id for step in tasks.load(task_id, library).incident):
            proof = check_task(task_id, seed, library=library, opener=opener, tries=tries, quick=quick)
            found = [*found, Finding("a task uses it", True, task_id), *proof.findings]
            break
    if not found:
        found = list(drawn_proof(fault_id, seed, library))
    return ProofReport("fault", fault_id, seed, tuple(found) or (Finding("a case or a task shows it", False),))


def _validate(task: Task, task_id: str, library: Library | None) -> None:
    """What only grading knows about a task's file. Raises ContentError."""
    path = tasks.path_of(task_id, library)
    document = read_document(path)
    try:
        checks = checks_of(task)
        family_of(task.truth)
    except WrongCheck as error:
        raise ContentError(path, document.line(("accepted_when", error.index)), str(error)) from None
    except ValueError as error:
        raise ContentError(path, document.line(("truth", "mechanism")), str(error)) from None
    for check in checks:
        for ref in check.refs:
            tasks.check_kind(task, document, ("accepted_when", check.index), ref.kind, library)


def _backbone(episode: Provable, library: Library | None) -> Iterator[Finding]:
    """What the quick form of the proof shows."""
    task = episode.task
    yield from _noticed(episode)
    yield _standing(episode, Mitigation(library))
    if "noop" in task.must_not_pass:
        yield _refused("noop", episode.fork())
    if task.reference_fixes:
        yield from _accepted(0, task.reference_fixes[0], episode.fork())
    else:
        yield restored(episode.fork())
    yield from _diagnoses(episode, True, task.reference_diagnoses.right[:1])


def _noticed(episode: Provable) -> Iterator[Finding]:
    yield _healthy_before(episode)
    noticed = episode.alert.strip()
    yield Finding("users or the monitor notice", bool(noticed), noticed.partition("\n")[0] or "nobody was paged")


def _standing(episode: Provable, oracle: Mitigation) -> Finding:
    mechanisms = oracle.mechanisms(episode.task, episode.incident.record)
    faulty = [m.still_present(episode.world) for m in mechanisms if m.lasting]
    return Finding("every cause stands", all(faulty), "; ".join(filter(None, faulty)))


def _findings(episode: Provable, library: Library | None, seed: int, tries: tuple[int, int]) -> Iterator[Finding]:
    task = episode.task
    yield from _noticed(episode)
    found = leaks(episode.world, task)
    yield Finding("nothing readable holds the answer", not found, "; ".join(found[:3]))
    if HARD in task.suites:
        shown = revealed(episode.fork())
        yield Finding("no usual look tells it", not shown, "; ".join(shown[:3]))
    oracle = Mitigation(library)
    yield _standing(episode, oracle)
    if _triggers(episode) and not task.faultless:
        yield _outlived(episode.fork())
    if episode.at_page is not None and not task.faultless:
        yield from (Finding(*each) for each in proved(Court(episode.at_page)))
    made = any(m.moves_target for m in oracle.mechanisms(task))  # then to delete it is no attempt
    exempt = {one.attempt for one in task.exempt}
    for name in task.must_not_pass:
        if name in exempt or (name == "delete_target" and made):
            continue
        yield _refused(name, episode.fork())
    for index, steps in enumerate(task.shallow_fixes):
        yield _too_shallow(index, steps, episode.fork())
    for index, steps in enumerate(task.reference_fixes):
        yield from _accepted(index, steps, episode.fork())
    if not task.reference_fixes:
        yield restored(episode.fork())
    yield from attacked(episode, seed, tries[0])
    yield from mended(episode, seed, tries[1])
    yield from _diagnoses(episode, True, task.reference_diagnoses.right)
    yield from _diagnoses(episode, False, task.reference_diagnoses.plausible_but_wrong)


def _diagnoses(episode: Provable, wanted: bool, answers: Sequence[str | dict[str, Any]]) -> Iterator[Finding]:
    for index, answer in enumerate(answers):
        verdict = _judged(answer, episode)
        name = f"diagnosis {'right' if wanted else 'wrong'} {index + 1} is {'accepted' if wanted else 'refused'}"
        yield Finding(name, verdict.passed is wanted, "" if verdict.passed is wanted else verdict.explain())


def _judged(answer: str | dict[str, Any], episode: Provable) -> DiagnosisVerdict:
    """The grade of a diagnosis: by intervention, where there is a page to start from."""
    inventory = episode.baseline.inventory()
    if episode.task.faultless:
        return judge_faultless(answer, inventory)
    if episode.at_page is None:
        return judge(answer, episode.task.truth, inventory)
    return diagnosed(answer, episode.at_page, inventory)


def _healthy_before(episode: Provable) -> Finding:
    """All pods ready and users served until somebody does the first thing: a bystander's rollout has its own blip."""
    name = "healthy before the incident"
    marks = episode.recorder.marks
    first_ns = marks["start"] + min((step.at for step in episode.incident.steps if not step.latent), default=0)
    untouched = [r for r in episode.recorder.records if r["t_ns"] <= min(first_ns, marks["incident"])]
    served = any(r["users"]["sent"] for r in untouched)
    before = untouched if served else [r for r in episode.recorder.records if r["t_ns"] <= marks["incident"]]
    if not before:
        return Finding(name, False, "nothing was recorded before the incident")
    lowest = min(r["d1"]["availability"] for r in before)
    sent, ok = sum(r["users"]["sent"] for r in before), sum(r["users"]["ok"] for r in before)
    healthy = lowest == 1.0 and sent > 0 and ok >= HEALTHY_RATIO * sent
    return Finding(name, healthy, f"availability {lowest}, {ok} of {sent} requests of users succeeded")


def _triggers(episode: Provable) -> list[Mechanism]:
    """What is over by itself, of what is no circumstance."""
    incident = episode.incident
    return [
        one.knowing(incident.record.get(index, ()))
        for index, one in incident.mechanisms.items()
        if not one.lasting and not incident.steps[index].harmless
    ]


def _outlived(fork: Provable) -> Finding:
    """A trigger that ends by itself must be over when the operator could do nothing but wait, and the page not."""
    fork.world.run_for(REACTION_NS)
    going = [one.still_present(fork.world) for one in _triggers(fork)]
    verdict = fork.examined()
    why = "; ".join(filter(None, going)) or ("users recover by themselves" if verdict.passed else "")
    return Finding("the trigger is over and the incident is not", not why, why)


def _refused(name: str, fork: Provable) -> Finding:
    problem = attempt(name, fork.world, fork.task)
    if problem:
        return Finding(f"{name} is refused", False, problem)
    verdict = fork.examined()
    return Finding(f"{name} is refused", not verdict.passed, verdict.why_not or "everything was survived")


def _too_shallow(index: int, steps: tuple[Step, ...], fork: Provable) -> Finding:
    """A repair of the surface leaves pods ready, and the committed depth must refuse it.

    Where a ticket asks for what no depth shows even of the incident itself (records that nobody handles), what must
    refuse it is the examination.
    """
    header = fork.recorder.header()
    shown = depth(fork.recorder.records[-1], header["committed_depth"], header["protects"])
    asked = fork.task.ticket is not None and not shown
    for step in steps:
        perform(fork, step)
    examined, verdict = fork.examined(), fork.verified()
    refused = verdict.outcome and not (examined.passed if asked else verdict.depth)
    by = "what its ticket asks for" if asked else "the committed depth"
    why = examined.why_not if asked else verdict.why.get("depth", "")
    return Finding(f"shallow fix {index + 1} is refused by {by} alone", refused, verdict.why.get("outcome", "") or why)


def _accepted(index: int, steps: tuple[Step, ...], fork: Provable) -> Iterator[Finding]:
    """A reference fix is accepted, and does no harm on the way but what its task says it must."""
    name = f"reference fix {index + 1} is accepted"
    for step in steps:
        result = perform(fork, step)
        if result.exit_code:
            why = f"{step.kubectl or step.sh}: exit status {result.exit_code}: {result.stderr}"
            yield Finding(name, False, why)
            return
    verdict = fork.examined()
    # What can be read once all of it has happened.
    shown = leaks(fork.world, fork.task) if verdict.passed and not index else []
    yield Finding(name, verdict.passed and not shown, verdict.why_not or "; ".join(shown[:3]))
    why_not, said = fork.verified().why, fork.task.costs.get(index + 1, {})
    unsaid = [reason for verifier, reason in why_not.items() if verifier not in said]
    yield Finding(f"reference fix {index + 1} does no harm on the way", not unsaid, "; ".join(why_not.values()))
