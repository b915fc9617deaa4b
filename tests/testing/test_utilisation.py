"""A cluster's users beside queueing theory, as its command says it."""

from __future__ import annotations

import json

from click.testing import CliRunner

from simcluster.testing.utilisation import main


def test_a_station_half_used_is_as_theory_says() -> None:
    said = CliRunner().invoke(main, ["--pods=1", "--workers=4", "--utilisation=0.5", "--minutes=10", "--json"])
    assert said.exit_code == 0
    found = json.loads(said.output)
    assert (found["pods"], found["workers"], found["utilisation"], found["runs"]) == (1, 4, 0.5, 1)
    assert all(abs(middle) < 0.05 for middle, _ in found["errors"].values())
