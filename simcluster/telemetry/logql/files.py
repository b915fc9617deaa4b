"""Lines that an agent took from containers' log files: kept as what happened, worded when a query reads them.

Of a file there are two streams, standard output and standard error, and a busy server's lines are worded only where a
query looks. What a query looks for narrows what is worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Reversible
from typing import NamedTuple

from simcluster.engine import AppendLog, Flat
from simcluster.telemetry.logql.storage import Line, Volume
from simcluster.telemetry.logs import FRAME_BYTES, Entry, LazyLines, LogLine, Reading, worded
from simcluster.telemetry.promql.storage import Labels

#: Pieces of a sealed block, and how many blocks of a file are kept: a piece is what came between two batches.
BLOCK, KEEP_BLOCKS = 32, 64
STREAMS = ("stdout", "stderr")


class Piece(NamedTuple):
    """What an agent sends of one file.

    Attributes:
        labels: of the file: those of its streams without `stream`.
        position: of the first entry.
        clock_ns: what is added to a simulated instant: the epoch, and how wrong the node's clock was.
    """

    labels: Labels
    position: int
    entries: tuple[Entry, ...]
    size_bytes: int
    clock_ns: int


class FileLog(Flat):
    """Pieces of one file.

    Attributes:
        end: position after the last entry that was taken.
        size_bytes: of what is kept, about.
    """

    __slots__ = ("_looked", "_pieces", "_seen", "end", "names", "size_bytes")

    def __init__(self, labels: Labels) -> None:
        self.names = tuple((stream, tuple(sorted((*labels, ("stream", stream))))) for stream in STREAMS)
        self._pieces: AppendLog[Piece] = AppendLog(block=BLOCK, keep_blocks=KEEP_BLOCKS)
        self._seen: tuple[tuple[int, int] | None, tuple[int, int] | None] = (None, None)  # of each stream
        self._looked = 0  # so many pieces are in `_seen`
        self.end = self.size_bytes = 0

    def copy(self) -> FileLog:
        """Another one with the same pieces."""
        other = FileLog.__new__(FileLog)
        other.names, other._pieces, other._looked = self.names, self._pieces.copy(), self._looked
        other._seen, other.end, other.size_bytes = self._seen, self.end, self.size_bytes
        return other

    @property
    def latest_ns(self) -> int:
        """The instant of the last line."""
        return max((span[1] for span in self._spans() if span is not None), default=0)

    def take(self, piece: Piece) -> None:
        """Append what was not taken before."""
        known = self.end - piece.position
        if known > 0:
            piece = piece._replace(position=self.end, entries=piece.entries[known:])
        if piece.entries:
            self._pieces.append(piece)
            self.end = piece.position + len(piece.entries)
            if self._pieces.end - self._looked >= BLOCK * KEEP_BLOCKS:
                self._spans()  # before the first of them are dropped
        self.size_bytes += piece.size_bytes

    def _spans(self) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """First and last instant of each stream that there may be; pieces are looked into when somebody asks."""
        if self._looked == self._pieces.end:
            return self._seen
        out, err = self._seen
        for piece in self._pieces.since(self._looked):
            for entry in piece.entries:
                if isinstance(entry, LogLine):
                    first = last = entry.t_ns + piece.clock_ns
                    streams: tuple[str, ...] = (entry.stream,)
                else:
                    first, last = (t_ns + piece.clock_ns for t_ns in entry.span)
                    streams = entry.streams
                if "stdout" in streams:
                    out = (first if out is None else out[0], last)
                if "stderr" in streams:
                    err = (first if err is None else err[0], last)
        self._seen, self._looked = (out, err), self._pieces.end
        return self._seen

    def streams(self, from_ns: int, to_ns: int) -> Iterator[tuple[str, Labels]]:
        """Streams that may have lines in [from_ns, to_ns)."""
        for named, span in zip(self.names, self._spans(), strict=True):
            if span is not None and span[0] < to_ns and span[1] >= from_ns:
                yield named

    def entries(self, from_ns: int = 0) -> Iterator[tuple[int, Entry, Entry | None]]:
        """What is added to its instants, an entry, and the one before it, without pieces that end before an instant."""
        before: Entry | None = None
        for piece in self._pieces:
            if last_of(piece.entries[-1]) + piece.clock_ns >= from_ns:
                for entry in piece.entries:
                    yield piece.clock_ns, entry, before
                    before = entry
            before = piece.entries[-1]

    def newest(self) -> Iterator[tuple[int, Entry, Entry | None]]:
        """The same, beginning with the last entry."""
        pieces = reversed(self._pieces)
        piece = next(pieces, None)
        while piece is not None:
            earlier, entries = next(pieces, None), piece.entries
            for place in range(len(entries) - 1, 0, -1):
                yield piece.clock_ns, entries[place], entries[place - 1]
            yield piece.clock_ns, entries[0], None if earlier is None else earlier.entries[-1]
            piece = earlier


class FileLines(Reversible[Line]):
    """Lines of a stream in [from_ns, to_ns), in order of time: worded as they are asked for.

    Args:
        needle: only lines that contain it are wanted; others may be among them.
    """

    def __init__(self, log: FileLog, stream: str, span: tuple[int, int], needle: str) -> None:
        self._log, self._stream, self._span, self._needle = log, stream, span, needle

    def __iter__(self) -> Iterator[Line]:
        reading = Reading()
        for clock_ns, entry, before in self._log.entries(self._span[0]):
            yield from self._lines(clock_ns, entry, before, reading)

    def __reversed__(self) -> Iterator[Line]:
        oldest, reading = self._span[0], Reading()
        for clock_ns, entry, before in self._log.newest():
            if last_of(entry) + clock_ns < oldest:
                break
            yield from reversed(self._lines(clock_ns, entry, before, reading))

    def _lines(self, clock_ns: int, entry: Entry, before: Entry | None, reading: Reading) -> list[Line]:
        from_ns, to_ns = self._span[0] - clock_ns, self._span[1] - clock_ns
        if isinstance(entry, LogLine):
            wanted = entry.stream == self._stream and from_ns <= entry.t_ns < to_ns
            return [(entry.t_ns + clock_ns, entry.text)] if wanted else []
        first, last = entry.span
        if last < from_ns or first >= to_ns or self._stream not in entry.streams:
            return []
        return [
            (line.t_ns + clock_ns, line.text)
            for line in worded(entry, before, None, self._needle, reading)
            if line.stream == self._stream and from_ns <= line.t_ns < to_ns
        ]


def last_of(entry: Entry) -> int:
    """No line of an entry is later."""
    return entry.t_ns if isinstance(entry, LogLine) else entry.span[1]


def volumes(log: FileLog, span: tuple[int, int]) -> Iterable[Volume]:
    """How much there is of a file's streams in a span; of what is not worded yet about, by whole entries."""
    found = {stream: [0, 0] for stream, _ in log.streams(*span)}
    for clock_ns, entry, _ in log.entries(span[0]):
        if not span[0] <= last_of(entry) + clock_ns < span[1]:
            continue
        if isinstance(entry, LogLine):
            counted = found.get(entry.stream)
            lines, size = 1, len(entry.text)
        else:
            streams = entry.streams
            counted = found.get(streams[0]) if streams else None
            lines, size = _about(entry)
        if counted is not None:
            counted[0] += lines
            counted[1] += size
    return [Volume(labels, *found[stream]) for stream, labels in log.names if stream in found and found[stream][0]]


def _about(entry: LazyLines) -> tuple[int, int]:
    """Lines and bytes, about."""
    count = entry.count
    return count, max(0, entry.size_bytes - count * FRAME_BYTES)
