"""Rules: files and their mistakes, pending and firing, templates, what is stored and sent, and the API's forms."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from simcluster.engine.clock import MINUTE, SECOND, unix_seconds
from simcluster.telemetry.promql.http import Status, handle
from simcluster.telemetry.promql.selection import is_stale
from simcluster.telemetry.rules import answers, files
from simcluster.telemetry.rules.groups import Rules
from tests.telemetry.promql.memory import Memory

FILE = """
groups:
- name: hotel
  interval: 15s
  rules:
  - record: job:up:sum
    expr: sum(up) by(job)
    labels: {kind: sum}
  - alert: TargetDown
    expr: up == 0
    for: 30s
    keep_firing_for: 20s
    labels: {severity: critical, where: "{{ $labels.instance }}"}
    annotations:
      summary: '{{ $labels.instance }} down for {{ with query "count(up)" }}{{ . | first | value }}{{ end }}'
      description: 'job {{ $labels.job }} value {{ $value }}'
"""
#: Seconds of the evaluations, and whether the target is up then.
STORY = [(0, 1.0), (15, 0.0), (30, 0.0), (45, 0.0), (60, 1.0), (75, 1.0), (90, 1.0)]


def played() -> tuple[Rules, list[tuple[str, int, list[str]]]]:
    store, rules = Memory(), Rules(url="http://prometheus:9090")
    rules.load({"hotel.yml": FILE})
    heard = []
    for seconds, up in STORY:
        now = seconds * SECOND
        at = unix_seconds(now) * 1000
        store.add({"__name__": "up", "job": "api", "instance": "a:80"}, {at: up})
        rules = pickle.loads(pickle.dumps(rules))
        group = rules.groups[0]
        done = rules.evaluate(group, now, store)
        for sample in done.samples:
            store.add(dict(sample.labels), {sample.ms: sample.value})
        kinds = ["resolved" if notice.ends_ns == now else "firing" for notice in done.notices]
        heard.append((group.rules[1].alerts.state(), len(done.samples), kinds))
    return rules, heard


def test_an_alert_waits_fires_stays_and_ends() -> None:
    _, heard = played()
    assert [state for state, _, _ in heard] == [
        "inactive", "pending", "pending", "firing", "firing", "firing", "inactive",
    ]  # fmt: skip
    assert [kinds for _, _, kinds in heard] == [[], [], [], ["firing"], [], [], ["resolved"]]


def test_series_of_alerts_end_when_their_state_does() -> None:
    store, rules = Memory(), Rules()
    rules.load({"hotel.yml": FILE})
    for seconds, up in STORY[:4]:
        at = unix_seconds(seconds * SECOND) * 1000
        store.add({"__name__": "up", "job": "api", "instance": "a:80"}, {at: up})
        done = rules.evaluate(rules.groups[0], seconds * SECOND, store)
    ended = [dict(each.labels) for each in done.samples if is_stale(np.array([each.value]))[0]]
    assert [(each["__name__"], each["alertstate"]) for each in ended] == [("ALERTS", "pending")]
    made = {dict(each.labels)["__name__"]: each.value for each in done.samples if each.value == each.value}
    assert made["job:up:sum"] == 0.0
    assert made["ALERTS"] == 1.0
    assert made["ALERTS_FOR_STATE"] == float(unix_seconds(15 * SECOND))


def test_rules_and_alerts_are_shown_as_recorded() -> None:
    store, rules = Memory(), Rules()
    rules.load({"hotel.yml": FILE})
    for seconds, up in STORY[:4]:
        at = unix_seconds(seconds * SECOND) * 1000
        store.add({"__name__": "up", "job": "api", "instance": "a:80"}, {at: up})
        rules.evaluate(rules.groups[0], seconds * SECOND, store)

    def shown(kind: str, names: object, with_alerts: bool) -> object:
        return answers.groups(rules, kind, names, with_alerts)  # type: ignore[arg-type]

    status = Status(rules=shown)
    body = json.loads(handle(("GET", "/api/v1/rules", "", b""), store, 0, status).body)
    group = body["data"]["groups"][0]
    assert list(group) == ["name", "file", "rules", "interval", "limit", "evaluationTime", "lastEvaluation"]
    recording, alerting = group["rules"]
    assert list(recording) == [
        "name", "query", "labels", "health", "evaluationTime", "lastEvaluation", "type",
    ]  # fmt: skip
    assert recording["query"] == "sum by (job) (up)"
    assert list(alerting) == [
        "state", "name", "query", "duration", "keepFiringFor", "labels", "annotations", "alerts", "health",
        "evaluationTime", "lastEvaluation", "type",
    ]  # fmt: skip
    assert alerting["alerts"] == [
        {
            "labels": {
                "alertname": "TargetDown", "instance": "a:80", "job": "api", "severity": "critical", "where": "a:80",
            },
            "annotations": {"summary": "a:80 down for 1", "description": "job api value 0"},
            "state": "firing",
            "activeAt": "2026-03-02T09:00:15Z",
            "value": "0e+00",
        }
    ]  # fmt: skip
    only = json.loads(handle(("GET", "/api/v1/rules", "type=record", b""), store, 0, status).body)
    assert [each["type"] for each in only["data"]["groups"][0]["rules"]] == ["recording"]


def test_a_rule_that_fails_says_so_and_the_others_go_on() -> None:
    rules = Rules()
    rules.load({"a": "groups: [{name: g, rules: [{record: a, expr: x + on() y}, {record: b, expr: vector(1)}]}]"})
    store = Memory()
    for name, pod in (("x", "a"), ("y", "a"), ("y", "b")):
        store.add({"__name__": name, "pod": pod}, {unix_seconds(0) * 1000: 1.0})
    done = rules.evaluate(rules.groups[0], 0, store)
    assert [dict(each.labels)["__name__"] for each in done.samples] == ["b"]
    first, second = rules.groups[0].rules
    assert (first.health, second.health) == ("err", "ok")
    assert first.error.startswith("found duplicate series for the match group {}")


def test_a_reload_keeps_what_is_the_same() -> None:
    rules, _ = played()
    rules.load({"hotel.yml": FILE.replace("interval: 15s", "interval: 30s")})
    assert rules.groups[0].interval_ns == 30 * SECOND
    assert rules.groups[0].rules[1].alerts.active
    with pytest.raises(files.RuleFileError):
        rules.load({"hotel.yml": "groups: [{name: x, rules: [{alert: A, expr: 'sum('}]}]"})
    assert rules.groups[0].group.name == "hotel"


def test_groups_have_their_place_in_the_interval() -> None:
    rules = Rules(interval_ns=MINUTE)
    rules.load({"a": "groups: [{name: g}, {name: h}]"})
    first, second = (group.next_ns(0) for group in rules.groups)
    assert first != second
    for group in rules.groups:
        due = group.next_ns(0)
        assert 0 < due <= MINUTE
        assert group.next_ns(due) == due + MINUTE


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "groups:\n- name: x\n  rules:\n  - alert: A\n    expr: sum(up\n",
            'f.yml: 5:11: group "x", rule 1, "A": could not parse expression:'
            " 1:7: parse error: unclosed left parenthesis",
        ),
        (
            "groups:\n- name: x\n  rules:\n  - record: a-b\n    expr: up\n    for: 5m\n",
            'f.yml: 4:13: group "x", rule 1, "a-b": invalid field \'for\' in recording rule\n'
            'f.yml: 4:13: group "x", rule 1, "a-b": invalid recording rule name: a-b',
        ),
        (
            "groups:\n- name: x\n  rules:\n  - expr: up\n",
            "f.yml: 0:0: group \"x\", rule 1, \"\": one of 'record' or 'alert' must be set",
        ),
        ("groups:\n- name: x\n- name: x\n", 'f.yml: 3:3: groupname: "x" is repeated in the same file'),
        ("groups:\n- name: x\n  interval: 5x\n", 'f.yml: not a valid duration string: "5x"'),
        (
            "groups:\n- name: x\n  foo: 1\n",
            "f.yml: yaml: unmarshal errors:\n  line 3: field foo not found in type rulefmt.RuleGroup",
        ),
    ],
)
def test_mistakes_in_files_are_worded_as_by_promtool(source: str, message: str) -> None:
    with pytest.raises(files.RuleFileError) as caught:
        files.load(source, "f.yml")
    assert str(caught.value) == message
