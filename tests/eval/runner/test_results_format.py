"""Records on disk keep the published schema, and what is newer is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from simcluster.eval.isolation.ending import HARNESS_ERROR, Ending
from simcluster.eval.runner import RunDirectory, RunDirectoryError, evaluate
from simcluster.eval.runner.execute import record_of
from simcluster.eval.runner.plan import FORMAT, Run
from simcluster.eval.runner.records import read_results
from tests.kiosk import TASK, plan


def schema() -> Any:
    return json.loads(files("simcluster.eval.runner").joinpath("results.schema.json").read_text())


def test_real_results_keep_the_schema(tmp_path: Path) -> None:
    both = replace(plan("expert", "noop"), counterfactuals=True)
    with RunDirectory(tmp_path, both) as directory:
        evaluate(both, directory, jobs=1)
    assert json.loads((tmp_path / "plan.json").read_text())["format"] == FORMAT
    judge = jsonschema.Draft202012Validator(schema())
    judge.check_schema(schema())
    records = read_results(tmp_path)
    assert [one["agent"] for one in records] == ["expert", "noop"]
    for record in [*records, record_of(Run(TASK, "x", 0), None, Ending(HARNESS_ERROR, "gone"), 1.0, None)]:
        assert list(judge.iter_errors(record)) == []
    wrong = {**records[0], "passed": "yes", "format": 2}
    assert len(list(judge.iter_errors(wrong))) == 2
    assert set(records[0]) <= set(schema()["properties"])


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    record = {**record_of(Run(TASK, "x", 0), None, Ending("done"), 1.0, None), "format": FORMAT + 1}
    (tmp_path / "results.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(RunDirectoryError, match=f"format {FORMAT + 1} was written by a newer simcluster"):
        read_results(tmp_path)
