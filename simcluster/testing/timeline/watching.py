"""A watch of the simulated cluster that writes lines of a recording's form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simcluster.api.objects import ApiObject, name_of
from simcluster.api.resources import ResourceTable
from simcluster.api.store import Change
from simcluster.engine import SECOND, Simulation
from simcluster.testing.timeline.recording import Line

EVENTS, NODES = "events", "nodes"
#: What lines call a kind, besides its short names, its plural and its singular.
_WORDS = {"node": NODES, "event": EVENTS, "eps": "endpointslices.discovery.k8s.io"}


def resource_of(word: str, resources: ResourceTable) -> str:
    """The resource that a line's `w` names, "" if there is none."""
    if word in _WORDS:
        return _WORDS[word]
    for resource in resources.all:
        if word in (resource.plural, resource.singular, *resource.short_names):
            return resource.storage
    return ""


class Watch:
    """A watch of some resources, of namespaced ones in some namespaces.

    Args:
        words: what lines call the watched resources, by resource.
        namespaces: which are watched; Events about nodes are seen too if `node_events`.
    """

    def __init__(
        self, sim: Simulation, words: Mapping[str, str], namespaces: Iterable[str], *, node_events: bool = False
    ) -> None:
        self.sim = sim
        self.words = dict(words)
        self.namespaces = frozenset(namespaces)
        self.node_events = node_events
        self.begin_ns = 0
        self.lines: list[Line] = []

    def notify(self, change: Change) -> None:
        """Write the change down."""
        obj = change.object
        namespace = obj["metadata"].get("namespace")
        if namespace and namespace not in self.namespaces:
            about_node = change.resource == EVENTS and (obj.get("involvedObject") or {}).get("kind") == "Node"
            if not (about_node and self.node_events):
                return
        t = round((self.sim.now - self.begin_ns) / SECOND, 3)
        word = self.words[change.resource]
        line: Line = {"t": t, "w": word, "type": change.kind, "name": name_of(obj)}
        self.lines.append({**line, **_PARTS_OF.get(change.resource, _other)(obj)})


def _pod(pod: ApiObject) -> Line:
    status: Mapping[str, Any] = pod.get("status") or {}
    return {
        "node": pod["spec"].get("nodeName") or None,
        "phase": status.get("phase"),
        "del_": "deletionTimestamp" in pod["metadata"],
        "reason": status.get("reason"),
        "conds": {c["type"]: [c["status"], c.get("reason")] for c in status.get("conditions") or ()},
        "cs": [
            {
                "name": c["name"],
                "ready": c.get("ready", False),
                "restarts": c.get("restartCount", 0),
                "state": c.get("state") or {},
                "last": c.get("lastState") or {},
            }
            for c in status.get("containerStatuses") or ()
        ],
    }


def _event(event: ApiObject) -> Line:
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = (event.get("source") or {}).get("component") or event.get("reportingComponent")
    return {
        "obj": f"{about['kind']}/{about['name']}",
        "reason": event.get("reason"),
        "count": event.get("count"),
        "msg": event.get("message") or event.get("note") or "",
        "src": source,
    }


def _node(node: ApiObject) -> Line:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return {
        "taints": [f"{taint['key']}:{taint['effect']}" for taint in node["spec"].get("taints") or ()],
        "ready": [[c["status"], c.get("reason")] for c in conditions if c["type"] == "Ready"],
    }


def _slice(entry: ApiObject) -> Line:
    endpoints = entry.get("endpoints") or ()
    return {"eps": [[(e.get("targetRef") or {}).get("name"), e.get("conditions") or {}] for e in endpoints]}


def _other(obj: ApiObject) -> Line:
    return {"status": obj.get("status") or {}, "del_": "deletionTimestamp" in obj["metadata"]}


_PARTS_OF: dict[str, Callable[[ApiObject], Line]] = {
    "pods": _pod,
    EVENTS: _event,
    NODES: _node,
    "endpointslices.discovery.k8s.io": _slice,
}
