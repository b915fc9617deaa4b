"""Commands as agents, `cmd: COMMAND`: anything that finds its cluster by KUBECONFIG, with a shell's rules for words.

The command runs in a process group of its own. Neither its environment nor anything that it is served names the task:
a run is known by a random id.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from simcluster.eval.episode import Episode
from simcluster.eval.isolation.ending import BUDGET, DONE, Ending

PREFIX = "cmd:"
#: When the budget is used up, or the last submission is made, a command may go on for so many wall-clock seconds: a
#: diagnosis is still taken.
GRACE_S = 30.0
_NEEDED = ("starlette", "uvicorn", "httptools", "wsproto", "cryptography")


def is_command(agent: str) -> bool:
    """Whether an agent is a command."""
    return agent.startswith(PREFIX)


def words_of(agent: str) -> list[str]:
    """The program of a command and its arguments. Raises ValueError: quotes that are not closed, or nothing."""
    words = shlex.split(agent.removeprefix(PREFIX))
    if not words:
        raise ValueError("no command after cmd:")
    return words


def lack_of(agent: str) -> str:
    """Why a command cannot be run here, as text; empty if it can."""
    try:
        words = words_of(agent)
    except ValueError as problem:
        return str(problem)
    if shutil.which(words[0]) is None:
        return f"{words[0]}: no such program"
    missing = [name for name in _NEEDED if find_spec(name) is None]
    return f"pip install 'simcluster[serve]' ({missing[0]} is missing)" if missing else ""


class Served:
    """What a command is handed, and how long it may work.

    Attributes:
        environment: variables besides those of the evaluation.
    """

    def __init__(self, episode: Episode, environment: dict[str, str]) -> None:
        self.environment = environment
        self._episode = episode
        self._over_s: float | None = None

    def over(self) -> Ending | None:
        """How the work ended, if budget or submissions ended it a while ago and the command goes on nevertheless."""
        reason = self._reason()
        if reason is None:
            return None
        if self._over_s is None:
            self._over_s = time.monotonic()
        return reason if time.monotonic() - self._over_s >= GRACE_S else None

    def outcome(self, ending: Ending) -> Ending:
        """The ending of a command that ended by itself: failing for want of budget is no failure of its own."""
        reason = self._reason()
        spent = reason is not None and reason.outcome == BUDGET
        return Ending(BUDGET, f"{ending.error}; {reason.error}") if spent and ending.outcome == "exited" else ending

    def _reason(self) -> Ending | None:
        inbox = self._episode.inbox
        if self._episode.finished:
            return Ending(DONE)
        if inbox.used >= inbox.budget.commands:
            return Ending(BUDGET, f"the {inbox.budget.commands} commands are used up")
        if self._episode.world.sim.now >= inbox.ends_ns:
            return Ending(BUDGET, f"the {inbox.budget.time} of simulated time are used up")
        return None


@contextmanager
def served(episode: Episode, wall_s: float) -> Iterator[Served]:
    """An episode behind sockets of its own, as long as the block lasts.

    Args:
        wall_s: how long the command may work, to be said to it.
    """
    from simcluster.eval.serving.background import in_background
    from simcluster.eval.serving.service import Service, Wanted

    with tempfile.TemporaryDirectory(prefix="simcluster-", ignore_cleanup_errors=True) as folder:
        service = Service(Wanted(lambda: episode, Path(folder)))
        desk = urlsplit(service.endpoints.desk)
        environment = {
            **service.endpoints.environment(),
            "SIMCLUSTER_RUN": f"anon_{secrets.token_hex(16)}",
            "SIMCLUSTER_ALERT": episode.alert,
            "SIMCLUSTER_BUDGET_COMMANDS": str(episode.inbox.budget.commands),
            "SIMCLUSTER_BUDGET_TIME": episode.inbox.budget.time,
            "SIMCLUSTER_WALL_SECONDS": f"{wall_s:g}",
            # Addresses of SREGym's conductor: `http://{API_HOSTNAME}:{API_PORT}/submit`.
            "API_HOSTNAME": desk.netloc.rpartition(":")[0],
            "API_PORT": str(desk.port),
            # What another run's server said on the same port is not to be believed.
            "KUBECACHEDIR": os.path.join(folder, "cache"),
        }
        with in_background(service):
            yield Served(episode, environment)
