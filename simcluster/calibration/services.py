"""Draws a call graph from traces: what each operation does itself, whom it calls how often and in what order, how
often it fails, and how often users come.

A server's own time is its span less what its calls cover. A service lets requests wait for a worker if callers wait
longer than otherwise when as many are inside as ever were. Where spans begin before the waiting does, a queue cannot
be told from slow work: if own times grow with the requests inside, that is said. The graph is in the language of
`simcluster traffic`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median
from typing import Any

import numpy as np

from simcluster.calibration.arrivals import fit_arrivals
from simcluster.calibration.laws import Fit, as_law, fit_law, wilson

Span = dict[str, Any]
#: Operations that were seen less often are left out, and said to be.
LEAST_SPANS = 20
#: Calls that overlap by more than this share of the shorter one go out together.
_TOGETHER = 0.5
#: Callers that find all workers busy wait so many times as long as others.
_WAITING = 2.0
#: Own times against requests inside: above this rank correlation a queue is likely.
_QUEUED = 0.4


@dataclass
class Operation:
    """What was seen of an operation of a service.

    Attributes:
        errors: those of its own: no call that it made failed; `alone`: requests of which that could be.
        sessions: begins and ends of requests of users, by the session that they name.
    """

    own_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    begins_ns: list[int] = field(default_factory=list)
    errors: int = 0
    alone: int = 0
    roots: int = 0
    sessions: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    calls: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    places: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    together: Counter[bool] = field(default_factory=Counter)
    ways_s: list[float] = field(default_factory=list)
    asked_ns: list[int] = field(default_factory=list)


def operations_of(traces: Iterable[list[Span]]) -> dict[tuple[str, str], Operation]:
    """By service and operation. Spans of clients are joined with those of the servers that they called."""
    found: dict[tuple[str, str], Operation] = defaultdict(Operation)
    for spans in traces:
        by_id = {span["id"]: span for span in spans}
        children: dict[str, list[Span]] = defaultdict(list)
        for span in spans:
            children[span["parent"]].append(span)
        for span in spans:
            if span["kind"] in ("client", "producer", "internal") and span["parent"] in by_id:
                continue
            _note(span, by_id, children, found[span["service"], span["operation"]])
    return found


def _note(span: Span, by_id: dict[str, Span], children: dict[str, list[Span]], seen: Operation) -> None:
    seen.begins_ns.append(span["start_ns"])
    seen.whole_s.append(span["duration_ns"] / 1e9)
    parent = by_id.get(span["parent"])
    seen.roots += parent is None
    session = span["tags"].get("session.id")
    if parent is None and session:
        begin_s = span["start_ns"] / 1e9
        seen.sessions.setdefault(str(session), []).append((begin_s, begin_s + span["duration_ns"] / 1e9))
    if parent is not None and parent["kind"] == "client":
        seen.ways_s.append(max(0, parent["duration_ns"] - span["duration_ns"]) / 2e9)
        seen.asked_ns.append(parent["start_ns"])
    calls = sorted(_calls(span, children), key=lambda call: call[0]["start_ns"])
    if not any(call["error"] for call, _ in calls):
        seen.alone += 1
        seen.errors += span["error"]
    seen.own_s.append(max(0, span["duration_ns"] - _covered([call for call, _ in calls], span)) / 1e9)
    counts = Counter((server["service"], server["operation"]) for _, server in calls)
    for callee in {*seen.calls, *counts}:
        passed = len(seen.own_s) - 1 - len(seen.calls.get(callee, ()))
        seen.calls.setdefault(callee, []).extend([0] * passed + [counts.get(callee, 0)])
    for place, (_, server) in enumerate(calls):
        seen.places.setdefault((server["service"], server["operation"]), []).append(float(place))
    for (first, _), (second, _) in pairwise(calls):
        end = min(first["start_ns"] + first["duration_ns"], second["start_ns"] + second["duration_ns"])
        shorter = max(1, min(first["duration_ns"], second["duration_ns"]))
        seen.together[end - second["start_ns"] > _TOGETHER * shorter] += 1


def _calls(span: Span, children: dict[str, list[Span]]) -> list[tuple[Span, Span]]:
    """Each call that a span made: as it saw it, and as the server did (the same if only one of them told)."""
    found = []
    for child in children[span["id"]]:
        if child["kind"] == "client":
            servers = [one for one in children[child["id"]] if one["service"] != span["service"]]
            if servers:
                found.append((child, servers[0]))
        elif child["service"] != span["service"]:
            found.append((child, child))
        elif child["kind"] == "internal":
            found += _calls(child, children)
    return found


def _covered(calls: list[Span], span: Span) -> int:
    """Nanoseconds of a span during which at least one call was out."""
    total, reached = 0, span["start_ns"]
    for call in calls:
        begin = max(reached, call["start_ns"])
        end = min(call["start_ns"] + call["duration_ns"], span["start_ns"] + span["duration_ns"])
        if end > begin:
            total, reached = total + end - begin, end
    return total


@dataclass
class FittedServices:
    """A call graph, and what it rests on."""

    graph: dict[str, Any]
    evidence: dict[str, dict[str, Any]]
    warnings: list[str]
    operations: dict[tuple[str, str], Operation]


def fit_services(traces: Iterable[list[Span]]) -> FittedServices | None:
    """The call graph of what was traced; None if too little was."""
    seen = operations_of(traces)
    kept = {key: one for key, one in seen.items() if len(one.own_s) >= LEAST_SPANS}
    warnings = [f"{service}/{operation}: only {len(one.own_s)} spans, left out" for (service, operation), one in
                seen.items() if (service, operation) not in kept]  # fmt: skip
    if not kept:
        return None
    names = call_names(kept)
    services: dict[str, Any] = {}
    workers = {service: _workers([one for key, one in kept.items() if key[0] == service]) for service, _ in kept}
    evidence: dict[str, dict[str, Any]] = {}
    for key, one in sorted(kept.items()):
        fit = fit_law(one.own_s)
        assert fit is not None
        entry, said = _described(one, fit, names, warnings, key)
        service, operation = names[key]
        services.setdefault(service, {"workers": workers[key[0]], "operations": {}})["operations"][operation] = entry
        evidence[f"{service}/{operation}"] = said
    load = _load(kept, names, evidence, warnings)
    graph = {"name": "fitted", "run": {"duration": "120s", "warmup": "20s"}, "services": services, "load": load}
    return FittedServices(graph, evidence, warnings, kept)


def _described(
    one: Operation, fit: Fit, names: dict[tuple[str, str], tuple[str, str]], warnings: list[str], key: tuple[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    entry: dict[str, Any] = {"work": as_law(fit)}
    low, high = wilson(one.errors, one.alone)
    said: dict[str, Any] = {"own": fit.to_dict(), "errors": [round(low, 5), round(high, 5)], "calls": {}}
    if one.errors:
        entry["failure"] = round(one.errors / one.alone, 5)
    calls = []
    for callee, counts in sorted(one.calls.items(), key=lambda item: median(one.places[item[0]])):
        counts = counts + [0] * (len(one.own_s) - len(counts))
        if callee not in names:
            continue
        times, share = mean(counts), mean(count > 0 for count in counts)
        said["calls"]["/".join(names[callee])] = {"times": round(times, 4), "share": round(share, 4)}
        call: dict[str, Any] = {"service": names[callee][0], "operation": names[callee][1]}
        call |= {"times": round(times, 4)} if abs(times - 1) > 1e-9 else {}
        calls.append({"call": call})
    said |= _cached(one, names)
    together = one.together[True] > one.together[False]
    said["order"] = "together" if together and len(calls) > 1 else "one after the other"
    if calls:
        entry["steps"] = [{"parallel": calls}] if together and len(calls) > 1 else calls
    if one.ways_s:
        said["way_s"] = round(median(one.ways_s), 6)
    if _queued(one):
        warnings.append(
            f"{'/'.join(key)}: own time grows with the requests inside: work and waiting are not told apart"
        )
    return entry, said


def _workers(operations: list[Operation]) -> int | None:
    """How many requests a service works on at once; None if it was never seen to let one wait.

    A server's span begins when its work does, the caller's when it asks: if callers wait much longer when as many are
    inside as ever were, they wait for a worker.
    """
    begins = np.concatenate([np.asarray(one.begins_ns, dtype=float) for one in operations])
    ends = begins + np.concatenate([np.asarray(one.whole_s) for one in operations]) * 1e9
    asked = np.concatenate([np.asarray(one.asked_ns, dtype=float) for one in operations])
    ways = np.concatenate([np.asarray(one.ways_s) for one in operations])
    if len(asked) < LEAST_SPANS:
        return None
    begins.sort()
    ends.sort()
    inside = np.searchsorted(begins, asked) - np.searchsorted(ends, asked)
    most = int((np.searchsorted(begins, begins, side="right") - np.searchsorted(ends, begins, side="right")).max())
    full = inside >= most
    if not LEAST_SPANS / 2 <= full.sum() < len(full):
        return None
    return most if np.median(ways[full]) > _WAITING * np.median(ways[~full]) else None


def _queued(one: Operation) -> bool:
    """Whether own times grow with how many requests were inside when one came."""
    begins = np.asarray(one.begins_ns, dtype=float)
    ends = begins + np.asarray(one.whole_s) * 1e9
    inside = np.searchsorted(np.sort(begins), begins) - np.searchsorted(np.sort(ends), begins)
    if np.ptp(inside) < 2:
        return False
    from scipy import stats  # noqa: PLC0415

    return bool(stats.spearmanr(inside, one.own_s).statistic > _QUEUED)


def _cached(one: Operation, names: dict[tuple[str, str], tuple[str, str]]) -> dict[str, Any]:
    """A call that always is made, and then another one for a share of the requests only, is a look into a cache.

    Which keys are asked for, and so what another size would do, spans do not tell.
    """
    count = len(one.own_s)
    made = {callee: sum(each > 0 for each in counts) for callee, counts in one.calls.items() if callee in names}
    first = [callee for callee, hits in made.items() if hits == count]
    found = []
    for callee, hits in sorted(made.items()):
        looked = [each for each in first if median(one.places[each]) < median(one.places[callee])]
        if looked and LEAST_SPANS / 4 <= hits < count:
            low, high = wilson(count - hits, count)
            found.append({"looks": "/".join(names[max(looked, key=lambda each: median(one.places[each]))]),
                          "behind": "/".join(names[callee]), "hit": round(1 - hits / count, 4),
                          "interval": [round(low, 4), round(high, 4)]})  # fmt: skip
    return {"caches": found} if found else {}


def _load(
    kept: dict[tuple[str, str], Operation],
    names: dict[tuple[str, str], tuple[str, str]],
    evidence: dict[str, dict[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    """Arrivals of what nobody called."""
    load = {}
    for key, one in sorted(kept.items()):
        if one.roots < LEAST_SPANS or one.roots < len(one.own_s) / 2:
            continue
        name = "/".join(names[key])
        found = fit_arrivals(np.asarray(one.begins_ns, dtype=float) / 1e9, one.sessions)
        evidence[name]["arrivals"] = found.said
        warnings += [f"{name}: {words}" for words in found.warnings]
        load[re.sub(r"\W+", "-", name)] = {"target": name, **found.load, "call": {"timeout": "60s"}}
    return load


def call_names(kept: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Names that a graph may have, one for each service and operation."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    used: set[tuple[str, str]] = set()
    for service, operation in sorted(kept):
        plain = re.sub(r"[^a-z0-9]+", "-", service.lower()).strip("-") or "service"
        short = re.sub(r"[^A-Za-z0-9]+", "-", operation).strip("-") or "serve"
        number, name = 1, short
        while (plain, name) in used:
            number += 1
            name = f"{short}-{number}"
        used.add((plain, name))
        found[service, operation] = (plain, name)
    return found
