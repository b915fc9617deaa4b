"""Plays a recording's manifests and operations on the simulated cluster and watches it.

What is seen has the form of the recording's lines. The cluster is of another age with every
seed, because the recorded cluster's heartbeats, leases and periodic checks had a phase that
nobody chose. Nor was it empty: by where the recorded scheduler put the pods, two of the three workers had
a pod or two of somebody else's. So here, in every other run, each worker has up to two of them.
And it ran on a machine of another speed (`busy`). Its nodes are those that the recording names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from statistics import median

from simcluster.api.objects import name_of
from simcluster.api.store import Change
from simcluster.calibration.busy import BusyMachine, RecordersWatch
from simcluster.engine import MILLISECOND, MINUTE, SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.engine.streams import mix
from simcluster.testing.golden.cluster import RecordedWorld, recorded_nodes
from simcluster.testing.timeline.operations import Operator
from simcluster.testing.timeline.recording import Document, Line, Recording
from simcluster.testing.timeline.watching import NODES, Watch, resource_of
from simcluster.world.world import NodeSpec

#: Between one creation and the next where the recording does not show it: its first was 7 to 18 ms.
CREATION_NS = 14 * MILLISECOND
#: Between the namespace and the first Deployment, as the recording's folder says.
HEAD_START_NS = 2 * SECOND
#: The cluster's age at the first operation: from 15 s on, spread over a heartbeat's 5 minutes.
YOUNGEST_NS, SPREAD_NS = 15 * SECOND, 300 * SECOND
#: Steps of the golden ratio leave no gap: ages of few seeds lie as far apart as they can.
_GOLDEN, _PARTS = 618_033_989, 1_000_000_000
#: Pods of others on a worker: none to this many less one.
_OTHERS = 3
_ALWAYS_WATCHED = ("pod", "event", "node", "deploy", "eps")
#: What lines may call the kind of a document; the line of its creation tells when that was.
_SHORT = {"Deployment": "deploy", "StatefulSet": "sts", "DaemonSet": "ds", "Pod": "pod", "Job": "job"}
#: A document that appears later than this was not made by the first commands.
_LATE_S = 10.0


def play(recording: Recording, seed: int, *, until_ns: int = 0) -> list[Line]:
    """The lines of one simulated run.

    Args:
        recording: what to do and when.
        seed: of the world.
        until_ns: end earlier than the recording does.
    """
    world = RecordedWorld(seed, nodes_of(recording))
    watch = Watch(
        world.sim,
        _watched(world, recording),
        recording.namespaces,
        node_events=any(line["w"] == "event" and line["obj"].startswith("Node/") for line in recording.lines),
    )
    operator = Operator(world, recording, watch.lines)
    _occupy(world, operator, seed)
    world.run_for(YOUNGEST_NS + seed * _GOLDEN % _PARTS * SPREAD_NS // _PARTS)
    _run_until(world, _wall_clock(recording, world.sim.now))
    for document in recording.documents[: recording.first]:
        operator.create(document)
    world.run_for(HEAD_START_NS)
    machine = BusyMachine(world)
    watch.begin_ns = world.sim.now
    if any(line["w"] == "node" and line["type"] == "ADDED" for line in recording.lines):
        for node in world.api.store.objects(NODES):
            watch.notify(Change("ADDED", NODES, node, None, world.api.store.version))
    for resource in watch.words:
        world.api.store.subscribe(resource, RecordersWatch(machine, watch))
    for at_ns, document in creations(recording):
        _run_until(world, watch.begin_ns + at_ns)
        operator.create(document)
    end_ns = min(until_ns or recording.end_ns, recording.end_ns)
    for at_ns, words in recording.operations:
        if at_ns < end_ns:
            _run_until(world, watch.begin_ns + at_ns)
            operator.operate(words)
    _run_until(world, watch.begin_ns + end_ns)
    return watch.lines


def _wall_clock(recording: Recording, now_ns: int) -> int:
    """The next instant at which the clock on the wall shows what it showed before the recording began.

    Only CronJobs follow that clock, and those of recordings to the minute.
    """
    began_ns = recording.began_unix_ns
    if began_ns is None or all(document["kind"] != "CronJob" for document in recording.documents):
        return now_ns
    shows_ns = unix_seconds(now_ns) * SECOND + now_ns % SECOND
    return now_ns + (began_ns - HEAD_START_NS - shows_ns) % MINUTE


def nodes_of(recording: Recording) -> tuple[NodeSpec, ...]:
    """The nodes of the recorded cluster: those of all recordings so far, unless it names others."""
    usual = recorded_nodes()
    names = recording.nodes
    if names.keys() <= {spec.name for spec in usual}:
        return usual
    fitting = {True: usual[0], False: usual[1]}
    zones = [spec.labels["topology.kubernetes.io/zone"] for spec in usual]
    front = {} if any(names.values()) else {"control-plane": True}
    return tuple(
        replace(
            fitting[control_plane],
            name=name,
            control_plane=control_plane,
            address=f"10.0.0.{10 + index}",
            labels={"topology.kubernetes.io/zone": zones[index % len(zones)]},
            kubelet=replace(fitting[control_plane].kubelet, port=11250 + index),
        )
        for index, (name, control_plane) in enumerate(sorted({**front, **names}.items(), key=lambda item: not item[1]))
    )


def creations(recording: Recording) -> Iterator[tuple[int, Document]]:
    """The documents after the start, and when each was made: as the recording shows, else at its pace."""
    documents = recording.documents[recording.first :]
    seen: dict[tuple[str, str], int] = {}
    for line in recording.lines:
        if line["type"] == "ADDED" and line["t"] < _LATE_S:
            seen.setdefault((line["w"], line["name"]), round(line["t"] * 1000) * MILLISECOND)
    times = [seen.get((_SHORT.get(d["kind"], ""), d["metadata"]["name"])) for d in documents]
    known = [at_ns for at_ns in times if at_ns is not None]
    steps = [after - before for before, after in pairwise(known) if after > before]
    pace_ns = round(median(steps)) if steps else CREATION_NS
    at_ns = -pace_ns
    for document, time_ns in zip(documents, times, strict=True):
        at_ns = max(at_ns, time_ns) if time_ns is not None else at_ns + pace_ns
        yield max(0, at_ns), document


def _watched(world: RecordedWorld, recording: Recording) -> dict[str, str]:
    """What lines call each resource that was watched."""
    words = dict.fromkeys((*_ALWAYS_WATCHED, *recording.watched))
    found = {resource_of(word, world.api.resources): word for word in words}
    found.pop("", None)
    return found


def _occupy(world: RecordedWorld, operator: Operator, seed: int) -> None:
    """Pods of others, which idle and ask for nothing; none in every other run."""
    if seed % 2 == 0:
        return
    workers = [name_of(node) for node in world.api.store.objects("nodes") if not node["spec"].get("taints")]
    for index, node in enumerate(sorted(workers)):
        for number in range(mix(seed, index) % _OTHERS):
            container = {"name": "c", "image": "hotel/other:1.0", "command": ["sh", "-c", "sleep 100000"]}
            metadata = {"name": f"other-{index}-{number}", "namespace": "default"}
            spec = {"nodeName": node, "containers": [container]}
            operator.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _run_until(world: RecordedWorld, at_ns: int) -> None:
    world.run_for(max(0, at_ns - world.sim.now))
