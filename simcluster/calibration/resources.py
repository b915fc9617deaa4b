"""What requests cost: CPU and memory of services, disks of nodes, propagation to DNS and to rules of nodes.

CPU of a service is regressed on the requests of each of its operations (least squares, intervals that allow for unequal
and correlated residuals); working set on the requests under way. Latency of a disk is time over operations. How long
news of endpoints takes is told by the histograms that kube-proxy and CoreDNS keep themselves. What the recording does
not tell apart is said: a rate that never moves, operations that come in a fixed ratio, a disk that did nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration.counters import Kept, Line, grid_of, grown, kept_series
from simcluster.calibration.laws import CONFIDENCE
from simcluster.calibration.services import FittedServices, Operation

CPU = ("container_cpu_usage_seconds_total", "process_cpu_seconds_total")
MEMORY = ("container_memory_working_set_bytes", "process_resident_memory_bytes")
#: kube-proxy's and CoreDNS' own histograms of how old an endpoint's news was when they had taken it in.
PROPAGATION = {"rules": "kubeproxy_network_programming_duration_seconds_bucket",
               "dns": "coredns_kubernetes_dns_programming_duration_seconds_bucket"}  # fmt: skip
DISKS = {"read": ("node_disk_read_time_seconds_total", "node_disk_reads_completed_total"),
         "write": ("node_disk_write_time_seconds_total", "node_disk_writes_completed_total")}  # fmt: skip
_BUSY = "node_disk_io_time_seconds_total"
NAMES = frozenset({*CPU, *MEMORY, *PROPAGATION.values(), *(name for pair in DISKS.values() for name in pair), _BUSY})
#: Fewer intervals of the grid tell nothing.
LEAST_CELLS = 12
#: Requests that vary by less than this share of their mean, or two operations that are correlated by more than that,
#: are not told apart from what is always there, or from each other.
_STILL, _ALIKE = 0.08, 0.97
#: Requests under way that vary by less than this say nothing of memory a request.
_LEAST_UNDER_WAY = 0.5
_LEAST_IO, _LEAST_NEWS = 20.0, 20.0
_BOOTSTRAPS = 400


@dataclass
class Known:
    """A number with its interval (90 %)."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """To six digits."""
        return {key: float(f"{each:.6g}") for key, each in vars(self).items()}


@dataclass
class Costs:
    """What a service costs.

    Attributes:
        cpu: seconds of CPU a request, by operation; `idle`: cores beside requests.
        base: bytes without a request; `per_request`: more for each under way.
    """

    cpu: dict[str, Known] = field(default_factory=dict)
    idle: Known | None = None
    base: Known | None = None
    per_request: Known | None = None
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Without what is not known."""
        said: dict[str, Any] = {}
        if self.cpu:
            said["cpu_s_a_request"] = {name: one.to_dict() for name, one in self.cpu.items()}
        for key, one in (("idle_cores", self.idle), ("memory_base", self.base), ("memory_a_request", self.per_request)):
            if one is not None:
                said[key] = one.to_dict()
        return said | ({"warnings": self.warnings} if self.warnings else {})


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


def fit_resources(folders: Sequence[Path], services: FittedServices | None) -> FittedResources:
    """What the series of recordings tell. Raises RecordingError for a damaged file."""
    kept = kept_series(folders, NAMES)
    costs: dict[str, Costs] = {}
    by_service: dict[str, dict[str, Operation]] = {}
    for (service, operation), seen in (services.operations if services is not None else {}).items():
        by_service.setdefault(service, {})[operation] = seen
    for service, operations in sorted(by_service.items()):
        one = costs[service] = Costs()
        _fit_cpu(one, service, operations, kept)
        _fit_memory(one, service, operations, kept)
    return FittedResources(costs, _disks(kept), _propagation(kept))


def _lines(kept: Kept, names: Sequence[str], service: str) -> list[Line]:
    return next((found for name in names if (found := kept.of(name, service))), [])


def _fit_cpu(costs: Costs, service: str, operations: Mapping[str, Operation], kept: Kept) -> None:
    lines = _lines(kept, CPU, service)
    if not lines:
        costs.warnings.append("CPU is not known: no series of it was recorded")
        return
    grid = grid_of(lines)
    begins = {name: np.asarray(one.begins_ns) / 1e9 for name, one in operations.items()}
    inside = [float(np.mean((each >= grid[0]) & (each < grid[-1]))) for each in begins.values()]
    if len(grid) <= LEAST_CELLS or not any(inside):
        costs.warnings.append("CPU is not known: its series and the traces hardly overlap")
        return
    resets = sum(line.whole().resets for line in lines)
    if resets:
        costs.warnings.append(f"CPU: counters began anew {resets} times; what was used in between is lost")
    used, step = grown(lines, grid), float(grid[1] - grid[0])
    names, columns = _columns(begins, grid, costs)
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


def _columns(
    begins: Mapping[str, NDArray[np.float64]], grid: NDArray[np.float64], costs: Costs
) -> tuple[list[str], NDArray[np.float64]]:
    """Requests of each operation in each cell; those that cannot be told apart are one column."""
    counts = {name: np.histogram(each, bins=grid)[0].astype(float) for name, each in begins.items()}
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


