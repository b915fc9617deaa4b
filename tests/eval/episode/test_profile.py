"""A calibrated cluster's figures under an incident: they act, they are recorded, and a replay has them."""

from dataclasses import replace
from pathlib import Path

import pytest

from simcluster.cli import main
from simcluster.eval.episode import Episode, start
from simcluster.eval.episode.replay import replay
from simcluster.eval.runner import RunDirectory, RunDirectoryError
from simcluster.world.profile import Profile
from tests.kiosk import LIBRARY, OPTIONS, TASK, plan

SLOW = Profile(parameters={"runtime.sandbox": "9s"})


def _until_ready(episode: Episode) -> int:
    """Simulated nanoseconds until pods of the mended kiosk that were deleted have Ready successors."""
    for command in ("rollout undo deployment/kiosk -n kiosk", "rollout status deployment/kiosk -n kiosk"):
        assert episode.kubectl(command).exit_code == 0
    episode.kubectl("delete pod -n kiosk -l app=kiosk --wait=false")
    since_ns = episode.world.sim.now
    waited = episode.kubectl("wait -n kiosk --for=condition=Available deployment/kiosk --timeout=120s")
    assert waited.exit_code == 0
    return episode.world.sim.now - since_ns


def test_figures_act_and_are_repeated(tmp_path: Path) -> None:
    usual, slow = start(TASK, library=LIBRARY), start(TASK, library=LIBRARY, profile=SLOW)
    assert _until_ready(slow) > _until_ready(usual) + 4_000_000_000
    slow.write_log(tmp_path / "log.jsonl")
    again = replay(tmp_path / "log.jsonl", LIBRARY)
    assert again.differences == ()
    assert again.live.digest == slow.digest


def test_an_evaluation_does_not_go_on_with_other_figures(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, replace(plan("noop"), profile=SLOW)):
        pass
    with pytest.raises(RunDirectoryError, match="begun with parameters"):
        RunDirectory(tmp_path, plan("noop"), resume=True)


def test_a_file_that_is_no_profile_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("parameters: {runtime.sandbx: 9s}\n")
    assert main(["run", TASK, *OPTIONS, "--profile", str(wrong)]) == 2
    assert "runtime.sandbox" in capsys.readouterr().err
    assert main(["run", TASK, *OPTIONS, "--profile", "kind-9"]) == 2
    assert "kind-1.32" in capsys.readouterr().err
