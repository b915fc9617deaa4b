"""How far off a simulated cluster is: the error of each quantity before and after fitting, as JSON and as a page.

Each quantity is compared by its median, by the distance of quantiles (mean over the deciles of |simulated -
recorded|, over the recorded median) and by coverage: the share of recorded samples inside the simulated 5 to 95 %.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from simcluster.api.version import VERSION
from simcluster.calibration.fitting import pooled, simulated
from simcluster.calibration.quantities import QUANTITIES
from simcluster.calibration.recording import Recording
from simcluster.calibration.replaying import recorded, script_of
from simcluster.calibration.services import fit_services
from simcluster.world.profile import Profile

_DECILES = tuple(number / 10 for number in range(1, 10))
#: What may be why, by quantity; said of those that are out.
_WHY = {
    "scheduling": "another scheduler's configuration, or a control plane under load",
    "sandbox": "another CNI, or volumes that are slow to mount",
    "readiness": "what the program does until it answers is a property of its image",
    "endpoints": "kube-controller-manager under load: its workers wait for each other",
    "termination": "the program's own way to stop",
    "detection": "settings of kube-controller-manager (--node-monitor-grace-period)",
    "eviction": "tolerationSeconds of the pods, or rate limits of a zone",
    "pull": "sizes of images that the simulated registry does not know",
    "bandwidth": "sizes of images that the simulated registry does not know",
}
#: Faults of recordings that make something unknowable, or less sure.
_UNKNOWN = ("missing", "empty", "gap", "lost", "truncated", "damaged", "misshapen", "skew", "interrupted")
#: Within this relative error of the median, or the resolution, a quantity is as recorded.
AS_RECORDED = 0.20


@dataclass
class Row:
    """One quantity: recorded, and simulated without and with the profile. In seconds (bandwidth: bytes a second)."""

    name: str
    what: str
    recorded: list[float]
    before: list[float]
    after: list[float]
    resolution: float = 0.0

    def figures(self, values: Sequence[float]) -> dict[str, float] | None:
        """Errors of simulated samples against the recorded ones."""
        if not self.recorded or not values:
            return None
        middle = median(self.recorded)
        low, high = np.quantile(values, [0.05, 0.95])
        half = self.resolution / 2
        inside = [low - half <= one <= high + half for one in self.recorded]
        distance = np.abs(np.quantile(values, _DECILES) - np.quantile(self.recorded, _DECILES)).mean()
        scale = max(abs(middle), self.resolution, 1e-9)
        return {
            "median": float(median(values)),
            "error": float((median(values) - middle) / scale),
            "quantile_distance": float(distance / scale),
            "coverage": sum(inside) / len(inside),
        }

    @property
    def is_as_recorded(self) -> bool | None:
        """Whether the fitted cluster's median is near enough; None if that cannot be said."""
        after = self.figures(self.after)
        if after is None:
            return None
        return abs(after["error"]) <= AS_RECORDED or abs(after["median"] - median(self.recorded)) <= self.resolution

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        said: dict[str, Any] = {"quantity": self.name, "what": self.what, "samples": len(self.recorded)}
        if self.recorded:
            said["recorded"] = {"median": median(self.recorded), "resolution": self.resolution}
        for key, values in (("before", self.before), ("after", self.after)):
            said[key] = self.figures(values)
        said["as_recorded"] = self.is_as_recorded
        if said["as_recorded"] is False and self.name in _WHY:
            said["why_perhaps"] = _WHY[self.name]
        return said


@dataclass
class Report:
    """What a profile comes to on recordings.

    Attributes:
        unknown: what cannot be known, and why: missing sources, gaps, operations that cannot be repeated.
    """

    rows: list[Row]
    seeds: int
    unknown: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {"seeds": self.seeds, "unknown": self.unknown, "quantities": [row.to_dict() for row in self.rows]}

    def drift(self, tolerance: dict[str, float]) -> list[str]:
        """What is further off than it may be: `{default: 0.2, detection: 0.1}`, errors of medians.

        Raises:
            ValueError: a quantity is named that there is not.
        """
        known = {row.name for row in self.rows}
        wrong = sorted(set(tolerance) - known - {"default"})
        if wrong:
            raise ValueError(f"no quantity is named {wrong[0]}; there are: {', '.join(sorted(known))}")
        found = []
        for row in self.rows:
            allowed = tolerance.get(row.name, tolerance.get("default"))
            after = row.figures(row.after)
            if allowed is None or not row.recorded:
                continue
            if after is None:
                found.append(f"{row.name}: recorded, but nothing of it in the simulation")
            elif abs(after["error"]) > allowed and abs(after["median"] - median(row.recorded)) > row.resolution:
                found.append(f"{row.name}: {after['error']:+.0%} of {median(row.recorded):.3g}, allowed {allowed:.0%}")
        return found


