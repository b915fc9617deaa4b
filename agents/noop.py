"""The agent that does nothing: the measure of what heals by itself."""

from __future__ import annotations

from simcluster.surface.protocols import Session

#: As long as a short intervention would take.
PATIENCE = "2m"


class Noop:
    """Waits a little and says nothing."""

    name = "noop"

    def run(self, session: Session) -> None:
        """Let time pass."""
        session.wait(PATIENCE)
