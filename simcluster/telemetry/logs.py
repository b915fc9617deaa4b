"""The log of one container, as its runtime writes it to the node's disk and the kubelet rotates it.

Lines are stamped when the runtime reads them from the program's pipe, so stamps never run backwards.
Left out: rotated files (`kubectl logs` shows the current one only).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from simcluster.engine import SECOND, AppendLog, Flat, Shared

#: A kubelet looks every 10 s (containerLogMonitorInterval) whether a log has more than 10 MiB (containerLogMaxSize),
#: and then begins another file.
MONITOR_NS, MAX_BYTES = 10 * SECOND, 10 << 20
#: What the runtime writes before and after every line: `2006-01-02T15:04:05.999999999Z stdout F ` and a newline.
FRAME_BYTES = 41


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
    def size_bytes(self) -> int:
        """About how much they take on the disk."""

    @abstractmethod
    def lines(self, last: int | None = None) -> list[LogLine]:
        """The lines, in order of time; or at least the `last` ones."""


class LogFile(Flat):
    """Append-only; what was written before the kubelet began another file is not shown any more."""

    def __init__(self) -> None:
        #: Where it should be, of a file that the runtime never made; empty if it is there.
        self.missing = ""
        # containerLogMaxFiles 5; of programs that print little, so many lines are kept at the most.
        self._entries: AppendLog[LogLine | LazyLines] = AppendLog(block=128, keep_blocks=64)
        self._bytes = 0
        self._monitored = 0  # number of the kubelet's last look

    def copy(self) -> LogFile:
        """Another file with the same lines."""
        other = LogFile.__new__(LogFile)
        other.missing, other._entries = self.missing, self._entries.copy()
        other._bytes, other._monitored = self._bytes, self._monitored
        return other

    def write(self, t_ns: int, text: str, stream: str = "stdout") -> None:
        """Append one line (or several, split at newlines)."""
        for line in text.split("\n"):
            self._grow(t_ns, len(line) + FRAME_BYTES)
            self._entries.append(LogLine(t_ns, stream, line))

    def write_lazily(self, t_ns: int, lines: LazyLines) -> None:
        """Append lines that are worded when they are read; none of them is later than `t_ns`."""
        self._grow(t_ns, lines.size_bytes)
        self._entries.append(lines)

    def _grow(self, t_ns: int, size: int) -> None:
        look = t_ns // MONITOR_NS
        if look != self._monitored:
            self._monitored = look
            if self._bytes > MAX_BYTES:
                self._entries.clear()
                self._bytes = 0
        self._bytes += size

    def read(self, *, tail: int | None = None, since_ns: int | None = None) -> list[LogLine]:
        """Lines in order; the last `tail` of them, not older than `since_ns`."""
        found: list[LogLine] = []
        entries = reversed(self._entries)
        entry = next(entries, None)
        while entry is not None and (tail is None or len(found) < tail):
            before = next(entries, None)
            if isinstance(entry, LogLine):
                part = [entry]
            else:
                part = entry.lines(None if tail is None else tail - len(found))
                if isinstance(before, LogLine) and part and part[0].t_ns < before.t_ns:
                    part = [line._replace(t_ns=max(line.t_ns, before.t_ns)) for line in part]
            if since_ns is not None:
                if part and part[-1].t_ns < since_ns:
                    break
                part = [line for line in part if line.t_ns >= since_ns]
            found.extend(reversed(part))
            entry = before
        if tail is not None:
            del found[tail:]
        found.reverse()
        return found
