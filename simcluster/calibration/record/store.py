"""The folder of a recording, as it is being written: streams, notes, the header and from where to go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from simcluster.calibration.record.layout import (
    HEADER,
    NOTES,
    STATE,
    Header,
    RecordingError,
    read_header,
    read_state,
    write_json,
)
from simcluster.calibration.record.segments import StreamWriter


class Clock:
    """Nanoseconds since 1970 that never run backwards: the wall clock is looked at once."""

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Now."""
        return self._offset_ns + time.monotonic_ns()


class Store:
    """Where everything is written.

    Args:
        folder: is made if it is missing. A recording that lies there is gone on with.
        header: what a new recording says of itself; of an older one what is new of it.

    Raises:
        RecordingError: the folder holds something else.

    Attributes:
        state: from where to go on, by source; saved by `save`.
        counts: lines written so far, by stream.
        resumed: whether the recording was there already.
    """

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self.clock = Clock()
        self.counts: dict[str, int] = {}
        self._streams: dict[str, StreamWriter] = {}
        self.resumed = (folder / HEADER).is_file()
        if self.resumed:
            header = _joined(read_header(folder), header)
        elif folder.exists() and any(folder.iterdir()):
            raise RecordingError(f"{folder} is not empty and holds no recording")
        folder.mkdir(parents=True, exist_ok=True)
        self.header = header
        self.state: dict[str, Any] = read_state(folder)
        header.sessions.append({"began_ns": self.clock.now_ns()})
        header.write(folder)

    def write(self, stream: str, line: dict[str, Any]) -> None:
        """Append a line with its arrival, `t`, to a stream."""
        writer = self._streams.get(stream)
        if writer is None:
            writer = self._streams[stream] = StreamWriter(self.folder / stream)
        writer.write({"t": self.clock.now_ns(), **line})
        self.counts[stream] = self.counts.get(stream, 0) + 1

    def note(self, kind: str, source: str, **more: Any) -> None:
        """Write down what went wrong, or what says how clocks differ."""
        self.write(NOTES, {"note": kind, "source": source, **more})

    def save(self) -> None:
        """Make what was written and from where to go on safe."""
        for writer in self._streams.values():
            writer.flush()
        write_json(self.folder / STATE, self.state)

    def close(self) -> None:
        """End the session."""
        for writer in self._streams.values():
            writer.close()
        write_json(self.folder / STATE, self.state)
        self.header.sessions[-1] |= {"ended_ns": self.clock.now_ns(), "counts": self.counts}
        self.header.write(self.folder)


def _joined(old: Header, new: Header) -> Header:
    """An older header with what a new session adds."""
    old.sources |= new.sources
    for name in ("resources", "namespaces", "redaction", "remarks"):
        known: list[str] = getattr(old, name)
        known += [each for each in getattr(new, name) if each not in known]
    return old
