"""Verdicts, and rows that are quick enough to run always; the others are slow tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.engine.content import UnknownName
from simcluster.eval.validation import ROWS, Finding, validate
from simcluster.eval.validation.finding import Share, alike, batched, estimate, t99
from simcluster.models.traffic import graph as package

EXAMPLES = Path(package.__file__).parent / "examples"
ALL = [*(f"Q{k}" for k in range(1, 8)), *(f"R{k}" for k in range(1, 13)), "G1", "C1", "P1", "E1", "J1", "A1", "L1"]
OTHERS = [*(f"D{k}" for k in range(1, 5)), *(f"K{k}" for k in range(1, 9)), "CFS"]


def test_every_row_is_there() -> None:
    assert list(ROWS) == [*ALL, *OTHERS]
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
    assert found.half == pytest.approx(9.925 / 3**0.5)
    assert Share(0, 10).half > 0.1
    assert Share(5, 10).mean == 0.5
    assert t99(18) == pytest.approx(2.878, abs=0.003)
    assert batched(2.0, [1.0, 2.0, 3.0]).half == found.half  # too few to tell how alike they are
    drift = [float(k) for k in range(16)]
    assert batched(7.5, drift).half > 2.0 * estimate(drift).half


def test_an_unknown_row_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="R13"):
        list(validate(["R13"]))


@pytest.mark.slow(first="Q")
@pytest.mark.parametrize("name", ALL)
def test_rows_hold_on_the_exact_engine(name: str) -> None:
    for one in validate([name], ["exact"], quick=True):
        assert one.findings
        assert not [figure for figure in one.findings if not figure.holds]


def test_shares_are_compared_as_counts() -> None:
    assert alike(Share(12, 24), Share(17, 24))
    assert not alike(Share(10, 48), Share(30, 48))
    assert alike(Share(16, 16), Share(1.0, 0))  # a probability of one, by theory
    assert not alike(Share(12, 16), Share(1.0, 0))
    found = Finding("R7", "exact", "x", 0.5, 10 / 48, 0.2, 0.2, "both", (Share(10, 48), Share(30, 48)))
    assert found.verdict == "fails"


def test_what_a_model_cannot_give_is_said_and_does_not_fail() -> None:
    found = Finding("R3", "exact", "x", 3.2, 5.0, 0.1, unmet="no cap")
    assert not found.holds
    assert found.verdict == "not met"
    assert found.to_dict()["not_met_because"] == "no cap"


def test_the_command_refuses_unknown_rows_before_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--rows", "R5,R55"]) == 2
    assert "unknown row 'R55'; did you mean R5" in capsys.readouterr().err
    assert main(["validate", "--rows", ","]) == 2
    assert main(["validate", "--rows", "D1", "--engine", "aggregate"]) == 1
    assert "cannot be run by aggregate" in capsys.readouterr().err


def test_the_command_prints_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--rows", "r10", "--engine", "exact", "--quick", "--jobs", "1", "--markdown"]) == 0
    out = capsys.readouterr()
    assert "| R10 | attempts over requests, 3 attempts | 3 | 3 (0.015) |" in out.out
    assert "[1/1] R10 exact: 2 of 2 figures hold" in out.err


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
    assert "engine exact (single_queue), seed 3" in shown
    assert "99 % confidence" in shown
    assert picture.read_text().startswith("<svg")
    assert main(["traffic", str(spec), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["engine"] == "exact"
    assert len(found["series"]) == 61 or len(found["series"]) == 60


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("- a\n- b\n", "a call graph is a map with the keys services and load, not a list"),
        ("services: {s: {workers: 0, operations: {o: {}}}}\nload: {u: {target: s, open: {rate: 1}}}\n", "workers"),
        ("services: {s: {workerz: 1, operations: {o: {}}}}\nload: {u: {target: s, open: {rate: 1}}}\n", "'workers'"),
        ("services: {s: {operations: {o: {work: 5}}}}\nload: {u: {target: s, open: {rate: 1}}}\n", "needs a unit"),
        ("services: {s: {operations: {o: {}}}}\nload: {u: {target: s, open: {rate: .nan}}}\n", "finite"),
        ("services: {s: {operations: {o: {}}}}\nload: {u: {target: s, open: {rate: 1.0e+9}}}\n", "about 6e+10"),
        ("services: {s: {operations: {o: {}}}}\nservices: {}\n", "stands twice"),
        ("a: &a [*a]\n", "inside itself"),
        ("run: {duration: 1000h}\nservices: {s: {operations: {o: {}}}}\nload: {u: {target: s}}\n", "31 days"),
    ],
)  # fmt: skip
def test_bad_graphs_are_refused(text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "g.yaml"
    spec.write_text(text)
    assert main(["traffic", str(spec)]) == 2
    said = capsys.readouterr().err
    assert f"{spec}:" in said
    assert says in said


def test_the_traffic_command_refuses_with_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "g.yaml"
    spec.write_text("services: {s: {operations: {o: {}}}}\nload: {u: {target: s, open: {rate: -1}}}\n")
    assert main(["traffic", str(spec)]) == 2
    assert f"{spec}:2: load.u.open.rate" in capsys.readouterr().err
    assert main(["traffic", str(tmp_path / "none.yaml")]) == 2
