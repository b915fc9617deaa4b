"""Streams of JSON lines in compressed segments that survive an interruption.

A segment ends with a line `{"end": N}` that counts its lines. One without it was interrupted; what can be read of it is
good. Lines are flushed to the disk every few seconds, so that a crash costs no more than that.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from simcluster.calibration.record.shapes import stream_of, wrong_with

#: A segment is closed when so many compressed bytes or lines are in it.
SEGMENT_BYTES, SEGMENT_LINES = 8 << 20, 200_000
FLUSH_S = 2.0
_GZIP_WINDOW = 31  # zlib's name for a gzip header with the largest window


class StreamWriter:
    """Appends lines to a stream, in a segment of its own; memory does not grow with the stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: BinaryIO | None = None
        self._squeezer: Any = None
        self._lines = 0
        self._flushed_s = 0.0

    def write(self, line: dict[str, Any]) -> None:
        """Append a line."""
        file = self._file or self._open()
        text = json.dumps(line, separators=(",", ":"), ensure_ascii=False)
        file.write(self._squeezer.compress(f"{text}\n".encode()))
        self._lines += 1
        now = time.monotonic()
        if now - self._flushed_s > FLUSH_S:
            self.flush()
            self._flushed_s = now
        if self._lines >= SEGMENT_LINES or file.tell() >= SEGMENT_BYTES:
            self.close()

    def flush(self) -> None:
        """Let what was written be readable."""
        if self._file is not None:
            self._file.write(self._squeezer.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """End the segment. The next line begins another."""
        if self._file is None:
            return
        end = json.dumps({"end": self._lines}, separators=(",", ":"))
        self._file.write(self._squeezer.compress(f"{end}\n".encode()) + self._squeezer.flush())
        self._file.close()
        self._file = None

    def _open(self) -> BinaryIO:
        self.folder.mkdir(parents=True, exist_ok=True)
        number = len(list(self.folder.glob("*.jsonl.gz"))) + 1
        self._file = (self.folder / f"{number:06d}.jsonl.gz").open("xb")
        self._squeezer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)
        self._lines, self._flushed_s = 0, time.monotonic()
        return self._file


class Segment:
    """One segment, read line by line.

    Attributes:
        complete: whether its end was found; known when all lines have been read.
        damage: what was wrong with it, if it was not merely cut short; what is behind that cannot be read.
        lines: how many were read.
        misshapen: how many of them were passed over because they are not of their stream's form, and why the first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = False
        self.damage = ""
        self.lines = 0
        self.misshapen: tuple[int, str] = (0, "")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.complete, self.damage, self.lines, self.misshapen = False, "", 0, (0, "")
        stream, kind = stream_of(self.path)
        for text in self._texts():
            try:
                line = json.loads(text)
            except ValueError:
                self.damage = f"line {self.lines + 1} is no JSON"
                return
            if not isinstance(line, dict):
                self.damage = f"line {self.lines + 1} is no object"
                return
            if set(line) == {"end"}:
                self.complete = line["end"] == self.lines
                if not self.complete:
                    self.damage = f"{self.lines} lines, and its end says {line['end']}"
                return
            self.lines += 1
            wrong = wrong_with(stream, kind, line)
            if wrong:
                count, first = self.misshapen
                self.misshapen = count + 1, first or f"line {self.lines}: {wrong}"
                continue
            yield line

    def _texts(self) -> Iterator[bytes]:
        expander, rest = zlib.decompressobj(_GZIP_WINDOW), b""
        with self.path.open("rb") as file:
            while chunk := file.read(1 << 16):
                try:
                    rest += expander.decompress(chunk)
                except zlib.error as problem:
                    self.damage = str(problem)
                    return
                *whole, rest = rest.split(b"\n")
                yield from whole


def segments(folder: Path) -> list[Segment]:
    """The segments of a stream, oldest first."""
    return [Segment(path) for path in sorted(folder.glob("*.jsonl.gz"))]
