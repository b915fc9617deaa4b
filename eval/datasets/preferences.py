"""Pairs made by forks: at one instant of a run, the better of two continuations.

The instant is the first write of a run, or its end if it wrote nothing. One continuation is what the agent did from
there on; the other, on a fork of the same world, is the task's reference fix where the run failed to mend the incident,
and doing nothing where it mended it. Better is what mends; of two that do, what costs users less by a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.engine.content import Library
from simcluster.eval.datasets.runs import Recorded, call_of, messages_of, recorded
from simcluster.eval.episode import Episode
from simcluster.eval.episode.replay import begun
from simcluster.session import log
from simcluster.session.replay import repeat

#: Of two continuations that mend, the one is better that costs users so much less.
_CLEARLY = 0.9


class Continuation(NamedTuple):
    """What was done from an instant on, and what came of it.

    Attributes:
        who: `agent`, `reference` or `nothing`.
        calls: of tools, in order.
        lost: user-minutes since the page; digest: of the run in the end.
    """

    who: str
    calls: list[dict[str, Any]]
    mended: bool
    lost: float
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return self._asdict()


def preferences(folder: Path, library: Library | None = None) -> Iterator[dict[str, Any]]:
    """One line a run whose two continuations differ. Each is lived again up to the instant, which takes seconds.

    Raises:
        RunDirectoryError, ValueError: as `recorded`; a run that does not repeat.
        UnknownName: its task no longer exists.
    """
    for one in recorded(folder):
        at = next((number for number, turn in enumerate(one.turns) if turn.writes), len(one.turns))
        mine = _agents(one, at)
        live = _lived(one, at, library)
        other = _other(live, "nothing" if mine.mended else "reference")
        better, worse = (mine, other) if _is_better(mine, other) else (other, mine)
        if not _is_better(better, worse):
            continue
        yield {
            **one.name(),
            "at_digest": one.digests[at - 1] if at else "",
            "prompt": messages_of(one.head, one.turns[:at]),
            "chosen": better.to_dict(),
            "rejected": worse.to_dict(),
        }


def _agents(one: Recorded, at: int) -> Continuation:
    calls = [call_of(turn, number) for number, turn in enumerate(one.turns) if number >= at]
    lost = one.record["trajectory"]["user_minutes_lost"]
    return Continuation("agent", calls, bool(one.record["mitigation"]["passed"]), lost, one.record["digest"])


def _lived(one: Recorded, at: int, library: Library | None) -> Episode:
    """The episode at an instant of a run. Raises ValueError: it is another one."""
    found = log.read(one.path.with_name(f"{one.run.name}.log.jsonl"))
    live = begun(found.header, library)
    if not isinstance(live, Episode):
        raise ValueError(f"{one.path}: there is no incident in this run")
    if differences := repeat(live, found._replace(commands=found.commands[:at], end=None)):
        raise ValueError(f"{one.path}: the run does not repeat: {differences[0]}")
    return live


def _other(live: Episode, who: str) -> Continuation:
    """What would have become of it under other hands."""
    begun_with = len(live.transcript.turns)
    if who == "reference":
        for step in next(iter(live.task.reference_fixes), ()):
            if step.kubectl:
                live.kubectl(step.kubectl, step.stdin)
            elif step.node:
                live.node(step.node).sh(step.sh)
            else:
                live.wait(step.wait)
    turns = list(live.transcript.turns)[begun_with:]
    report = live.finish()
    calls = [call_of(turn, begun_with + number) for number, turn in enumerate(turns)]
    lost = report.trajectory.user_minutes_lost
    return Continuation(who, calls, report.mitigation.passed, lost, report.digest)


def _is_better(one: Continuation, other: Continuation) -> bool:
    if one.mended != other.mended:
        return one.mended
    return one.mended and one.lost < other.lost * _CLEARLY
