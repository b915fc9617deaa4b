"""What deeds cost users: an operator who first does harm and then repairs, and the arithmetic of regret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.eval.counterfactuals import Counterfactuals, Deed
from simcluster.eval.counterfactuals.branches import DEEDS_MAX, grouped
from simcluster.eval.episode import start
from simcluster.session.log import Command

TASK = "wrong_service_selector_online_boutique"


def test_harm_is_set_apart_from_the_repair_after_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    episode = start(TASK, 3)
    episode.kubectl("get pods -n boutique")
    episode.wait("20s")
    episode.kubectl("scale deployment frontend -n boutique --replicas=0")
    episode.wait("60s")
    episode.kubectl("scale deployment frontend -n boutique --replicas=1")
    episode.kubectl("annotate service adservice -n boutique note=x")
    episode.kubectl(episode.task.reference_fixes[0][0].kubectl)
    episode.wait("30s")
    log = tmp_path / "x.log.jsonl"
    episode.write_log(log)
    assert main(["explain", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["counterfactuals"]
    down, up, note, repair = found["deeds"]
    assert down["harm"] > 0.3
    assert down["lasting_harm"] > 1.0  # the reference repair does not bring the frontend back
    assert up["harm"] < -0.3
    assert note["harm"] == 0.0
    assert repair["harm"] < -1.0
    assert any("of users of frontend" in text and "calls fail" in text for text in down["evidence"])
    assert found["untouched"] + sum(deed["harm"] for deed in found["deeds"]) == pytest.approx(found["lost"])
    assert (
        found["regret"]
        == pytest.approx(found["lost"] - found["repaired"])
        == pytest.approx(sum(found["causes"].values()))
    )
    assert found["repaired"] < 0.2 < found["lost"] < found["untouched"]
    assert found["causes"]["waiting"] > 0.1  # the repair comes later than it could have
    assert abs(found["causes"]["wanting"]) < 0.05


def deed(text: str, before: float, after: float, repaired: tuple[float, float]) -> Deed:
    return Deed(text, 10.0, before, after, *repaired, evidence=("users of x: 3 of 4 calls fail, and 0.0% without it",))


def test_regret_in_words() -> None:
    found = Counterfactuals(
        300.0, 5.0, 0.5, (deed("rm -r /", 5.0, 7.0, (1.0, 3.0)), deed("look", 7.0, 7.0, (3.0, 3.0)),
                          deed("undo", 7.0, 4.0, (3.5, 3.5))),
    )  # fmt: skip
    assert (found.lost, found.regret) == (4.0, 3.5)
    assert found.causes == {"waiting": 1.0, "deeds": 2.0, "wanting": 0.5}
    assert found.explain().splitlines() == [
        "users lost 4.00 user-minutes in the 300 s from the page on; 5.00 if nobody had done anything, "
        "0.50 with the reference repair at once",
        "avoidable were 3.50: 1.00 by looking and waiting, 2.00 by what was done, 0.50 because a repair was wanting "
        "at the end",
        "rm -r / (10 s after the page) cost 2.00 user-minutes: users of x: 3 of 4 calls fail, and 0.0% without it; "
        "a repair right after it would have lost 2.00 more than one right before",
        "look (10 s after the page) changed nothing that users noticed",
        "undo (10 s after the page) saved 3.00 user-minutes: users of x: 3 of 4 calls fail, and 0.0% without it",
    ]
    idle = Counterfactuals(300.0, 0.5, 0.5, ())
    assert (idle.lost, idle.regret, idle.causes["wanting"]) == (0.5, 0.0, 0.0)
    assert "nothing of that was avoidable" in idle.explain()


def test_very_many_writes_are_taken_together() -> None:
    world = start(TASK, 3).world
    commands = [
        Command(at, tool, "", text, "", "", 0, "")
        for at in range(30)
        for tool, text in (("kubectl", "get pods"), ("kubectl", f"delete pod p{at}"), ("diagnose", '"x"'))
    ]
    groups = grouped(world, commands)
    assert len(groups) == 10 <= DEEDS_MAX
    assert [len(looks) for looks, _ in groups] == [1] * 10
    assert sum(len(writes) for _, writes in groups) == 50  # what lies between belongs to the deed
    assert grouped(world, commands[:3]) == [(commands[:1], commands[1:2])]


def test_a_folder_of_several_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path)]) != 0
    assert "holds 0 replay logs (none)" in capsys.readouterr().err
