"""Replays recorded requests one by one: each comes when it came, and the fitted call graph says what becomes of it.

The arrivals of every traced request drive the exact engine; the model's own part is what follows: work, waiting,
calls, answers. Requests are compared with the model's answers of the same stretch of time, in windows. What became
slow in a recording, and how much, is taken from the target's own spans alone (their time less that of their calls);
everything else is foretold. Where only a share of the requests was traced the rest comes at the same rate, unseen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from simcluster.calibration.services import Operation, Span, call_names, operations_of
from simcluster.engine import SECOND, parse_duration
from simcluster.models.traffic.exact import ExactRun
from simcluster.models.traffic.graph import GraphSpec, spec_of
from simcluster.models.traffic.graph.histogram import Histogram

#: So long after the last arrival answers are waited for.
_AFTER_NS = 60 * SECOND
#: A window with fewer recorded requests says nothing.
LEAST_REQUESTS = 10
#: What a window is compared by.
SHARES = (0.5, 0.9, 0.99)
#: How much longer a target works is told from no fewer of its spans.
LEAST_OWN = 10
_FAULT = re.compile(r"([^@]+)@([0-9a-z.]+)-([0-9a-z.]+)")


class Slowed(NamedTuple):
    """A service that was slow from `begin_ns` to `end_ns` after the first request."""

    service: str
    begin_ns: int
    end_ns: int

    @classmethod
    def parse(cls, text: str) -> Slowed:
        """`store@40s-70s`. Raises ValueError."""
        match = _FAULT.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no stretch of a service's time such as store@40s-70s")
        begin_ns, end_ns = parse_duration(match[2]), parse_duration(match[3])
        if not 0 <= begin_ns < end_ns:
            raise ValueError(f"{text!r} ends before it begins")
        return cls(match[1], begin_ns, end_ns)


class Asked(NamedTuple):
    """A recorded request of a user."""

    at_ns: int
    took_ns: int
    target: tuple[str, str]
    error: bool


@dataclass
class Window:
    """What was recorded of a stretch of time, and what the model makes of the same arrivals.

    Attributes:
        begin_s: after the first request, by the instant of the answer.
        recorded_s: durations of what succeeded.
        failed: recorded requests that did not.
        modelled: durations of what succeeds in the model, all seeds together.
        foretold_failed: of the model, a mean over seeds.
    """

    begin_s: float
    recorded_s: list[float]
    failed: int
    modelled: Histogram
    foretold_failed: float

    def to_dict(self) -> dict[str, Any]:
        """The wire form; errors are relative to the recording, None where it is too little."""
        said: dict[str, Any] = {"begin_s": self.begin_s, "requests": len(self.recorded_s), "failed": self.failed}
        said["foretold_failed"] = round(self.foretold_failed, 2)
        enough = len(self.recorded_s) >= LEAST_REQUESTS and self.modelled.count
        for share in SHARES:
            here = self.modelled.quantile(share) / 1e9
            there = float(np.quantile(self.recorded_s, share)) if self.recorded_s else 0.0
            error = round(here / there - 1, 4) if enough and there else None
            said[f"p{share * 100:g}"] = {"recorded": round(there, 6), "foretold": round(here, 6), "error": error}
        low, high = (self.modelled.quantile(share) / 1e9 for share in (0.05, 0.95))
        inside = [low <= one <= high for one in self.recorded_s]
        said["coverage"] = round(sum(inside) / len(inside), 4) if enough else None
        return said


@dataclass
class Retraced:
    """A recording's requests against a call graph.

    Attributes:
        slowed: the factor by which each slow stretch's own work took longer, from its own spans.
        unknown: what could not be replayed, in words.
    """

    windows: list[Window]
    slowed: dict[str, float]
    unknown: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The wire form, with the median error over the windows that say something."""
        windows = [one.to_dict() for one in self.windows]
        found: dict[str, Any] = {"slowed": self.slowed, "unknown": self.unknown, "windows": windows}
        for share in SHARES:
            name = f"p{share * 100:g}"
            errors = [abs(one[name]["error"]) for one in windows if one[name]["error"] is not None]
            found[name] = round(median(errors), 4) if errors else None
        return found


