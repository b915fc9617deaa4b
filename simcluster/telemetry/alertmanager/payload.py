"""What a webhook is posted: the message of Alertmanager's `notify/webhook`, version 4."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.engine.clock import format_rfc3339
from simcluster.telemetry.alertmanager.state import Alert, Notification

_NEVER = "0001-01-01T00:00:00Z"


def message(notification: Notification, url: str) -> str:
    """The message as JSON; `url` is Alertmanager's own."""
    alerts = [(alert, "firing") for alert in notification.firing] + [(a, "resolved") for a in notification.resolved]
    key, group = notification.key
    content = {
        "receiver": notification.receiver,
        "status": notification.status,
        "alerts": [_alert(alert, status) for alert, status in alerts],
        "groupLabels": dict(group),
        "commonLabels": _common([dict(alert.labels) for alert, _ in alerts]),
        "commonAnnotations": _common([alert.annotations for alert, _ in alerts]),
        "externalURL": url,
        "version": "4",
        "groupKey": f"{key}:{{{', '.join(f'{name}={json.dumps(value)}' for name, value in group)}}}",
        "truncatedAlerts": 0,
    }
    return json.dumps(content, separators=(",", ":"))


def _alert(alert: Alert, status: str) -> dict[str, Any]:
    return {
        "status": status,
        "labels": dict(alert.labels),
        "annotations": alert.annotations,
        "startsAt": format_rfc3339(alert.starts_ns, digits=3),
        "endsAt": format_rfc3339(alert.ends_ns, digits=3) if status == "resolved" else _NEVER,
        "generatorURL": alert.url,
        "fingerprint": alert.fingerprint,
    }


def _common(found: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first, *rest = found
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in rest)}
