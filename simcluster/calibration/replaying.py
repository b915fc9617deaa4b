"""Lets a simulated cluster live through a recording: its nodes, its manifests, its operations at their instants.

What users of the cluster made, changed and deleted is read from the recording itself: an object that nobody owns and
that appears, changes its spec or goes is an operation at the instant of its arrival; what was there from the
beginning is there before the clock starts. Deleted pods, drained nodes and stopped kubelets come from the script. The
watch of the simulated cluster hears as late as any client of its API server.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from simcluster.api.objects import thaw
from simcluster.api.quantity import QuantityError, to_bytes, to_millicores
from simcluster.api.store import Change as Committed
from simcluster.calibration.quantities import WATCHED, Samples, measured
from simcluster.calibration.record.layout import RecordingError
from simcluster.calibration.recording import LEASES, Change, Recording
from simcluster.control.controller import Informer
from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.world import World
from simcluster.world.profile import Profile
from simcluster.world.world import NodeSpec

#: Namespaces of the cluster's own parts, which the simulated one has by itself.
SYSTEM = (
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "observe",
    "monitoring",
    "istio-system",
    "local-path-storage",
)
#: Kinds that users make, in the order in which they need each other.
_MADE = (
    *("namespaces", "resourcequotas", "limitranges", "serviceaccounts", "configmaps", "secrets", "persistentvolumes"),
    *("persistentvolumeclaims", "services", "networkpolicies.networking.k8s.io", "poddisruptionbudgets.policy"),
    *("deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "pods"),
)
#: How long what was there from the beginning has to come to rest.
SETTLE_S = 60.0
#: After the last arrival the simulated cluster lives on for this: what is caused at the end shows.
_DROPPED = ("uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "managedFields", "ownerReferences",
            "deletionTimestamp", "deletionGracePeriodSeconds")  # fmt: skip
_GENERATED = re.compile(r"-[0-9a-z]{5}$|-[0-9a-f]{8,10}$")


@dataclass(frozen=True)
class Act:
    """Something that was done, so many nanoseconds after the recording's begin."""

    at_ns: int
    order: int
    verb: str
    object: dict[str, Any]


@dataclass
class Script:
    """What happened to a recorded cluster from outside.

    Attributes:
        nodes: what to build.
        before: objects that were there from the beginning.
        acts: what was done, in order of time.
        namespaces: in which users' objects are.
        length_ns: of the recording.
        unknown: what was done and cannot be done here, in words.
        stops: where no Lease was recorded: when each node was stopped, on the cluster's clock.
    """

    nodes: list[NodeSpec] = field(default_factory=list)
    before: list[dict[str, Any]] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    namespaces: set[str] = field(default_factory=set)
    length_ns: int = 0
    unknown: list[str] = field(default_factory=list)
    stops: dict[str, int] | None = None


def script_of(recording: Recording) -> Script:
    """What to do. Raises RecordingError if the recording names no node."""
    script = Script()
    begin_ns, end_ns = recording.span_ns
    script.length_ns = end_ns - begin_ns
    script.nodes = _nodes(recording)
    for order, resource in enumerate(_MADE):
        specs: dict[tuple[str, str], Any] = {}
        for change in recording.changes(resource):
            _note(script, change, order, begin_ns, specs)
    for operation in recording.operations():
        _operate(script, operation, begin_ns)
    script.acts.sort(key=lambda act: (act.at_ns, act.order))
    if LEASES not in recording.resources():
        stopped = [act for act in script.acts if act.verb in ("stop", "kill")]
        script.stops = {act.object["node"]: begin_ns + act.at_ns for act in stopped}
    return script


def _nodes(recording: Recording) -> list[NodeSpec]:
    found: dict[str, NodeSpec] = {}
    for change in recording.changes("nodes"):
        name = change.object["metadata"]["name"]
        if name in found:
            continue
        labels = change.object["metadata"].get("labels") or {}
        capacity = (change.object.get("status") or {}).get("capacity") or {}
        cores, memory = _size(recording, name, capacity)
        taints = {str(taint.get("key")) for taint in change.object["spec"].get("taints") or ()}
        found[name] = NodeSpec(
            name,
            control_plane="node-role.kubernetes.io/control-plane" in {**labels, **dict.fromkeys(taints, "")}
            or "control-plane" in name,
            tainted="node-role.kubernetes.io/control-plane" in taints or "control-plane" in name,
            cpu=cores,
            memory=memory,
        )
    if not found:
        raise RecordingError(f"{recording.folder}: no node was seen, so that no cluster can be built")
    ordered = sorted(found.values(), key=lambda node: (not node.control_plane, node.name))
    if not ordered[0].control_plane:
        ordered[0] = NodeSpec(
            ordered[0].name, control_plane=True, tainted=False, cpu=ordered[0].cpu, memory=ordered[0].memory
        )
    return ordered


