"""Which tests a world takes: those of what differs from its healthy twin first, and a sample of the others.

What is sampled follows from the seed and the task alone. What differs is looked for where a test would find it: in
workloads and the pods that they own, in endpoints that no controller wrote, in units and labels of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simcluster.api.objects import ApiObject, labels_of, name_of
from simcluster.control.kubelet.thresholds import CONFIG_FILE, unreadable
from simcluster.engine.streams import Streams
from simcluster.eval.examination.standing import WORKLOADS, workloads
from simcluster.eval.examination.trials import Again, Drain, OneMore, Reboot, Recreated, Returned, Roll, Trial, label
from simcluster.eval.interventions.victims import calls_of
from simcluster.faults.facts import ChangedFact, essence, leaves
from simcluster.faults.steps import mechanism_of
from simcluster.faults.survey import standing
from simcluster.models.machine.machine import Machine
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.engine.content import Library
    from simcluster.world import World

#: How many workloads are rolled and get a replica more, and how many nodes are rebooted or drained in a grade.
ROLLS, MORE, LOSSES = 1, 1, 1
#: What `kubectl rollout restart` writes.
_ROLLED = "kubectl.kubernetes.io/restartedAt"
#: What is tested of pods that nobody would make again.
BARE = "pods that no workload owns"
#: Kinds of objects that containers are started with.
_HELD = ("configmaps", "secrets", "persistentvolumeclaims", "serviceaccounts")
#: Effects of taints that keep new pods away.
_KEEPING = ("NoSchedule", "NoExecute")
#: Who writes EndpointSlices by himself.
_CONTROLLER = "endpointslice-controller.k8s.io"


def changes(world: World, twin: World, task: Task, seed: int | None, library: Library | None = None) -> list[Trial]:
    """Tests of change; a sample if there is a seed."""
    there = workloads(world, task.namespace)
    differing = _differing(world, twin, task.namespace)
    found: list[Trial] = []
    bare = _bare_pods(world, task.namespace)
    if bare:
        found.append(Recreated(BARE, bare))
    rolls = [Roll(label(one)) for _, one in there]
    found += _sample(rolls, ROLLS, differing, (seed, task.id, "roll"))
    more = [OneMore(label(one), _replicas(one)) for kind, one in there if kind != WORKLOADS[2]]
    found += _sample(more, MORE, {}, (seed, task.id, "more"))
    for index, step in enumerate(task.incident):
        if step.fault and not step.harmless and not mechanism_of(step, task.namespace, library).lasting:
            found.append(Again(f"{step.fault.replace('_', ' ')}", index))
    return found


def returns(world: World, twin: World, task: Task, changed: Sequence[ChangedFact]) -> list[Trial]:
    """For each node on which a cause still stands and that takes pods: those that the twin has there come back.

    Who happens to have no pod there has mended nothing; who keeps pods away, or needs none there, has.
    """
    nodes = [name for name in _nodes(world) if name in _nodes(twin)]
    parts = [fact for fact in changed if fact.place.kind == "Node" and fact.place.part]
    found: list[Trial] = []
    for node in dict.fromkeys(fact.place.name for fact in parts if fact.place.name in nodes):
        stands = standing(world, [fact for fact in parts if fact.place.name == node])
        run = _run_on(twin, task.namespace, node)
        there = [one for one in run if one in [label(each) for _, each in workloads(world, task.namespace)]]
        if stands and there and _takes_pods(world, node) and _run_on(world, task.namespace, node) != run:
            found.append(Returned(node, tuple(there), tuple(name for name in nodes if name != node)))
    return found


def _run_on(world: World, namespace: str, node: str) -> list[str]:
    """Deployments, as `kind/name`, that have pods on a node."""
    pods = [p for p in world.api.store.objects("pods", namespace) if (p.get("spec") or {}).get("nodeName") == node]
    there = [one for kind, one in workloads(world, namespace) if kind == "deployments.apps"]
    return [label(one) for one in there if any(_is_of(pod, one) for pod in pods)]


def _takes_pods(world: World, node: str) -> bool:
    """Whether pods are placed on a node."""
    stored = world.api.store.get("nodes", "", node)
    spec = {} if stored is None else stored.get("spec") or {}
    return not spec.get("unschedulable") and not any(t["effect"] in _KEEPING for t in spec.get("taints") or ())


def losses(world: World, twin: World, task: Task, seed: int | None) -> list[Trial]:
    """Tests of loss; a sample if there is a seed."""
    nodes, differing = _nodes(world), _differing_nodes(world, twin)
    reboots, drains = [Reboot(name) for name in nodes], [Drain(name) for name in nodes]
    chosen: list[Trial] = [Reboot(name) for name in differing]
    if seed is None:
        return [*reboots, *(test for test in chosen if test not in reboots), *drains]
    return chosen or _sample([*reboots, *drains], LOSSES, {}, (seed, task.id, "loss"))


def suspects(world: World, twin: World, task: Task) -> frozenset[str]:
    """Subjects of tests that are not as in the twin: workloads, nodes, pods that no workload owns."""
    pods = (BARE,) if _bare_pods(world, task.namespace) else ()
    return frozenset((*pods, *_differing(world, twin, task.namespace), *_differing_nodes(world, twin)))


def applies(test: Trial, world: World, task: Task) -> bool:
    """Whether a world has what a test is done to."""
    if isinstance(test, (Roll, OneMore)):
        return test.subject in [label(one) for _, one in workloads(world, task.namespace)]
    return not isinstance(test, Recreated)


def _sample(tests: list[Any], count: int, first: dict[str, None], key: tuple[Any, ...]) -> list[Trial]:
    """Those whose subject comes first, and others by the seed until there are so many; all without a seed."""
    if key[0] is None:
        return list(tests)
    chosen = [test for test in tests if test.subject in first]
    rest = [test for test in tests if test.subject not in first]
    stream = Streams(int(key[0])).stream("examination", *key[1:])
    while rest and len(chosen) < count:
        chosen.append(rest.pop(stream.choice(list(range(len(rest))))))
    return chosen


def _replicas(obj: ApiObject) -> int:
    return int(obj["spec"].get("replicas", 1))


def _tainted(node: ApiObject) -> bool:
    """Whether it is kept for the control plane."""
    return any(
        t["key"] == "node-role.kubernetes.io/control-plane" for t in (node.get("spec") or {}).get("taints") or ()
    )


def _nodes(world: World) -> list[str]:
    """Nodes that run applications."""
    return [name_of(n) for n in world.api.store.objects("nodes") if name_of(n) in world.machines and not _tainted(n)]


def _differing_nodes(world: World, twin: World) -> dict[str, None]:
    """Nodes that would not come back as those of the twin, those of the control plane among them."""
    return dict.fromkeys(name for name in world.machines if _host(world, name) != _host(twin, name))


def _differing(world: World, twin: World, namespace: str) -> dict[str, None]:
    """Workloads, as `kind/name`, whose decisions or pods are not those of the twin's."""
    healthy = {label(one): _decided(one) for _, one in workloads(twin, namespace)}
    pods = world.api.store.objects("pods", namespace)
    by_hand = _addresses_by_hand(world, namespace)
    found: dict[str, None] = {}
    needing = _needing(world, twin, namespace)
    for _, one in workloads(world, namespace):
        mine = [pod for pod in pods if _is_of(pod, one)]
        edited = any(_edited(pod, one) or (pod.get("status") or {}).get("podIP") in by_hand for pod in mine)
        if edited or name_of(one) in needing or _decided(one) != healthy.get(label(one)):
            found[label(one)] = None
    return found


