"""What series tell of nodes: how fast their disks are, and how long news of endpoints takes to reach DNS and rules.

Latency of a disk is time over operations; of what that is alone and for 4 KiB (the figure of a profile) the rest of the
drive's law is that of its kind. How much it can transfer shows only where it had no time left. How long news takes is
told by the histograms that kube-proxy and CoreDNS keep themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np

from simcluster.calibration.counters import Kept, Line, grid_of, grown, watched
from simcluster.calibration.known import Known, ratio
from simcluster.models.machine.storage.calibrated import alone_ns
from simcluster.models.machine.storage.drivemodel import BLOCK, NEARLINE_HDD, NVME_SSD, SATA_SSD, DriveModel

#: kube-proxy's and CoreDNS' own histograms of how old an endpoint's news was when they had taken it in.
PROPAGATION = {"rules": "kubeproxy_network_programming_duration_seconds_bucket",
               "dns": "coredns_kubernetes_dns_programming_duration_seconds_bucket"}  # fmt: skip
DISKS = {
    "read": ("node_disk_read_time_seconds_total", "node_disk_reads_completed_total", "node_disk_read_bytes_total"),
    "write": (
        "node_disk_write_time_seconds_total",
        "node_disk_writes_completed_total",
        "node_disk_written_bytes_total",
    ),
}
_BUSY, _INFO = "node_disk_io_time_seconds_total", "node_disk_info"
NAMES = frozenset({*PROPAGATION.values(), *(name for row in DISKS.values() for name in row), _BUSY, _INFO})
#: Fewer intervals of the grid tell nothing.
LEAST_CELLS = 12
_LEAST_IO, _LEAST_NEWS = 20.0, 20.0
#: A disk that was busy for this share of the time, with requests of at least so many bytes, gave what it has.
_SATURATED, _LONG = 0.95, 65_536.0
#: Squared coefficient of variation of a hard disk's random reads, for the wait that is in what was recorded.
_HDD_CV2 = 0.12


def fit_disks(kept: Kept) -> dict[str, Any]:
    """Seconds of a read and of a write, by node and device."""
    found: dict[str, Any] = {}
    busy = {_place(line): line for line in kept.lines.get(_BUSY, ())}
    for what, (spent, done, moved) in DISKS.items():
        counts = {_place(line): line for line in kept.lines.get(done, ())}
        sizes = {_place(line): line for line in kept.lines.get(moved, ())}
        for line in kept.lines.get(spent, ()):
            place = _place(line)
            if place not in counts:
                continue
            grid = grid_of([line], 1)
            cells = watched([line, counts[place]], grid)
            seconds, operations = grown([line], grid)[cells], grown([counts[place]], grid)[cells]
            entry = found.setdefault(place, {})
            if operations.sum() < _LEAST_IO or cells.sum() < LEAST_CELLS:
                entry.setdefault("warnings", []).append(f"{what}: {operations.sum():.0f} of them: too few to tell")
                continue
            entry[f"{what}_s"] = ratio(seconds, operations).to_dict()
            entry[f"{what}s_a_second"] = float(f"{operations.sum() / (cells.sum() * (grid[1] - grid[0])):.6g}")
            if place in sizes:
                entry[f"{what}_bytes"] = float(f"{grown([sizes[place]], grid)[cells].sum() / operations.sum():.6g}")
    for place, line in busy.items():
        if place in found:
            grid = grid_of([line], 1)
            cells = watched([line], grid)
            whole_s = cells.sum() * (grid[1] - grid[0])
            found[place]["busy"] = float(f"{grown([line], grid)[cells].sum() / max(1e-9, whole_s):.4g}")
            _bandwidth(found[place], place, line, kept)
    for info in kept.lines.get(_INFO, ()):
        if _place(info) in found and "rotational" in info.labels:
            found[_place(info)]["rotates"] = info.labels["rotational"] == "1"
    return found


def _bandwidth(entry: dict[str, Any], place: str, busy: Line, kept: Kept) -> None:
    """Bytes a second while it was saturated by long requests."""
    lines = [line for _, done, moved in DISKS.values() for name in (moved,) for line in kept.lines.get(name, ())
             if _place(line) == place]  # fmt: skip
    counts = [line for _, done, _ in DISKS.values() for line in kept.lines.get(done, ()) if _place(line) == place]
    if not lines or not counts:
        return
    grid = grid_of([busy])
    step = grid[1] - grid[0]
    share, moved, done = grown([busy], grid) / step, grown(lines, grid), grown(counts, grid)
    full = watched([busy], grid) & (share > _SATURATED) & (moved > _LONG * done)
    if full.sum() >= LEAST_CELLS / 2:
        entry["bytes_a_second"] = ratio(moved[full], np.full(int(full.sum()), step)).to_dict()


def disk_figures(disks: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Figures of a profile: of each disk, and of any other one the median of all."""
    found: dict[str, list[int]] = {}
    figures: dict[str, int] = {}
    for place, entry in sorted(disks.items()):
        node, _, device = place.partition("/")
        model = _kind(device, entry)
        for what in ("read", "write"):
            if f"{what}_s" in entry:
                size = max(512.0, float(entry.get(f"{what}_bytes", BLOCK)))
                shape = alone_ns(model, what) / alone_ns(model, what, size)
                mean_ns = entry[f"{what}_s"]["value"] * 1e9
                if model.rotates and what == "read":
                    mean_ns = _without_waiting(mean_ns, float(entry.get("busy", 0.0)))
                _put(figures, found, f"disk.{what}", node, device, round(mean_ns * shape))
        if "bytes_a_second" in entry:
            _put(figures, found, "disk.bandwidth", node, device, round(entry["bytes_a_second"]["value"]))
    return figures | {name: round(median(values)) for name, values in sorted(found.items())}


def _put(figures: dict[str, int], found: dict[str, list[int]], what: str, node: str, device: str, value: int) -> None:
    if value > 0:
        figures[f"{what}.{node}/{device}"] = value
        found.setdefault(f"{what}.*/{device}", []).append(value)


def _kind(device: str, entry: Mapping[str, Any]) -> DriveModel:
    """The usual drive of a kind: by what the kernel says, or by the name."""
    if entry.get("rotates"):
        return NEARLINE_HDD
    return NVME_SSD if device.startswith("nvme") else SATA_SSD


def _without_waiting(mean_ns: float, busy: float) -> float:
    """Service of one server, of a response that holds the wait of Pollaczek and Khinchine."""
    busy = min(0.9, busy)
    return mean_ns / (1.0 + busy * (1.0 + _HDD_CV2) / (2.0 * (1.0 - busy)))


def _place(line: Line) -> str:
    node = next((line.labels[key] for key in ("node", "instance") if key in line.labels), "")
    return f"{node}/{line.labels.get('device', '')}"


def fit_propagation(kept: Kept) -> dict[str, Any]:
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
    return found


def _edge_of(counts: Mapping[float, float], rank: float) -> tuple[float, float]:
    """The bucket in which something of this rank lies."""
    below = 0.0
    for edge, count in sorted(counts.items()):
        if count >= rank:
            return below, edge
        below = edge
    return below, math.inf
