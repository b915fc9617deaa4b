"""The log of one container, as its runtime writes it to the node's disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from simcluster.engine import AppendLog, Flat, Shared


class LogLine(NamedTuple):
    """One line: instant, stream (`stdout` or `stderr`) and text without newline."""

    t_ns: int
    stream: str
    text: str


class LazyLines(ABC, Shared):
    """Many lines that nobody has read yet: what happened, not yet how it is worded.

    A busy server writes hundreds of lines a second; keeping the counts of a tick and
    wording them when somebody looks costs nothing until then. `lines` must be a pure
    function of the object, so that looking twice shows the same and changes nothing.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def count(self) -> int:
        """How many lines there are."""

    @abstractmethod
    def lines(self) -> list[LogLine]:
        """The lines, in order of time."""


class LogFile(Flat):
    """Append-only; the oldest part is lost when the file has been rotated often enough."""

    def __init__(self) -> None:
        #: Where it should be, of a file that the runtime never made; empty if it is there.
        self.missing = ""
        # kubelet keeps 5 files of 10 MiB (containerLogMaxFiles, containerLogMaxSize).
        self._entries: AppendLog[LogLine | LazyLines] = AppendLog(block=128, keep_blocks=64)

    def copy(self) -> LogFile:
        """Another file with the same lines."""
        other = LogFile.__new__(LogFile)
        other.missing, other._entries = self.missing, self._entries.copy()
        return other

    def write(self, t_ns: int, text: str, stream: str = "stdout") -> None:
        """Append one line (or several, split at newlines)."""
        for line in text.split("\n"):
            self._entries.append(LogLine(t_ns, stream, line))

    def write_lazily(self, lines: LazyLines) -> None:
        """Append lines that are worded when they are read."""
        self._entries.append(lines)

    def read(self, *, tail: int | None = None, since_ns: int | None = None) -> list[LogLine]:
        """Lines in order; the last `tail` of them, not older than `since_ns`."""
        found: list[LogLine] = []
        for entry in reversed(self._entries):
            if tail is not None and len(found) >= tail:
                break
            part = [entry] if isinstance(entry, LogLine) else entry.lines()
            if since_ns is not None:
                if part and part[-1].t_ns < since_ns:
                    break
                part = [line for line in part if line.t_ns >= since_ns]
            found.extend(reversed(part))
        if tail is not None:
            del found[tail:]
        found.reverse()
        return found
