"""The replay log of an episode: what was started, every outside command, what it answered.

Plain JSONL, safe to share. It holds no answers, only their digests: replaying it on the
same versions proves that the world is the same.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.surface.protocols import CommandResult


class Command(NamedTuple):
    """One outside command.

    Attributes:
        at_ns: simulated instant at which it took effect.
        tool: `kubectl`, `node`, `wait`, `diagnose` or `load`.
        target: the node of a `node` command, else empty.
        answer: digest of what it answered.
    """

    at_ns: int
    tool: str
    target: str
    text: str
    stdin: str
    exit_code: int
    answer: str

    def to_dict(self) -> dict[str, Any]:
        """The line of the log."""
        return {"kind": "command", **self._asdict()}


def answer_digest(result: CommandResult) -> str:
    """16 hexadecimal characters over everything a command printed and its exit status."""
    text = f"{result.stdout}\0{result.stderr}\0{result.exit_code}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def same_answer(command: Command, result: CommandResult) -> bool:
    """Whether a replayed command answered what the log says."""
    return command.answer == answer_digest(result) and command.exit_code == result.exit_code


def versions() -> dict[str, str]:
    """Versions on which the bytes of a run may depend."""
    found = {"python": platform.python_version()}
    for package in ("simcluster", "numpy", "simpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # a bare clone is not installed
            found[package] = "unknown"
    return found


def write(path: Path, header: dict[str, Any], commands: Iterable[Command], digest: str) -> None:
    """Write a whole log: header, commands, end."""
    lines = [{"kind": "header", **header}, *(c.to_dict() for c in commands), {"kind": "end", "digest": digest}]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def read(path: Path) -> tuple[dict[str, Any], list[Command], str]:
    """Header, commands and final digest of a log.

    Raises:
        ValueError: a line is no JSON, or the log has no header; the message names the line.
    """
    header: dict[str, Any] = {}
    commands: list[Command] = []
    digest = ""
    for number, line in _lines(path):
        kind = line.pop("kind", None)
        if kind == "header":
            header = line
        elif kind == "command":
            try:
                commands.append(Command(**line))
            except TypeError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
        elif kind == "end":
            digest = str(line["digest"])
        else:
            raise ValueError(f"{path}:{number}: unknown kind of line {kind!r}; expected header, command or end")
    if not header:
        raise ValueError(f"{path}: no header line: this is no replay log")
    return header, commands, digest


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        if not text.strip():
            continue
        try:
            yield number, json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: no JSON: {error.msg}") from None
