"""Gates: what is asked of an evaluation, alone and beside an earlier one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.cli import main
from simcluster.eval.statistics import Limits, judged


def run(number: int, passed: bool, lost: float = 1.0, **more: Any) -> dict[str, Any]:
    grades = {"trajectory": {"user_minutes_lost": lost, "passed": passed}}
    record = {"task": f"task-{number}", "seed": 0, "agent": "mine", "passed": passed, "outcome": "done", "noise": ""}
    return record | {"seconds": 1.0, "error": ""} | grades | more


def met(records: list[dict[str, Any]], baseline: list[dict[str, Any]] | None = None, **limits: Any) -> dict[str, bool]:
    return {one.name: one.passed for one in judged(records, Limits(**limits), baseline or [])}


def test_shares_prices_and_false_claims() -> None:
    records = [run(n, n < 8, lost=n, says_solved=True) for n in range(10)]
    found = met(records, min_success=0.8, max_user_minutes=4.5, max_false_claims=2)
    assert found == {"runs": True, "min-success": True, "max-user-minutes": True, "max-false-claims": True}
    found = met(records, min_success=0.81, max_user_minutes=4.4, max_false_claims=1)
    assert [name for name, passed in found.items() if passed] == ["runs"]


def test_one_run_that_went_the_other_way_is_chance_and_six_are_not() -> None:
    before = [run(n, True) for n in range(12)]
    assert met([run(n, n > 0) for n in range(12)], before)["no-worse-success"]
    assert not met([run(n, n > 5) for n in range(12)], before)["no-worse-success"]
    assert met([run(n, True) for n in range(12)], [run(n, n > 5) for n in range(12)])["no-worse-success"]


def test_a_price_that_rises_everywhere_closes_the_gate() -> None:
    before = [run(n, True, lost=n) for n in range(12)]
    assert not met([run(n, True, lost=n + 2) for n in range(12)], before)["no-more-user-minutes"]
    assert met([run(n, True, lost=n + (12 if n == 3 else 0)) for n in range(12)], before)["no-more-user-minutes"]


def test_runs_of_the_baseline_that_are_missing_and_runs_that_broke() -> None:
    before = [run(n, True) for n in range(3)]
    assert not met(before[:2], before)["baseline-covered"]
    assert not met([run(0, False, outcome="error")], min_success=0.0)["runs"]
    with pytest.raises(ValueError, match="no runs"):
        judged([], Limits())
    with pytest.raises(ValueError, match="nothing can be compared"):
        judged([run(7, True)], Limits(), before)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, passed in (("old", True), ("new", False)):
        (tmp_path / name).mkdir()
        lines = [json.dumps(run(n, passed)) for n in range(8)]
        (tmp_path / name / "results.jsonl").write_text("\n".join(lines) + "\n")
        (tmp_path / name / "plan.json").write_text("{}")
    new, old, junit = (str(tmp_path / name) for name in ("new", "old", "gate.xml"))
    assert main(["gate", old, "--min-success", "0.9"]) == 0
    assert main(["gate", new, "--baseline", old, "--junit", junit]) == 1
    said = capsys.readouterr()
    assert "FAIL no-worse-success: 0%" in said.out
    assert "the gate is closed: no-worse-success" in said.err
    assert 'failures="1"' in Path(junit).read_text()
    assert main(["gate", new]) == 2
    assert "nothing is asked" in capsys.readouterr().err
