"""What was drawn by known laws is found again, and what a recording cannot tell is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcluster.calibration.arrivals import fit_arrivals
from simcluster.calibration.counters import Line
from simcluster.calibration.record.layout import Header
from simcluster.calibration.record.segments import StreamWriter
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.resources import fit_resources, least_squares
from simcluster.calibration.services import fit_services
from simcluster.cli import main
from simcluster.world.profile import read_profile
from tests.calibration.known import judge, recovered, span


@pytest.mark.parametrize("seed", [1, 3])
def test_figures_of_a_known_world_are_recovered(seed: int, tmp_path: Path) -> None:
    judged = judge(seed, tmp_path / "recording")
    assert len(judged) >= 11
    missed = [one for one in judged if not recovered(one)[0]]
    assert len(missed) <= 1, missed


def test_bursts_stages_and_one_rate_are_kept_apart() -> None:
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


def test_traces_alone_are_fitted_and_what_compares_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out, tolerance = tmp_path / "rec", tmp_path / "p.yaml", tmp_path / "t.yaml"
    Store(folder, Header()).close()
    writer = StreamWriter(folder / "traces")
    for at in range(40):
        writer.write({"t": 0, "trace": f"{at:x}", "spans": [span("web", "page", "p", "", at * 0.5, 0.01 + at * 1e-5)]})
    writer.close()
    assert main(["calibrate", "fit", str(folder), "--out", str(out)]) == 0
    assert "no node was seen" in capsys.readouterr().err
    assert read_profile(out).services["services"]["web"]["operations"]["page"]["work"]
    empty = tmp_path / "empty"
    Store(empty, Header()).close()
    assert main(["calibrate", "fit", str(empty), "--out", str(out)]) == 2
    assert "neither nodes nor traces" in capsys.readouterr().err
    tolerance.write_text("[1")
    given = ["calibrate", "check", str(folder), "--profile", "kind-1.32", "--tolerance", str(tolerance)]
    assert main(given) == 2
    assert "t.yaml:1: broken YAML" in capsys.readouterr().err
