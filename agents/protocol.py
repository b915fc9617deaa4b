"""What an agent is: a name, and a way to spend a session."""

from __future__ import annotations

from typing import Protocol

from simcluster.surface.protocols import Session


class Agent(Protocol):
    """Somebody who is paged and may act through the session, and through nothing else."""

    name: str

    def run(self, session: Session) -> None:
        """Work on the incident until satisfied; returning ends the run.

        Raises:
            BudgetExceeded: let it pass: it ends the run and is recorded.
        """
