"""What requests cost: CPU and memory of services, with what series tell of nodes (`calibration.nodes`).

CPU of a service is regressed on the requests of each of its operations (least squares, intervals that allow for unequal
and correlated residuals), as counters of requests tell them, or traces where there are none; working set on the
requests under way. What the recording does not tell apart is said: a rate that never moves, operations that come in a
fixed ratio, a figure with so wide an interval that the usual one is as good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration import nodes
from simcluster.calibration.counters import Kept, Line, grid_of, grown, kept_series, watched
from simcluster.calibration.known import Known, least_squares
from simcluster.calibration.nodes import LEAST_CELLS, disk_figures, fit_disks, fit_propagation
from simcluster.calibration.services import FittedServices, Operation

CPU = ("container_cpu_usage_seconds_total", "process_cpu_seconds_total")
MEMORY = ("container_memory_working_set_bytes", "process_resident_memory_bytes")
#: Counters of requests (Istio, OpenTelemetry's span metrics, Spring's Micrometer, gRPC's middleware, common use), and
#: the labels by which they name an operation.
REQUESTS = ("istio_requests_total", "calls_total", "http_server_requests_seconds_count", "grpc_server_handled_total",
            "http_requests_total")  # fmt: skip
_OPERATION = ("span_name", "grpc_method", "uri", "handler", "path")
#: Where the series are those of callers, too: which are the callee's.
_CALLEES = {"span_kind": "SPAN_KIND_SERVER", "reporter": "destination"}
#: Medians of how long requests took, in milliseconds.
DURATIONS = ("istio_request_duration_milliseconds",)
NAMES = frozenset({*CPU, *MEMORY, *REQUESTS, *DURATIONS}) | nodes.NAMES
#: Requests that vary by less than this share of their mean, or two operations that are correlated by more than that,
#: are not told apart from what is always there, or from each other.
_STILL, _ALIKE = 0.08, 0.97
#: Requests under way that vary by less than this say nothing of memory a request.
_LEAST_UNDER_WAY = 0.5
#: Traces of a smaller share of the requests say nothing of how many were under way.
_LEAST_TRACED = 0.5
#: A figure is put into a profile if its interval reaches no further than this share of it to either side.
SURE = 0.5
#: How long requests take when nothing is in their way: this quantile of the medians that were recorded over time.
_UNHINDERED = 0.1


@dataclass
class Costs:
    """What a service costs.

    Attributes:
        cpu: seconds of CPU a request, by operation; `idle`: cores beside requests.
        base: bytes without a request; `per_request`: more for each under way.
        overall: CPU of a request whichever it is, and cores beside requests, told by their number alone.
        rates: requests a second of each entry of `cpu`; `own_s`: how long they take by themselves at most, if known.
    """

    cpu: dict[str, Known] = field(default_factory=dict)
    idle: Known | None = None
    base: Known | None = None
    per_request: Known | None = None
    warnings: list[str] = field(default_factory=list)
    overall: tuple[Known, Known] | None = None
    rates: dict[str, float] = field(default_factory=dict)
    own_s: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Without what is not known."""
        said: dict[str, Any] = {}
        if self.cpu:
            said["cpu_s_a_request"] = {name: one.to_dict() for name, one in self.cpu.items()}
        for key, one in (("idle_cores", self.idle), ("memory_base", self.base), ("memory_a_request", self.per_request)):
            if one is not None:
                said[key] = one.to_dict()
        return said | ({"warnings": self.warnings} if self.warnings else {})

    def figures(self, service: str) -> dict[str, int]:
        """Figures of a profile, of what is known well enough; why others stay as usual is added to the warnings.

        What a request costs beyond the time that it takes by itself is not on its way (a collector of garbage, a
        sidecar): at the recorded rate that is CPU beside requests.
        """
        found: dict[str, int] = {}
        sure = {name: one for name, one in self.cpu.items() if _is_sure(one)}
        self.warnings += [f"CPU of {name}: {one.value:.2g} s ({one.low:.2g} to {one.high:.2g}): stays as usual"
                          for name, one in self.cpu.items() if name not in sure]  # fmt: skip
        idle = self.idle if len(sure) == len(self.cpu) or self.overall is None else self.overall[1]
        beside = idle.value if idle is not None else 0.0
        if self.overall is not None and _is_sure(self.overall[0]):  # either all of them, or one figure for any
            sure = sure if len(sure) == len(self.cpu) else {"*": self.overall[0]}
        for names, one in sure.items():
            own_s = self.own_s.get(names, math.inf)
            if one.value > own_s:
                beside += (one.value - own_s) * self.rates.get(names, 0.0)
                self.warnings.append(f"CPU of {names}: {one.value:.2g} s, of which {own_s:.2g} s on a request's way")
            for name in names.split("+"):
                found[f"service.cpu.{service}/{name}"] = max(1_000, round(min(one.value, own_s) * 1e9))
        if idle is not None and (sure or not self.cpu):
            found[f"service.idle.{service}"] = round(beside * 1e9)
        for key, known in (("memory", self.base), ("memory-per-request", self.per_request)):
            if known is not None and _is_sure(known):
                found[f"service.{key}.{service}"] = round(known.value)
        return found


