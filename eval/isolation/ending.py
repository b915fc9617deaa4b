"""How runs end: the outcomes, and what the kernel says of a process that said nothing itself."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from simcluster.eval.isolation.host import DISCONNECTED

#: How a run ended. `done`: the agent returned. `budget`: the episode's was used up. `agent_error`: an exception left
#: the agent, or it could not be made. `exited`: its process ended by itself. `killed`: by a signal. `timeout`: the
#: wall-clock limit. `endpoint`: a model's gave no answer, and the run was not
#: made. `error`: a mistake of ours; the only one without a grade.
DONE, BUDGET, AGENT_ERROR, EXITED, KILLED, TIMEOUT, ENDPOINT, HARNESS_ERROR = (
    "done", "budget", "agent_error", "exited", "killed", "timeout", "endpoint", "error",
)  # fmt: skip


class Ending(NamedTuple):
    """How a run ended: one of the outcomes above, and an explanation where it is not `done`.

    Attributes:
        by_itself: the agent said so; otherwise it may still be at work.
    """

    outcome: str
    error: str = ""
    by_itself: bool = True


def by_status(status: int | None) -> Ending:
    """How a process ended that said nothing."""
    if status is None:
        return Ending(AGENT_ERROR, "the agent closed the connection to its session")
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return Ending(KILLED, f"the agent's process was killed by signal {-code} ({signal.strsignal(-code)})")
    if code == DISCONNECTED:
        return Ending(AGENT_ERROR, "the agent closed the connection to its session")
    return Ending(EXITED, f"the agent's process ended with exit status {code}")
