"""What was drawn by known laws is found again, and what a recording cannot tell is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcluster.calibration.arrivals import fit_arrivals
from simcluster.calibration.counters import Line
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.resources import fit_resources, least_squares
from simcluster.calibration.services import fit_services
from tests.calibration.known import judge, recovered, span


@pytest.mark.parametrize("seed", [1, 3])
def test_figures_of_a_known_world_are_recovered(seed: int, tmp_path: Path) -> None:
    judged = judge(seed, tmp_path / "recording")
    assert len(judged) >= 11
    missed = [one for one in judged if not recovered(one)[0]]
    assert len(missed) <= 1, missed


def test_bursts_are_told_from_steps_and_steps_from_one_rate() -> None:
    random = np.random.default_rng(2)
    even = fit_arrivals(random.uniform(0, 600, 3000))
    assert "open" in even.load
    assert even.said["interval"][0] < 5.0 < even.said["interval"][1]
    assert "session.id" in even.warnings[-1]
    steps = fit_arrivals(np.concatenate([random.uniform(0, 300, 900), random.uniform(300, 600, 2700)]))
    assert [round(one["rate"]) for one in steps.load["open"]["stages"]] == [3, 9]
    parts = [random.uniform(at * 10, at * 10 + 10, random.poisson(200 if at % 4 == 0 else 25)) for at in range(60)]
    bursts = fit_arrivals(np.concatenate(parts))
    assert 6 < bursts.load["open"]["burst"]["factor"] < 11
    with pytest.raises(ValueError, match="1 arrivals say nothing"):
        fit_arrivals([3.0])


def test_think_time_allows_for_who_has_not_asked_again() -> None:
    sessions = {f"u{each}": [(float(each), each + 0.5), (each + 8.5, each + 9.0)] for each in range(10)}
    found = fit_arrivals([begin for asked in sessions.values() for begin, _ in asked], sessions)
    assert found.load["closed"]["users"] == 10
    assert found.said["think"]["mean"] > 8.0  # the last of each is still thinking
    assert found.said["think"]["censored"] == 10


def test_what_series_do_not_tell_is_said(tmp_path: Path) -> None:
    even = [[span("web", "page", "p", "", at * 0.5, 0.01)] for at in range(1200)]
    services = fit_services(even)
    alone = fit_resources([tmp_path], services)
    assert alone.services["web"].warnings == [
        "CPU is not known: no series of it was recorded",
        "memory is not known: no series of it was recorded",
    ]
    text = labels_text({"pod": "web-7d4b9c6f5-abcde", "container": "web"})
    used = [(at, 2.0 * (at if at < 20 else at - 20)) for at in range(41)]
    write_series(
        tmp_path, [Sample("container_cpu_usage_seconds_total", text, at * 15_000, used_s) for at, used_s in used]
    )
    costs = fit_resources([tmp_path], services).services["web"]
    assert costs.cpu["*"].low == 0.0
    assert any("began anew 1 times" in words for words in costs.warnings)
    assert any("nearly one rate" in words for words in costs.warnings)


def test_a_counter_grows_on_after_a_reset() -> None:
    line = Line({}, np.arange(5.0), np.array([10.0, 14.0, 1.0, 3.0, 4.0])).whole()
    assert line.values.tolist() == [0.0, 4.0, 5.0, 7.0, 8.0]
    assert line.resets == 1


def test_coefficients_are_never_negative() -> None:
    random = np.random.default_rng(1)
    columns = np.column_stack([np.ones(50), random.normal(10, 2, 50)])
    idle, cost = least_squares(columns, 3.0 - 0.1 * columns[:, 1] + random.normal(0, 0.01, 50))
    assert idle.low < 3.0 < idle.high
    assert (cost.value, cost.low) == (0.0, 0.0)
