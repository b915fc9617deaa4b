"""Texts of times and durations, as Go and Kubernetes print and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import MINUTE, SECOND, format_age, format_rfc3339, parse_duration, parse_rfc3339
from simcluster.engine.clock import DAY, HOUR, format_rfc1123, unix_seconds, weekday

EPOCH = datetime(2026, 3, 2, 9, tzinfo=UTC)


@given(st.integers(-50 * 365 * DAY, 200 * 365 * DAY))
def test_formats_agree_with_the_calendar(t_ns: int) -> None:
    instant = EPOCH + timedelta(seconds=t_ns // SECOND)
    assert format_rfc3339(t_ns) == instant.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert format_rfc1123(t_ns) == instant.strftime("%a, %d %b %Y %H:%M:%S +0000")
    assert unix_seconds(t_ns) == int(instant.timestamp())
    assert weekday(t_ns) == instant.strftime("%a")


@given(st.integers(-50 * 365 * DAY, 200 * 365 * DAY))
def test_what_is_printed_is_read(t_ns: int) -> None:
    assert parse_rfc3339(format_rfc3339(t_ns, digits=9)) == t_ns


def test_zones_are_read() -> None:
    assert parse_rfc3339("2026-03-02T10:30:00+01:30") == parse_rfc3339("2026-03-02T04:00:00-05:00") == 0


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-02", "2026-13-02T09:00:00Z", "2026-03-02T09:00:00"])
def test_bad_instants(text: str) -> None:
    with pytest.raises(ValueError, match="parsing time"):
        parse_rfc3339(text)


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("0", 0),
        ("1m30s", 90 * SECOND),
        ("1h", HOUR),
        (".5s", SECOND // 2),
        ("1.25ms", 1_250_000),
        ("-5s", -5 * SECOND),
        ("+2us", 2000),
        ("3µs", 3000),
        ("7ns", 7),
        ("1h2m3s4ms", HOUR + 2 * MINUTE + 3 * SECOND + 4_000_000),
    ],
)
def test_durations(text: str, expected_ns: int) -> None:
    assert parse_duration(text) == expected_ns


@pytest.mark.parametrize("text", ["", "5", "s", "1 s", "1d", "1.2.3s", "--1s", "one"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match=f'time: invalid duration "{text}"'):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (130, "2m10s"), (599, "9m59s"), (600, "10m"), (3 * 3600, "3h"),
     (3 * 3600 + 120, "3h2m"), (47 * 3600, "47h"), (49 * 3600, "2d1h"), (10 * 86400, "10d"), (3 * 365 * 86400, "3y")],
)  # fmt: skip
def test_ages(seconds: int, expected: str) -> None:
    assert format_age(seconds * SECOND) == expected


def test_ages_of_the_future() -> None:
    assert (format_age(-SECOND), format_age(-5 * SECOND)) == ("0s", "<invalid>")
