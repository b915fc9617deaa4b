"""Stores of samples, log lines and alerts: what they keep, for how long, and that forks do not meet."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import SECOND, fork
from simcluster.telemetry.alerts import Alert, AlertStore
from simcluster.telemetry.logs import MAX_BYTES, LazyLines, LogFile, LogLine, Reading
from simcluster.telemetry.series import Series


class Point(NamedTuple):
    t_ns: int
    value: int


def series_of(instants: list[int], keep_ns: int = 1_000_000) -> Series[Point]:
    series: Series[Point] = Series(block=4, keep_blocks=1000, keep_ns=keep_ns)
    for number, instant in enumerate(sorted(instants)):
        series.append(Point(instant, number))
    return series


@given(st.lists(st.integers(0, 50)), st.integers(-5, 60), st.integers(-5, 60))
def test_a_span_holds_its_end_and_not_its_beginning(instants: list[int], low: int, high: int) -> None:
    found = [point.t_ns for point in series_of(instants).samples(low, high)]
    assert found == [instant for instant in sorted(instants) if low < instant <= high]


def test_old_samples_go_block_by_block_and_young_ones_stay() -> None:
    series = series_of(list(range(100)), keep_ns=20)
    kept = [point.t_ns for point in series.samples(-1, 1000)]
    assert kept[-21:] == list(range(79, 100))
    assert 21 <= len(series) == len(kept) <= 21 + 2 * 4


def test_a_fork_of_a_series_goes_its_own_way() -> None:
    ours = series_of([1, 2, 3])
    theirs = fork(ours)
    theirs.append(Point(4, 9))
    assert (len(ours), len(theirs)) == (3, 4)
    assert [point.value for point in theirs.samples(0, 9)] == [0, 1, 2, 9]


def test_an_alert_keeps_the_instant_at_which_it_began() -> None:
    store = AlertStore()
    store.evaluated([Alert(5 * SECOND, "Late", "a", "1 s"), Alert(5 * SECOND, "Late", "b", "2 s")])
    store.evaluated([Alert(10 * SECOND, "Late", "a", "3 s"), Alert(10 * SECOND, "Lost", "a", "gone")])
    assert [alert.since_ns // SECOND for alert in sorted(store.firing.values())] == [5, 10]
    first, second = store.text().splitlines()
    assert first.startswith("[FIRING] Late a since ")
    assert first.endswith("Z: 3 s")
    assert "Lost a" in second
    store.evaluated([])
    assert store.text() == ""
    store.evaluated([Alert(20 * SECOND, "Late", "a", "again")])
    assert store.firing["Late", "a"].since_ns == 20 * SECOND


def test_a_log_is_read_from_its_end_and_since_an_instant() -> None:
    log = LogFile()
    for second in range(6):
        log.write(second * SECOND, f"line {second}\nmore {second}", "stderr" if second % 2 else "stdout")
    assert [line.text for line in log.read(tail=3)] == ["more 4", "line 5", "more 5"]
    assert [line.text for line in log.read(since_ns=4 * SECOND)] == ["line 4", "more 4", "line 5", "more 5"]
    assert log.read(tail=0) == []
    copy = log.copy()
    copy.write(9 * SECOND, "other")
    assert log.read(tail=1)[0].text == "more 5"


def test_the_kubelet_rotates_a_log_of_more_than_ten_mebibytes_when_it_looks() -> None:
    log = LogFile()
    for second in range(25):
        log.write(second * SECOND, f"{second} " + "x" * (MAX_BYTES // 8))
    # full after eight seconds, seen at ten; full again after eighteen, seen at twenty
    assert [line.text.partition(" ")[0] for line in log.read()] == ["20", "21", "22", "23", "24"]
    copy = log.copy()
    assert copy.read() == log.read()
    log.write(100 * SECOND, "later")
    assert len(log.read()) == 6


class Pair(LazyLines):
    """Two lines of the second before an instant."""

    def __init__(self, t_ns: int) -> None:
        self.t_ns = t_ns

    @property
    def size_bytes(self) -> int:
        return 2

    @property
    def count(self) -> int:
        return 2

    @property
    def span(self) -> tuple[int, int]:
        return self.t_ns - SECOND, self.t_ns

    @property
    def streams(self) -> tuple[str, ...]:
        return ("stdout",)

    def lines(self, last: int | None = None, needle: str = "", reading: Reading | None = None) -> list[LogLine]:
        return [LogLine(self.t_ns - SECOND // 2, "stdout", "early"), LogLine(self.t_ns, "stdout", "late")]


def test_stamps_do_not_run_backwards_where_a_line_was_written_within_a_tick() -> None:
    log = LogFile()
    log.write(7 * SECOND // 10, "within")
    log.write_lazily(SECOND, Pair(SECOND))
    assert [(line.t_ns * 10 // SECOND, line.text) for line in log.read()] == [(7, "within"), (7, "early"), (10, "late")]
    assert log.read(tail=2) == log.read()[1:]
