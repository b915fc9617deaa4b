"""Alertmanager: routes, grouping and its waits, repetition, silences, inhibition, and API v2."""

from __future__ import annotations

import json
import pickle

import pytest

from simcluster.engine.clock import HOUR, MINUTE, SECOND
from simcluster.telemetry.alertmanager.config import ConfigError, load
from simcluster.telemetry.alertmanager.http import handle
from simcluster.telemetry.alertmanager.state import Alert, Alertmanager

CONFIG = """
route:
  receiver: team
  group_by: [alertname]
  routes:
  - receiver: pager
    matchers: ['severity="critical"']
    group_wait: 10s
    group_interval: 1m
    repeat_interval: 1h
    continue: true
  - receiver: archive
    match_re: {severity: "critical|warning"}
inhibit_rules:
- source_matchers: [alertname="NodeDown"]
  target_matchers: [severity="warning"]
  equal: [node]
receivers: [{name: team}, {name: pager}, {name: archive}]
"""


def alert(now: int, name: str, severity: str, until: int = 24 * HOUR, **labels: str) -> Alert:
    key = tuple(sorted({"alertname": name, "severity": severity, **labels}.items()))
    return Alert(key, {"summary": name}, now, until, now)


def sent(manager: Alertmanager, until: int) -> list[tuple[int, str, str, int]]:
    """What is sent up to an instant: seconds, receiver, status, how many."""
    out = []
    while (due := manager.next_ns()) is not None and due <= until:
        for one in manager.flush(due):
            out.append((due // SECOND, one.receiver, one.status, len(one.firing) + len(one.resolved)))
    return out


def test_an_alert_takes_its_routes() -> None:
    manager = Alertmanager(load(CONFIG))
    assert manager.receivers({"severity": "critical"}) == ["pager", "archive"]
    assert manager.receivers({"severity": "warning"}) == ["archive"]
    assert manager.receivers({"severity": "info"}) == ["team"]


def test_groups_wait_collect_and_repeat() -> None:
    manager = Alertmanager(load(CONFIG.replace("    continue: true\n", "")))
    manager.put(0, [alert(0, "Down", "critical", pod="a")])
    manager.put(4 * SECOND, [alert(4 * SECOND, "Down", "critical", pod="b")])
    assert sent(manager, 9 * SECOND) == []
    assert sent(manager, 11 * SECOND) == [(10, "pager", "firing", 2)]
    manager.put(20 * SECOND, [alert(20 * SECOND, "Down", "critical", pod="c")])
    manager = pickle.loads(pickle.dumps(manager))
    assert sent(manager, 75 * SECOND) == [(70, "pager", "firing", 3)]
    assert sent(manager, 2 * HOUR) == [(70 + 3600, "pager", "firing", 3)]


def test_what_is_over_is_said_once() -> None:
    manager = Alertmanager(load(CONFIG.replace("    continue: true\n", "")))
    manager.put(0, [alert(0, "Down", "critical")])
    sent(manager, 15 * SECOND)
    manager.put(30 * SECOND, [alert(0, "Down", "critical", until=30 * SECOND)])
    assert sent(manager, HOUR) == [(70, "pager", "resolved", 1)]
    assert (manager.groups, manager.alerts) == ({}, {})


def test_silences_and_inhibition_mute() -> None:
    manager = Alertmanager(load(CONFIG))
    manager.put(0, [alert(0, "NodeDown", "info", node="n1"), alert(0, "PodDown", "warning", node="n1")])
    assert [name for _, name, _, _ in sent(manager, MINUTE)] == ["team"]
    body = json.dumps(
        {
            "matchers": [{"name": "alertname", "value": "Disk.*", "isRegex": True}],
            "startsAt": "2026-03-02T09:01:00Z",
            "endsAt": "2026-03-02T10:00:00Z",
            "createdBy": "me",
            "comment": "known",
        }
    ).encode()
    made = handle(manager, ("POST", "/api/v2/silences", "", body), MINUTE)
    identity = json.loads(made.body)["silenceID"]
    manager.put(MINUTE, [alert(MINUTE, "DiskFull", "critical")])
    assert sent(manager, 30 * MINUTE) == []
    shown = json.loads(handle(manager, ("GET", "/api/v2/alerts", "filter=alertname%3DDiskFull", b""), 2 * MINUTE).body)
    assert shown[0]["status"] == {"inhibitedBy": [], "silencedBy": [identity], "state": "suppressed"}
    assert handle(manager, ("DELETE", f"/api/v2/silence/{identity}", "", b""), 31 * MINUTE).status == 200
    assert {name for _, name, _, _ in sent(manager, 40 * MINUTE)} == {"pager", "archive"}
    states = json.loads(handle(manager, ("GET", "/api/v2/silences", "", b""), 41 * MINUTE).body)
    assert states[0]["status"] == {"state": "expired"}


def test_the_api_takes_and_shows_alerts() -> None:
    manager = Alertmanager(load(CONFIG))
    body = b'[{"labels": {"alertname": "Down", "severity": "critical"}, "annotations": {"summary": "s"}}]'
    assert handle(manager, ("POST", "/api/v2/alerts", "", body), SECOND).status == 200
    shown = json.loads(handle(manager, ("GET", "/api/v2/alerts", "", b""), 2 * SECOND).body)[0]
    assert list(shown) == [
        "annotations", "endsAt", "fingerprint", "receivers", "startsAt", "status", "updatedAt", "generatorURL",
        "labels",
    ]  # fmt: skip
    assert (shown["startsAt"], shown["endsAt"]) == ("2026-03-02T09:00:01.000Z", "2026-03-02T09:05:01.000Z")
    groups = json.loads(handle(manager, ("GET", "/api/v2/alerts/groups", "", b""), 2 * SECOND).body)
    assert [(each["labels"], each["receiver"]["name"]) for each in groups] == [
        ({"alertname": "Down"}, "archive"),
        ({"alertname": "Down"}, "pager"),
    ]
    status = json.loads(handle(manager, ("GET", "/api/v2/status", "", b""), SECOND).body)
    assert status["config"]["original"] == CONFIG
    assert json.loads(handle(manager, ("GET", "/api/v2/receivers", "", b""), SECOND).body)[0] == {"name": "team"}


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "status"),
    [
        ("POST", "/api/v2/alerts", "", b"[", 400),
        ("POST", "/api/v2/alerts", "", b'[{"labels": {}}]', 400),
        ("POST", "/api/v2/silences", "", b'{"matchers": []}', 422),
        ("GET", "/api/v1/alerts", "", b"", 410),
        ("GET", "/api/v2/alerts", "filter=a%7E", b"", 400),
        ("GET", "/api/v2/alerts", "receiver=%5B", b"", 400),
        ("GET", "/api/v2/silence/none", "", b"", 422),
        ("GET", "/api/v2/silence/0b1c0b1c-0b1c-0b1c-0b1c-0b1c0b1c0b1c", "", b"", 404),
        ("POST", "/api/v2/silence/none", "", b"", 422),
        ("GET", "/api/v2/none", "", b"", 404),
        ("PUT", "/api/v2/alerts", "", b"", 405),
    ],
)
def test_requests_that_make_no_sense(method: str, path: str, query: str, body: bytes, status: int) -> None:
    assert handle(Alertmanager(load(CONFIG)), (method, path, query, body), SECOND).status == status


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("receivers: []", "no route provided in config"),
        ("route: {receiver: x}\nreceivers: []", 'undefined receiver "x" used in route'),
        ("route: {}\nreceivers: []", "root route must specify a default receiver"),
        ("route: {receiver: x, match: {a: b}}\nreceivers: [{name: x}]", "root route must not have any matchers"),
        ("route: {receiver: x, matchers: ['a']}\nreceivers: [{name: x}]", "bad matcher format: a"),
        ("route: {receiver: x}\nreceivers: [{name: x}, {name: x}]", 'notification config name "x" is not unique'),
    ],
)
def test_mistakes_in_configurations(source: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(source)
    assert str(caught.value) == message
