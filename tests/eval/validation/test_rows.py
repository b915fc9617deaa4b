"""Verdicts, and rows that are quick enough to run always; the others are slow tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.engine.content import UnknownName
from simcluster.eval.validation import ROWS, Finding, validate
from simcluster.eval.validation.finding import estimate, proportion
from simcluster.models.traffic import graph as package

EXAMPLES = Path(package.__file__).parent / "examples"
ALL = [*(f"Q{k}" for k in range(1, 8)), *(f"R{k}" for k in range(1, 13)), "G1", "C1"]


def test_every_row_is_there() -> None:
    assert list(ROWS) == ALL
    for row in ROWS.values():
        assert row.title
        assert row.source
        assert row.tolerance


def test_verdicts() -> None:
    assert Finding("Q1", "exact", "x", 1.0, 1.04, 0.02, 0.03).holds
    assert not Finding("Q1", "exact", "x", 1.0, 1.06, 0.02, 0.03).holds
    assert Finding("Q1", "exact", "x", 1.0, 5.0, 0.0, 0.0, "below").holds
    assert not Finding("Q1", "exact", "x", 1.0, 5.0, 0.0, 0.0, "above").holds
    assert not Finding("Q1", "exact", "x", 1.0, float("nan"), 9.0).holds


def test_intervals() -> None:
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(9.92 / 3**0.5)
    assert proportion(0, 10).half > 0.1
    assert proportion(5, 10).mean == 0.5


def test_an_unknown_row_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="R13"):
        list(validate(["R13"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_rows_hold_on_the_exact_engine(name: str) -> None:
    for _, findings in validate([name], ["exact"], quick=True):
        assert findings
        assert not [one for one in findings if not one.holds]


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--rows", "R10", "--engine", "exact", "--quick", "--jobs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is True
    assert {one["row"] for one in found["findings"]} == {"R10"}


def test_the_traffic_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "g.yaml"
    spec.write_text(
        "run: {duration: 5s}\nservices: {s: {operations: {o: {work: {law: exponential, mean: 5ms}}}}}\n"
        "load: {u: {target: s, open: {rate: 100}}}\n"
    )
    picture = tmp_path / "g.svg"
    assert main(["traffic", str(spec), "--seed", "3", "--seeds", "2", "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "engine exact, seed 3" in shown
    assert "99 % confidence" in shown
    assert picture.read_text().startswith("<svg")
    assert main(["traffic", str(spec), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["engine"] == "exact"
    assert len(found["series"]) == 61 or len(found["series"]) == 60


def test_the_traffic_command_refuses_with_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "g.yaml"
    spec.write_text("services: {s: {operations: {o: {}}}}\nload: {u: {target: s, open: {rate: -1}}}\n")
    assert main(["traffic", str(spec)]) == 2
    assert f"{spec}:2: load.u.open.rate" in capsys.readouterr().err
    assert main(["traffic", str(tmp_path / "none.yaml")]) == 2
