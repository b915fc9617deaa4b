"""Events as components record them: aggregated, counted and rate limited.

Equal events are one object whose `count` grows. After ten different messages for one
reason within ten minutes the next ones share an event "(combined from similar events)".
Per source, object and type a token bucket of 25, one more every 300 s, drops the rest.

Source: k8s.io/client-go/tools/record (events_cache.go, event.go) with its defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.engine import SECOND, Simulation, format_rfc3339
from simcluster.engine.clock import unix_seconds

SPAM_BURST = 25
SPAM_REFILL_NS = 300 * SECOND
MAX_SIMILAR = 10
SIMILAR_INTERVAL_NS = 600 * SECOND
COMBINED = "(combined from similar events): "
_MAX_CACHED = 4096
_FORGOTTEN = 256
_IDENTITY = ("kind", "namespace", "name", "uid", "apiVersion")
_SEPARATOR = "\0"

#: What an event is about, its parts joined. Keys and records are texts and plain tuples: of them a
#: cluster has ten thousands, and forks copy nothing faster.
Key = str
#: When messages were last seen for one source, object, type and reason, and which.
_Similar = tuple[int, tuple[str, ...]]


class _Observed(NamedTuple):
    """What was last written for one event key."""

    name: str
    first: str
    times: int


class EventRecorder:
    """Writes Events under one component's name.

    Args:
        component: `source.component`, such as `kubelet`.
        host: `source.host`, the node's name for node agents.
    """

    def __init__(self, sim: Simulation, client: Client, component: str, host: str = "") -> None:
        self.sim = sim
        self.client = client
        self.component = component
        self.host = host
        self._similar: dict[Key, _Similar] = {}
        self._observed: dict[Key, tuple[str, str, int]] = {}
        self._tokens: dict[Key, tuple[float, int]] = {}

    def event(self, obj: Mapping[str, Any], kind: str, reason: str, message: str, *, field_path: str = "") -> None:
        """Record one event about `obj`; `kind` is Normal or Warning."""
        involved = _reference(obj, field_path)
        about = _SEPARATOR.join(str(involved.get(name, "")) for name in _IDENTITY)
        aggregate = _SEPARATOR.join((about, kind, reason))
        key = _SEPARATOR.join((aggregate, field_path, message))
        if self._is_similar(aggregate, message):
            key, message = aggregate, COMBINED + message
        now = format_rfc3339(self.sim.now)
        observed = self._observe(key, involved["name"], now)
        # Normal and Warning have a bucket each: a recorded 1.32 kubelet fell silent after 26 of
        # either (25 and one refilled); one of 1.31 did after 25 of both together.
        if not self._allow(_SEPARATOR.join((about, kind))):
            return
        namespace = involved.get("namespace") or "default"
        if observed.times > 1 and self._update(namespace, observed, message, now):
            return
        event = self._event(involved, namespace, observed, now)
        event.update({"reason": reason, "message": message, "type": kind})
        self._create(event, key, observed)

    def _event(self, involved: Json, namespace: str, observed: _Observed, now: str) -> Json:
        source: Json = {"component": self.component}
        if self.host:
            source["host"] = self.host
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": observed.name, "namespace": namespace},
            "involvedObject": involved,
            "source": source,
            "firstTimestamp": observed.first,
            "lastTimestamp": now,
            "count": observed.times,
            "eventTime": None,
            "reportingComponent": self.component,
            "reportingInstance": self.host,
        }

    def _create(self, event: Json, key: Key, observed: _Observed) -> None:
        """Write a new Event; two of one instant differ in the last digit of their names."""
        namespace, name = event["metadata"]["namespace"], observed.name
        while self.client.cache.get("events", namespace, name) is not None:
            stem, _, suffix = name.rpartition(".")
            name = f"{stem}.{int(suffix, 16) + 1:x}"
        self._observed[key] = (name, observed.first, observed.times)
        event["metadata"]["name"] = name
        try:
            self.client.create("events", namespace, event)
        except ApiError:
            return  # the namespace is being deleted: events are best effort

    def _update(self, namespace: str, observed: _Observed, message: str, now: str) -> bool:
        """Count an event that exists; False if it has expired, so that it is written anew."""
        if self.client.cache.get("events", namespace, observed.name) is None:
            return False
        patch = {"count": observed.times, "lastTimestamp": now, "message": message}
        try:
            self.client.patch("events", namespace, observed.name, patch)
        except ApiError:
            return True
        return True

    def _is_similar(self, aggregate: Key, message: str) -> bool:
        """Whether this event joins the combined one of its kind."""
        record = self._similar.get(aggregate)
        if record is None or self.sim.now - record[0] > SIMILAR_INTERVAL_NS:
            messages: tuple[str, ...] = (message,)
        else:
            messages = record[1] if message in record[1] else (*record[1], message)
        combined = len(messages) >= MAX_SIMILAR
        self._similar[aggregate] = (self.sim.now, messages[1:] if combined else messages)
        _trim(self._similar)
        return combined

    def _observe(self, key: Key, name: str, now: str) -> _Observed:
        known = self._observed.get(key)
        if known is None:
            stamp = unix_seconds(self.sim.now) * SECOND + self.sim.now % SECOND
            known = (f"{name}.{stamp:x}", now, 0)
        text, first, count = known
        self._observed[key] = (text, first, count + 1)
        _trim(self._observed)
        return _Observed(text, first, count + 1)

    def _allow(self, about: Key) -> bool:
        tokens, since = self._tokens.get(about, (float(SPAM_BURST), self.sim.now))
        tokens = min(float(SPAM_BURST), tokens + (self.sim.now - since) / SPAM_REFILL_NS)
        allowed = tokens >= 1.0
        self._tokens[about] = (tokens - 1.0 if allowed else tokens, self.sim.now)
        _trim(self._tokens)
        return allowed


def _trim(cache: dict[Key, Any]) -> None:
    """Forget the oldest entries of a full cache; many at once, because a dict finds its first key ever more slowly."""
    if len(cache) > _MAX_CACHED + _FORGOTTEN:
        for key in list(islice(cache, _FORGOTTEN)):
            del cache[key]


def _reference(obj: Mapping[str, Any], field_path: str) -> Json:
    metadata = obj["metadata"]
    involved: Json = {"kind": obj["kind"]}
    if metadata.get("namespace"):
        involved["namespace"] = metadata["namespace"]
    involved["name"] = metadata["name"]
    involved["uid"] = metadata.get("uid", "")
    involved["apiVersion"] = obj["apiVersion"]
    if metadata.get("resourceVersion"):
        involved["resourceVersion"] = metadata["resourceVersion"]
    if field_path:
        involved["fieldPath"] = field_path
    return involved
