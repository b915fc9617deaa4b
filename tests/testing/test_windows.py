"""Windows of recorded metrics: what is read of them, what is refused, what counts as the same direction."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from simcluster.calibration.cloudopsbench.case import Case, CaseError
from simcluster.testing.healthy.measure import recorded
from simcluster.testing.windows.measure import COLUMNS, Compared, window_of

BEGIN = datetime(2025, 12, 25, 23, 36)
ALERTS = {"alerts": [{"time_range": "2025-12-25 23:37:00 ~ 2025-12-25 23:37:55"}]}


def case(folder: Path, alerts: object, columns: dict[str, str] = COLUMNS) -> Case:
    """Two minutes: 10 of everything before 23:36:40, then 30."""
    names = [f"{service}-{column}" for service in recorded() for column in columns.values()]
    with (folder / "metrics.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *names])
        for row in range(24):
            value = "10" if row < 8 else "30"
            writer.writerow([str(BEGIN + timedelta(seconds=5 * row)), *[value] * len(names)])
    return Case(folder, "boutique", {"GetAlerts:{}": alerts, "collection_timestamp": "2025-12-25T23:39:00"})


def test_rows_before_the_fault_and_those_of_the_alert(tmp_path: Path) -> None:
    found = window_of(case(tmp_path, ALERTS))
    assert found.before["frontend", "rps"] == 10
    assert found.during["frontend", "cpu"] == 30
    assert (found.before_s, found.during_s) == (40, 60)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no column 'adservice-p50latency'"):
        window_of(case(tmp_path, ALERTS, {"rps": "rps"}))
    with pytest.raises(CaseError, match=r"no metrics\.csv with an alerted window"):
        window_of(case(tmp_path, {}))


def test_a_factor_is_judged_by_direction_and_order() -> None:
    factors = {"up": (20.0, 90.0), "much_further": (20.0, 300.0), "down": (0.3, 0.95)}
    assert list(Compared("", "", "", faulty={"p50": factors}).right()) == [(True, True), (True, False), (False, True)]
