"""The smallest incident there is: one service in two pods, paged by a ticket, nothing watching.

For tests of what surrounds an incident (evaluations, agents, files, sockets): it begins, is repaired and graded in a
second and a half of CPU.
"""

from __future__ import annotations

from pathlib import Path

from simcluster.engine.content import Library
from simcluster.eval.episode import Episode, start
from simcluster.eval.runner import Plan

CONTENT = Path(__file__).parent / "content"
LIBRARY = Library((CONTENT,))
TASK = "wrong_image_tag_kiosk"
#: The same on a command line.
OPTIONS = ("--content", str(CONTENT))


def started(seed: int = 0) -> Episode:
    """Paged."""
    return start(TASK, seed, library=LIBRARY)


def plan(*agents: str, seeds: tuple[int, ...] = (0,), wall_limit_s: float = 600.0, memory_mib: int = 4096) -> Plan:
    """An evaluation of agents on it."""
    return Plan((TASK,), agents, seeds, content=(str(CONTENT),), wall_limit_s=wall_limit_s, memory_mib=memory_mib)
