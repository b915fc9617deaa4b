"""Alerts, groups, silences and notifications of an Alertmanager, as values between two instants.

The owner puts alerts in, asks when something is due, and flushes it then; what comes back is what would be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simcluster.engine.clock import HOUR, MINUTE
from simcluster.telemetry.alertmanager.config import Config, Inhibition, Route, holds
from simcluster.telemetry.promql.hashing import xxh64
from simcluster.telemetry.promql.storage import Labels, Matcher

#: `resolve_timeout`: when an alert without an end is over.
RESOLVE_NS = 5 * MINUTE


@dataclass
class Alert:
    """What was told of an alert last; it is resolved from `ends_ns` on."""

    labels: Labels
    annotations: dict[str, str]
    starts_ns: int
    ends_ns: int
    updated_ns: int
    url: str = ""

    @property
    def fingerprint(self) -> str:
        """Its identity in the API: FNV-1a over its labels."""
        total = 0xCBF29CE484222325
        for name, value in self.labels:
            for byte in name.encode() + b"\xff" + value.encode() + b"\xff":
                total = ((total ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        return f"{total:016x}"


@dataclass
class Silence:
    """Mutes what matches between two instants."""

    id: str
    matchers: tuple[Matcher, ...]
    starts_ns: int
    ends_ns: int
    updated_ns: int
    creator: str
    comment: str

    def state(self, now_ns: int) -> str:
        """`pending`, `active` or `expired`."""
        return "pending" if now_ns < self.starts_ns else "active" if now_ns < self.ends_ns else "expired"


#: A rule, and the alerts that mute others by it, with their labels.
Inhibitors = tuple[Inhibition, list[tuple[dict[str, str], Alert]]]


@dataclass
class Group:
    """Alerts that one route sends together.

    Attributes:
        due_ns: when it is looked at next.
    """

    route: Route
    labels: Labels
    due_ns: int
    alerts: dict[Labels, None] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, Labels]:
        """Its identity: its route, and what its alerts have in common."""
        return self.route.key, self.labels


class Sent(NamedTuple):
    """What the last notification of a group said, and when (an entry of the notification log)."""

    firing: frozenset[Labels]
    resolved: frozenset[Labels]
    at_ns: int


class Notification(NamedTuple):
    """What a receiver gets: the alerts of a group that fire, and those that are over.

    Attributes:
        key: of the group; before: what the notification before it said.
        patience_ns: how long it is tried to deliver it (the group's interval).
    """

    receiver: str
    key: tuple[str, Labels]
    firing: tuple[Alert, ...]
    resolved: tuple[Alert, ...]
    before: Sent | None
    patience_ns: int

    @property
    def status(self) -> str:
        """`firing` while any does."""
        return "firing" if self.firing else "resolved"


#: Entries of the notification log, and silences, are kept so long (`--data.retention`).
RETENTION_NS = 120 * HOUR


class Alertmanager:
    """One instance with its configuration.

    Attributes:
        alerts, groups: what fires or has just ended, by labels, and grouped by routes.
        silences, sent: what it keeps on disk: silences by id, and the notification log by group.
    """

    def __init__(self, config: Config, started_ns: int = 0) -> None:
        self.config, self.started_ns = config, started_ns
        self.alerts: dict[Labels, Alert] = {}
        self.groups: dict[tuple[str, Labels], Group] = {}
        self.silences: dict[str, Silence] = {}
        self.sent: dict[tuple[str, Labels], Sent] = {}

    def put(self, now_ns: int, alerts: Sequence[Alert]) -> None:
        """Alerts arrive; one that is known keeps its beginning."""
        for alert in alerts:
            known = self.alerts.get(alert.labels)
            if known is not None and known.ends_ns > now_ns and known.starts_ns < alert.starts_ns:
                alert.starts_ns = known.starts_ns
            self.alerts[alert.labels] = alert
            for route in self.config.route.matching(dict(alert.labels)):
                self._group(route, alert, now_ns).alerts[alert.labels] = None

    def _group(self, route: Route, alert: Alert, now_ns: int) -> Group:
        labels = tuple(pair for pair in alert.labels if route.by is None or pair[0] in route.by)
        group = self.groups.get((route.key, labels))
        if group is None:
            waited = alert.starts_ns + route.wait_ns < now_ns
            group = Group(route, labels, now_ns if waited else now_ns + route.wait_ns)
            self.groups[route.key, labels] = group
        return group

    def next_ns(self) -> int | None:
        """When a group is due; None if there is none."""
        return min((group.due_ns for group in self.groups.values()), default=None)

    def flush(self, now_ns: int) -> list[Notification]:
        """What is sent now of the groups that are due."""
        out = []
        for key, group in list(self.groups.items()):
            if group.due_ns > now_ns:
                continue
            group.due_ns = now_ns + group.route.interval_ns
            sent = self._sent(group, now_ns)
            if sent is not None:
                out.append(sent)
            for labels in list(group.alerts):
                if self.alerts[labels].ends_ns <= now_ns:
                    del group.alerts[labels]
            if not group.alerts:
                del self.groups[key]
        self._forget(now_ns)
        return out

    def _sent(self, group: Group, now_ns: int) -> Notification | None:
        alerts = [self.alerts[labels] for labels in group.alerts]
        heard = [alert for alert, muted in zip(alerts, self.muted(alerts, now_ns), strict=True) if not muted]
        firing = [alert for alert in heard if alert.ends_ns > now_ns]
        resolved = [alert for alert in heard if alert.ends_ns <= now_ns]
        burning = frozenset(alert.labels for alert in firing)
        over = frozenset(alert.labels for alert in resolved)
        last = self.sent.get(group.key)
        if last is None:
            needed = bool(burning)
        elif not burning:
            needed = bool(last.firing) and bool(over)
        else:
            repeats = now_ns - last.at_ns >= group.route.repeat_ns
            needed = not burning <= last.firing or not over <= last.resolved or repeats
        if not needed:
            return None
        self.sent[group.key] = Sent(burning, over, now_ns)
        receiver, patience_ns = group.route.receiver, group.route.interval_ns
        return Notification(receiver, group.key, tuple(firing), tuple(resolved), last, patience_ns)

    def undelivered(self, notification: Notification) -> None:
        """It was given up: what it said is to be said again."""
        if notification.before is None:
            self.sent.pop(notification.key, None)
        else:
            self.sent[notification.key] = notification.before

    def _forget(self, now_ns: int) -> None:
        kept = {labels for group in self.groups.values() for labels in group.alerts}
        for labels, alert in list(self.alerts.items()):
            if labels not in kept and alert.ends_ns <= now_ns:
                del self.alerts[labels]
        for key, last in list(self.sent.items()):
            if now_ns - last.at_ns > RETENTION_NS:
                del self.sent[key]
        for identity, one in list(self.silences.items()):
            if now_ns - one.ends_ns > RETENTION_NS:
                del self.silences[identity]

    def muted(self, alerts: Sequence[Alert], now_ns: int) -> list[bool]:
        """Of each alert, whether nobody is to hear of it."""
        inhibitors = self._inhibitors(now_ns)
        return [bool(self.silenced_by(one, now_ns)) or bool(_inhibiting(one, inhibitors)) for one in alerts]

    def silenced_by(self, alert: Alert, now_ns: int) -> list[str]:
        """Silences that are active and match."""
        labels = dict(alert.labels)
        return [
            one.id for one in self.silences.values() if one.state(now_ns) == "active" and holds(one.matchers, labels)
        ]

    def inhibited_by(self, alert: Alert, now_ns: int) -> list[str]:
        """Alerts that fire and mute it by a rule."""
        return _inhibiting(alert, self._inhibitors(now_ns))

    def _inhibitors(self, now_ns: int) -> list[Inhibitors]:
        """Of each rule the alerts that fire and mute others by it."""
        firing = [(dict(alert.labels), alert) for alert in self.alerts.values() if alert.ends_ns > now_ns]
        return [
            (rule, [(labels, one) for labels, one in firing
                    if holds(rule.source, labels) and not holds(rule.target, labels)])
            for rule in self.config.inhibitions
        ]  # fmt: skip

    def silence(self, now_ns: int, wanted: Silence) -> str:
        """Set a silence, or change the one with its id; what was active before and differs expires. Its id."""
        known = self.silences.get(wanted.id)
        if known is not None and known.state(now_ns) != "expired":
            if known.matchers == wanted.matchers:
                self.silences[wanted.id] = wanted
                return wanted.id
            known.ends_ns = now_ns
        wanted.id = self._new_id(now_ns, wanted)
        wanted.starts_ns = max(wanted.starts_ns, now_ns)
        self.silences[wanted.id] = wanted
        return wanted.id

    def _new_id(self, now_ns: int, silence: Silence) -> str:
        seed = f"{now_ns} {len(self.silences)} {silence.matchers} {silence.comment}".encode()
        digits = f"{xxh64(seed):016x}{xxh64(seed + b'.'):016x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"

    def expire(self, now_ns: int, identity: str) -> bool:
        """End a silence; whether there is one."""
        known = self.silences.get(identity)
        if known is None:
            return False
        known.ends_ns = min(known.ends_ns, now_ns)
        known.starts_ns = min(known.starts_ns, now_ns)
        known.updated_ns = now_ns
        return True

    def receivers(self, labels: Mapping[str, str]) -> list[str]:
        """Who hears of an alert."""
        return list(dict.fromkeys(route.receiver for route in self.config.route.matching(labels)))


def _inhibiting(alert: Alert, inhibitors: Sequence[Inhibitors]) -> list[str]:
    """Fingerprints of those that mute an alert."""
    labels = dict(alert.labels)
    found: dict[str, None] = {}
    for rule, others in inhibitors:
        if others and holds(rule.target, labels):
            for theirs, other in others:
                if all(labels.get(name, "") == theirs.get(name, "") for name in rule.equal):
                    found[other.fingerprint] = None
    return list(found)
