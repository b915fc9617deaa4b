"""Worlds made once: the same bytes from the folder as anew, whoever else writes, whatever became of a file."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from simcluster import tasks
from simcluster.engine.content import Library
from simcluster.eval.episode.start import Starts
from simcluster.eval.worlds import shelf
from simcluster.eval.worlds.healthy import PASTS, Healthy
from simcluster.world import World
from tests.kiosk import LIBRARY, TASK

KIOSK = tasks.load(TASK, LIBRARY)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place to keep things."""
    monkeypatch.setenv(shelf.VARIABLE, str(tmp_path / "worlds"))
    return tmp_path / "worlds"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*"))


def _future(world: World) -> tuple[str, list[str]]:
    """The digest of a world's next seconds, with a change in them, and what it answers."""
    kubectl, answers = world.kubectl(namespace=KIOSK.namespace), list[str]()
    for line in ("rollout restart deployment/kiosk", "get pods -o yaml", "get events", "logs deploy/kiosk --tail=20"):
        answers.append(kubectl.run(line).stdout)
        world.run_for(7_000_000_000)
    return world.sim.digest.hex(), answers


def _images(world: World) -> set[str]:
    """Digests of what is running: they are the registry's, for good."""
    pods = world.api.store.objects("pods", KIOSK.namespace)
    return {one["imageID"] for pod in pods for one in pod["status"]["containerStatuses"]}


def _served(world: World) -> list[int]:
    return [users.window(0, world.now).sent for users in world.traffic.users.values()]


def _nobody(*_: object) -> None:
    raise AssertionError("one was made")


def _pods(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.api.store.objects("pods", KIOSK.namespace))


@pytest.mark.parametrize("seed", [1, 1 + 3 * PASTS])
def test_a_world_from_the_folder_is_the_one_that_is_made(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _future(Healthy().of(KIOSK, seed, LIBRARY))
    before = [(path, path.stat().st_ino) for path in _files(folder)]
    assert before
    with monkeypatch.context() as patch:
        patch.setattr(Healthy, "_healthy", _nobody)
        assert _future(Healthy().of(KIOSK, seed, LIBRARY)) == made
    assert [(path, path.stat().st_ino) for path in _files(folder)] == before
    monkeypatch.setenv(shelf.VARIABLE, "0")
    assert _future(Healthy().of(KIOSK, seed, LIBRARY)) == made


def test_an_episode_from_the_folder_is_the_one_that_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [Starts(worlds=Healthy()).start(TASK, 1, library=LIBRARY)]
    with monkeypatch.context() as patch:
        patch.setattr(Starts, "_run", _nobody)
        episodes.append(Starts(worlds=Healthy()).start(TASK, 1, library=LIBRARY))
        files = _files(folder)
        with pytest.raises(AssertionError, match="one was made"):
            Starts(worlds=Healthy()).start(TASK, 1 + PASTS, library=LIBRARY)
    reports = []
    for episode in episodes:
        answers = [
            episode.kubectl(line).stdout
            for line in ("get pods -n kiosk -o yaml", "rollout undo deployment/kiosk -n kiosk")
        ]
        reports.append((answers, episode.finish().to_dict()))
    assert reports[0] == reports[1]
    Starts(worlds=Healthy()).start(TASK, 1 + PASTS, library=LIBRARY)
    assert _files(folder) == files  # of training's seeds none is kept


def test_seeds_of_one_past_share_it_and_nothing_after() -> None:
    worlds = Healthy()
    first, second = (worlds.of(KIOSK, seed, LIBRARY) for seed in (2, 2 + PASTS))
    again, other = (worlds.of(KIOSK, seed, LIBRARY) for seed in (2 + PASTS, 3))
    assert _pods(first) == _pods(second) != _pods(other)
    futures = [_future(world) for world in (first, second, again)]
    assert futures[1] == futures[2]
    assert futures[0][0] != futures[1][0]
    assert _pods(first) != _pods(second)
    assert _images(first) == _images(second) != _images(other)
    assert _served(first) != _served(second)


def test_a_damaged_file_is_made_anew(folder: Path) -> None:
    assert shelf.kept("key", None, lambda: ["made"]) == ["made"]
    (path,) = _files(folder)
    assert shelf.kept("key", None, lambda: ["anew"]) == ["made"]
    assert shelf.kept("another", None, lambda: ["anew"]) == ["anew"]
    for damage in (b"", path.read_bytes()[:-1], b"\0" * 100):
        path.write_bytes(damage)
        assert shelf.kept("key", None, lambda: ["anew"]) == ["anew"]
        assert shelf.kept("key", None, lambda: ["made"]) == ["anew"]


def test_what_others_may_write_to_is_not_read(folder: Path) -> None:
    shelf.kept("key", None, lambda: "theirs")
    (path,) = _files(folder)
    path.parent.chmod(0o777)
    assert shelf.kept("key", None, lambda: "ours") == "ours"
    path.parent.chmod(0o700)
    assert shelf.kept("key", None, lambda: "ours") == "theirs"


def test_content_that_was_edited_is_another_edition(folder: Path, tmp_path: Path) -> None:
    library = Library((tmp_path / "content",))
    file = tmp_path / "content" / "apps" / "mine" / "manifests.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("kind: Service")
    assert shelf.kept("key", library, lambda: 1) == 1
    assert shelf.kept("key", library, lambda: 2) == 1
    file.write_text("kind: Deployment")
    shelf._dated.cache_clear()  # of a process
    assert shelf.kept("key", library, lambda: 2) == 2
    assert shelf.kept("key", None, lambda: 3) == 3
    assert len(_files(folder)) == 3


def test_what_was_not_used_for_longest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "FILES_MAX", 2)
    for number, key in enumerate("ab"):
        shelf.kept(key, None, lambda: "old")
        for path in _files(folder):
            os.utime(path, (number, number))
    shelf.kept("a", None, lambda: "new")  # used now
    shelf.kept("c", None, lambda: "old")
    assert [shelf.kept(key, None, lambda: "new") for key in "ca"] == ["old", "old"]
    assert len(_files(folder)) == 2


def _write(number: int) -> int:
    return sum(len(shelf.kept(key, None, lambda: "x" * 100_000)) for key in [f"{number % 2}", "all"] * 20)


def test_many_processes_write_at_once(folder: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_write, range(8)) == [4_000_000] * 8
    assert len(_files(folder)) == 3  # and nothing half-written beside them


def test_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(shelf.VARIABLE, str(tmp_path / "file"))
    assert shelf.kept("key", None, lambda: 1) == 1
    assert shelf.kept("key", None, lambda: 2) == 2
