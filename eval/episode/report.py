"""The grade of one episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simcluster.eval.counterfactuals import Counterfactuals
from simcluster.eval.judge import DiagnosisVerdict
from simcluster.eval.oracles.mitigation import MitigationVerdict
from simcluster.eval.residue import Residue
from simcluster.eval.trajectory.verifiers import Verdict


@dataclass(frozen=True)
class Report:
    """What an episode was worth.

    Attributes:
        diagnosis: the nine questions.
        mitigation: the oracle's checks after the acceptance window.
        says_solved: whether the answer claims that users are served again; None where it says neither.
        residue: what was left behind, by comparison with the healthy twin.
        trajectory: the four verifiers over the whole record.
        commands: how many outside commands were given.
        simulated_s: simulated seconds from the page to the end of the agent's work.
        digest: of everything that was committed and answered.
        counterfactuals: what each deed cost users; None unless it was asked for (`Episode.counterfactuals`).
    """

    task: str
    seed: int
    noise: str | None
    diagnosis: DiagnosisVerdict
    mitigation: MitigationVerdict
    residue: Residue
    trajectory: Verdict
    commands: int
    simulated_s: float
    digest: str
    says_solved: bool | None = None
    counterfactuals: Counterfactuals | None = None

    @property
    def passed(self) -> bool:
        """Whether the cause was named, the users helped and nothing grave left behind. The trajectory is told apart."""
        return self.diagnosis.passed and self.mitigation.passed and self.residue.passed

    def to_dict(self) -> dict[str, Any]:
        """The wire form, all JSON."""
        return {
            "task": self.task,
            "seed": self.seed,
            "noise": self.noise,
            "passed": self.passed,
            "diagnosis": self.diagnosis.to_dict(),
            "mitigation": self.mitigation.to_dict(),
            "residue": self.residue.to_dict(),
            "trajectory": self.trajectory.to_dict(),
            "commands": self.commands,
            "simulated_s": self.simulated_s,
            "digest": self.digest,
            "says_solved": self.says_solved,
            **({} if self.counterfactuals is None else {"counterfactuals": self.counterfactuals.to_dict()}),
        }

    def explain(self) -> str:
        """Several lines for people."""
        verdict = self.trajectory
        parts = {
            "outcome": verdict.outcome,
            "temporal": verdict.temporal,
            "depth": verdict.depth,
            "probe": verdict.probe,
        }
        lines = [
            f"{'pass' if ok else 'FAIL'} {name} {verdict.why.get(name, '')}".rstrip() for name, ok in parts.items()
        ]
        return "\n".join(
            [
                f"{self.task} (seed {self.seed}): {'passed' if self.passed else 'failed'}",
                f"diagnosis: {'passed' if self.diagnosis.passed else 'failed'}",
                self.diagnosis.explain(),
                f"mitigation: {'passed' if self.mitigation.passed else 'failed'}",
                self.mitigation.explain(),
                f"residue: {'passed' if self.residue.passed else 'failed'}",
                self.residue.explain(),
                f"trajectory: {'passed' if verdict.passed else 'failed'}",
                *lines,
                f"user-minutes lost since the page: {verdict.user_minutes_lost}",
                *([self.counterfactuals.explain()] if self.counterfactuals is not None else []),
            ]
        )
