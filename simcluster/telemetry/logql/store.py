"""Lines as an ingester keeps them: append-only per stream, in sealed blocks that forks share.

Lines may arrive late; they are put in order when they are read. Those that an agent took from containers' files are
worded when a query reads them (`files`). Left out: structured metadata of clients, replication, and that a query sees
chunks rather than lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from simcluster.engine import AppendLog, Flat
from simcluster.telemetry.logql.entry import LEVEL, METADATA_BYTES, detected_level
from simcluster.telemetry.logql.files import FileLines, FileLog, Piece, volumes
from simcluster.telemetry.logql.limits import Limits
from simcluster.telemetry.logql.storage import Line, Stream, Volume, all_match
from simcluster.telemetry.logs import Entry, LogLine
from simcluster.telemetry.promql.storage import Labels, Matcher

#: Lines of a sealed block.
BLOCK = 128
#: Where `service_name` is looked for (`discover_service_name` of Loki's limits), in this order.
SERVICE_LABELS = (
    "service", "app", "application", "app_name", "name", "app_kubernetes_io_name", "container", "container_name",
    "k8s_container_name", "component", "workload", "job", "k8s_job_name",
)  # fmt: skip


def labelled(labels: Mapping[str, str]) -> Labels:
    """Labels as they are stored: without empty ones, with `service_name`, sorted.

    >>> labelled({"app": "geo", "pod": ""})
    (('app', 'geo'), ('service_name', 'geo'))
    """
    known = {name: value for name, value in labels.items() if value}
    if "service_name" not in known:
        known["service_name"] = next((known[one] for one in SERVICE_LABELS if one in known), "unknown_service")
    return tuple(sorted(known.items()))


class StreamLog(Flat):
    """Lines of one stream."""

    __slots__ = ("_bytes", "_disordered", "_first", "_last", "_lines")

    def __init__(self) -> None:
        self._lines: AppendLog[Line] = AppendLog(block=BLOCK)
        self._bytes = 0
        self._first = self._last = 0  # earliest and latest instant
        self._disordered = False

    def copy(self) -> StreamLog:
        """Another log with the same lines."""
        other = StreamLog.__new__(StreamLog)
        other._lines, other._bytes = self._lines.copy(), self._bytes
        other._first, other._last, other._disordered = self._first, self._last, self._disordered
        return other

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def size_bytes(self) -> int:
        """Bytes of its lines."""
        return self._bytes

    @property
    def first_ns(self) -> int:
        """No line is earlier."""
        return self._first

    @property
    def sealed(self) -> bool:
        """Whether there is a block that can be dropped."""
        return len(self._lines) >= BLOCK

    def append(self, t_ns: int, line: str) -> int:
        """Add a line; how many bytes it has."""
        if not self._lines:
            self._first = self._last = t_ns
        self._disordered = self._disordered or t_ns < self._last
        self._first, self._last = min(self._first, t_ns), max(self._last, t_ns)
        self._lines.append((t_ns, line))
        size = _size(line)
        self._bytes += size
        return size

    def overlaps(self, from_ns: int, to_ns: int) -> bool:
        """Whether it may have lines in [from_ns, to_ns)."""
        return bool(self._lines) and self._first < to_ns and self._last >= from_ns

    def between(self, from_ns: int, to_ns: int) -> list[Line]:
        """Lines in [from_ns, to_ns), in order of time."""
        if self._disordered:
            return sorted((one for one in self._lines if from_ns <= one[0] < to_ns), key=_instant)
        found = []
        for one in reversed(self._lines):
            if one[0] < from_ns:
                break
            if one[0] < to_ns:
                found.append(one)
        found.reverse()
        return found

    def drop_block(self) -> int:
        """Forget the oldest sealed block; how many bytes that were."""
        gone = sum(_size(self._lines[at][1]) for at in range(BLOCK))  # integers
        self._lines.drop_block()
        self._bytes -= gone
        kept = iter(self._lines)
        self._first = min((one[0] for one in (kept if self._disordered else islice(kept, 1))), default=self._last)
        return gone

    def last_of_block(self) -> int:
        """The latest instant of the oldest sealed block."""
        return max(self._lines[at][0] for at in range(BLOCK))


def _instant(line: Line) -> int:
    return line[0]


def _size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode())


class LogStore:
    """All streams.

    Args:
        max_bytes: of pushed lines; beyond that the oldest block of the largest stream goes. 0 for no limit.
        max_age_ns: blocks whose lines are all older go, and files of which nothing younger is known. 0 for no limit
            (`retention_period` of Loki).

    Attributes:
        limits: how fast lines are taken by who serves it.
    """

    def __init__(self, max_bytes: int = 0, max_age_ns: int = 0) -> None:
        self.max_bytes, self.max_age_ns = max_bytes, max_age_ns
        self._streams: dict[Labels, StreamLog] = {}
        self._files: dict[Labels, FileLog] = {}
        self._bytes = 0
        self.received_bytes = self.received_lines = 0
        self.limits = Limits()

    def __len__(self) -> int:
        return len(self._streams) + len(self._files)

    @property
    def size_bytes(self) -> int:
        """Bytes of all lines that were pushed."""
        return self._bytes

    def knows(self, labels: Labels) -> bool:
        """Whether there is such a stream, or such a file."""
        return labels in self._files or labels in self._streams

    def append(self, labels: Labels, t_ns: int, line: str) -> None:
        """Add a line to the stream with these labels (see `labelled`)."""
        log = self._streams.get(labels)
        if log is None:
            log = self._streams[labels] = StreamLog()
        size = log.append(t_ns, line)
        self._bytes += size
        self.received_bytes += size
        self.received_lines += 1
        while self.max_age_ns and log.sealed and log.last_of_block() < t_ns - self.max_age_ns:
            self._bytes -= log.drop_block()
        while self.max_bytes and self._bytes > self.max_bytes:
            largest = max((each for each in self._streams.values() if each.sealed), key=_bytes_of, default=None)
            if largest is None:
                break
            self._bytes -= largest.drop_block()

    def take(self, piece: Piece) -> None:
        """Add what an agent read from a file."""
        log = self._files.get(piece.labels)
        if log is None:
            log = self._files[piece.labels] = FileLog(piece.labels)
            self._forget()
        log.take(piece)
        self.received_bytes += piece.size_bytes
        self.received_lines += len(piece.entries)

    def _forget(self) -> None:
        """Let files go that ended long ago."""
        newest = max(log.latest_ns for log in self._files.values())
        for labels in [each for each, log in self._files.items() if 0 < log.latest_ns < newest - self.max_age_ns]:
            if self.max_age_ns:
                del self._files[labels]

    def select(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int, needle: str = "") -> list[Stream]:
        """Streams that match, sorted by labels, with their lines in [from_ns, to_ns), if any."""
        found = []
        for labels, log in self._matching(matchers, from_ns, to_ns).items():
            lines = log.between(from_ns, to_ns)
            if lines:
                found.append(Stream(labels, lines))
        for labels, (stream, file) in self._in_files(matchers, from_ns, to_ns).items():
            found.append(Stream(labels, FileLines(file, stream, (from_ns, to_ns), needle)))
        return sorted(found, key=_labels_of)

    def streams(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> list[Labels]:
        """Labels of streams that match and may have lines in [from_ns, to_ns)."""
        return sorted([*self._matching(matchers, from_ns, to_ns), *self._in_files(matchers, from_ns, to_ns)])

    def volumes(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> list[Volume]:
        """How much there is of streams that match, sorted by labels."""
        found = []
        for labels, log in self._matching(matchers, from_ns, to_ns).items():
            lines = log.between(from_ns, to_ns)
            if lines:
                found.append(Volume(labels, len(lines), _noted(lines)))
        for file, wanted in self._by_file(matchers, from_ns, to_ns).items():
            found += [one for one in volumes(self._files[file], (from_ns, to_ns)) if one.labels in wanted]
        return sorted(found)

    def kept(self) -> Iterator[tuple[Labels, Iterator[Entry]]]:
        """Everything there is, by stream or file: lines, and what is not worded yet."""
        for labels, log in self._streams.items():
            yield labels, (LogLine(t_ns, "stdout", text) for t_ns, text in log.between(-(1 << 63), 1 << 63))
        for labels, file in self._files.items():
            yield labels, (entry for _, entry, _ in file.entries())

    def _matching(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> dict[Labels, StreamLog]:
        return {
            labels: log
            for labels, log in self._streams.items()
            if log.overlaps(from_ns, to_ns) and all_match(matchers, labels)
        }

    def _in_files(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> dict[Labels, tuple[str, FileLog]]:
        return {
            labels: (stream, log)
            for log in self._files.values()
            for stream, labels in log.streams(from_ns, to_ns)
            if all_match(matchers, labels)
        }

    def _by_file(self, matchers: Sequence[Matcher], from_ns: int, to_ns: int) -> dict[Labels, list[Labels]]:
        found = {
            file: [labels for _, labels in log.streams(from_ns, to_ns) if all_match(matchers, labels)]
            for file, log in self._files.items()
        }
        return {file: wanted for file, wanted in found.items() if wanted}


def _bytes_of(log: StreamLog) -> int:
    return log.size_bytes


def _labels_of(stream: Stream) -> Labels:
    return stream.labels


def _noted(lines: Sequence[Line]) -> int:
    """Bytes of lines, and of the levels noted with them: every text once."""
    levels = {detected_level(line) for _, line in lines}
    noted = sum(len(level) for level in levels) + len(LEVEL)  # integers
    return sum(len(line.encode()) + METADATA_BYTES for _, line in lines) + noted  # integers
