"""A calibrated cluster's figures under an incident: they act, they are recorded, and a replay has them."""

from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.eval.episode import Episode, start
from simcluster.eval.episode.replay import replay
from simcluster.eval.runner import Plan, RunDirectory, RunDirectoryError
from simcluster.world.profile import Profile

TASK = "wrong_service_selector_online_boutique"
SLOW = Profile(parameters={"runtime.sandbox": "9s"})


def _until_ready(episode: Episode) -> int:
    """Simulated nanoseconds until a pod of the frontend that was deleted has a Ready successor."""
    episode.kubectl("delete pod -n boutique -l app=frontend --wait=false")
    since_ns = episode.world.sim.now
    episode.kubectl("wait -n boutique --for=condition=Available deployment/frontend --timeout=120s")
    return episode.world.sim.now - since_ns


def test_figures_act_and_are_repeated(tmp_path: Path) -> None:
    usual, slow = start(TASK), start(TASK, profile=SLOW)
    assert _until_ready(slow) > _until_ready(usual) + 4_000_000_000
    slow.write_log(tmp_path / "log.jsonl")
    again = replay(tmp_path / "log.jsonl")
    assert again.differences == ()
    assert again.live.digest == slow.digest


def test_an_evaluation_does_not_go_on_with_other_figures(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, Plan((TASK,), ("noop",), profile=SLOW)):
        pass
    with pytest.raises(RunDirectoryError, match="begun with parameters"):
        RunDirectory(tmp_path, Plan((TASK,), ("noop",)), resume=True)


def test_a_file_that_is_no_profile_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("parameters: {runtime.sandbx: 9s}\n")
    assert main(["run", TASK, "--profile", str(wrong)]) == 2
    assert "runtime.sandbox" in capsys.readouterr().err
    assert main(["run", TASK, "--profile", "kind-9"]) == 2
    assert "kind-1.32" in capsys.readouterr().err