def _size(recording: Recording, node: str, capacity: dict[str, Any]) -> tuple[int, int]:
    """Cores and bytes of a node, as it says, or as usual."""
    try:
        cores = -(-to_millicores(capacity.get("cpu", 4)) // 1000)
        return max(1, cores), to_bytes(capacity.get("memory", "8Gi"))
    except QuantityError as problem:
        raise RecordingError(f"{recording.folder}: capacity of node {node}: {capacity}: {problem}") from None


def _note(script: Script, change: Change, order: int, begin_ns: int, specs: dict[tuple[str, str], Any]) -> None:
    metadata = change.object["metadata"]
    namespace = metadata.get("namespace") or (metadata["name"] if change.resource == "namespaces" else "")
    if namespace in SYSTEM or metadata.get("ownerReferences") or _by_itself(change):
        return
    key = (namespace, metadata["name"])
    wanted = {part: change.object.get(part) for part in ("spec", "data", "stringData")}
    before = specs.get(key)
    if change.kind == "DELETED":
        verb = "delete"
        specs.pop(key, None)
    else:
        verb = "apply" if before != wanted else ""
        specs[key] = wanted
    if change.resource == "pods" and before is not None and verb == "apply":
        verb = ""  # its spec is changed by its binding
    if namespace and change.resource != "namespaces":
        script.namespaces.add(namespace)
    if change.kind == "LISTED" and before is None:
        script.before.append(_document(change))
    elif verb:
        script.acts.append(Act(max(0, change.t_ns - begin_ns), order, verb, _document(change)))


def _by_itself(change: Change) -> bool:
    """Objects that a cluster makes for itself."""
    name = change.object["metadata"]["name"]
    return name in ("kube-root-ca.crt", "kubernetes", "default") or (
        change.resource == "secrets" and str(change.object.get("type", "")).startswith("kubernetes.io/service-account")
    )


def _document(change: Change) -> dict[str, Any]:
    """The object as somebody would apply it."""
    groups = {
        "apps": "apps/v1",
        "batch": "batch/v1",
        "policy": "policy/v1",
        "networking.k8s.io": "networking.k8s.io/v1",
    }
    found = {key: value for key, value in change.object.items() if key != "status"}
    found["apiVersion"] = groups.get(change.resource.partition(".")[2], "v1")
    found["metadata"] = {key: value for key, value in found["metadata"].items() if key not in _DROPPED}
    spec = dict(found.get("spec") or {})
    if change.resource == "services":
        for part in ("clusterIP", "clusterIPs"):
            if spec.get("clusterIP") != "None":
                spec.pop(part, None)
    if change.resource == "pods":
        spec.pop("nodeName", None)
        spec["volumes"] = [v for v in spec.get("volumes") or () if not str(v["name"]).startswith("kube-api-access")]
        for container in spec.get("containers") or ():
            mounts = container.get("volumeMounts") or ()
            container["volumeMounts"] = [m for m in mounts if not str(m["name"]).startswith("kube-api-access")]
    if spec:
        found["spec"] = spec
    return found


def _operate(script: Script, operation: dict[str, Any], begin_ns: int) -> None:
    """Of the recorder's script what leaves no trace among the objects that nobody owns."""
    words, at_ns = operation["operation"], max(0, operation["at_ns"] - begin_ns)
    if operation.get("outcome", "done") != "done":
        return
    if str(words.get("delete", "")).startswith("pod"):
        name = operation.get("name") or str(words["delete"]).partition("/")[2]
        script.acts.append(Act(at_ns, 90, "delete-pod", {"name": name, "namespace": words.get("namespace", "default")}))
    elif "drain" in words:
        script.acts.append(Act(at_ns, 91, "drain", {"node": words["drain"]}))
    elif "scale" in words or "rollout" in words:
        script.acts.append(Act(at_ns, 93, "scale" if "scale" in words else "rollout", dict(words)))
    elif "run" in words or "means" in words:
        meant = str(words.get("means", "")).split()
        if len(meant) == 3 and meant[0] in ("stop", "kill", "start") and meant[1] in ("kubelet", "containerd", "node"):
            script.acts.append(Act(at_ns, 92, meant[0], {"unit": meant[1], "node": meant[2]}))
        elif meant and meant != ["nothing"]:
            script.unknown.append(" ".join(meant))
    elif not ({"apply", "delete", "verb"} & set(words)):
        script.unknown.append(json.dumps(words))


class Watched:
    """A watch of the simulated cluster that writes changes of a recording's form."""

    def __init__(self, world: World) -> None:
        self.sim = world.sim
        self.changes: list[Change] = []
        self._informers = [Informer(world.sim, "recorder", resource, self._take) for resource in WATCHED]
        for informer, resource in zip(self._informers, WATCHED, strict=True):
            world.api.store.subscribe(resource, informer)

    def _take(self, change: Committed) -> None:
        now = self.sim.now
        t_ns = unix_seconds(now) * SECOND + now % SECOND
        self.changes.append(Change(t_ns, change.kind, change.resource, thaw(change.object)))


class Replay:
    """One run of a simulated cluster through a script.

    Attributes:
        refused: what the API server said of what it refused.
        changes: what a watch saw from the begin of the recording on.
    """

    def __init__(self, script: Script, seed: int = 0, profile: Profile | None = None) -> None:
        self.script = script
        self.world = World(seed, nodes=script.nodes, profile=profile)
        self.refused: list[str] = []
        self.changes: list[Change] = []
        self._stops: dict[str, int] = {}

    def play(self) -> dict[str, Samples]:
        """Live through it; the quantities as they would have been recorded."""
        for document in self.script.before:
            self._apply(document)
        self.world.run_for(round(SETTLE_S * SECOND))
        watched = Watched(self.world)
        self.changes = watched.changes
        begin_ns = self.world.sim.now
        for act in self.script.acts:
            self.world.run_for(max(0, begin_ns + act.at_ns - self.world.sim.now))
            self._do(act)
        self.world.run_for(max(0, begin_ns + self.script.length_ns - self.world.sim.now))
        stops = None if self.script.stops is None else self._stops
        return measured(watched.changes, self.script.namespaces, stops)

    def _do(self, act: Act) -> None:
        doing: dict[str, Callable[[Act], None]] = {"apply": self._apply_act, "delete": self._delete,
                                                   "delete-pod": self._delete_pod, "drain": self._drain,
                                                   "scale": self._scale, "rollout": self._rollout}  # fmt: skip
        doing.get(act.verb, self._node)(act)

    def _apply_act(self, act: Act) -> None:
        self._apply(act.object)

    def _apply(self, document: dict[str, Any]) -> None:
        namespace = document["metadata"].get("namespace")
        if namespace and self.world.api.store.get("namespaces", "", namespace) is None:
            self.world.kubectl().run(f"create namespace {namespace}")
        result = self.world.kubectl().run("apply -f -", yaml.safe_dump(document))
        if result.exit_code:
            self.refused.append(result.stderr.strip())

    def _delete(self, act: Act) -> None:
        metadata = act.object["metadata"]
        where = f"-n {metadata['namespace']}" if metadata.get("namespace") else ""
        self.world.kubectl().run(f"delete {act.object['kind'].lower()} {metadata['name']} {where} --wait=false")

    def _delete_pod(self, act: Act) -> None:
        """The pod here that plays the part of the recorded one: the first of the same workload."""
        part = _GENERATED.sub("", _GENERATED.sub("", act.object["name"]))
        for pod in self.world.api.store.objects("pods", act.object["namespace"]):
            name = pod["metadata"]["name"]
            if name == act.object["name"] or _GENERATED.sub("", _GENERATED.sub("", name)) == part:
                self.world.kubectl().run(f"delete pod {name} -n {act.object['namespace']} --wait=false")
                return

    def _scale(self, act: Act) -> None:
        """Of what was scaled by a script; where the change of its object was recorded too, it is so already."""
        kind, _, name = str(act.object["scale"]).rpartition("/")
        where = f"-n {act.object.get('namespace') or min(self.script.namespaces, default='default')}"
        self.world.kubectl().run(f"scale {kind or 'deployment'}/{name} --replicas={act.object['replicas']} {where}")

    def _rollout(self, act: Act) -> None:
        """Another tag for the first container of a Deployment."""
        name, namespace = act.object["rollout"], min(self.script.namespaces, default="default")
        found = self.world.api.store.get("deployments.apps", namespace, name)
        if found is not None:
            container = found["spec"]["template"]["spec"]["containers"][0]
            image = f"{container['image'].rpartition(':')[0]}:{act.object['tag']}"
            self.world.kubectl().run(f"set image deployment/{name} {container['name']}={image} -n {namespace}")

    def _drain(self, act: Act) -> None:
        node = act.object["node"]
        self.world.kubectl().run(f"cordon {node}")
        for pod in self.world.api.store.objects("pods"):
            metadata = pod["metadata"]
            owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
            if pod["spec"].get("nodeName") == node and not owners & {"DaemonSet", "Node"}:
                where = f"-n {metadata['namespace']}"
                self.world.kubectl().run(f"delete pod {metadata['name']} {where} --wait=false")

    def _node(self, act: Act) -> None:
        machine = self.world.machines.get(act.object["node"])
        if machine is None:
            self.refused.append(f"there is no node {act.object['node']}")
        elif act.object["unit"] == "node":
            (machine.power.give if act.verb == "start" else machine.power.cut)()
        else:
            machine.control("start" if act.verb == "start" else "stop", act.object["unit"])
        now = self.world.sim.now
        if act.verb != "start":
            self._stops[act.object["node"]] = unix_seconds(now) * SECOND + now % SECOND


def recorded(recording: Recording, script: Script) -> dict[str, Samples]:
    """The quantities of a recording, of users' pods."""
    return measured(_merged(recording), script.namespaces, script.stops)


def _merged(recording: Recording) -> Iterator[Change]:
    streams = [recording.changes(resource) for resource in WATCHED]
    return heapq.merge(*streams, key=lambda change: change.t_ns)
