"""The store of series against a list of everything that was scraped, and what it costs."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import fork
from simcluster.telemetry.metrics.columns import Columns, Group, Row, gauge, histogram, labels
from simcluster.telemetry.metrics.relabel import Rule
from simcluster.telemetry.metrics.store import BLOCK, MetricStore
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Matcher

POD = Columns((gauge("cpu", "CPU.", labels(mode="user"), labels(mode="system")), gauge("memory", "Bytes.")))
TIMES = Columns((histogram("took", "Seconds.", ("0.5", "1")),))
GROUPS = [Group(POD, labels(pod=name)) for name in "ab"] + [Group(TIMES, labels(path="/")), Group(POD)]
POD_LABELS = labels(job="pods", pod="exporter")
STALE = "stale"
Scrape = Mapping[int, Sequence[int]]


def rows(scrape: Scrape) -> dict[Group, Row]:
    found = {}
    for index, numbers in scrape.items():
        group = GROUPS[index]
        found[group] = group.columns.row([numbers[place % len(numbers)] for place in range(len(group.columns))])
    return found


def stored(scrapes: Sequence[Scrape]) -> MetricStore:
    store = MetricStore()
    for number, scrape in enumerate(scrapes):
        store.take(store.log("one", POD_LABELS), 1000 * number, rows(scrape))
    return store


def reference(scrapes: Sequence[Scrape], low: int, high: int) -> dict[tuple[Any, ...], list[tuple[int, Any]]]:
    """The same as a dictionary of lists, sample by sample."""
    found: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
    before: list[tuple[Any, ...]] = []
    for number, scrape in enumerate(scrapes):
        here = {}
        for group, row in rows(scrape).items():
            for (name, own), value in zip(group.columns.series, np.frombuffer(row), strict=True):
                scraped = {("exported_pod" if key == "pod" else key): text for key, text in (*group.labels, *own)}
                series = {"__name__": name, "job": "pods", "pod": "exporter", **scraped}
                here[tuple(sorted(series.items()))] = float(value)
        for series_labels in before:
            here.setdefault(series_labels, STALE)
        before = [key for key, value in here.items() if value is not STALE]
        if low <= 1000 * number <= high:
            for key, value in here.items():
                found.setdefault(key, []).append((1000 * number, value))
    return found


def shown(store: MetricStore, matchers: Sequence[Matcher], low: int, high: int) -> dict[Any, list[tuple[int, Any]]]:
    found = {}
    for labels_, times, values in store.select(matchers, low, high):
        ended = (values.view(np.uint64) == STALE_NAN_BITS).tolist()
        numbers = [STALE if end else value for end, value in zip(ended, values.tolist(), strict=True)]
        found[labels_] = list(zip(times.tolist(), numbers, strict=True))
    return found


SCRAPES = st.lists(
    st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 2), min_size=1, max_size=3)), max_size=3 * BLOCK
)


@given(SCRAPES, st.integers(-1, 100), st.integers(-1, 100))
def test_what_was_scraped_is_found_sample_by_sample(scrapes: list[Scrape], low: int, high: int) -> None:
    store = stored(scrapes)
    assert shown(store, (), 1000 * low, 1000 * high) == reference(scrapes, 1000 * low, 1000 * high)


MATCHERS = [
    Matcher("__name__", "=", "cpu"),
    Matcher("__name__", "=~", "took_.*"),
    Matcher("mode", "=", "user"),
    Matcher("mode", "!=", "user"),
    Matcher("exported_pod", "=", "a"),
    Matcher("exported_pod", "=", ""),
    Matcher("pod", "=~", "exp.rter"),
    Matcher("le", "!~", "1|"),
    Matcher("job", "!=", "pods"),
]


def meets(series: tuple[tuple[str, str], ...], matcher: Matcher) -> bool:
    value = dict(series).get(matcher.name, "")
    same = value == matcher.value if "~" not in matcher.op else re.fullmatch(matcher.value, value) is not None
    return same == matcher.op.startswith("=")


@given(SCRAPES, st.lists(st.sampled_from(MATCHERS), max_size=3))
def test_matchers_choose_among_labels(scrapes: list[Scrape], matchers: list[Matcher]) -> None:
    expected = {
        key: samples
        for key, samples in reference(scrapes, 0, 10**9).items()
        if all(meets(key, matcher) for matcher in matchers)
    }
    assert shown(stored(scrapes), matchers, 0, 10**9) == expected


@pytest.mark.parametrize("copied", [fork, lambda store: pickle.loads(pickle.dumps(store))])
def test_a_copy_goes_its_own_way(copied: Any) -> None:
    scrapes = [{0: [1, number], 1: [2]} for number in range(2 * BLOCK + 5)]
    store = stored(scrapes)
    other = copied(store)
    log = other.log("one", POD_LABELS)
    assert len(other.logs) == 1
    other.take(log, 10**6, rows({0: [1, 2]}))
    assert shown(store, (), 0, 10**9) == reference(scrapes, 0, 10**9)
    assert len(shown(other, (), 10**6, 10**6)) == 6  # three numbers, and three that have ended


def test_a_fork_shares_what_is_sealed() -> None:
    store = stored([{0: [number]} for number in range(3 * BLOCK)])
    before, after = store.log("one", POD_LABELS), fork(store).log("one", POD_LABELS)
    assert len(before.blocks) == 3
    assert all(one is other for one, other in zip(before.blocks, after.blocks, strict=True))


def test_what_stands_still_takes_no_room() -> None:
    still = stored([{0: [1, 2]} for _ in range(10 * BLOCK)])
    moving = stored([{0: [number]} for number in range(10 * BLOCK)])
    assert 4 * still.size_bytes < moving.size_bytes


def test_old_blocks_are_dropped_and_targets_with_them() -> None:
    store = MetricStore(retention_ms=10_000)
    for number in range(100):
        store.take(store.log("old" if number < 40 else "new", ()), 1000 * number, rows({0: [number]}))
        store.forget(1000 * number)
    assert list(store.logs) == [("new", ())]
    assert len(store.logs["new", ()].blocks) == 0
    assert len(shown(store, (Matcher("__name__", "=", "memory"),), 89_000, 99_000)[
        (("__name__", "memory"), ("pod", "a"))
    ]) <= 11  # fmt: skip


def test_an_end_at_the_instant_of_a_sample_is_none() -> None:
    """A group gives way to another one with the same labels: the series goes on."""
    same = Group(Columns((gauge("memory", "Bytes."), gauge("more", "Bytes."))), labels(pod="a"))
    store = MetricStore()
    store.take(store.log("one", ()), 0, rows({0: [1]}))
    store.take(store.log("one", ()), 1000, {same: same.columns.row([2.0, 3.0])})
    found = shown(store, (Matcher("__name__", "=", "memory"),), 0, 5000)
    assert found == {(("__name__", "memory"), ("pod", "a")): [(0, 1.0), (1000, 2.0)]}


def test_rules_record_series_that_end_when_they_are_no_longer_found() -> None:
    store = MetricStore()
    ready = (("__name__", "job:up:sum"), ("job", "x"))
    store.record("rules", 0, {ready: 3.0})
    store.record("rules", 1000, {})
    assert shown(store, (Matcher("job", "=", "x"),), 0, 5000) == {ready: [(0, 3.0), (1000, STALE)]}


@pytest.mark.parametrize("bomb", ["([0-9a-f]+)+x", "(a|a)*b", "(.*)*(.*)*(.*)*z", "(?:[0-9a-f]?){64}[0-9a-f]{64}y"])
def test_expressions_that_explode_elsewhere_take_no_time(bomb: str) -> None:
    store = MetricStore()
    log = store.log("one", POD_LABELS)
    store.take(log, 0, {Group(POD, labels(id=f"{number:064x}")): POD.row((1, 2, 3)) for number in range(500)})
    began = time.process_time()
    assert store.select([Matcher("id", "=~", bomb)], 0, 10) == []
    assert time.process_time() - began < 10.0


def test_a_rule_for_labels_needs_an_expression() -> None:
    with pytest.raises(ValueError, match="missing closing"):
        Rule.read({"regex": "(a"})
