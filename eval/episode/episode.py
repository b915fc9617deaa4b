"""An episode: a cluster, an incident in it, an operator who was paged, and the grade at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcluster.api.request import ADMIN
from simcluster.engine import Snapshot
from simcluster.engine.content import Library
from simcluster.eval.counterfactuals import Counterfactuals, Work, counterfactuals
from simcluster.eval.episode.report import Report
from simcluster.eval.examination.examiner import Case, Examiner
from simcluster.eval.examination.twin import twin_of
from simcluster.eval.honesty import says_solved
from simcluster.eval.interventions import Paged, diagnosed
from simcluster.eval.judge import DiagnosisVerdict, judge, judge_faultless, parse_claims
from simcluster.eval.oracles.baseline import Baseline
from simcluster.eval.oracles.check import CheckResult
from simcluster.eval.oracles.mitigation import Mitigation, MitigationVerdict
from simcluster.eval.oracles.registry import checks_of
from simcluster.eval.process.paths import guide
from simcluster.eval.process.transcript import Transcript
from simcluster.eval.residue import Residue, residue
from simcluster.eval.trajectory.recorder import Recorder
from simcluster.eval.trajectory.verifiers import Verdict, charged, verify
from simcluster.eval.worlds.reader import READER
from simcluster.faults.incident import Incident
from simcluster.noise.plan import NONE, NoisePlan, Profile
from simcluster.noise.spared import Spared
from simcluster.session.kinds import Effect, Request
from simcluster.session.live import Live
from simcluster.session.log import Command, End
from simcluster.surface.protocols import BudgetExceeded, Outcome
from simcluster.tasks.model import Task
from simcluster.world import World
from simcluster.world.pager import Pager

#: What was looked into is recorded up to so many characters.
LONGEST_PROBE = 200


class Finished(BudgetExceeded):
    """The episode has been graded; its world no longer takes commands."""


class Episode(Live):
    """One incident, from before its cause to its grade.

    Args:
        world: with the task's application healthy and its users there.
        task: with resolved targets.
        seed: the seed of the world.
        noise: a profile of disturbances, or None.

    Attributes:
        baseline: what was there before the incident.
        alert: the page, as text; empty until the pager has fired.
        transcript: what was typed and read.
        at_page: the incident as it was then; None until then.
    """

    tools = (*Live.tools, "diagnose")

    def __init__(self, world: World, task: Task, seed: int, noise: Profile | None, library: Library | None) -> None:
        super().__init__(world, task.clock, task.budget, READER if task.operator == "reader" else ADMIN)
        self.task = task
        self.seed = seed
        self.noise_name = noise.id if noise is not None else None
        self.alert = ""
        self.baseline = Baseline.take(world, task.namespace, task.aimed_namespaces)
        self.recorder = Recorder(world, task)
        self.transcript = Transcript()
        self.pager = Pager(world)
        self.incident = Incident(world, task.namespace, task.incident, library)
        self._library = library
        self._report: Report | None = None
        self._worked_until_ns: int | None = None
        self.at_page: Paged | None = None
        self._untouched: Snapshot[tuple[World, Recorder]] | None = None  # just before the first write after the page
        self.noise = None
        if noise is not None:
            spared = Spared.of(world, task.namespace, self.incident.faulted())
            self.noise = NoisePlan(world, noise, task.namespace, spared)

    def begin(self) -> None:
        """Start the incident's clock (and that of the noise)."""
        first_at_ns = min(step.at for step in self.task.incident if not (step.latent or step.drawn))
        self.world.sim.after(first_at_ns, self.recorder.mark, "incident")
        self.pager.since(self.world.sim.now + first_at_ns)
        self.incident.start()
        if self.noise is not None:
            self.noise.start()

    def paged(self) -> None:
        """The operator is called: from here on commands and time are counted."""
        self.recorder.mark("paged")
        ticket = self.task.ticket
        self.alert = self.pager.alerts.text() if ticket is None else " ".join(ticket.text.split())
        self.inbox.opened_ns = self.world.sim.now
        self.at_page = Paged(
            self.task, self.seed, self.noise_name, self._library, self.world.sim.now, Snapshot(self.world),
            dict(self.incident.record),
        )  # fmt: skip

    def diagnose(self, answer: str | dict[str, Any]) -> None:
        """Submit the diagnosis: claims (`docs/add/agent.md`), or a free text. The last one counts.

        Raises:
            ValueError: nothing that JSON can carry, or a field of a claim that is wrong; tells what is right.
        """
        if isinstance(answer, dict):
            parse_claims(answer)
        super().diagnose(answer)

    def finish(self) -> Report:
        """End the work: let the acceptance window pass and grade everything. Repeated calls give the same."""
        if self._report is None:
            self._report = self._grade()
        return self._report

    @property
    def report(self) -> Report:
        """The grade; ends the episode if that has not happened yet."""
        return self.finish()

    def counterfactuals(self) -> Counterfactuals:
        """What each write cost users or saved them, and what was avoidable: `report.explain()` tells of it from now on.

        It lives the run again, up to three times for each write. Ends the episode if that has not happened yet.

        Raises:
            ValueError: nobody has been paged.
        """
        report = self.finish()
        if report.counterfactuals is None:
            if self.at_page is None or self._worked_until_ns is None:
                raise ValueError("nobody has been paged: there is nothing to compare with")
            inbox = self.inbox
            work = Work(list(inbox.commands), inbox.policy, inbox.budget, self._worked_until_ns, self.operator)
            report = self._report = replace(report, counterfactuals=counterfactuals(self.at_page, work))
        assert report.counterfactuals is not None
        return report.counterfactuals

    @property
    def library(self) -> Library | None:
        """Where content of others is found."""
        return self._library

    @property
    def finished(self) -> bool:
        """Whether the episode has been graded."""
        return self._report is not None

    def log_header(self) -> dict[str, Any]:
        """The header of the replay log."""
        lived: dict[str, Any] = {"age": f"{self.task.age}ns"} if self.task.age else {}
        lived |= {"parameters": self.task.parameters} if self.task.parameters else {}
        noise = self.noise_name or (NONE if self.task.noise else None)
        return {"task": self.task.id, "seed": self.seed, "noise": noise, **lived, **super().log_header()}

    def guide(self) -> dict[str, Any]:
        """The header of the transcript: what measures of the work need besides it."""
        marks, facts = self.recorder.marks, self.incident.facts()
        head = {"task": self.task.id, "seed": self.seed, "noise": self.noise_name, "alert": self.alert}
        head |= {"marks": dict(marks), "budget": self.task.budget.commands}
        return head | guide(self.task, facts, self.alert, self.baseline.inventory())

    def end(self, outcome: str = "done") -> End:
        """The last line of the replay log."""
        end = super().end(outcome)
        return end if self._worked_until_ns is None else end._replace(at_ns=self._worked_until_ns, graded=True)

    def _grade(self) -> Report:
        self._worked_until_ns = self.world.sim.now
        self.recorder.mark("finished")
        mitigation = self.examined()
        left = self._left_behind()
        return Report(
            task=self.task.id,
            seed=self.seed,
            noise=self.noise_name,
            diagnosis=self.diagnosed(),
            mitigation=mitigation,
            residue=left,
            trajectory=self.verified(),
            commands=self.inbox.used,
            simulated_s=(self._worked_until_ns - self.inbox.opened_ns) / 1e9,
            digest=self.digest,
            says_solved=says_solved(self.submission),
        )

    def diagnosed(self) -> DiagnosisVerdict:
        """The grade of what has been submitted so far. Nothing is done to the world."""
        answer, inventory = self.submission, self.baseline.inventory()
        if self.task.faultless:
            over = [
                one.family for index, one in self.incident.mechanisms.items() if not self.incident.steps[index].harmless
            ]
            return judge_faultless(answer, inventory, over)
        if self.at_page is None:
            return judge(answer, self.task.truth, inventory)
        return diagnosed(answer, self.at_page, inventory)

    def _left_behind(self) -> Residue:
        """How the world differs from its healthy twin, now that it is at rest."""
        twin = twin_of(self.task, self.seed, self.noise_name, self.world.sim.now, self._library)
        typed = [command.text for command in self.inbox.commands]
        return residue(self.world, twin, self.incident.facts(), typed, self.task.homes)

    def examined(self, *, whole: bool = False) -> MitigationVerdict:
        """Let the acceptance window pass without noise, and examine the world: whether the incident is over.

        Where a ticket calls because nobody suffers yet, the task's checks decide, too; what stands in for an
        examination only if what is left of the incident would not be seen at rest.

        Args:
            whole: every test there is, not those of a grade.
        """
        if self.noise is not None:
            self.noise.silence()
        self.world.stop_collecting()  # nobody works in it any more; nor does the twin collect
        fields = Mitigation(self._library).judge(self.world, self.task, self.baseline, self.incident.record)
        self.recorder.close()
        marks = self.recorder.marks
        slow_ns = marks.get("paged", 0) - marks.get("incident", marks["start"])
        paged = None if self.at_page is None else self.at_page.world
        causes = self.incident.facts(harmless=False)
        case = Case(self.task, self.seed, self.noise_name, self._library, paged, slow_ns, causes)
        examiner = Examiner(case)
        found = examiner.examine(self.world, whole=whole)
        decide, explain = list[CheckResult](), list(fields.results)
        if self.task.ticket is not None:
            pairs = list(zip(checks_of(self.task), fields.results, strict=True))
            decide = [one for check, one in pairs if not check.stands_in]
            explain = [one for check, one in pairs if check.stands_in]
            may_pass = found.passed and all(one.passed for one in decide)
            if not (may_pass and not all(one.passed for one in explain) and examiner.sees(self.world)):
                decide, explain = list(fields.results), []
        results = (*found.results, *decide)
        return MitigationVerdict(all(one.passed for one in results), results, found.undecided, tuple(explain))

    def verified(self) -> Verdict:
        """The verdict on the way, once examined.

        What looks like the agent's doing is compared with what nobody's doing comes to.
        """
        records, marks = list(self.recorder.records), self.recorder.marks
        charge = charged(records, marks.get("incident", marks["start"]), marks.get("paged", 0))
        if charge is not None and self._untouched is not None:
            world, recorder = self._untouched.restore()
            begun_ns = world.sim.now
            world.sim.run_until(max(charge[0], marks.get("finished", 0)))
            self.recorder.unattended = recorder.left_alone(begun_ns)
        return verify(self.recorder.header(), records)

    def admit(self, request: Request) -> None:
        """Nothing is taken any more once it has been graded. Raises Finished."""
        if self.finished:
            raise Finished("this episode has been graded: fork it before finish() to try something else")

    def before_write(self) -> None:
        """Remember the world before the first write after the page."""
        if self._untouched is None and self.alert:
            self._untouched = Snapshot((self.world, self.recorder))

    def answered(self, command: Command, effect: Effect, result: Outcome) -> None:
        """Keep what was read, and tag the record with what was done."""
        self.transcript.add(command, effect, result, self.world.sim.now)
        if command.tool not in ("kubectl", "http", "sh", "node", "container"):
            return
        tool = "desk" if command.tool in ("kubectl", "http", "sh") else command.tool  # by whichever door
        if effect.counts:
            self.recorder.command(tool, write=effect.writes, at_ns=command.at_ns)
            if effect.charge == "look" and not effect.writes:
                into = command.target or command.text[:LONGEST_PROBE]
                self.recorder.probed(command.identity or ADMIN.name, command.tool, into, command.at_ns)
        elif effect.writes:
            self.recorder.wrote(tool, command.at_ns)
