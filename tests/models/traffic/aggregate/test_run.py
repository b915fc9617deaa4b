"""The counting engine against theory, against itself, and in a storm that does not end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import simcluster.models.traffic.graph

EXAMPLES = Path(simcluster.models.traffic.graph.__file__).parent / "examples"


def traffic(name: str, *options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "simcluster", "traffic", str(EXAMPLES / f"{name}.yaml"), "--engine", "aggregate"]
    found = subprocess.run([*command, "--json", *options], capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(found.stdout)
    return result


@pytest.mark.parametrize("seed", ["1"])
def test_the_same_seed_gives_the_same_numbers(seed: str) -> None:
    assert traffic("queue_too_long", "--seed", seed) == traffic("queue_too_long", "--seed", seed)
