"""Lists and watches the objects of a cluster and writes every change down when it arrives.

A list comes in pages; a watch goes on where the list ended and, when its connection ends, where it ended itself. If the
API server no longer remembers that instant (410 Gone), the gap is noted and the list taken again. What the session
before had seen is not listed anew: its watch is resumed from its last resource version.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import httpx

from simcluster.calibration.record.clocks import ClusterClock, reading_of
from simcluster.calibration.record.layout import OBJECTS
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.store import Store

PAGE = 500
#: How long the API server may take to answer, until a watch's first event excepted.
CONNECT_S = 10.0
#: A watch ends by itself after so long, as client-go's do (5 to 10 minutes).
WATCH_S = 300
RETRY_S, RETRY_MAX_S = 0.5, 30.0
#: Kinds that are recorded unless others are named: what questions of time and state need.
RESOURCES = (
    *("namespaces", "nodes", "pods", "services", "endpoints", "events", "configmaps", "secrets", "serviceaccounts"),
    *("persistentvolumeclaims", "persistentvolumes", "resourcequotas", "limitranges"),
    *("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps"),
    *("jobs.batch", "cronjobs.batch", "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"),
    *("endpointslices.discovery.k8s.io", "networkpolicies.networking.k8s.io", "ingresses.networking.k8s.io"),
    *("storageclasses.storage.k8s.io", "leases.coordination.k8s.io", "priorityclasses.scheduling.k8s.io"),
)
#: Watched in every namespace, whichever the user named: they tell how the nodes' clocks and heartbeats go.
_LEASES, _LEASE_NAMESPACE = "leases.coordination.k8s.io", "kube-node-lease"


class Resource(NamedTuple):
    """A kind that the server has.

    Attributes:
        name: `plural.group`, as its stream is called.
        root: of its paths, such as `/apis/apps/v1`.
    """

    name: str
    root: str
    plural: str
    kind: str
    namespaced: bool

    def path(self, namespace: str = "") -> str:
        """Where its list is."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"


async def discover(client: httpx.AsyncClient, wanted: Sequence[str]) -> tuple[list[Resource], list[str]]:
    """Which of the wanted kinds the server has and lets us watch, and the names of the others."""
    roots = ["/api/v1"]
    groups = (await _json(client, "/apis")).get("groups") or ()
    roots += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups]
    needed = {name.partition(".")[2] for name in wanted}
    found: dict[str, Resource] = {}
    for root in roots:
        group = "" if root == "/api/v1" else root.split("/")[2]
        if group not in needed:
            continue
        try:
            listed = await _json(client, root)
        except httpx.HTTPError:
            continue  # an aggregated API whose server is away
        for entry in listed.get("resources") or ():
            name = f"{entry['name']}.{group}" if group else str(entry["name"])
            if "/" not in name and "watch" in entry.get("verbs", ()):
                found[name] = Resource(name, root, entry["name"], entry["kind"], bool(entry["namespaced"]))
    return [found[name] for name in wanted if name in found], [name for name in wanted if name not in found]


async def _json(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    answer = await client.get(path)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


class Gone(Exception):
    """The API server no longer remembers a resource version."""


class Watcher:
    """Records the objects of one kind, in one namespace or all.

    Attributes:
        listed: set once the first list is written, or is known to be refused.
        settled: not set while its watch is opened, when it is not to be cancelled: httpcore leaves the socket of a TLS
            handshake that is cut off open.
        clock: is told the readings of nodes' clocks, if this watches their Leases.
    """

    def __init__(
        self, client: httpx.AsyncClient, store: Store, redaction: Redaction, resource: Resource, namespace: str = ""
    ) -> None:
        self.client = client
        self.clock = ClusterClock()
        self.store = store
        self.redaction = redaction
        self.resource = resource
        self.namespace = _LEASE_NAMESPACE if resource.name == _LEASES else namespace if resource.namespaced else ""
        self.stream = f"{OBJECTS}/{resource.name}"
        self.key = f"{resource.name}@{self.namespace}"
        self.listed, self.settled = asyncio.Event(), asyncio.Event()
        self.settled.set()

    @property
    def version(self) -> str:
        """Up to where everything has been seen; empty before the first list."""
        return str(self.store.state.get("watches", {}).get(self.key, ""))

    @version.setter
    def version(self, version: str) -> None:
        self.store.state.setdefault("watches", {})[self.key] = version

    async def run(self) -> None:
        """Until it is cancelled."""
        pause = RETRY_S
        while True:
            try:
                if not self.version:
                    await self._list()
                self.listed.set()
                async for line in self._events():
                    pause = RETRY_S
                    self._take(line)
            except Gone:
                self.store.note("gap", self.stream, since=self.version, why="410 Gone")
                self.store.write(self.stream, {"type": "GAP"})
                self.version = ""
            except (httpx.HTTPError, ValueError) as problem:
                self.store.note("lost", self.stream, why=f"{type(problem).__name__}: {problem}", retry_s=pause)
                if isinstance(problem, httpx.HTTPStatusError) and problem.response.status_code in (401, 403, 404):
                    self.listed.set()
                    return
                await asyncio.sleep(pause)
                pause = min(RETRY_MAX_S, pause * 2)

    async def _list(self) -> None:
        """Write all objects down, a page at a time."""
        going_on = ""
        while True:
            page: dict[str, Any] = {"limit": PAGE, **({"continue": going_on} if going_on else {})}
            answer = await self.client.get(self.resource.path(self.namespace), params=page)
            if answer.status_code == httpx.codes.GONE:
                going_on = ""
                continue
            answer.raise_for_status()
            found = answer.json()
            for entry in found.get("items") or ():
                entry.setdefault("kind", self.resource.kind)
                self.store.write(self.stream, {"type": "LISTED", "object": self.redaction.object(entry)})
                self._read_clock(entry)
            going_on = found["metadata"].get("continue") or ""
            if not going_on:
                self.version = str(found["metadata"]["resourceVersion"])
                return

    async def _events(self) -> AsyncIterator[str]:
        query: dict[str, str | int] = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": WATCH_S,
            "resourceVersion": self.version,
        }
        patience = httpx.Timeout(CONNECT_S, read=WATCH_S + 30.0)
        path = self.resource.path(self.namespace)
        self.settled.clear()
        try:
            async with self.client.stream("GET", path, params=query, timeout=patience) as answer:
                self.settled.set()
                if answer.status_code == httpx.codes.GONE:
                    raise Gone
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    yield line
        finally:
            self.settled.set()

    def _take(self, text: str) -> None:
        if not text.strip():
            return
        event = json.loads(text)
        found = event["object"]
        if event["type"] == "ERROR":
            if found.get("code") == httpx.codes.GONE:
                raise Gone
            raise ValueError(str(found.get("message") or found))
        if event["type"] != "BOOKMARK":
            found.setdefault("kind", self.resource.kind)
            self.store.write(self.stream, {"type": event["type"], "object": self.redaction.object(found)})
            self._read_clock(found)
        self.version = str(found["metadata"]["resourceVersion"])

    def _read_clock(self, found: dict[str, Any]) -> None:
        if self.resource.name == _LEASES and (reading := reading_of(found)) is not None:
            self.clock.observe(self.store.clock.now_ns(), reading)
