"""Rules and alerts as `/api/v1/rules` and `/api/v1/alerts` show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.promql import text
from simcluster.telemetry.rules.alerts import Alert
from simcluster.telemetry.rules.groups import GroupState, Rules, RuleState

NEVER = "0001-01-01T00:00:00Z"
#: An evaluation takes about this long, and as much again for so many series: between 0.2 and 0.5 ms on an idle server.
_BASE_S, _SERIES_S = 0.0002, 0.000002


def instant(t_ns: int) -> str:
    """A simulated instant as Go prints it: no zeros at the end; never for what has not been."""
    if t_ns < 0:
        return NEVER
    return format_rfc3339(t_ns, digits=9)[:-1].rstrip("0").rstrip(".") + "Z" if t_ns % SECOND else format_rfc3339(t_ns)


def alert(one: Alert) -> dict[str, Any]:
    """One alert."""
    shown: dict[str, Any] = {
        "labels": dict(one.labels),
        "annotations": one.annotations,
        "state": one.state,
        "activeAt": instant(one.since_ns),
    }
    if one.kept_ns >= 0:
        shown["keepFiringSince"] = instant(one.kept_ns)
    return {**shown, "value": text.scientific(one.value)}


def alerts(rules: Rules) -> dict[str, Any]:
    """`data` of `/api/v1/alerts`."""
    return {
        "alerts": [
            alert(one)
            for group in rules.groups
            for state in group.rules
            if state.rule.alerting
            for one in state.alerts.standing()
        ]
    }


def _took(state: RuleState) -> float:
    return _BASE_S + _SERIES_S * state.cost


def _rule(state: RuleState, with_alerts: bool) -> dict[str, Any]:
    rule = state.rule
    shown: dict[str, Any] = {}
    if rule.alerting:
        shown = {"state": state.alerts.state()}
    shown |= {"name": rule.name, "query": state.query}
    if rule.alerting:
        shown |= {
            "duration": rule.for_ms / 1000,
            "keepFiringFor": rule.keep_firing_for_ms / 1000,
            "labels": rule.labels,
            "annotations": rule.annotations,
            "alerts": [alert(one) for one in state.alerts.standing()] if with_alerts else [],
        }
    elif rule.labels:
        shown["labels"] = rule.labels
    shown["health"] = state.health
    if state.error:
        shown["lastError"] = state.error
    return shown | {
        "evaluationTime": _took(state) if state.evaluated_ns >= 0 else 0,
        "lastEvaluation": instant(state.evaluated_ns),
        "type": "alerting" if rule.alerting else "recording",
    }


def _group(group: GroupState, shown: list[dict[str, Any]]) -> dict[str, Any]:
    took = [_took(state) for state in group.rules if state.evaluated_ns >= 0]
    total = 0.0
    for each in took:
        total = total + each
    return {
        "name": group.group.name,
        "file": group.group.file,
        "rules": shown,
        "interval": group.interval_ns / SECOND,
        "limit": group.group.limit,
        "evaluationTime": total,
        "lastEvaluation": instant(group.evaluated_ns),
    }


def groups(rules: Rules, kind: str, names: Sequence[Sequence[str]], with_alerts: bool) -> dict[str, Any]:
    """`data` of `/api/v1/rules`.

    Args:
        kind: `alert`, `record` or empty for both.
        names: of rules, groups and files; empty for all.
    """
    rule_names, group_names, files = names
    found = []
    for group in rules.groups:
        if (group_names and group.group.name not in group_names) or (files and group.group.file not in files):
            continue
        shown = [
            _rule(state, with_alerts)
            for state in group.rules
            if (not kind or state.rule.alerting == (kind == "alert"))
            and (not rule_names or state.rule.name in rule_names)
        ]
        if shown or not (kind or rule_names):
            found.append(_group(group, shown))
    return {"groups": found}
