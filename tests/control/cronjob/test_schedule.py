from __future__ import annotations

import pytest

from simcluster.control.cronjob.schedule import ScheduleError, parse
from simcluster.engine import format_rfc3339, parse_rfc3339


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        ("* * * * *", "", "2026-03-02T09:00:00Z", ["2026-03-02T09:01:00Z", "2026-03-02T09:02:00Z"]),
        ("*/30 * * * *", "", "2026-03-02T09:00:01Z", ["2026-03-02T09:30:00Z", "2026-03-02T10:00:00Z"]),
        ("5/20 * * * *", "", "2026-03-02T09:00:00Z", ["2026-03-02T09:05:00Z", "2026-03-02T09:25:00Z"]),
        ("0 3 * * *", "", "2026-03-02T09:00:00Z", ["2026-03-03T03:00:00Z", "2026-03-04T03:00:00Z"]),
        ("0 0 29 2 *", "", "2026-03-02T09:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("15 12 * * fri,SUN", "", "2026-03-02T09:00:00Z", ["2026-03-06T12:15:00Z", "2026-03-08T12:15:00Z"]),
        ("0 0 13 * 5", "", "2026-03-02T09:00:00Z", ["2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z"]),
        ("0 0 1,15 Jan-Feb ?", "", "2026-03-02T09:00:00Z", ["2027-01-01T00:00:00Z", "2027-01-15T00:00:00Z"]),
        ("@weekly", "", "2026-03-02T09:00:00Z", ["2026-03-08T00:00:00Z", "2026-03-15T00:00:00Z"]),
        ("@hourly", "", "2026-12-31T23:30:00Z", ["2027-01-01T00:00:00Z", "2027-01-01T01:00:00Z"]),
        ("@every 90s", "", "2026-03-02T09:00:00Z", ["2026-03-02T09:01:30Z", "2026-03-02T09:03:00Z"]),
        ("0 3 * * *", "Etc/GMT+5", "2026-03-02T09:00:00Z", ["2026-03-03T08:00:00Z"]),
        ("TZ=Etc/GMT-2 0 0 * * 1", "", "2026-03-02T09:00:00Z", ["2026-03-08T22:00:00Z"]),
    ],
)
def test_times(schedule: str, zone: str, after: str, expected: list[str]) -> None:
    found = parse(schedule, zone)
    now: int | None = parse_rfc3339(after)
    for text in expected:
        assert now is not None
        now = found.next_ns(now)
        assert now is not None
        assert format_rfc3339(now) == text


def test_a_day_that_never_comes() -> None:
    assert parse("0 0 31 2 *").next_ns(0) is None


@pytest.mark.parametrize(
    ("schedule", "zone", "message"),
    [
        ("* * * *", "", "expected exactly 5 fields, found 4"),
        ("60 * * * *", "", r"end of range \(60\) above maximum \(59\): 60"),
        ("* * 0 * *", "", r"beginning of range \(0\) below minimum \(1\): 0"),
        ("5-2 * * * *", "", r"beginning of range \(5\) beyond end of range \(2\): 5-2"),
        ("*/0 * * * *", "", "step of range should be a positive number"),
        ("a * * * *", "", "failed to parse int from a"),
        ("@never", "", "unrecognized descriptor: @never"),
        ("* * * * *", "Europe/Nowhere", "unknown time zone Europe/Nowhere"),
    ],
)
def test_refusals(schedule: str, zone: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        parse(schedule, zone)
