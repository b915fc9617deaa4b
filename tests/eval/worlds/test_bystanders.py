"""What others do during an incident hurts nobody."""

from __future__ import annotations

from pathlib import Path

from simcluster import tasks
from simcluster.eval.generator.srezero import Incidents
from simcluster.eval.worlds.bystanders import ROLLED, accompanied
from simcluster.eval.worlds.healthy import HEALTHY
from simcluster.tasks.model import resolve


def test_nobody_rolls_out_in_passing_what_stops_before_its_successor_runs(tmp_path: Path) -> None:
    paths = Incidents(25).written(tmp_path)
    task = tasks.load(next(path for path in paths if "database-disk-full" in path))
    world = HEALTHY.of(task, 0)
    task = resolve(task, world)
    found = [step for seed in range(30) for step in accompanied(task, world, seed).incident if step.fault == ROLLED]
    assert {aim.name for step in found for aim in step.aims} == {"load-balancer"}  # neither a cache nor a database