def _needing(world: World, twin: World, namespace: str) -> frozenset[str]:
    """Names of workloads that call a Service, or start with what an object holds, that is not as in the twin.

    A program that connects once does not miss its Service, nor one that has read its settings, before it starts again.
    A Service that nobody was seen to call may be asked for by anybody who starts.
    """
    there = workloads(world, namespace)
    held = frozenset().union(*(_changed(world, twin, namespace, kind) for kind in _HELD))
    found = {name_of(one) for _, one in there if held & _texts(one["spec"]["template"]["spec"])}
    services = _changed(world, twin, namespace, "services")
    if services:
        calls = [(caller, called) for caller, called in calls_of(twin, namespace) if called in services]
        quiet = services - {called for _, called in calls}
        found |= {name_of(one) for _, one in there} if quiet else {caller for caller, _ in calls}
    return frozenset(found)


def _changed(world: World, twin: World, namespace: str, kind: str) -> frozenset[str]:
    """Names of objects of a kind that are not as in the twin, gone or new."""
    here, there = ({name_of(one): essence(one) for one in w.api.store.objects(kind, namespace)} for w in (world, twin))
    return frozenset(name for name in {*here, *there} if here.get(name) != there.get(name))


def _texts(value: Any) -> frozenset[str]:
    """All texts that stand somewhere below a value."""
    return frozenset(one for _, one in leaves(value) if isinstance(one, str))


