"""The log of one container, as its runtime writes it to the node's disk and the kubelet rotates it.

Lines are stamped when the runtime reads them from the program's pipe, so stamps never run backwards. What was rotated
lies beside the current file until there are too many; `kubectl logs` shows the current one only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from simcluster.engine import SECOND, AppendLog, Flat, Shared

#: A kubelet looks every 10 s (containerLogMonitorInterval) whether a log has more than 10 MiB (containerLogMaxSize),
#: and then begins another file; with the current one there are five at the most (containerLogMaxFiles).
MONITOR_NS, MAX_BYTES, MAX_FILES = 10 * SECOND, 10 << 20, 5
#: What the runtime writes before and after every line: `2006-01-02T15:04:05.999999999Z stdout F ` and a newline.
FRAME_BYTES = 41


class LogLine(NamedTuple):
    """One line: instant, stream (`stdout` or `stderr`) and text without newline."""

    t_ns: int
    stream: str
    text: str


Worked = TypeVar("Worked")


class Reading:
    """What somebody who reads one entry after the other works out once: requests of a tick print in many entries.

    Bounded: where it grows beyond so many lines, what was worked out first is worked out anew.
    """

    KEPT = 200_000

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[int, Any]] = {}
        self._lines = 0

    def of(self, source: Hashable, work: Callable[[], tuple[int, Worked]]) -> Worked:
        """What `work` makes of a source, and of nothing else; it says, too, how many lines that holds."""
        kept = self._kept.get(source)
        if kept is None:
            kept = self._kept[source] = work()
            self._lines += kept[0]
            while self._lines > self._most and len(self._kept) > 1:
                self._lines -= self._kept.pop(next(iter(self._kept)))[0]
        found: Worked = kept[1]
        return found


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

    @property
    @abstractmethod
    def count(self) -> int:
        """About how many they are."""

    @property
    @abstractmethod
    def span(self) -> tuple[int, int]:
        """Instants: its lines are later than the first, and not later than the second."""

    @property
    @abstractmethod
    def streams(self) -> tuple[str, ...]:
        """On which streams there may be lines."""

    @property
    def wordings(self) -> tuple[str, ...]:
        """What its lines are worded from: texts with marks in braces for what may differ; a mark alone is anything."""
        return ("{text}",)

    @abstractmethod
    def lines(self, last: int | None = None, needle: str = "", reading: Reading | None = None) -> list[LogLine]:
        """The lines, in order of time; or at least the `last` ones, and those that contain `needle`.

        Args:
            reading: what whoever reads entry after entry has worked out by now.
        """


Entry = LogLine | LazyLines


class Rotated(NamedTuple):
    """A file that is not written to any more: when it was put aside, its entries [start, end), and its bytes."""

    t_ns: int
    start: int
    end: int
    size_bytes: int


class LogFile(Flat):
    """Append-only; the kubelet begins another file when it has grown, and removes the oldest of them.

    Entries have positions that never change, as those of the bytes of a file do.

    Attributes:
        missing: where it should be, of a file that the runtime never made; empty if it is there.
        start: position of the current file's first entry.
        size_bytes: of the current file.
        rotated: files beside it, oldest first.
        written: how often something was written; as long as it is the same, so is all else.
    """

    __slots__ = ("_entries", "_monitored", "missing", "rotated", "size_bytes", "start", "written")

    def __init__(self) -> None:
        self.missing = ""
        # Of programs that print little, so many entries are kept at the most.
        self._entries: AppendLog[Entry] = AppendLog(block=128, keep_blocks=64)
        self.start = self.size_bytes = self.written = 0
        self.rotated: tuple[Rotated, ...] = ()
        self._monitored = 0  # number of the kubelet's last look

    def copy(self) -> LogFile:
        """Another file with the same lines."""
        other = LogFile.__new__(LogFile)
        other.missing, other._entries, other.rotated = self.missing, self._entries.copy(), self.rotated
        other.start, other.size_bytes, other._monitored = self.start, self.size_bytes, self._monitored
        other.written = self.written
        return other

    @property
    def end(self) -> int:
        """Position after the last entry."""
        return self._entries.end

    @property
    def latest_ns(self) -> int:
        """When the last line may have been written; 0 before any."""
        newest = next(iter(reversed(self._entries)), None)
        if newest is None:
            return 0
        return newest.t_ns if isinstance(newest, LogLine) else newest.span[1]

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
            if self.size_bytes > MAX_BYTES:
                self._rotate(look * MONITOR_NS)
        self.size_bytes += size
        self.written += 1

    def _rotate(self, t_ns: int) -> None:
        entries = self._entries
        self.rotated = (*self.rotated, Rotated(t_ns, self.start, entries.end, self.size_bytes))[1 - MAX_FILES :]
        self.start, self.size_bytes = entries.end, 0
        entries.drop_before(self.rotated[0].start)

    def entries(self, position: int, end: int | None = None) -> Iterator[Entry]:
        """Entries from a position on that are still kept, in order; without those from `end` on."""
        found = self._entries.since(position)
        return found if end is None else islice(found, max(0, end - max(position, self._entries.dropped)))

    def last(self, count: int) -> list[Entry]:
        """The newest entries, in order."""
        return self._entries.last(count)

    def put_aside(self, file: Rotated) -> list[LogLine]:
        """Lines of a rotated file."""
        return lines_of(self.entries(file.start, file.end))

    def read(self, *, tail: int | None = None, since_ns: int | None = None) -> list[LogLine]:
        """Lines of the current file in order; the last `tail` of them, not older than `since_ns`."""
        found: list[LogLine] = []
        reading = Reading()
        entries = islice(reversed(self._entries), self._entries.end - self.start)
        entry = next(entries, None)
        while entry is not None and (tail is None or len(found) < tail):
            before = next(entries, None)
            part = worded(entry, before, None if tail is None else tail - len(found), reading=reading)
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


def worded(
    entry: Entry,
    before: Entry | None,
    last: int | None = None,
    needle: str = "",
    reading: Reading | None = None,
) -> list[LogLine]:
    """Lines of an entry, none earlier than the line before it; or at least the `last` ones, those with `needle`."""
    if isinstance(entry, LogLine):
        return [entry]
    lines = entry.lines(last, needle, reading)
    if isinstance(before, LogLine) and lines and lines[0].t_ns < before.t_ns:
        return [line._replace(t_ns=max(line.t_ns, before.t_ns)) for line in lines]
    return lines


def lines_of(entries: Iterable[Entry], reading: Reading | None = None) -> list[LogLine]:
    """All lines of entries; `reading`: of somebody who reads on and on, without a needle."""
    found: list[LogLine] = []
    before: Entry | None = None
    reading = Reading() if reading is None else reading
    for entry in entries:
        found += worded(entry, before, reading=reading)
        before = entry
    return found
