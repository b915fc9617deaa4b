"""One claim about a task, judged without an episode of one's own."""

from __future__ import annotations

from simcluster.engine.content import Library
from simcluster.eval.episode.start import start
from simcluster.eval.interventions.court import Court
from simcluster.eval.judge.claims import Claim
from simcluster.eval.judge.verdicts import ClaimVerdict
from simcluster.tasks.model import Task


def court_of(task: str | Task, seed: int = 0, noise: str | None = None, library: Library | None = None) -> Court:
    """The court of a task under a seed and noise. Raises what `start` does."""
    paged = start(task, seed, noise, library).at_page
    assert paged is not None, "an episode starts when somebody is paged"
    return Court(paged)


def judge_claim(
    claim: Claim, task: str | Task, seed: int = 0, noise: str | None = None, library: Library | None = None
) -> ClaimVerdict:
    """Judge a claim about the incident of a task under a seed and noise, by intervening.

    Raises:
        UnknownName, ContentError, NotAnIncident, ImpossibleTarget: the task has no such incident.
    """
    return court_of(task, seed, noise, library).judge(claim)
