"""Whole verdicts, pictures and totals of many drawn trajectories, each field at and around its thresholds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from simcluster.eval.report.picture import incident_svg
from simcluster.eval.trajectory.verifiers import charged, first_write_ns, verify
from simcluster.models.userland.outcome import Outcome
from tests.transcripts import check

_HERE = Path(__file__).parent
_SECOND = 1_000_000_000
_AVAILABLE = (0.0, 0.5, 0.8, 0.84, 0.85, 0.86, 0.94, 0.95, 1.0, 1.0, 1.0)
_LATENCIES = (None, 0.0, 20.0, 4999.0, 5000.0, 5001.0)


def drawn(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A header and records that the seed decides."""
    draw = random.Random(seed)
    marks = {"start": 0, "incident": 10 * _SECOND, "paged": 30 * _SECOND, "finished": 110 * _SECOND}
    for name in ("incident", "paged"):
        if draw.random() < 0.1:
            del marks[name]
    bad = draw.random() * 0.3
    records = [_record(draw, 5 * (1 + n) * _SECOND, bad) for n in range(draw.choice((0, 3, 24, 24, 24, 24)))]
    header = {
        "committed_depth": draw.choice(("D1", "D2", "D3", "D4")),
        "protects": ["frontend", "cart"][: draw.randint(1, 2)],
        "rps": 10.0, "marks": marks, "spread": draw.choice(({}, {"w1": 3}, {"w1": 3, "w2": 1})),
    }  # fmt: skip
    if draw.random() < 0.5:
        header["unattended"] = [
            {"t_ns": 20 * n * _SECOND, "availability": draw.choice(_AVAILABLE), "critical_failing": _some(draw, 0.2)}
            for n in range(6, 0, -1)
        ]
    return header, records


def _record(draw: random.Random, t_ns: int, bad: float) -> dict[str, Any]:
    wrong = draw.random() < bad
    write = draw.random() < 0.3
    command = ["kubectl", write, t_ns - draw.randint(0, 3) * _SECOND][: draw.randint(2, 3)]
    answers = {
        name: {
            "reachable": draw.random() < 0.9, "status": 200,
            "latency_ms": draw.choice(_LATENCIES[: 6 if wrong else 4]),
        }
        for name in ("frontend", "cart")[: draw.randint(1, 2)]
    }  # fmt: skip
    return {
        "t_ns": t_ns, "d1": {"availability": draw.choice(_AVAILABLE) if wrong else 1.0},
        "d2": {"frontend": draw.randint(0, 2)}, "d3": answers if draw.random() < 0.3 else None,
        "d4": {"critical_failing": _some(draw, bad)},
        "users": {"sent": draw.choice((0, 50)), "ok": draw.randint(30, 50)},
        "placement": draw.choice(({}, {"w1": 1}, {"w1": 4}, {"w1": 3, "w2": 2})),
        "commands": [command] * draw.choice((0, 0, 0, 1, 2)),
    }  # fmt: skip


def _some(draw: random.Random, share: float) -> list[str]:
    return [name for name in ("dns", "proxy") if draw.random() < share / 2]


def run(line: str) -> Outcome:
    """`verdict SEED` or `picture SEED`."""
    what, seed = line.split()
    header, records = drawn(int(seed))
    if what == "picture":
        return Outcome(incident_svg(header, records, "A <picture>"))
    marks = header["marks"]
    begin = marks.get("incident", 0)
    charge = charged(records, begin, marks.get("paged", begin), header.get("unattended", ()))
    return Outcome(f"{json.dumps(verify(header, records).to_dict())}\n{charge} {first_write_ns(records)}\n")


def test_whole_verdicts_and_pictures(request: pytest.FixtureRequest) -> None:
    check(request, _HERE / "table.transcript", run, {})


def test_no_records_no_picture() -> None:
    header, _ = drawn(3)
    with pytest.raises(ValueError, match="nothing was recorded: there is no picture to draw"):
        incident_svg(header, [], "x")
