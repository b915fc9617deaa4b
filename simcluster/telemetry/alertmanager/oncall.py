"""The on-call service outside of the cluster: it takes webhooks of Alertmanager and keeps what pages an operator.

It calls an alert what the alert calls itself, by labels and annotations. A heartbeat (an alert that always fires, on a
path of its own) proves that the way from the rules to the pager works; when it stops, that is a page.
"""

from __future__ import annotations

import json
from typing import Any

from simcluster.engine.clock import MINUTE, SECOND, parse_rfc3339
from simcluster.telemetry.alerts import Alert

#: Where it is (RFC 2606, RFC 5737); paths of pages and of heartbeats.
HOST, ADDRESS = "events.oncall.example", "203.0.113.17"
PAGES, HEARTBEAT = "/v1/alerts", "/v1/heartbeat"
#: Heartbeats come every minute; so many may be missing.
SILENT_NS = 5 * MINUTE
#: What an alert is about: the first of these labels that it has, the namespace before it.
_ABOUT = (
    "pod", "persistentvolumeclaim", "daemonset", "statefulset", "deployment", "job_name", "horizontalpodautoscaler",
    "service_name", "service", "node", "instance", "job",
)  # fmt: skip


class OnCall:
    """What pages now.

    Attributes:
        beaten_ns: when the last heartbeat came, -1 before the first.
    """

    def __init__(self) -> None:
        self._firing: dict[str, Alert] = {}
        self.beaten_ns = -1

    def take(self, now_ns: int, path: str, body: str) -> list[Alert]:
        """A webhook arrives; alerts that page anew. Raises ValueError: it is none."""
        content = json.loads(body)
        if path == HEARTBEAT:
            self.beaten_ns = now_ns
            return []
        new = []
        for one in content["alerts"]:
            known = one["fingerprint"]
            if one["status"] == "resolved":
                self._firing.pop(known, None)
                continue
            page = _page(one)
            if known not in self._firing:
                new.append(page)
            self._firing[known] = page
        return new

    def firing(self, now_ns: int) -> list[Alert]:
        """What pages at an instant, oldest first."""
        found = sorted(self._firing.values())
        if self.beaten_ns >= 0 and now_ns - self.beaten_ns > SILENT_NS:
            text = f"no heartbeat from the cluster's monitoring for {SILENT_NS // SECOND} s"
            found.append(Alert(self.beaten_ns + SILENT_NS, "DeadMansSwitch", "monitoring", text))
        return found


def _page(one: dict[str, Any]) -> Alert:
    labels, annotations = one["labels"], one["annotations"]
    place = next((labels[name] for name in _ABOUT if labels.get(name)), "")
    about = "/".join(filter(None, (labels.get("namespace", ""), place))) or "cluster"
    text = annotations.get("description") or annotations.get("summary") or ""
    shown = ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if name != "alertname")
    return Alert(parse_rfc3339(one["startsAt"]), labels.get("alertname", ""), about, f"{text} {{{shown}}}".strip())
