"""The agent that is told the answer: it proves that a task can be solved through the surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.surface.protocols import Session


class ReferenceStep(NamedTuple):
    """One step: a kubectl command (with standard input), a command on a node, or a wait."""

    kubectl: str = ""
    stdin: str = ""
    node: str = ""
    sh: str = ""
    wait: str = ""


class Expert:
    """Submits the given diagnosis, then does the given steps.

    Args:
        steps: what to do, in order.
        diagnosis: what to say; nothing is said if it is empty.
    """

    name = "expert"

    def __init__(self, steps: Sequence[ReferenceStep] = (), diagnosis: str | dict[str, object] = "") -> None:
        self.steps = tuple(steps)
        self.diagnosis = diagnosis

    def run(self, session: Session) -> None:
        """Say what is wrong and mend it."""
        if self.diagnosis:
            session.diagnose(self.diagnosis)
        for step in self.steps:
            if step.kubectl:
                session.kubectl(step.kubectl, step.stdin)
            elif step.sh:
                session.node(step.node).sh(step.sh)
            elif step.wait:
                session.wait(step.wait)