def _decided(workload: ApiObject) -> dict[str, Any]:
    """What was decided about a workload, by path; that it was rolled is no decision."""
    return {path: value for path, value in leaves(essence(workload)) if _ROLLED not in path}


def _is_of(pod: ApiObject, workload: ApiObject) -> bool:
    """Whether a pod's owner carries the workload's name (a ReplicaSet's is that with a hash behind it)."""
    owners = pod["metadata"].get("ownerReferences") or ()
    wanted = name_of(workload)
    return any(wanted in (o["name"], o["name"].rpartition("-")[0]) for o in owners)


def _edited(pod: ApiObject, workload: ApiObject) -> bool:
    """Whether labels or images of a pod are no longer those of its template."""
    template = workload["spec"]["template"]
    wanted = template["metadata"].get("labels") or {}
    labels = labels_of(pod)
    images = {c["name"]: c["image"] for c in pod["spec"]["containers"]}
    asked = {c["name"]: c["image"] for c in template["spec"]["containers"]}
    extra = [key for key in labels if key not in wanted and not key.endswith(("-hash", "pod-name", "pod-index"))
             and "kubernetes.io" not in key and key != "pod-template-generation"]  # fmt: skip
    return bool(extra) or any(labels.get(key) != value for key, value in wanted.items()) or images != asked


def _addresses_by_hand(world: World, namespace: str) -> dict[str, None]:
    """Addresses in EndpointSlices that no controller wrote."""
    found: dict[str, None] = {}
    for piece in world.api.store.objects("endpointslices.discovery.k8s.io", namespace):
        if labels_of(piece).get("endpointslice.kubernetes.io/managed-by") != _CONTROLLER:
            for endpoint in piece.get("endpoints") or ():
                found.update(dict.fromkeys(endpoint["addresses"]))
    return found


def _bare_pods(world: World, namespace: str) -> tuple[str, ...]:
    """Pods that nobody would make again."""
    pods = world.api.store.objects("pods", namespace)
    return tuple(name_of(pod) for pod in pods if not pod["metadata"].get("ownerReferences"))


def _host(world: World, name: str) -> tuple[Any, ...]:
    """What of a node decides how it comes back: enabled units, what its kubelet cannot read, labels and taints."""
    machine, node = world.machines.get(name), world.api.store.get("nodes", "", name)
    if machine is None or node is None:
        return ()
    units = tuple((unit.name, unit.active, unit.enabled, unit.masked) for unit in machine.unit_list())
    file = machine.files.find(CONFIG_FILE) if isinstance(machine, Machine) else None
    why = "" if file is None else unreadable(file.text)
    return units, why, labels_of(node), (node.get("spec") or {}).get("taints")
