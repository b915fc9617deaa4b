"""Plays a recording's manifests and operations on the simulated cluster and watches it.

What is seen has the form of the recording's lines. The cluster is of another age with every
seed, because the recorded cluster's heartbeats, leases and periodic checks had a phase that
nobody chose. Nor was it empty: by where the recorded scheduler put the pods, two of the three workers had
a pod or two of somebody else's. So here, in every other run, each worker has up to two of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from simcluster.api.objects import ApiObject, name_of
from simcluster.api.store import Change
from simcluster.engine import MILLISECOND, SECOND, Simulation
from simcluster.engine.streams import mix
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.timeline.recording import Line, Recording

#: Between one creation and the next: the recording's are 7 to 18 ms apart.
CREATION_NS = 14 * MILLISECOND
#: Between the namespace and the first Deployment, as the recording's folder says.
HEAD_START_NS = 2 * SECOND
#: The cluster's age at the first operation: from 15 s on, spread over a heartbeat's 5 minutes.
YOUNGEST_NS, SPREAD_NS = 15 * SECOND, 300 * SECOND
#: Steps of the golden ratio leave no gap: ages of few seeds lie as far apart as they can.
_GOLDEN, _PARTS = 618_033_989, 1_000_000_000
#: Pods of others on a worker: none to this many less one.
_OTHERS = 3

_WATCHED = {
    "pods": "pod",
    "events": "event",
    "nodes": "node",
    "deployments.apps": "deploy",
    "endpointslices.discovery.k8s.io": "eps",
}


class Watch:
    """A watch of everything of the namespace, and of the nodes."""

    def __init__(self, sim: Simulation, namespace: str) -> None:
        self.sim = sim
        self.namespace = namespace
        self.begin_ns = 0
        self.lines: list[Line] = []

    def notify(self, change: Change) -> None:
        """Write the change down."""
        obj = change.object
        if change.resource != "nodes" and obj["metadata"].get("namespace") != self.namespace:
            return
        t = round((self.sim.now - self.begin_ns) / SECOND, 3)
        line: Line = {"t": t, "w": _WATCHED[change.resource], "type": change.kind, "name": name_of(obj)}
        self.lines.append({**line, **_PARTS_OF[change.resource](obj)})


def play(recording: Recording, seed: int, *, until_ns: int = 0) -> list[Line]:
    """The lines of one simulated run.

    Args:
        recording: what to do and when.
        seed: of the world.
        until_ns: end earlier than the recording does.
    """
    documents = [yaml.safe_load(text) for text in recording.documents]
    first = next(index for index, document in enumerate(documents) if document["kind"] == "Deployment")
    namespace = str(documents[first]["metadata"]["namespace"])
    world = RecordedWorld(seed)
    _occupy(world, seed)
    world.run_for(YOUNGEST_NS + seed * _GOLDEN % _PARTS * SPREAD_NS // _PARTS)
    for document in documents[:first]:
        _create(world, document)
    world.run_for(HEAD_START_NS)
    watch = Watch(world.sim, namespace)
    watch.begin_ns = world.sim.now
    for resource in _WATCHED:
        world.api.store.subscribe(resource, watch)
    for document in documents[first:]:
        _create(world, document)
        world.run_for(CREATION_NS)
    end_ns = min(until_ns or recording.end_ns, recording.end_ns)
    for at_ns, words in recording.operations:
        if at_ns < end_ns:
            _run_until(world, watch.begin_ns + at_ns)
            _operate(world, namespace, documents, words)
    _run_until(world, watch.begin_ns + end_ns)
    return watch.lines


def _occupy(world: RecordedWorld, seed: int) -> None:
    """Pods of others, which idle and ask for nothing; none in every other run."""
    if seed % 2 == 0:
        return
    workers = [name_of(node) for node in world.api.store.objects("nodes") if not node["spec"].get("taints")]
    for index, node in enumerate(sorted(workers)):
        for number in range(mix(seed, index) % _OTHERS):
            container = {"name": "c", "image": "hotel/other:1.0", "command": ["sh", "-c", "sleep 100000"]}
            metadata = {"name": f"other-{index}-{number}", "namespace": "default"}
            spec = {"nodeName": node, "containers": [container]}
            _create(world, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _run_until(world: RecordedWorld, at_ns: int) -> None:
    world.run_for(max(0, at_ns - world.sim.now))


def _create(world: RecordedWorld, document: dict[str, Any]) -> None:
    world.apply(yaml.safe_dump(document))


def _operate(world: RecordedWorld, namespace: str, documents: list[dict[str, Any]], words: tuple[str, ...]) -> None:
    """`rollout NAME TAG`, `scale NAME COUNT` or `kill kubelet NODE`. Raises ValueError for other words."""
    match words:
        case ("rollout", name, tag):
            spec = next(d for d in documents if d["kind"] == "Deployment" and d["metadata"]["name"] == name)["spec"]
            container = spec["template"]["spec"]["containers"][0]
            image = f"{container['image'].rpartition(':')[0]}:{tag}"
            changed = {"template": {"spec": {"containers": [{"name": container["name"], "image": image}]}}}
            _patch(world, namespace, name, changed)
        case ("scale", name, count):
            _patch(world, namespace, name, {"replicas": int(count)})
        case ("kill", "kubelet", node):
            world.kill_kubelet(node)
        case _:
            raise ValueError(f"unknown operation: {' '.join(words)}")


def _patch(world: RecordedWorld, namespace: str, name: str, spec: dict[str, Any]) -> None:
    world.client("kubernetes-admin", "kubectl").patch("deployments.apps", namespace, name, {"spec": spec})


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


def _deploy(deployment: ApiObject) -> Line:
    return {"status": deployment.get("status") or {}}


def _slice(entry: ApiObject) -> Line:
    endpoints = entry.get("endpoints") or ()
    return {"eps": [[(e.get("targetRef") or {}).get("name"), e.get("conditions") or {}] for e in endpoints]}


_PARTS_OF = {
    "pods": _pod,
    "events": _event,
    "nodes": _node,
    "deployments.apps": _deploy,
    "endpointslices.discovery.k8s.io": _slice,
}
