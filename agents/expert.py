"""The agent that finds the cause by looking, and knows the procedure that mends it.

What it says is what it saw: it goes through the cluster by the rules of the runbook, from the page on, and says
nothing where it finds nothing. Only how the incident is mended it is told (the task's reference fix), so that it
proves that the fix can be done through the surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.agents.runbook.agent import PAUSE, perform
from simcluster.agents.runbook.inspection import Inspection
from simcluster.agents.runbook.reading import Act
from simcluster.surface.protocols import Session

#: Rounds of looking before it gives up: some causes show only after minutes.
ROUNDS_MAX = 6


class ReferenceStep(NamedTuple):
    """One step: a kubectl command (with standard input), a command on a node, or a wait."""

    kubectl: str = ""
    stdin: str = ""
    node: str = ""
    sh: str = ""
    wait: str = ""


class Expert:
    """Looks until it finds a cause, says it, and then does the given steps.

    Args:
        steps: what mends the incident, in order; without them it does what its finding asks for.
    """

    name = "expert"

    def __init__(self, steps: Sequence[ReferenceStep] = ()) -> None:
        self.steps = tuple(Act(step.kubectl, step.node, step.sh, step.wait, step.stdin) for step in steps)

    def run(self, session: Session) -> None:
        """Find out what is wrong, say it, mend it. Who finds nothing says nothing and touches nothing."""
        inspection = Inspection(session, guesses=False)
        for number in range(ROUNDS_MAX):
            if number:
                session.wait(PAUSE)
            findings = inspection.look()
            if findings:
                break
        else:
            return
        session.diagnose(inspection.answer())
        for act in self.steps or [act for finding in findings for act in finding.acts]:
            perform(session, act)