def _is_sure(one: Known) -> bool:
    return one.value > 0.0 and max(one.value - one.low, one.high - one.value) <= SURE * one.value


@dataclass
class FittedResources:
    """Costs by service, and what series tell of nodes and of the network's news."""

    services: dict[str, Costs]
    disks: dict[str, Any]
    propagation: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Without empty parts."""
        services = {name: found for name, one in self.services.items() if (found := one.to_dict())}
        parts = {"resources": services, "disks": self.disks, "propagation": self.propagation}
        return {key: value for key, value in parts.items() if value}

    def figures(self) -> dict[str, int]:
        """What a profile takes of it."""
        found = disk_figures(self.disks)
        for name, one in self.services.items():
            found |= one.figures(name)
        return found


def fit_resources(folders: Sequence[Path], services: FittedServices | None) -> FittedResources:
    """What the series of recordings tell. Raises RecordingError for a damaged file."""
    kept = kept_series(folders, NAMES)
    costs: dict[str, Costs] = {}
    by_service: dict[str, dict[str, Operation]] = {}
    for (service, operation), seen in (services.operations if services is not None else {}).items():
        by_service.setdefault(service, {})[operation] = seen
    for service in {one for name in REQUESTS for one in kept.services(name)}:
        by_service.setdefault(service, {})
    for service, operations in sorted(by_service.items()):
        one = costs[service] = Costs()
        counted = _counted(kept, service)
        _fit_cpu(one, service, operations, counted, kept)
        _fit_memory(one, service, operations, counted, kept)
    return FittedResources(costs, fit_disks(kept), fit_propagation(kept))


def _lines(kept: Kept, names: Sequence[str], service: str) -> list[Line]:
    return next((found for name in names if (found := kept.of(name, service))), [])


def _counted(kept: Kept, service: str) -> dict[str, list[Line]]:
    """Counters of a service's requests, by operation; `*` where they name none."""
    found: dict[str, list[Line]] = {}
    for line in _lines(kept, REQUESTS, service):
        if all(line.labels.get(key, wanted) == wanted for key, wanted in _CALLEES.items()):
            found.setdefault(next((line.labels[key] for key in _OPERATION if key in line.labels), "*"), []).append(line)
    return found


def _fit_cpu(
    costs: Costs, service: str, operations: Mapping[str, Operation], counted: Mapping[str, list[Line]], kept: Kept
) -> None:
    lines = _lines(kept, CPU, service)
    if not lines:
        costs.warnings.append("CPU is not known: no series of it was recorded")
        return
    few = max(len(line.times_s) for line in lines) < 4 * LEAST_CELLS
    grid = grid_of(lines, 1 if few else 2)
    cells = watched([*lines, *(line for own in counted.values() for line in own)], grid)
    counts = {name: grown(own, grid)[cells] for name, own in counted.items()}
    if not counts:
        begins = {name: np.asarray(one.begins_ns) / 1e9 for name, one in operations.items()}
        counts = {name: np.histogram(each, bins=grid)[0].astype(float)[cells] for name, each in begins.items()}
    if cells.sum() < LEAST_CELLS or not (counted or any(each.sum() for each in counts.values())):
        costs.warnings.append("CPU is not known: its series and the traces hardly overlap")
        return
    resets = sum(line.whole().resets for line in lines)
    if resets:
        costs.warnings.append(f"CPU: counters began anew {resets} times; what was used in between is lost")
    used, step = grown(lines, grid)[cells], float(grid[1] - grid[0])
    counts = {name: each for name, each in counts.items() if each.sum() > 0}
    if not counts:  # it was asked nothing
        costs.idle = least_squares(np.full((len(used), 1), step), used)[0]
        return
    names, columns = _columns(counts, costs)
    costs.rates = {name: float(each.sum() / (len(used) * step)) for name, each in zip(names, columns.T, strict=True)}
    costs.own_s = {name: own_s for name in names if (own_s := _own_s(name, service, operations, kept)) > 0.0}
    total = columns.sum(axis=1)
    if total.std() < _STILL * max(total.mean(), 1e-9):
        most = float(used.sum() / max(1.0, total.sum()))
        costs.cpu["*"] = Known(most, 0.0, most)
        costs.warnings.append("CPU: requests came at nearly one rate: what they cost is not told from what is always "
                              "used; the figure is the most that it can be")  # fmt: skip
        return
    found = least_squares(np.column_stack([np.full(len(used), step), columns]), used)
    costs.idle = found[0]
    costs.cpu = dict(zip(names, found[1:], strict=True))
    if len(names) > 1:
        beside, each = least_squares(np.column_stack([np.full(len(used), step), total]), used)
        costs.overall = each, beside
        costs.own_s["*"] = _mean(costs.own_s, costs.rates)