def retrace(
    traces: Iterable[list[Span]],
    graph: dict[str, Any],
    slowed: Sequence[Slowed] = (),
    *,
    seeds: int = 3,
    window_ns: int = 10 * SECOND,
    sampled: float = 1.0,
) -> Retraced:
    """Replay the requests of a recording.

    Args:
        traces: the spans of each request.
        graph: a call graph in the language of `simcluster traffic`, as `fit_services` draws it.
        slowed: which services were slow, and when; how much is told from their own spans.
        window_ns: a whole number of seconds.
        sampled: the share of requests that was traced.

    Raises:
        ValueError: nothing of the recording is in the graph, a service was named that is not traced, or `sampled` or
            `window_ns` makes no sense.
    """
    if not 0 < sampled <= 1:
        raise ValueError(f"the share of requests that was traced is above 0 and at most 1, not {sampled}")
    if window_ns < SECOND or window_ns % SECOND:
        raise ValueError("a window is a whole number of seconds")
    spans = list(traces)
    seen = operations_of(spans)
    names = call_names(seen)
    asked, origin_ns = _asked(spans, seen)
    unknown, kept = _known(asked, names, graph)
    if not kept:
        raise ValueError("no traced request begins at an operation of the profile's call graph")
    spec = spec_of(graph)
    factors = {f"{one.service}@{one.begin_ns / 1e9:g}s": _factor(one, seen, names, spec, origin_ns) for one in slowed}
    driven = _driven(graph, kept, names, sampled)
    for one, factor in zip(slowed, factors.values(), strict=True):
        event = {"at": f"{one.begin_ns}ns", "for": f"{one.end_ns - one.begin_ns}ns"}
        driven["events"].append({**event, "capacity": {"service": one.service, "factor": round(1 / factor, 6)}})
    modelled, failed = _run(driven, seeds, window_ns)
    windows = []
    for index, histogram in enumerate(modelled):
        here = [one for one in kept if (one.at_ns + one.took_ns) // window_ns == index]
        recorded = [one.took_ns / 1e9 for one in here if not one.error]
        errors = sum(one.error for one in here)
        if here or histogram.count:
            windows.append(Window(index * window_ns / 1e9, recorded, errors, histogram, failed[index] / seeds))
    return Retraced(windows, {name: round(factor, 4) for name, factor in factors.items()}, unknown)


def _asked(spans: list[list[Span]], seen: dict[tuple[str, str], Operation]) -> tuple[list[Asked], int]:
    """The root of each trace, in order of time after the first."""
    found = []
    for trace in spans:
        ids = {span["id"] for span in trace}
        roots = [span for span in trace if span["parent"] not in ids and (span["service"], span["operation"]) in seen]
        found += [
            Asked(one["start_ns"], one["duration_ns"], (one["service"], one["operation"]), bool(one["error"]))
            for one in roots
        ]
    found.sort()
    origin_ns = found[0].at_ns if found else 0
    return [one._replace(at_ns=one.at_ns - origin_ns) for one in found], origin_ns


def _known(
    asked: list[Asked], names: dict[tuple[str, str], tuple[str, str]], graph: dict[str, Any]
) -> tuple[list[str], list[Asked]]:
    kept: list[Asked] = []
    strange: dict[str, int] = defaultdict(int)
    for one in asked:
        service, operation = names[one.target]
        if operation in graph["services"].get(service, {}).get("operations", {}):
            kept.append(one)
        else:
            strange["/".join(one.target)] += 1
    return [f"{count} requests of {name}: not in the profile" for name, count in sorted(strange.items())], kept


def _factor(
    one: Slowed,
    seen: dict[tuple[str, str], Operation],
    names: dict[tuple[str, str], tuple[str, str]],
    spec: GraphSpec,
    origin_ns: int,
) -> float:
    """By how much own work took longer than the profile's, from the service's own spans in the stretch alone."""
    own_s, usual_s, count = 0.0, 0.0, 0
    services = sorted({name for name, _ in names.values()})
    if one.service not in services:
        raise ValueError(f"no service {one.service!r} is traced; there are: {', '.join(services)}")
    described = spec.services[one.service].operations if one.service in spec.services else {}
    for key, operation in seen.items():
        service, name = names[key]
        if service != one.service or name not in described or (law := described[name].work) is None:
            continue
        begins = np.asarray(operation.begins_ns) - origin_ns
        within = np.asarray(operation.own_s)[(one.begin_ns <= begins) & (begins < one.end_ns)]
        own_s, usual_s, count = own_s + within.sum(), usual_s + len(within) * law.mean_ns / 1e9, count + len(within)
    if count < LEAST_OWN or not usual_s:
        raise ValueError(f"{one.service}: {count} spans of what the profile knows in that stretch, needed {LEAST_OWN}")
    return float(max(1e-3, own_s / usual_s))


def _driven(
    graph: dict[str, Any], kept: list[Asked], names: dict[tuple[str, str], tuple[str, str]], sampled: float
) -> dict[str, Any]:
    """The graph under the recorded arrivals."""
    driven = deepcopy(graph)
    last_ns = kept[-1].at_ns
    driven["run"] = {"duration": f"{last_ns + _AFTER_NS}ns", "warmup": "0s", "window": "1s"}
    driven["events"] = []
    loads: list[dict[str, Any]] = list(graph.get("load", {}).values())
    usual = loads[0].get("call", {}) if loads else {}
    arrivals: dict[str, list[int]] = defaultdict(list)
    for one in kept:
        arrivals["/".join(names[one.target])].append(one.at_ns)
    driven["load"] = {}
    for target, times in sorted(arrivals.items()):
        name = re.sub(r"\W+", "-", target)
        how = {"target": target, "call": usual}
        driven["load"][name] = {**how, "replay": {"times": [f"{at}ns" for at in times]}}
        if sampled < 1:
            counts = np.bincount(np.asarray(times) // SECOND)
            stages = [{"for": "1s", "rate": round(float(count) * (1 / sampled - 1), 6)} for count in counts]
            stages.append({"for": "1s", "rate": 0.0})
            driven["load"][f"{name}-unseen"] = {**how, "open": {"stages": stages}}
    return driven


def _run(driven: dict[str, Any], seeds: int, window_ns: int) -> tuple[list[Histogram], list[int]]:
    """Durations and failures of the replayed requests, by window of the answer."""
    spec = spec_of(driven)
    per = window_ns // SECOND
    histograms: list[Histogram] = []
    failed: list[int] = []
    for seed in range(seeds):
        result = ExactRun(spec, seed).run()
        for name, load in result.load.items():
            if name.endswith("-unseen"):
                continue
            for second, window in enumerate(load):
                while len(histograms) <= second // per:
                    histograms.append(Histogram())
                    failed.append(0)
                histograms[second // per].merge(window.latency)
                failed[second // per] += sum(window.failed.values())
    return histograms, failed
