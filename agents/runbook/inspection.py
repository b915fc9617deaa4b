"""Going through a cluster by the rules: what is wrong, as far as somebody at a terminal can see it."""

from __future__ import annotations

import re

from simcluster.agents.restarter import application_namespaces
from simcluster.agents.runbook.reading import Finding, Reading
from simcluster.agents.runbook.rules import LAST_RESORTS, RULES, Rule
from simcluster.surface.protocols import Session

#: Rounds without a finding before the last resorts are tried.
PATIENCE = 2


class Inspection:
    """Looks again and again, each time afresh.

    Args:
        session: where to look, and what paged.
        guesses: whether to say what is only suspect, too, when nothing else is found for a while.

    Attributes:
        found: everything that was found wrong so far, in the order it was found.
    """

    def __init__(self, session: Session, *, guesses: bool = True) -> None:
        self.session = session
        self._guesses = guesses
        self.found: list[Finding] = []
        self._namespaces = _namespaces(session)
        self._rounds = 0

    def look(self) -> list[Finding]:
        """One round: what the first rule finds that finds something new."""
        reading = Reading(self.session, self._namespaces)
        resorts: tuple[Rule, ...] = ()
        if self._guesses and self._rounds >= PATIENCE and not self.found:
            resorts = LAST_RESORTS
        self._rounds += 1
        known = [(finding.component, finding.mechanism) for finding in self.found]
        for rule in (*RULES, *resorts):
            fresh = [one for one in rule(reading) if (one.component, one.mechanism) not in known]
            if fresh:
                self.found += fresh
                return fresh
        return []

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


def _namespaces(session: Session) -> list[str]:
    """Namespaces the page names; all of applications if it names none of them."""
    every = application_namespaces(session)
    named = [name for name in every if re.search(rf"\b{re.escape(name)}/", session.alert)]
    return named or every
