"""The page that a describer fills: indented, tab-separated lines, and what many kinds share.

Source of the layouts: k8s.io/kubectl/pkg/describe/describe.go, Kubernetes 1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simcluster.api.objects import Json, controller_of
from simcluster.api.request import Query
from simcluster.engine import format_age, parse_rfc3339
from simcluster.engine.clock import format_rfc1123
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.typedforms import walkable

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: An annotation longer than this stands on lines of its own.
_ANNOTATION_WIDTH = 140


class Page:
    """Raw text of a description; `align` makes columns of it."""

    def __init__(self, invocation: Invocation, *, show_events: bool = True) -> None:
        self.invocation = invocation
        self.show_events = show_events
        self._pieces: list[str] = []

    @property
    def raw(self) -> str:
        """The text with its tabs."""
        return "".join(self._pieces)

    def line(self, text: str, level: int = 0) -> None:
        """One line, indented by two spaces a level."""
        self._pieces.append("  " * level + text + "\n")

    def pair(self, title: str, value: Any, level: int = 0) -> None:
        """`Title:` and a value."""
        self.line(f"{title}:\t{value}", level)

    def rows(self, rows: Iterable[Sequence[str]], level: int = 1) -> None:
        """Lines of cells."""
        for row in rows:
            self.line("\t".join(row), level)

    def listed(self, title: str, values: Sequence[str]) -> None:
        """`Title:` and values below each other, or `<none>`."""
        for i, value in enumerate(values or ("<none>",)):
            self.line(f"{title}:\t{value}" if i == 0 else f"\t{value}")

    def labels(self, title: str, labels: Mapping[str, str] | None) -> None:
        """Labels (or a node selector) below each other, sorted."""
        self.listed(title, [f"{key}={labels[key]}" for key in sorted(labels)] if labels else ())

    def annotations(self, title: str, annotations: Mapping[str, str] | None) -> None:
        """Annotations without kubectl's own; long ones on lines of their own."""
        shown = []
        for key in sorted(annotations or ()):
            if key == _LAST_APPLIED:
                continue
            value = (annotations or {})[key].removesuffix("\n")
            if len(value) + len(key) + 2 > _ANNOTATION_WIDTH or "\n" in value:
                shown.append(f"{key}:")
                shown.extend(f"  {_shortened(part)}" for part in value.split("\n"))
            else:
                shown.append(f"{key}: {value}")
        self.listed(title, shown)

    def head(self, obj: Json, *, namespace: bool = True) -> None:
        """Name and namespace."""
        self.pair("Name", obj["metadata"]["name"])
        if namespace:
            self.pair("Namespace", obj["metadata"].get("namespace", ""))

    def meta(self, obj: Json) -> None:
        """Labels and annotations."""
        self.labels("Labels", obj["metadata"].get("labels"))
        self.annotations("Annotations", obj["metadata"].get("annotations"))

    def items(self, path: str, query: Query = ()) -> list[Json]:
        """The items of a collection, as the client's types hold them. Raises StatusError."""
        return [walkable(obj) for obj in self.invocation.items(path, query)]

    def get(self, path: str) -> Json:
        """The object at a path, as the client's types hold it. Raises StatusError."""
        return walkable(self.invocation.get(path))

    def age(self, timestamp: str | None) -> str:
        """How long ago an instant was, as in the AGE column."""
        if not timestamp:
            return "<unknown>"
        return format_age(self.invocation.clock.now - parse_rfc3339(timestamp))

    def events(self, events: Sequence[Json] | None) -> None:
        """The table of events; nothing at all with --show-events=false."""
        if events is None or not self.show_events:
            return
        if not events:
            self.line("Events:\t<none>")
            return
        self.line("Events:")
        rows = [("Type", "Reason", "Age", "From", "Message"), ("----", "------", "----", "----", "-------")]
        for event in sorted(events, key=_last_timestamp):
            source = (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""
            message = str(event.get("message", "")).strip()
            rows.append((event.get("type", ""), event.get("reason", ""), self._interval(event), source, message))
        self.rows(rows)

    def _interval(self, event: Json) -> str:
        first = self.age(event.get("eventTime") or event.get("firstTimestamp"))
        series = event.get("series")
        if series:
            return f"{self.age(series.get('lastObservedTime'))} (x{series.get('count', 0)} over {first})"
        if event.get("count", 0) > 1:
            return f"{self.age(event.get('lastTimestamp'))} (x{event['count']} over {first})"
        return first


def _shortened(text: str) -> str:
    limit = _ANNOTATION_WIDTH - 2
    return text if len(text) <= limit else text[:limit] + "..."


def _last_timestamp(event: Json) -> str:
    return event.get("lastTimestamp") or ""


def events_of(invocation: Invocation, obj: Json, *, uid: str | None = None) -> list[Json] | None:
    """Events about an object, or None if they may not be read."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    fields = {"involvedObject.name": metadata["name"]}
    if namespace:
        fields["involvedObject.namespace"] = namespace
    if obj["kind"] != "Pod":
        fields["involvedObject.kind"] = obj["kind"]
    if uid is None:  # the kubelet's events about a static pod name the uid that its mirror notes
        uid = (metadata.get("annotations") or {}).get("kubernetes.io/config.mirror")
    fields["involvedObject.uid"] = metadata.get("uid", "") if uid is None else uid
    selector = ",".join(f"{key}={fields[key]}" for key in fields)
    path = f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events"
    try:
        return [walkable(event) for event in invocation.items(path, query_of(fieldSelector=selector, limit=500))]
    except StatusError:
        return None


def rfc1123(timestamp: str | None) -> str:
    """`Sat, 21 Nov 2026 20:39:16 +0000` of an RFC 3339 text; Go's zero time for None."""
    if not timestamp:
        return "Mon, 01 Jan 0001 00:00:00 +0000"
    return format_rfc1123(parse_rfc3339(timestamp))


def controlled_by(obj: Json) -> str:
    """`ReplicaSet/geo-dbcd974fd`, or empty."""
    owner = controller_of(obj)
    return f"{owner['kind']}/{owner['name']}" if owner else ""


def format_map(labels: Mapping[str, str] | None) -> str:
    """`a=1,b=2`, or `<none>` (labels.FormatLabels)."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) if labels else "<none>"


def truth(value: Any) -> str:
    """A bool as Go's `%v` prints it."""
    return "true" if value else "false"
