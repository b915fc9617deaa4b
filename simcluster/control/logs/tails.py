"""The files that an agent has open: how far each is read, and what is new in it.

A file that is put aside while it is open is read to its end, as an open file can be; one that was put aside while
nobody had it open is not found any more, because names of rotated files do not end in `.log`.
"""

from __future__ import annotations

from simcluster.engine import Parted
from simcluster.telemetry.logql.files import Piece
from simcluster.telemetry.logs import LogFile
from simcluster.telemetry.promql.storage import Labels

#: What is read of one file at once: a batch at the most (`batchsize`).
READ_BYTES = 1 << 20


class Tail(Parted):
    """One file, opened.

    Args:
        labels: of its lines, without `stream`.
        position: entry at which to go on; one that lies in a file put aside meanwhile means the current file's first.
    """

    def __init__(self, log: LogFile, labels: Labels, position: int) -> None:
        self.log, self.labels = log, labels
        self.position = max(position, log.start)
        self.seen = -1  # how often the file had been written to when nothing in it was new
        self._opened = log.start  # the file that is open begins with this entry
        self._offset = 0 if self.position == log.start else log.size_bytes  # bytes of it that were read, about

    @property
    def drained(self) -> bool:
        """Whether all of it was read."""
        return self.position >= self.log.end

    def read(self, clock_ns: int) -> Piece | None:
        """What is new; None if nothing is."""
        log = self.log
        if self._opened != log.start:
            return self._finish(clock_ns)
        behind = log.end - self.position
        if not behind:
            self.seen = log.written
            return None
        size = max(0, log.size_bytes - self._offset)
        if size > READ_BYTES and behind > 1:
            count = max(1, behind * READ_BYTES // size)
            entries, size = list(log.entries(self.position, self.position + count)), size * count // behind
            position = self.position
        else:
            entries = log.last(behind)
            position = log.end - len(entries)
        self.position, self._offset = position + len(entries), self._offset + size
        return Piece(self.labels, position, tuple(entries), size, clock_ns)

    def _finish(self, clock_ns: int) -> Piece | None:
        """The rest of a file that was put aside, and then the current one."""
        log = self.log
        old = next((file for file in log.rotated if file.start == self._opened), None)
        entries = [] if old is None else list(log.entries(self.position, old.end))
        size = 0 if old is None else max(0, old.size_bytes - self._offset)
        piece = Piece(self.labels, self.position, tuple(entries), size, clock_ns) if entries else None
        self.position, self._opened, self._offset = log.start, log.start, 0
        return piece
