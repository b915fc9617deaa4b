"""Says what of a recording is damaged, missing or to be taken with care: `simcluster record --verify DIR`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.calibration.record.clocks import SAME_NS, fit_clock, reading_of
from simcluster.calibration.record.layout import (
    LOGS,
    NOTES,
    OBJECTS,
    OPERATIONS,
    SERIES,
    TRACES,
    Header,
    RecordingError,
)
from simcluster.calibration.record.layout import read_header as header_of
from simcluster.calibration.record.segments import segments
from simcluster.calibration.record.series import Sample, read_series

#: Between samples of a series more than so many of its usual steps are a gap.
_STEPS = 3.5
#: What cannot be known without a source.
UNKNOWABLE = {
    "prometheus": "CPU, memory and request rates of services",
    "loki": "log classes and their rates",
    "jaeger": "which operation calls which, in what order and how long",
}
_COUNTERS = ("_total", "_count", "_sum", "_bucket")
#: Streams without which a recording says little, and what then cannot be known.
_NEEDED = {
    "pods": "start-up, probes, back-off and termination",
    "nodes": "detection of nodes that are away",
    "events": "pulls and reasons",
    "endpointslices.discovery.k8s.io": "propagation to Services",
    "leases.coordination.k8s.io": "differences of the nodes' clocks",
}


class Fault(NamedTuple):
    """Something that is not as it should be.

    Attributes:
        kind: truncated, damaged, misshapen, gap, reset, skew, missing, lost, interrupted, refused, disorder or empty.
        where: a file, stream, source or series.
        what: in words.
        grave: whether what is there cannot be trusted; the others only say what is unknown.
    """

    kind: str
    where: str
    what: str
    grave: bool = False


def verify(folder: Path) -> list[Fault]:
    """Everything that is wrong with a recording. Raises RecordingError for a folder that is none."""
    header = header_of(folder)
    return [
        *_sessions(header),
        *_segments(folder, header),
        *_missing(folder, header),
        *_notes(folder),
        *_clocks(folder),
        *_series(folder, header),
    ]


def _sessions(header: Header) -> Iterator[Fault]:
    ended = 0
    for number, session in enumerate(header.sessions, 1):
        if "ended_ns" not in session:
            yield Fault("interrupted", f"session {number}", "it has no end: the last seconds may be missing")
        if ended and session["began_ns"] > ended:
            yield Fault("gap", f"session {number}", f"{(session['began_ns'] - ended) / 1e9:.1f} s after the one before")
        ended = session.get("ended_ns", 0)


def _segments(folder: Path, header: Header) -> Iterator[Fault]:
    interrupted = any("ended_ns" not in session for session in header.sessions)
    for path in sorted(folder.glob("**/*.jsonl.gz")):
        stream, before, disorder = str(path.parent.relative_to(folder)), 0, 0
        segment = next(one for one in segments(path.parent) if one.path == path)
        for line in segment:
            t = line["t"]
            disorder += t < before
            before = max(before, t)
        name = f"{stream}/{path.name}"
        if segment.damage:
            yield Fault("damaged", name, f"{segment.damage}; {segment.lines} lines can be read", grave=True)
        elif not segment.complete:
            why = "cut short" + ("" if interrupted else ", although its session ended in order")
            yield Fault("truncated", name, f"{why}; {segment.lines} lines can be read", grave=not interrupted)
        count, first = segment.misshapen
        if count:
            yield Fault("misshapen", name, f"{count} lines are passed over; {first}", grave=True)
        if disorder:
            yield Fault("disorder", name, f"{disorder} lines arrived before the line in front of them")


def _missing(folder: Path, header: Header) -> Iterator[Fault]:
    for name, lost in _NEEDED.items():
        if not segments(folder / OBJECTS / name):
            yield Fault("missing", f"{OBJECTS}/{name}", f"unknown: {lost}")
    present = {
        "prometheus": any((folder / SERIES).glob("*.parquet")),
        "loki": bool(segments(folder / LOGS)),
        "jaeger": bool(segments(folder / TRACES)),
    }
    for name, there in present.items():
        if not there:
            kind = "empty" if name in header.sources else "missing"
            yield Fault(kind, name, f"unknown: {UNKNOWABLE[name]}")


def _notes(folder: Path) -> Iterator[Fault]:
    lost: dict[tuple[str, str], list[str]] = {}
    for segment in segments(folder / NOTES):
        for line in segment:
            lost.setdefault((line["note"], line["source"]), []).append(str(line.get("why", "")))
    for (kind, source), reasons in sorted(lost.items()):
        times = f", {len(reasons)} times" if len(reasons) > 1 else ""
        if kind in ("gap", "lost", "missing", "unreachable"):
            yield Fault("missing" if kind == "unreachable" else kind, source, f"{reasons[0]}{times}")
    for segment in segments(folder / OPERATIONS):
        for line in segment:
            if line["outcome"] != "done":
                yield Fault("refused", f"operation at {line['at_s']} s", line["outcome"])


def _clocks(folder: Path) -> Iterator[Fault]:
    samples: dict[str, list[tuple[int, int]]] = {}
    for segment in segments(folder / OBJECTS / "leases.coordination.k8s.io"):
        for line in segment:
            found: dict[str, Any] = line.get("object") or {}
            reading = reading_of(found)
            if line.get("type") == "MODIFIED" and reading is not None:
                samples.setdefault(found["metadata"]["name"], []).append((line["t"], reading))
    fits = {name: fit for name, found in sorted(samples.items()) if (fit := fit_clock(found)) is not None}
    for name, fit in fits.items():
        if abs(fit.skew_ns) > SAME_NS:
            yield Fault("skew", f"node {name}", f"its clock differs from the recorder's by {fit.skew_ns / 1e9:+.1f} s")
        if fit.rate != 1.0:
            yield Fault("skew", f"node {name}", f"its clock runs {fit.rate:.3f} times as fast as the recorder's")


def _series(folder: Path, header: Header) -> Iterator[Fault]:
    last: dict[tuple[str, str], tuple[int, float, int]] = {}  # series -> time, value, usual step
    gaps: dict[str, int] = {}
    resets: dict[str, int] = {}
    try:
        for _, samples in read_series(folder):
            for sample in samples:
                _follow(sample, last, gaps, resets)
    except RecordingError as problem:
        yield Fault("damaged", SERIES, str(problem), grave=True)
    yield from _counted("gap", gaps, "gaps longer than three and a half steps")
    yield from _counted("reset", resets, "resets of counters: restarts of what counts, which are allowed for")


def _follow(
    sample: Sample, last: dict[tuple[str, str], tuple[int, float, int]], gaps: dict[str, int], resets: dict[str, int]
) -> None:
    key = (sample.name, sample.labels)
    before = last.get(key)
    step = 0
    if before is not None:
        step = sample.t_ms - before[0]
        if step <= 0:
            return
        if before[2] and step > _STEPS * before[2]:
            gaps[sample.name] = gaps.get(sample.name, 0) + 1
        if sample.value < before[1] and sample.name.endswith(_COUNTERS):
            resets[sample.name] = resets.get(sample.name, 0) + 1
        step = min(step, before[2] or step)
    last[key] = (sample.t_ms, sample.value, step)


def _counted(kind: str, counts: dict[str, int], what: str) -> Iterator[Fault]:
    for name, count in sorted(counts.items()):
        yield Fault(kind, f"{SERIES} {name}", f"{count} {what}")


def summary(folder: Path, show: Callable[[str], None]) -> bool:
    """Print what is wrong; whether nothing grave is."""
    faults = verify(folder)
    for fault in faults:
        show(f"{'GRAVE ' if fault.grave else ''}{fault.kind}: {fault.where}: {fault.what}")
    grave = sum(fault.grave for fault in faults)
    show(f"{folder}: {len(faults)} remarks, {grave} of them grave" if faults else f"{folder}: whole")
    return not grave
