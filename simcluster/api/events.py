"""Events as components record them: correlated by content, counted, and rate limited.

Source: client-go tools/record (EventCorrelator): equal events within the LRU's life are one
object whose `count` grows; per source and object a token bucket of 25, one more every
300 s, drops the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.engine import SECOND, Simulation, format_rfc3339

SPAM_BURST = 25
SPAM_REFILL_NS = 300 * SECOND


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
        self._names: dict[tuple[str, ...], tuple[str, str]] = {}
        self._tokens: dict[tuple[str, str], tuple[float, int]] = {}

    def event(self, obj: Mapping[str, Any], kind: str, reason: str, message: str, *, field_path: str = "") -> None:
        """Record one event about `obj`; `kind` is Normal or Warning."""
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        if not self._allow(obj["kind"], metadata.get("uid", metadata["name"])):
            return
        now = format_rfc3339(self.sim.now)
        key = (obj["kind"], namespace, metadata["name"], metadata.get("uid", ""), field_path, kind, reason, message)
        known = self._names.get(key)
        if known is not None and self.client.cache.get("events", *known) is not None:
            current = self.client.cache.get("events", *known)
            assert current is not None
            patch = {"count": current.get("count", 1) + 1, "lastTimestamp": now}
            self.client.patch("events", *known, patch)
            return
        involved: Json = {
            "kind": obj["kind"],
            "name": metadata["name"],
            "uid": metadata.get("uid", ""),
            "apiVersion": obj["apiVersion"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        }
        if metadata.get("namespace"):
            involved["namespace"] = namespace
        if field_path:
            involved["fieldPath"] = field_path
        name = f"{metadata['name']}.{0x18A0000000000000 + self.sim.now:x}"
        while self.client.cache.get("events", namespace, name) is not None:
            stem, _, suffix = name.rpartition(".")
            name = f"{stem}.{int(suffix, 16) + 1:x}"
        source: Json = {"component": self.component}
        if self.host:
            source["host"] = self.host
        event: Json = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": self.component,
            "reportingInstance": self.host,
        }
        try:
            self.client.create("events", namespace, event)
        except ApiError:
            return  # the namespace is being deleted: events are best effort
        self._names[key] = (namespace, name)

    def _allow(self, kind: str, uid: str) -> bool:
        tokens, since = self._tokens.get((kind, uid), (float(SPAM_BURST), self.sim.now))
        tokens = min(float(SPAM_BURST), tokens + (self.sim.now - since) / SPAM_REFILL_NS)
        allowed = tokens >= 1.0
        self._tokens[kind, uid] = (tokens - 1.0 if allowed else tokens, self.sim.now)
        return allowed
