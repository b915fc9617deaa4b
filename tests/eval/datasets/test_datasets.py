"""Training data of two runs, one that mends and one that does nothing, and what proves each line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcluster.cli.group import group
from simcluster.eval.episode.replay import replay
from simcluster.eval.runner import RunDirectory, evaluate
from tests.kiosk import LIBRARY, OPTIONS, TASK, plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    both = plan("expert", "noop")
    with RunDirectory(path, both) as directory:
        evaluate(both, directory, jobs=1)
    return path


def exported(folder: Path, form: str, *more: str) -> list[dict[str, Any]]:
    out = folder / f"{form}.jsonl"
    done = CliRunner().invoke(group, ["export", str(folder), "--format", form, "--out", str(out), *OPTIONS, *more])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_conversations(folder: Path) -> None:
    expert, noop = exported(folder, "chat")
    assert (expert["agent"], expert["passed"], noop["passed"]) == ("expert", True, False)
    assert expert["reward"] > noop["reward"]
    roles = [message["role"] for message in expert["messages"]]
    assert roles[:2] == ["system", "user"]
    assert set(roles[2::2]) == {"assistant"}
    assert set(roles[3::2]) == {"tool"}
    offered = {tool["function"]["name"] for tool in expert["tools"]}
    called = [call["function"]["name"] for one in expert["messages"] for call in one.get("tool_calls", ())]
    assert set(called) <= offered
    assert (called[-1], "diagnose" in called) == ("finish", True)
    assert noop["messages"][-1]["tool_calls"][0]["function"]["name"] == "finish"
    assert replay(folder / "runs" / f"{TASK}.expert.0.log.jsonl", LIBRARY).live.digest == expert["digest"]
    assert [one["agent"] for one in exported(folder, "chat", "--passed")] == ["expert"]


def test_steps_add_up_to_what_the_run_is_worth(folder: Path) -> None:
    found = [one for one in exported(folder, "steps") if one["agent"] == "expert"]
    record = json.loads((folder / "results.jsonl").read_text().splitlines()[0])
    parts = record["process"]["srezero"]
    worth = math.fsum([*parts["components"].values(), *parts["penalties"].values()])
    assert math.fsum(one["reward"] for one in found) == pytest.approx(worth, abs=1e-3)
    assert [one["done"] for one in found] == [False] * (len(found) - 1) + [True]
    assert found[0]["state"]["output"] == ""
    assert found[1]["state"]["commands_left"] == found[0]["state"]["commands_left"] - 1
    logged = (folder / "runs" / f"{TASK}.expert.0.log.jsonl").read_text().splitlines()[1:-1]
    assert [one["digest_after"] for one in found] == [json.loads(line)["digest"] for line in logged]


def test_of_two_continuations_the_one_that_mends_is_chosen(folder: Path) -> None:
    expert, noop = exported(folder, "preferences")
    assert (expert["chosen"]["who"], expert["rejected"]["who"]) == ("agent", "nothing")
    assert (noop["chosen"]["who"], noop["rejected"]["who"]) == ("reference", "agent")
    assert noop["chosen"]["lost"] < noop["rejected"]["lost"]
    assert expert["chosen"]["digest"] == expert["digest"] != expert["rejected"]["digest"]
    assert noop["chosen"]["calls"][0]["function"]["name"] == "kubectl"
    assert expert["prompt"][-1]["role"] == "tool"
