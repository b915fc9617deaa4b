"""Reads recordings: changes of objects, spans and samples, on the cluster's clock where that can be told.

Everything is read line by line. Arrivals are those of the recorder's clock, put on the cluster's by what the nodes'
Leases say (`record.clocks`): of a cluster that runs at another pace than the recorder both are needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.calibration.record.clocks import SAME_NS, ClockFit, fit_clock, reading_of
from simcluster.calibration.record.layout import OBJECTS, OPERATIONS, TRACES, Header, read_header
from simcluster.calibration.record.segments import segments
from simcluster.calibration.record.verify import Fault, verify

LEASES = "leases.coordination.k8s.io"
#: Fewer signs of life do not say how well they are foretold.
_LEAST_SIGNS = 5


class Change(NamedTuple):
    """A change of an object.

    Attributes:
        t_ns: arrival, on the cluster's clock if that is known.
        kind: LISTED, ADDED, MODIFIED, DELETED.
    """

    t_ns: int
    kind: str
    resource: str
    object: dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """A recording in a folder."""

    folder: Path

    @cached_property
    def header(self) -> Header:
        """What it says of itself. Raises RecordingError."""
        return read_header(self.folder)

    @cached_property
    def faults(self) -> list[Fault]:
        """What is wrong with it."""
        return verify(self.folder)

    @cached_property
    def clock(self) -> ClockFit | None:
        """The cluster's clock as a function of the recorder's; None if they are one, or nothing tells."""
        fits = [fit for samples in self._readings.values() if (fit := fit_clock(samples)) is not None]
        if not fits:
            return None
        fits.sort(key=lambda fit: (fit.rate, fit.skew_ns))
        middle = fits[len(fits) // 2]
        return None if abs(middle.skew_ns) < SAME_NS and middle.rate == 1.0 else middle

    @cached_property
    def _readings(self) -> dict[str, list[tuple[int, int]]]:
        """By node: arrivals of its Lease on the recorder's clock, and what the node's clock showed."""
        found: dict[str, list[tuple[int, int]]] = {}
        for segment in segments(self.folder / OBJECTS / LEASES):
            for line in segment:
                reading = reading_of(line.get("object") or {})
                if line.get("type") == "MODIFIED" and reading is not None:
                    found.setdefault(line["object"]["metadata"]["name"], []).append((line["t"], reading))
        return found

    @cached_property
    def _track(self) -> tuple[list[int], list[int]]:
        """Of a cluster with a pace of its own: arrivals, and the latest time that was known at each.

        Such a cluster falls behind its pace where its machine is busy, so that one line does not fit it.
        """
        times: list[int] = []
        known: list[int] = []
        for t_ns, reading in sorted(pair for pairs in self._readings.values() for pair in pairs):
            if known and reading <= known[-1]:
                continue
            if times and times[-1] == t_ns:
                known[-1] = reading
            else:
                times.append(t_ns)
                known.append(reading)
        return times, known

    @cached_property
    def jitter_s(self) -> float:
        """How far off the cluster's time of an arrival may be: how badly others foretell a sign of life at worst.

        0 where the clock is the recorder's own.
        """
        times, known = self._track
        if self.clock is None or self.clock.rate == 1.0 or len(times) < _LEAST_SIGNS:
            return 0.0
        return max(
            abs(known[i - 1] + (known[i + 1] - known[i - 1]) * (times[i] - times[i - 1]) / (times[i + 1] - times[i - 1])
                - known[i]) / 1e9
            for i in range(1, len(times) - 1)
        )  # fmt: skip

    @property
    def pace(self) -> float:
        """Seconds of the cluster in one of the recorder's."""
        return 1.0 if self.clock is None else self.clock.rate

    def at(self, t_ns: int) -> int:
        """An instant of the recorder's clock, on the cluster's."""
        if self.clock is None:
            return t_ns
        times, known = self._track
        index = bisect_right(times, t_ns)
        if self.clock.rate == 1.0 or not times:
            return self.clock.source_ns(t_ns)
        if 0 < index < len(times):
            begin, end = times[index - 1], times[index]
            return known[index - 1] + (known[index] - known[index - 1]) * (t_ns - begin) // (end - begin)
        near = max(0, index - 1)
        return known[near] + round(self.clock.rate * (t_ns - times[near]))

    def changes(self, resource: str) -> Iterator[Change]:
        """What was seen of a kind, in order of arrival."""
        for segment in segments(self.folder / OBJECTS / resource):
            for line in segment:
                if "object" in line:
                    yield Change(self.at(line["t"]), line["type"], resource, line["object"])

    def resources(self) -> list[str]:
        """Kinds of which something was seen."""
        return sorted(path.name for path in (self.folder / OBJECTS).glob("*") if path.is_dir())

    def operations(self) -> list[dict[str, Any]]:
        """What was done meanwhile, with `at_ns` on the cluster's clock."""
        found = []
        for segment in segments(self.folder / OPERATIONS):
            found += [{**line, "at_ns": self.at(line.get("began_ns", line["t"]))} for line in segment]
        return found

    def traces(self) -> Iterator[list[dict[str, Any]]]:
        """The spans of each trace."""
        for segment in segments(self.folder / TRACES):
            for line in segment:
                yield line["spans"]

    @cached_property
    def span_ns(self) -> tuple[int, int]:
        """First and last arrival, on the cluster's clock."""
        ends: list[int] = []
        for session in self.header.sessions:
            ends += [session["began_ns"], session.get("ended_ns", session["began_ns"])]
        if not ends:
            ends = [change.t_ns for name in self.resources() for change in self.changes(name)] or [0]
            return min(ends), max(ends)
        return self.at(min(ends)), self.at(max(ends))