def _mean(own_s: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """Of all operations, by how often each comes; infinite if that is not known of each."""
    if not all(name in own_s for name in rates):
        return math.inf
    return math.fsum(own_s[name] * rate for name, rate in rates.items()) / math.fsum(rates.values())


def _own_s(names: str, service: str, operations: Mapping[str, Operation], kept: Kept) -> float:
    """How long requests of operations take by themselves at most, in seconds; 0 if nothing tells."""
    spans = [one for name in names.split("+") if (one := operations.get(name)) is not None]
    if spans:
        return float(np.mean(np.concatenate([np.asarray(one.own_s) for one in spans])))
    medians = [line for line in _lines(kept, DURATIONS, service) if line.labels.get("quantile") == "0.5"]
    if not medians:
        return 0.0
    values = np.concatenate([line.values for line in medians])
    return float(np.quantile(values[values > 0], _UNHINDERED)) / 1e3 if (values > 0).any() else 0.0


def _columns(counts: Mapping[str, NDArray[np.float64]], costs: Costs) -> tuple[list[str], NDArray[np.float64]]:
    """Requests of each operation in each cell; those that cannot be told apart are one column."""
    groups: list[list[str]] = []
    for name, column in counts.items():
        for group in groups:
            other = counts[group[0]]
            if column.std() and other.std() and abs(np.corrcoef(column, other)[0, 1]) > _ALIKE:
                group.append(name)
                break
        else:
            groups.append([name])
    for group in groups:
        if len(group) > 1:
            costs.warnings.append(f"CPU: {', '.join(group)} come in a fixed ratio: one figure for all of them")
    return ["+".join(group) for group in groups], np.column_stack([
        np.sum([counts[name] for name in group], axis=0) for group in groups
    ])  # fmt: skip


def _fit_memory(
    costs: Costs, service: str, operations: Mapping[str, Operation], counted: Mapping[str, list[Line]], kept: Kept
) -> None:
    lines = _lines(kept, MEMORY, service)
    if not lines:
        costs.warnings.append("memory is not known: no series of it was recorded")
        return
    grid = grid_of(lines, 1)
    present = [[line.times_s[0] <= t <= line.times_s[-1] for t in grid] for line in lines]
    pods = np.sum(present, axis=0)
    held = np.sum([np.where(here, np.interp(grid, line.times_s, line.values), 0.0)
                   for here, line in zip(present, lines, strict=True)], axis=0)  # fmt: skip
    use = (pods > 0) & np.append(watched(lines, grid), True)
    inside = None
    if operations:
        begins = np.sort(np.concatenate([np.asarray(one.begins_ns) for one in operations.values()])) / 1e9
        ends = np.sort(np.concatenate([np.asarray(one.begins_ns) / 1e9 + np.asarray(one.whole_s)
                                       for one in operations.values()]))  # fmt: skip
        use &= (grid >= begins[0]) & (grid <= ends[-1])
        asked = sum(float(line.whole().values[-1]) for own in counted.values() for line in own)
        traced = min(1.0, len(begins) / asked) if asked else 1.0
        if traced >= _LEAST_TRACED:
            under_way = np.searchsorted(begins, grid, side="right") - np.searchsorted(ends, grid, side="right")
            inside = under_way[use] / traced
    grid, pods, held = grid[use], pods[use], held[use]
    if len(grid) < LEAST_CELLS:
        costs.warnings.append("memory is not known: its series and the traces hardly overlap")
        return
    if inside is None or inside.std() < _LEAST_UNDER_WAY:
        mean = float((held / pods).mean())
        width = 1.645 * float((held / pods).std()) / math.sqrt(len(held))
        costs.base = Known(mean, mean - width, mean + width)
        why = "too few requests were traced" if inside is None else "about as many were under way all the time"
        costs.warnings.append(f"memory a request is not known: {why}")
        return
    base, per = least_squares(np.column_stack([pods.astype(float), inside]), held)
    costs.base, costs.per_request = base, per