def report_on(recordings: Sequence[Recording], profile: Profile, seeds: int = 3, *, before: bool = True) -> Report:
    """Replay recordings with a profile, and without, over some seeds."""
    scripts = [script_of(one) for one in recordings]
    there = pooled([recorded(one, script) for one, script in zip(recordings, scripts, strict=True)])
    usual = simulated(scripts, range(100, 100 + seeds), None) if before else {}
    fitted = simulated(scripts, range(100, 100 + seeds), profile)
    rows = [
        Row(
            name,
            what,
            there[name].values,
            usual[name].values if usual else [],
            fitted[name].values,
            there[name].resolution,
        )
        for name, what in QUANTITIES.items()
    ]
    unknown = [f"{fault.kind}: {fault.where}: {fault.what}" for one in recordings for fault in one.faults
               if fault.kind in _UNKNOWN]  # fmt: skip
    unknown += [words for one in recordings if (words := other_release(one))]
    unknown += [f"not repeated: {words}" for script in scripts for words in script.unknown]
    unknown += [f"{row.name}: nothing of it was recorded" for row in rows if not row.recorded]
    rows += [row for one in recordings for row in _services(one, profile)]
    return Report(rows, seeds, unknown)


def other_release(recording: Recording) -> str:
    """What is to be said of a cluster of another release than the simulated one; empty of the same."""
    found = re.match(r"v?(\d+\.\d+)", str(recording.header.cluster.get("version", "")))
    ours = f"{VERSION['major']}.{VERSION['minor']}"
    if found is None or found[1] == ours:
        return ""
    return (
        f"{recording.folder}: a cluster of Kubernetes {found[1]}, the simulated one is {ours}: what has changed between"
    )


def _services(recording: Recording, profile: Profile) -> list[Row]:
    """Whole durations of each traced operation, in the recording and in a run of the fitted call graph."""
    if not profile.services:
        return []
    fitted = fit_services(recording.traces())
    if fitted is None:
        return []
    here = run_graph(profile.services)
    rows = []
    for (service, operation), seen in sorted(fitted.operations.items()):
        values = here.get((service, operation), [])
        rows.append(Row(f"{service} {operation}", "whole duration of a request", seen.whole_s, [], values))
    return rows


def run_graph(graph: dict[str, Any]) -> dict[tuple[str, str], list[float]]:
    """Durations of the requests of each load of a call graph, as quantiles of the exact engine's histogram."""
    from simcluster.models.traffic.exact import ExactRun  # noqa: PLC0415 - of what has services alone
    from simcluster.models.traffic.graph import spec_of  # noqa: PLC0415

    result = ExactRun(spec_of(graph), 0).run()
    found = {}
    for name, load in result.load_totals.items():
        service, _, operation = graph["load"][name]["target"].partition("/")
        shares = [number / 100 for number in range(1, 100)]
        found[service, operation] = [load.latency.quantile(share) / 1e9 for share in shares] if load.ok else []
    return found


def as_json(report: Report) -> str:
    """The report as JSON."""
    return json.dumps(report.to_dict(), indent=1) + "\n"


def as_page(report: Report, title: str) -> str:
    """The report as a page that needs nothing else."""
    rows = "\n".join(_row(row) for row in report.rows if row.recorded)
    unknown = "".join(f"<li>{html.escape(one)}</li>" for one in report.unknown)
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>body{{font:14px sans-serif;margin:2em;max-width:75em}}td,th{{padding:.2em .8em;text-align:right}}
td:first-child,th:first-child{{text-align:left}}.out{{color:#b00}}svg{{background:#f6f6f6}}</style>
<h1>{html.escape(title)}</h1>
<p>Medians in seconds; errors of the median relative to the recording; coverage is the share of recorded samples inside
the simulated 5 to 95 %. {report.seeds} seeds.</p>
<table><tr><th>quantity<th>samples<th>recorded<th>before<th>error<th>after<th>error<th>distance<th>coverage<th></tr>
{rows}</table>
<h2>What is unknown</h2><ul>{unknown or "<li>nothing</li>"}</ul></html>
"""


def _row(row: Row) -> str:
    before, after = row.figures(row.before), row.figures(row.after)
    cells = [f"{len(row.recorded)}", f"{median(row.recorded):.3g}"]
    cells += [f"{before['median']:.3g}", f"{before['error']:+.0%}"] if before else ["", ""]
    cells += [f"{after['median']:.3g}", f"{after['error']:+.0%}"] if after else ["nothing", ""]
    cells += [f"{after['quantile_distance']:.2f}", f"{after['coverage']:.0%}"] if after else ["", ""]
    out = row.is_as_recorded is False
    why = f"<br><small>{html.escape(_WHY.get(row.name, ''))}</small>" if out and row.name in _WHY else ""
    name = f"<td{' class=out' if out else ''}>{html.escape(row.name)}<br><small>{html.escape(row.what)}</small>{why}"
    return f"<tr>{name}{''.join(f'<td>{cell}' for cell in cells)}<td>{_picture(row)}</tr>"


def _picture(row: Row) -> str:
    """Distribution functions: recorded black, before grey, after blue."""
    everything = [*row.recorded, *row.before, *row.after]
    high = float(np.quantile(everything, 0.98)) or 1.0
    paths = []
    for values, colour in ((row.before, "#aaa"), (row.after, "#06c"), (row.recorded, "#000")):
        if values:
            shares = np.linspace(0, 1, 41)
            points = zip(np.quantile(values, shares), shares, strict=True)
            line = " ".join(f"{min(1.0, x / high) * 200:.1f},{60 - 58 * y:.1f}" for x, y in points)
            paths.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    return f'<svg width="200" height="62" role="img">{"".join(paths)}</svg>'
