"""A rule is evaluated again when something that it reads may have changed, and finds the same as if it always were."""

from __future__ import annotations

import pytest

from simcluster.engine.clock import SECOND, unix_seconds
from simcluster.telemetry.metrics.columns import Columns, Group, counter, gauge, labels
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.telemetry.promql.evaluation import query
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.storage import Labels, Queryable
from simcluster.telemetry.rules.groups import Rules, RuleState, unix_ms
from simcluster.telemetry.rules.reach import Reach, reach_of

FORM = Columns((gauge("ready", ""), gauge("wanted", "")))
#: What changes at every scrape stands beside what changes once.
BUSY = Columns((counter("calls_total", ""), counter("errors_total", ""), gauge("healthy", "")))
FILE = """
groups:
- name: g
  interval: 30s
  rules:
  - {alert: Unready, expr: "ready < wanted", for: 30s, labels: {severity: critical}}
  - {alert: Unstable, expr: "changes(ready[1m]) > 0"}
  - {alert: Nobody, expr: "absent(ready{pod='b'})"}
  - {alert: Flapping, expr: "changes(ready[5m]) > 0 and max_over_time(ready[10m]) > 1"}
  - {alert: Broken, expr: "rate(errors_total[4m]) / (rate(calls_total[4m]) > 0) > 0.1"}
  - {alert: Sick, expr: "min_over_time(healthy[1m]) == 0"}
  - {alert: Failing, expr: "rate(errors_total[1m]) / rate(calls_total[1m]) > 0.1"}
  - {record: "sum:ready", expr: "sum(ready)"}
  - {record: "twice:ready", expr: "2 * sum:ready"}
"""


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("up == 0", Reach(("up",), 0)),
        ("rate(a[2m]) / on (x) max_over_time(b[5m]) > 1", Reach(("a", "b"), 120_000, 300_000)),
        ("rate(a[5m]) > 1 and avg_over_time(b[1m]) > 2", Reach(("a", "b"), 300_000)),
        ("absent(up{job='x'} == 1)", Reach(("up",), 0)),
        ("vector(1)", Reach((), 0)),
        ("time() - a > 5", None),
        ("count_over_time(a[5m])", None),
        ("a offset 5m", None),
        ("{job='x'}", None),
        ("max_over_time(rate(a[1m])[5m:])", None),
    ],
)
def test_what_an_expression_depends_on(text: str, reach: Reach | None) -> None:
    assert reach_of(parse(text)) == reach


def test_quiet_rules_find_what_they_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    store, always, seldom, asked = MetricStore(), Rules(), Rules(), list[str]()
    always.load({"f": FILE})
    seldom.load({"f": FILE})
    whole = Rules._asked

    def counted(rules: Rules, state: RuleState, at_ms: int, series: Queryable) -> list[tuple[Labels, float]]:
        if rules is seldom:
            asked.append(state.rule.name)
        return whole(rules, state, at_ms, series)

    monkeypatch.setattr(Rules, "_asked", counted)
    log, failed, rounds = store.log("job", (("job", "x"),)), 0, 0
    for second in range(0, 900, 15):
        at = unix_ms(second * SECOND)
        row = FORM.row((1.0 if 200 <= second < 420 else 2.0, 2.0))
        groups = {Group(FORM, labels(pod="a")): row}
        if second >= 600:
            groups[Group(FORM, labels(pod="b"))] = row
        failed += 40 if 240 < second <= 300 else 0
        groups[Group(BUSY)] = BUSY.row((100.0 * second, failed, second != 465))
        store.take(log, at, groups)
        if second % 30:
            continue
        full = always.evaluate(always.groups[0], second * SECOND, store)
        quick = seldom.evaluate(seldom.groups[0], second * SECOND, store, store.record, store)
        assert [sample for sample in full.samples if dict(sample.labels)["__name__"] != "twice:ready"] == [
            sample for sample in quick.samples if dict(sample.labels)["__name__"] != "twice:ready"
        ]
        assert full.notices == quick.notices
        rounds += 1
    assert rounds == 30
    counts = {name: asked.count(name) for name in ("Unready", "Sick", "Failing", "Flapping", "Broken")}
    assert all(0 < count < rounds - 8 for count in counts.values()), str(counts)
    states = [state.alerts.state() for state in seldom.groups[0].rules[:7]]
    assert states == [state.alerts.state() for state in always.groups[0].rules[:7]] == ["inactive"] * 7


def test_a_rule_sees_what_the_one_before_it_has_recorded() -> None:
    store, rules = MetricStore(), Rules()
    rules.load({"f": FILE})
    store.take(store.log("job", ()), unix_ms(0), {Group(FORM, labels(pod="a")): FORM.row((3.0, 3.0))})
    rules.evaluate(rules.groups[0], SECOND, store, store.record, store)
    (found,) = query(store, "twice:ready", unix_ms(SECOND)).series
    assert found.values[0] == 6.0


def test_the_newest_samples_are_those_that_select_gives() -> None:
    store = MetricStore()
    first, second = store.log("a", (("job", "a"),)), store.log("b", (("job", "b"),))
    for number in range(40):
        at = unix_seconds(0) * 1000 + number * 15_000
        groups = {Group(FORM, labels(pod=f"p{each}")): FORM.row((number, each)) for each in range(3)}
        if number > 20:
            groups.pop(Group(FORM, labels(pod="p1")))
        store.take(first, at, groups)
        if number < 25:
            store.take(second, at + 5_000, groups)
    plain = Plain(store)
    for number in (10, 21, 22, 24, 30, 39, 45, 70):
        for text in ("ready", "ready{pod='p1'}", "ready{job='b'}", "sum(wanted)", "{pod=~'p.'}"):
            at = unix_seconds(0) * 1000 + number * 15_000 + 6_000
            quick, full = query(store, text, at), query(plain, text, at)
            assert [(one.labels, one.values.tolist()) for one in quick.series] == [
                (one.labels, one.values.tolist()) for one in full.series
            ], (number, text)


class Plain:
    """The same store without its quick way."""

    def __init__(self, store: MetricStore) -> None:
        self.select = store.select
