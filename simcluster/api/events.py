"""Events as components record them: aggregated, counted and rate limited.

Equal events are one object whose `count` grows. After ten different messages for one
reason within ten minutes the next ones share an event "(combined from similar events)".
Per source, object and type a token bucket of 25, one more every 300 s, drops the rest.

Source: k8s.io/client-go/tools/record (events_cache.go, event.go) with its defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.engine import SECOND, FlatDict, Simulation, format_rfc3339
from simcluster.engine.clock import unix_seconds

SPAM_BURST = 25
SPAM_REFILL_NS = 300 * SECOND
MAX_SIMILAR = 10
SIMILAR_INTERVAL_NS = 600 * SECOND
COMBINED = "(combined from similar events): "
#: Entries of a full cache, and how many are forgotten then, the longest unused first (maxLruCacheEntries is 4096).
_FULL, _FORGOTTEN = 4352, 256
_SEPARATOR = "\0"

#: What an event is about, its parts joined. Keys and records are texts and plain tuples: of them a
#: cluster has ten thousands, and forks copy nothing faster.
Key = str
#: When messages were last seen for one source, object, type and reason, and which.
_Similar = tuple[int, tuple[str, ...]]
#: What was last written for one event key: name, first time, times.
_Observed = tuple[str, str, int]


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
        self._source: Json = {"component": component, "host": host} if host else {"component": component}
        self._similar: dict[Key, _Similar] = FlatDict()
        self._observed: dict[Key, _Observed] = FlatDict()
        self._tokens: dict[Key, tuple[float, int]] = FlatDict()

    def event(self, obj: Mapping[str, Any], kind: str, reason: str, message: str, *, field_path: str = "") -> None:
        """Record one event about `obj`; `kind` is Normal or Warning."""
        metadata = obj["metadata"]
        space, name, uid = metadata.get("namespace", ""), metadata["name"], metadata.get("uid", "")
        about = _SEPARATOR.join((obj["kind"], space, name, uid, obj["apiVersion"]))
        aggregate = _SEPARATOR.join((about, kind, reason))
        key = _SEPARATOR.join((aggregate, field_path, message))
        if self._is_similar(aggregate, message):
            key, message = aggregate, COMBINED + message
        now = format_rfc3339(self.sim.now)
        observed = self._observe(key, name, now)
        # Normal and Warning have a bucket each: a recorded 1.32 kubelet fell silent after 26 of
        # either (25 and one refilled); one of 1.31 did after 25 of both together.
        if not self._allow(_SEPARATOR.join((about, kind))):
            return
        if observed[2] > 1 and self._update(space or "default", observed, message, now):
            return
        self._create(_reference(obj, field_path), key, observed, (now, reason, message, kind))

    def _create(self, involved: Json, key: Key, observed: _Observed, said: tuple[str, str, str, str]) -> None:
        """Write a new Event; two of one instant differ in the last digit of their names.

        Args:
            said: when and what: the instant, reason, message and type.
        """
        namespace = involved.get("namespace") or "default"
        name, first, times = observed
        while self.client.cache.get("events", namespace, name) is not None:
            stem, _, suffix = name.rpartition(".")
            name = f"{stem}.{int(suffix, 16) + 1:x}"
            self._observed[key] = (name, first, times)
        now, reason, message, kind = said
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "source": self._source,
            "firstTimestamp": first,
            "lastTimestamp": now,
            "count": times,
            "eventTime": None,
            "reportingComponent": self.component,
            "reportingInstance": self.host,
            "reason": reason,
            "message": message,
            "type": kind,
        }
        try:
            self.client.record(namespace, event)
        except ApiError:
            return  # the namespace is being deleted: events are best effort

    def _update(self, namespace: str, observed: _Observed, message: str, now: str) -> bool:
        """Count an event that exists; False if it has expired, so that it is written anew."""
        name, _, times = observed
        if self.client.cache.get("events", namespace, name) is None:
            return False
        try:
            self.client.patch("events", namespace, name, {"count": times, "lastTimestamp": now, "message": message})
        except ApiError:
            return True
        return True

    def _is_similar(self, aggregate: Key, message: str) -> bool:
        """Whether this event joins the combined one of its kind."""
        record = self._similar.pop(aggregate, None)
        if record is None or self.sim.now - record[0] > SIMILAR_INTERVAL_NS:
            messages: tuple[str, ...] = (message,)
        else:
            messages = record[1] if message in record[1] else (*record[1], message)
        combined = len(messages) >= MAX_SIMILAR
        self._similar[aggregate] = (self.sim.now, messages[1:] if combined else messages)
        if len(self._similar) > _FULL:
            _trim(self._similar)
        return combined

    def _observe(self, key: Key, name: str, now: str) -> _Observed:
        known = self._observed.pop(key, None)
        if known is None:
            stamp = unix_seconds(self.sim.now) * SECOND + self.sim.now % SECOND
            known = (f"{name}.{stamp:x}", now, 0)
        text, first, count = known
        observed = self._observed[key] = (text, first, count + 1)
        if len(self._observed) > _FULL:
            _trim(self._observed)
        return observed

    def _allow(self, about: Key) -> bool:
        now, bucket = self.sim.now, self._tokens.pop(about, None)
        if bucket is None:
            tokens = float(SPAM_BURST)
        else:
            tokens = min(float(SPAM_BURST), bucket[0] + (now - bucket[1]) / SPAM_REFILL_NS)
        allowed = tokens >= 1.0
        self._tokens[about] = (tokens - 1.0 if allowed else tokens, now)
        if len(self._tokens) > _FULL:
            _trim(self._tokens)
        return allowed


def _trim(cache: dict[Key, Any]) -> None:
    """Forget what a full cache used longest ago; many at once: a dict finds its first key ever more slowly."""
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
