"""Reads, applies the rules in order, says what it found, mends it, and looks again."""

from __future__ import annotations

from simcluster.agents.runbook.inspection import Inspection
from simcluster.agents.runbook.reading import Act
from simcluster.surface.protocols import Session

ROUNDS_MAX = 6
#: Between two looks when nothing was found: signals such as `top` need a while.
PAUSE = "30s"
#: After mending, before it is looked at again.
SETTLE = "60s"


class Runbook:
    """Follows the rules of `rules.RULES`; the first that finds something decides the round."""

    name = "runbook"

    def run(self, session: Session) -> None:
        """Work until a round after the first finding finds nothing more, or the rounds are over."""
        inspection = Inspection(session)
        for _ in range(ROUNDS_MAX):
            findings = inspection.look()
            if not findings:
                if inspection.found:
                    return
                session.wait(PAUSE)
                continue
            session.diagnose(inspection.answer())
            for finding in findings:
                for act in finding.acts:
                    perform(session, act)
            session.wait(SETTLE)


def perform(session: Session, act: Act) -> None:
    """Do one thing."""
    if act.kubectl:
        session.kubectl(act.kubectl, act.stdin)
    elif act.sh:
        session.node(act.node).sh(act.sh)
    elif act.wait:
        session.wait(act.wait)
