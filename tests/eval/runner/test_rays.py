"""An evaluation on a Ray cluster of two workers on this machine, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simcluster.eval.runner import RunDirectory, evaluate
from tests import kiosk


@pytest.fixture
def cluster() -> Any:
    ray = pytest.importorskip("ray")  # it takes a second to import
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def verdicts(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["task"], one["agent"], one["seed"], one["passed"], one["outcome"], one["digest"]) for one in records]


def killed_when(folder: Path, results: int) -> threading.Thread:
    """Kills a worker once there are so many results."""

    def kill() -> None:
        file = folder / "results.jsonl"
        while not file.exists() or len(file.read_text().splitlines()) < results:
            time.sleep(0.1)
        os.kill(victims()[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def victims() -> list[int]:
    """Process ids of the actors."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            name = path.read_bytes().split(b"\0")[0].decode(errors="replace")
        except OSError:
            continue
        if name.startswith("ray::Place"):
            found.append(int(path.parent.name))
    return found


@pytest.mark.filterwarnings("default")
def test_a_lost_worker_costs_no_result_and_none_counts_twice(cluster: None, tmp_path: Path) -> None:
    rays = pytest.importorskip("simcluster.eval.runner.rays")
    plan = kiosk.plan("noop", "restarter")
    with RunDirectory(tmp_path / "ray", plan) as directory:
        thread = killed_when(tmp_path / "ray", 1)
        there = rays.evaluate_on_ray(plan, directory, 2)
        thread.join()
    lines = [json.loads(line) for line in (tmp_path / "ray" / "results.jsonl").read_text().splitlines()]
    counted = Counter((one["task"], one["agent"], one["seed"]) for one in lines)
    assert counted == Counter({tuple(run): 1 for run in plan.runs()})
    with RunDirectory(tmp_path / "local", plan) as directory:
        here = evaluate(plan, directory, jobs=1)
    assert verdicts(there) == verdicts(here)
    names = [sorted(path.name for path in (tmp_path / each / "runs").iterdir()) for each in ("ray", "local")]
    assert names[0] == names[1]
