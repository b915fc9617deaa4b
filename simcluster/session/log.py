"""The replay log of a session: what was started, every outside command, what it answered, how it ended.

Plain JSONL in UTF-8, one object between two newlines, safe to share: a header, commands, an end. It holds no answers,
only their digests, and after every command the digest of the run: repeating it on the same versions proves that the
world is the same, up to wherever it ends.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.session import plainjson
from simcluster.surface.protocols import Outcome


class Command(NamedTuple):
    """One outside command.

    Attributes:
        at_ns: simulated instant at which it took effect.
        tool: which kind of request it was, of `session.kinds`.
        target: the node or the container it was run on, or where users were sent; else empty.
        identity: in whose name it was done; empty for the cluster's administrator.
        answer: digest of what it answered.
        digest: of the run, after it.
    """

    at_ns: int
    tool: str
    target: str
    text: str
    stdin: str
    identity: str
    exit_code: int
    answer: str
    digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The line of the log."""
        return {"kind": "command", **self._asdict()}


class End(NamedTuple):
    """How a session ended.

    Attributes:
        outcome: `done`, or what ended it before: `budget`, `timeout`, `agent_error`, ...
        at_ns: simulated instant up to which somebody worked.
        graded: whether it was graded then, which lets the world live on.
        digest: of the run in the end (after the grade, if there is one).
    """

    outcome: str
    at_ns: int
    graded: bool
    digest: str


class Log(NamedTuple):
    """A log as it was read.

    Attributes:
        end: None if the log ends without (its writer was killed).
        problem: names a last line that was cut off in the middle; else empty.
    """

    header: dict[str, Any]
    commands: list[Command]
    end: End | None
    problem: str


def answer_digest(result: Outcome) -> str:
    """16 hexadecimal characters over everything a command printed and its exit status."""
    text = f"{result.stdout}\0{result.stderr}\0{result.exit_code}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def versions() -> dict[str, str]:
    """Versions on which the bytes of a run may depend."""
    found = {"python": platform.python_version()}
    for package in ("simcluster", "numpy", "simpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # a bare clone is not installed
            found[package] = "unknown"
    return found


def write(path: Path, header: dict[str, Any], commands: Iterable[Command], end: End) -> None:
    """Write a whole log.

    Raises:
        OSError: the file cannot be written.
        ValueError: the header is no plain JSON.
    """
    lines = [{"kind": "header", **header}, *(c.to_dict() for c in commands), {"kind": "end", **end._asdict()}]
    path.write_bytes("".join(plainjson.dumps(line, "the log's line") + "\n" for line in lines).encode())


def read(path: Path) -> Log:
    """Read a log; a last line that was cut off is left out and named.

    Raises:
        ValueError: a line is no JSON, lacks something, or the log has no header; the message names the line.
    """
    log = Log({}, [], None, "")
    for number, text, whole in _lines(path):
        where = f"{path}:{number}"
        try:
            line = json.loads(text)
        except ValueError as error:
            if whole or not log.header:
                raise ValueError(f"{where}: no JSON: {error}") from None
            return log._replace(problem=f"{where}: the last line is cut off")
        try:
            log = _with(log, line)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from None
    if not log.header:
        raise ValueError(f"{path}: no header line: this is no replay log")
    return log


def _with(log: Log, line: Any) -> Log:
    if not isinstance(line, dict):
        raise ValueError("no JSON object")
    kind = line.pop("kind", None)
    if kind == "header":
        return log._replace(header=line)
    if kind == "command":
        log.commands.append(_typed(Command, line))
        return log
    if kind == "end":
        return log._replace(end=_typed(End, line))
    raise ValueError(f"unknown kind of line {kind!r}; expected header, command or end")


def _typed(kind: Any, line: dict[str, Any]) -> Any:
    """A line's fields as a `Command` or an `End`. Raises TypeError, ValueError."""
    for name, value in line.items():
        wanted = {"at_ns": int, "exit_code": int, "graded": bool}.get(name, str)
        if type(value) is not wanted:
            raise ValueError(f"{name} is {value!r}, not of type {wanted.__name__}")
    return kind(**line)


def _lines(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Number and text of every line, and whether its newline is there. No other separator counts, as U+2028."""
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    for number, text in enumerate(lines, start=1):
        if text.strip():
            yield number, text, number < len(lines)
