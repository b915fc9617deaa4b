"""Reads, applies the rules in order, says what it found, mends it, and looks again."""

from __future__ import annotations

import re

from simcluster.agents.restarter import application_namespaces
from simcluster.agents.runbook.reading import Act, Finding, Reading
from simcluster.agents.runbook.rules import LAST_RESORTS, RULES, Rule
from simcluster.surface.protocols import Session

ROUNDS_MAX = 6
#: Rounds without a finding before the last resorts are tried.
PATIENCE = 2
#: Between two looks when nothing was found: signals such as `top` need a while.
PAUSE = "30s"
#: After mending, before it is looked at again.
SETTLE = "60s"


class Runbook:
    """Follows the rules of `rules.RULES`; the first that finds something decides the round."""

    name = "runbook"

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def run(self, session: Session) -> None:
        """Work until a round after the first finding finds nothing more, or the rounds are over."""
        namespaces = self._namespaces(session)
        for number in range(ROUNDS_MAX):
            findings = self._look(Reading(session, namespaces), LAST_RESORTS if number >= PATIENCE else ())
            if not findings:
                if self.found:
                    return
                session.wait(PAUSE)
                continue
            self.found += findings
            session.diagnose(self.answer())
            for finding in findings:
                for act in finding.acts:
                    self._do(session, act)
            session.wait(SETTLE)

    def answer(self) -> dict[str, object]:
        """The diagnosis: the first finding, with everything in scope that was wrong by itself."""
        answer = self.found[0].answer()
        scope: dict[str, bool] = {}
        details: dict[str, str] = {}
        for finding in self.found:
            if finding.mechanism == self.found[0].mechanism:
                scope |= dict.fromkeys(finding.scope, True)
                details |= finding.details
        answer["scope"] = list(scope)
        answer["details"] = details
        return answer

    def _look(self, reading: Reading, last_resorts: tuple[Rule, ...]) -> list[Finding]:
        known = [(finding.component, finding.mechanism) for finding in self.found]
        for rule in RULES if self.found else (*RULES, *last_resorts):
            fresh = [one for one in rule(reading) if (one.component, one.mechanism) not in known]
            if fresh:
                return fresh
        return []

    def _namespaces(self, session: Session) -> list[str]:
        """Namespaces the page names; all of applications if it names none of them."""
        every = application_namespaces(session)
        named = [name for name in every if re.search(rf"\b{re.escape(name)}/", session.alert)]
        return named or every

    def _do(self, session: Session, act: Act) -> None:
        if act.kubectl:
            session.kubectl(act.kubectl, act.stdin)
        elif act.sh:
            session.node(act.node).sh(act.sh)
        elif act.wait:
            session.wait(act.wait)