def _fit_memory(costs: Costs, service: str, operations: Mapping[str, Operation], kept: Kept) -> None:
    lines = _lines(kept, MEMORY, service)
    if not lines:
        costs.warnings.append("memory is not known: no series of it was recorded")
        return
    begins = np.sort(np.concatenate([np.asarray(one.begins_ns) for one in operations.values()])) / 1e9
    ends = np.sort(np.concatenate([np.asarray(one.begins_ns) / 1e9 + np.asarray(one.whole_s)
                                   for one in operations.values()]))  # fmt: skip
    grid = grid_of(lines, 1)
    present = [[line.times_s[0] <= t <= line.times_s[-1] for t in grid] for line in lines]
    pods = np.sum(present, axis=0)
    held = np.sum([np.where(here, np.interp(grid, line.times_s, line.values), 0.0)
                   for here, line in zip(present, lines, strict=True)], axis=0)  # fmt: skip
    use = (pods > 0) & (grid >= begins[0]) & (grid <= ends[-1])
    grid, pods, held = grid[use], pods[use], held[use]
    if len(grid) < LEAST_CELLS:
        costs.warnings.append("memory is not known: its series and the traces hardly overlap")
        return
    inside = np.searchsorted(begins, grid, side="right") - np.searchsorted(ends, grid, side="right")
    if inside.std() < _LEAST_UNDER_WAY:
        mean = float((held / pods).mean())
        width = 1.645 * float((held / pods).std()) / math.sqrt(len(held))
        costs.base = Known(mean, mean - width, mean + width)
        costs.warnings.append("memory a request is not known: about as many were under way all the time")
        return
    base, per = least_squares(np.column_stack([pods.astype(float), inside.astype(float)]), held)
    costs.base, costs.per_request = base, per


def least_squares(columns: NDArray[np.float64], wanted: NDArray[np.float64]) -> list[Known]:
    """Coefficients, none negative, with intervals: residuals may be unequal (HC3) and correlated in time."""
    from scipy import stats  # noqa: PLC0415 - heavy, and needed for fits alone

    inverse = np.linalg.pinv(columns.T @ columns)
    values = inverse @ columns.T @ wanted
    residuals = wanted - columns @ values
    leverage = np.einsum("ij,jk,ik->i", columns, inverse, columns)
    scaled = residuals / np.maximum(0.05, 1 - leverage)
    covariance = inverse @ (columns.T * scaled**2) @ columns @ inverse
    alike = float(np.corrcoef(residuals[:-1], residuals[1:])[0, 1]) if residuals.std() > 0 else 0.0
    alike = min(0.9, max(0.0, alike))
    widen = math.sqrt((1 + alike) / (1 - alike))
    free = max(1, len(wanted) - columns.shape[1])
    width = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * widen
    spread = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    return [Known(max(0.0, value), max(0.0, value - width * each), max(0.0, value + width * each))
            for value, each in zip(values.tolist(), spread.tolist(), strict=True)]  # fmt: skip


def _disks(kept: Kept) -> dict[str, Any]:
    """Seconds of a read and of a write, by node and device."""
    found: dict[str, Any] = {}
    for what, (spent, done) in DISKS.items():
        counts = {_place(line): line for line in kept.lines.get(done, ())}
        for line in kept.lines.get(spent, ()):
            place = _place(line)
            if place not in counts:
                continue
            grid = grid_of([line])
            seconds, operations = grown([line], grid), grown([counts[place]], grid)
            entry = found.setdefault(place, {})
            if operations.sum() < _LEAST_IO or len(grid) < LEAST_CELLS:
                entry.setdefault("warnings", []).append(f"{what}: {operations.sum():.0f} of them: too few to tell")
                continue
            entry[f"{what}_s"] = _ratio(seconds, operations).to_dict()
            entry[f"{what}s_a_second"] = float(f"{operations.sum() / (grid[-1] - grid[0]):.6g}")
    for line in kept.lines.get(_BUSY, ()):
        if _place(line) in found:
            grid = grid_of([line])
            found[_place(line)]["busy"] = float(f"{grown([line], grid).sum() / (grid[-1] - grid[0]):.4g}")
    return found


def _place(line: Line) -> str:
    node = next((line.labels[key] for key in ("node", "instance") if key in line.labels), "")
    return f"{node}/{line.labels.get('device', '')}"


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> Known:
    """Of two sums over the same cells, by drawing the cells again."""
    drawn = np.random.default_rng(len(over)).integers(0, len(over), size=(_BOOTSTRAPS, len(over)))
    ratios = over[drawn].sum(axis=1) / np.maximum(1e-12, under[drawn].sum(axis=1))
    tail = (1 - CONFIDENCE) / 2
    value = float(over.sum() / under.sum())
    return Known(value, float(np.quantile(ratios, tail)), float(np.quantile(ratios, 1 - tail)))


def _propagation(kept: Kept) -> dict[str, Any]:
    """The median of what endpoints took to reach rules of nodes and DNS; its interval is at least the bucket's."""
    found: dict[str, Any] = {}
    for what, name in PROPAGATION.items():
        counts: dict[float, float] = {}
        for line in kept.lines.get(name, ()):
            edge = float(line.labels.get("le", "inf").replace("+Inf", "inf"))
            counts[edge] = counts.get(edge, 0.0) + float(line.whole().values[-1])
        total = counts.get(math.inf, 0.0)
        if not counts:
            continue
        if total < _LEAST_NEWS:
            found[what] = {"warnings": [f"only {total:.0f} pieces of news: too few to tell"]}
            continue
        half = 1.645 * math.sqrt(total) / 2
        ranks = [_edge_of(counts, rank) for rank in (total / 2 - half, total / 2, total / 2 + half)]
        (low, _), (begin, end), (_, high) = ranks
        found[what] = Known((begin + end) / 2 if math.isfinite(end) else begin, low, high).to_dict()
        found[what]["news"] = total
    if not found:
        return {}
    return found


def _edge_of(counts: Mapping[float, float], rank: float) -> tuple[float, float]:
    """The bucket in which something of this rank lies."""
    below = 0.0
    for edge, count in sorted(counts.items()):
        if count >= rank:
            return below, edge
        below = edge
    return below, math.inf
