"""What Prometheus tells Alertmanagers: alerts that fire or are over, posted to every one that it has discovered.

Source: notifier/notifier.go and notifier/alertmanagerset.go of Prometheus 3. What cannot be delivered is dropped; an
alert that goes on is sent again a minute later (`rules/alerting.go`). Left out: the queue and its batches of 256.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from simcluster.api.store import Store
from simcluster.control.prometheus.discovery import RESOURCES, Discoverer, Target
from simcluster.control.webclient import Place, Way, connect, post
from simcluster.models.machine.container import Container
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, counter, gauge, labels
from simcluster.telemetry.metrics.config import Config
from simcluster.telemetry.metrics.relabel import relabelled
from simcluster.telemetry.rules.alerts import Notice
from simcluster.telemetry.rules.answers import instant

_WHOLE = Columns(
    (
        counter("prometheus_notifications_dropped_total", "Total number of alerts dropped."),
        gauge("prometheus_notifications_alertmanagers_discovered", "The number of alertmanagers discovered."),
    )
)
_EACH = Columns(
    (
        counter("prometheus_notifications_sent_total", "Total number of alerts sent."),
        counter("prometheus_notifications_errors_total", "Total number of sent alerts affected by errors."),
    )
)


class Notifier:
    """Sends alerts.

    Attributes:
        managers: where Alertmanagers are, and how to get there.
    """

    def __init__(self, container: Container, store: Store, say: Callable[[str, str, str], None]) -> None:
        self.container = container
        self.managers: dict[Target, Way | None] = {}
        self._say = say
        self._discoverer = Discoverer(store)
        self._dropped = 0
        self._counts: dict[str, tuple[int, int]] = {}  # sent, affected by errors

    @staticmethod
    def resources(config: Config) -> list[str]:
        """What has to be listed in order to find them."""
        return [r for job in config.alertmanagers for found in job.discoveries for r in RESOURCES[found.role]]

    def forget(self) -> None:
        """Another configuration finds others."""
        self._discoverer = Discoverer(self._discoverer.store)

    def discover(self, config: Config, synced: Callable[[str], bool]) -> None:
        """Find them again."""
        found = self._discoverer.targets(config.alertmanagers, synced)
        self.managers = {target: self.managers.get(target) for target in found}

    def send(self, config: Config, notices: Sequence[Notice]) -> None:
        """Post alerts to all of them; once is enough."""
        alerts = [each for each in (_written(config, notice) for notice in notices) if each is not None]
        if not alerts:
            return
        body, taken = json.dumps(alerts, separators=(",", ":")), False
        for target, known in self.managers.items():
            way, place = known, Place(target.scheme, target.address, target.path)
            if way is None or way.version != self.container.machine.network.version:
                way = self.managers[target] = connect(self.container, place)
            error = post(self.container, place, way, body)
            sent, failed = self._counts.get(target.url, (0, 0))
            self._counts[target.url] = (sent + len(alerts), failed + (len(alerts) if error else 0))
            taken = taken or not error
            if error:
                quoted = json.dumps(error)
                text = f'msg="Error sending alerts" component=notifier alertmanager={target.url} count={len(alerts)}'
                self._say("error", "notifier.go:625", f"{text} err={quoted}")
        if not taken:
            self._dropped += len(alerts)

    def exposition(self) -> Samples:
        """What it counts."""
        found = {Group(_WHOLE): _WHOLE.row((self._dropped, len(self.managers)))}
        for url, counts in self._counts.items():
            found[Group(_EACH, labels(alertmanager=url))] = _EACH.row(counts)
        return found


def _written(config: Config, notice: Notice) -> Mapping[str, object] | None:
    """An alert as it is posted; None if relabelling drops it."""
    named = {**dict(config.external_labels), **dict(notice.labels)}
    kept = relabelled(named, config.alert_rules) if config.alert_rules else named
    if kept is None:
        return None
    return {
        "annotations": notice.annotations,
        "endsAt": instant(notice.ends_ns),
        "startsAt": instant(notice.starts_ns),
        "generatorURL": notice.url,
        "labels": kept,
    }
