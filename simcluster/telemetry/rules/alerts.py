"""Alerts of one rule: pending, firing, resolved (after `rules/alerting.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simcluster.engine.clock import MINUTE, SECOND
from simcluster.telemetry.promql.storage import Labels

#: How long a resolved alert is kept, so that it is sent often enough (`resolvedRetention`).
RETENTION_NS = 15 * MINUTE
#: `--rules.alert.resend-delay`.
RESEND_NS = MINUTE


@dataclass
class Alert:
    """One alert.

    Attributes:
        state: `pending`, `firing` or `inactive`, which is resolved.
        since_ns: when its condition began to hold; `fired_ns` when it began to fire.
        kept_ns: since when it fires only because of `keep_firing_for`; -1 if its condition holds.
        resolved_ns, sent_ns: -1 if not yet.
    """

    labels: Labels
    annotations: dict[str, str]
    value: float
    since_ns: int
    state: str = "pending"
    fired_ns: int = -1
    kept_ns: int = -1
    resolved_ns: int = -1
    sent_ns: int = -1


class Found(NamedTuple):
    """What the expression gives at one evaluation, for one alert."""

    labels: Labels
    annotations: dict[str, str]
    value: float


class Notice(NamedTuple):
    """What Alertmanager is sent of an alert.

    Attributes:
        ends_ns: when it was resolved, or until when it holds without another notice.
    """

    labels: Labels
    annotations: dict[str, str]
    starts_ns: int
    ends_ns: int
    url: str


@dataclass
class AlertStates:
    """Alerts of one rule by their labels.

    Args:
        for_ns: how long the condition must hold before an alert fires; `keep_ns` how long it fires on afterwards.
    """

    for_ns: int
    keep_ns: int
    active: dict[Labels, Alert] = field(default_factory=dict)

    def evaluated(self, now_ns: int, found: Mapping[Labels, Found]) -> None:
        """The rule has been evaluated: these hold now."""
        for labels, each in found.items():
            known = self.active.get(labels)
            if known is not None and known.state != "inactive":
                known.value, known.annotations = each.value, each.annotations
            else:
                self.active[labels] = Alert(labels, each.annotations, each.value, now_ns)
        for labels, alert in list(self.active.items()):
            if labels in found:
                alert.kept_ns = -1
            elif not self._kept(alert, now_ns):
                self._ended(labels, alert, now_ns)
                continue
            if alert.state == "pending" and now_ns - alert.since_ns >= self.for_ns:
                alert.state, alert.fired_ns = "firing", now_ns

    def _kept(self, alert: Alert, now_ns: int) -> bool:
        if alert.state != "firing" or not self.keep_ns:
            return False
        if alert.kept_ns < 0:
            alert.kept_ns = now_ns
        return now_ns - alert.kept_ns < self.keep_ns

    def _ended(self, labels: Labels, alert: Alert, now_ns: int) -> None:
        forgotten = alert.resolved_ns >= 0 and now_ns - alert.resolved_ns > RETENTION_NS
        if alert.state == "pending" or forgotten:
            del self.active[labels]
        elif alert.state != "inactive":
            alert.state, alert.resolved_ns = "inactive", now_ns

    def standing(self) -> list[Alert]:
        """Alerts that are pending or fire."""
        return [alert for alert in self.active.values() if alert.state != "inactive"]

    def state(self) -> str:
        """The rule's own: that of its furthest alert."""
        states = {alert.state for alert in self.standing()}
        return "firing" if "firing" in states else "pending" if states else "inactive"

    def notices(self, now_ns: int, interval_ns: int, url: str) -> list[Notice]:
        """What is to be sent now; each counts as sent."""
        out = []
        for alert in self.active.values():
            if alert.state == "pending" or not self._due(alert, now_ns):
                continue
            alert.sent_ns = now_ns
            valid = now_ns + 4 * max(interval_ns, RESEND_NS)
            ends = alert.resolved_ns if alert.state == "inactive" else valid
            out.append(Notice(alert.labels, alert.annotations, alert.fired_ns, ends, url))
        return out

    @staticmethod
    def _due(alert: Alert, now_ns: int) -> bool:
        if alert.sent_ns < 0 or alert.resolved_ns > alert.sent_ns:
            return True
        return alert.sent_ns + RESEND_NS < now_ns


def seconds(duration_ns: int) -> float:
    """Of a duration in an answer."""
    return duration_ns / SECOND
