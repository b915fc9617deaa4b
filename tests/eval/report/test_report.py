"""Scoreboard, summary and charts as a whole."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from simcluster.eval.report import evaluation_object, scoreboard, summarize
from simcluster.eval.validation.chart import Line, Panel, chart_svg, map_svg, ticks
from simcluster.eval.validation.finding import Finding, Share, alike, estimate
from simcluster.models.userland.outcome import Outcome
from tests.transcripts import check

_HERE = Path(__file__).parent


def record(agent: str, task: str, grades: str, outcome: str = "done", seconds: float = 1.25) -> dict:
    found = {name: {"passed": name[0].upper() in grades} for name in ("diagnosis", "mitigation", "trajectory")}
    return {"agent": agent, "task": task, "passed": grades == "DMT", "outcome": outcome, "seconds": seconds, **found}


RECORDS = [
    record("expert", "a/one.yaml", "DMT"), record("expert", "two", "DM", seconds=0.1004),
    record("noop", "a/one.yaml", ""), record("noop", "a/one.yaml", "T", "budget", 7.0),
    record("noop", "a/one.yaml", "DMT", "crashed"), record("third", "two", "M", "wall limit"),
]  # fmt: skip


def run(line: str) -> Outcome:
    if line == "scoreboard":
        console = Console(file=io.StringIO(), width=100, color_system="standard", force_terminal=True)
        console.print(scoreboard(RECORDS))
        return Outcome(console.file.getvalue())  # type: ignore[attr-defined]
    if line == "summary":
        return Outcome("".join(f"{name}: {entry}\n" for name, entry in summarize(RECORDS).items()))
    if line == "chart":
        lines = [Line("a<b", [(0.0, 0.0), (5.0, 3.7), (12.5, 1.0)]), Line("c", [(1.0, 9.5)])]
        return Outcome(chart_svg("T & U", [Panel("one", lines, [(4.0, "now")]), Panel("two", [Line("d", [])])]))
    if line == "map":
        return Outcome(map_svg("M", ["1", "2", "3"], ["x", "y"], [[0.0, 0.5, 1.0], [0.25, 0.1, 0.9]], "→", "↓"))
    if line == "ticks":
        peaks = (0.0, 0.3, 1.0, 1.1, 4.0, 9.99, 10.0, 37.0, 50.0, 1234.5)
        return Outcome("".join(f"{p}: {[round(t, 9) for t in ticks(p)]} {len(ticks(p, 8))}\n" for p in peaks))
    assert line == "estimates"
    values = [estimate([2.0]), estimate([1.0, 2.0, 4.0]), estimate([float(n % 5) for n in range(40)])]
    shares = [Share(*pair) for pair in ((0, 10), (5, 10), (99, 100))]
    both = [
        alike(Share(30, 100), Share(100, 400)),
        alike(Share(0, 50), Share(10, 10)),
        alike(Share(3, 10), Share(0.4, 0)),
    ]
    return Outcome("".join(f"{one.mean:.9f} {one.half:.9f}\n" for one in (*values, *shares)) + f"{both}\n")


def test_what_people_read(request: pytest.FixtureRequest) -> None:
    check(request, _HERE / "report.transcript", run, {})


def test_the_object_holds_runs_and_summary() -> None:
    assert evaluation_object(RECORDS) == {"runs": RECORDS, "summary": summarize(RECORDS)}


#: (measured, tolerance, half, holds under each bound), expected 10.
HOLDS = [
    (10.0, 0.0, 0.0, {"both": True, "above": True, "below": True}),
    (10.5, 0.5, 0.0, {"both": True, "above": True, "below": True}),
    (10.75, 0.5, 0.25, {"both": True, "above": True, "below": True}),
    (10.8, 0.5, 0.25, {"both": False, "above": False, "below": True}),
    (9.25, 0.5, 0.25, {"both": True, "above": True, "below": True}),
    (9.2, 0.5, 0.25, {"both": False, "above": True, "below": False}),
    (float("nan"), 9.0, 9.0, {"both": False, "above": False, "below": False}),
]


@pytest.mark.parametrize(("measured", "tolerance", "half", "holds"), HOLDS)
def test_a_finding_holds_within_its_bounds(
    measured: float, tolerance: float, half: float, holds: dict[str, bool]
) -> None:
    for bound, expected in holds.items():
        found = Finding("r", "exact", "q", 10.0, measured, tolerance, half, bound)
        assert found.holds is expected, bound
        written = found.to_dict()
        assert [written[key] for key in ("row", "engine", "quantity", "expected")] == ["r", "exact", "q", 10.0]
        assert (written["tolerance"], written["confidence_half_width"]) == (tolerance, half)
        assert expected is (found.verdict == "holds")
