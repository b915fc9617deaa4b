"""What an agent typed and what it read, in order: the transcript of one episode.

The replay log holds digests of answers, and repeats them; the transcript holds the answers themselves, shortened, so
that a page, a measure or another program can read a run without repeating it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.engine import AppendLog
from simcluster.session.kinds import Effect
from simcluster.session.log import Command
from simcluster.surface.protocols import Outcome

#: Characters that are kept of the beginning and of the end of an answer or an input.
HEAD, TAIL = 6_000, 2_000
#: A digest of an answer says that two were the same; so many characters of it do.
_DIGEST = 16


class Turn(NamedTuple):
    """One request and its answer.

    Attributes:
        at_ns, ended_ns: simulated instants at which it took effect and was answered.
        tool: of `session.kinds`; `target`, `text`, `stdin`: as in the replay log, the input shortened.
        exit_code: as a shell sees it.
        writes: whether it may have changed the world.
        counts: whether it began a command; of one command over sockets only the first request does.
        answer: shortened; `length` says how long it was, and `digest` tells it from others.
    """

    at_ns: int
    ended_ns: int
    tool: str
    target: str
    text: str
    stdin: str
    exit_code: int
    writes: bool
    counts: bool
    answer: str
    length: int
    digest: str


class Transcript:
    """The turns of one episode; cheap to fork."""

    def __init__(self) -> None:
        self.turns: AppendLog[Turn] = AppendLog(block=64)

    def add(self, command: Command, effect: Effect, result: Outcome, ended_ns: int) -> None:
        """A command has been answered."""
        shown = printable(str(result))
        turn = Turn(
            command.at_ns,
            ended_ns,
            command.tool,
            command.target,
            command.text,
            shortened(command.stdin),
            result.exit_code,
            effect.writes,
            effect.counts,
            shortened(shown),
            len(shown),
            command.answer[:_DIGEST],
        )
        self.turns.append(turn)


def printable(text: str) -> str:
    """The text as files can hold it: what is no Unicode is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def shortened(text: str) -> str:
    """Beginning and end of a long text."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n[… {len(text) - HEAD - TAIL} characters …]\n{text[-TAIL:]}"


def write_jsonl(path: Path, header: Mapping[str, Any], turns: AppendLog[Turn]) -> None:
    """Write a transcript: the header, then one turn a line. Raises OSError."""
    lines = [{"kind": "header", **header}, *({"kind": "turn", **turn._asdict()} for turn in turns)]
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


def read_jsonl(path: Path) -> tuple[dict[str, Any], list[Turn]]:
    """Header and turns of a transcript.

    Raises:
        ValueError: a line is none; the message names it.
    """
    header: dict[str, Any] = {}
    turns: list[Turn] = []
    for number, text in enumerate(path.read_text().split("\n"), start=1):
        if not text:
            continue
        try:
            line = json.loads(text)
            if line.pop("kind") == "turn":
                turns.append(Turn(**line))
            else:
                header = line
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: this is no line of a transcript: {error}") from None
    if not header:
        raise ValueError(f"{path}: no header line: this is no transcript")
    return header, turns
