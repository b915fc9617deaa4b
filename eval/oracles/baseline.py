"""What was there before the incident: the measure of collateral damage.

The stored objects are immutable, so a baseline is a dictionary of references: it costs
nothing, and forks share it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from simcluster.api.objects import ApiObject, controller_of, name_of, namespace_of
from simcluster.engine import Shared
from simcluster.faults.survey import EPHEMERAL, Key
from simcluster.faults.target import resource_of

if TYPE_CHECKING:
    from simcluster.world import World

SYSTEM = "kube-system"

#: On volumes that a provisioner made for a claim: they come and go with the claim, which is looked at.
PROVISIONED = "pv.kubernetes.io/provisioned-by"
_AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
#: What an owner writes for its programs, and writes anew when it is made anew.
_SETTINGS = ("ConfigMap", "Secret")


class Baseline(Shared):
    """Objects of a namespace, of what an incident is aimed at, of the system and of the cluster; units that ran.

    Attributes:
        taken_ns: when.
        namespace: of the application.
        objects: by resource, namespace and name.
        units: (node, unit) that were active.
    """

    def __init__(
        self, taken_ns: int, namespace: str, objects: dict[Key, ApiObject], units: tuple[tuple[str, str], ...]
    ):
        self.taken_ns = taken_ns
        self.namespace = namespace
        self.objects = objects
        self.units = units

    @classmethod
    def take(cls, world: World, namespace: str, also: Collection[str] = ()) -> Baseline:
        """The baseline of the present instant: call it when the application is healthy.

        Args:
            also: other namespaces that count, those of what an incident is aimed at.
        """
        store = world.api.store
        objects: dict[Key, ApiObject] = {}
        for resource in store.resources():
            if resource in EPHEMERAL:
                continue
            for obj in store.objects(resource):
                if PROVISIONED in (obj["metadata"].get("annotations") or {}):
                    continue
                if resource == "jobs.batch" and controller_of(obj) is not None:
                    continue  # comes and goes with its CronJob
                where = namespace_of(obj)
                if where in ("", namespace, SYSTEM, *also):
                    objects[resource, where, obj["metadata"]["name"]] = obj
        units = tuple(
            (node, unit.name)
            for node, machine in sorted(world.machines.items())
            for unit in machine.unit_list()
            if unit.active
        )
        return cls(world.sim.now, namespace, objects, units)

    def replicas(self, deployment: str) -> int:
        """Replicas that a Deployment of the application asked for; 0 if there was none."""
        found = self.objects.get(("deployments.apps", self.namespace, deployment))
        return 0 if found is None else int(found["spec"].get("replicas", 1))

    def inventory(self) -> list[str]:
        """`Kind/name` of the application's workloads and Services and of the nodes, for the judge."""
        kinds = {"services": "Service", "nodes": "Node"}
        kinds |= {f"{kind.lower()}s.apps": kind for kind in ("DaemonSet", "Deployment", "StatefulSet")}
        return [
            f"{kinds[resource]}/{name}"
            for resource, namespace, name in sorted(self.objects)
            if resource in kinds and namespace in ("", self.namespace)
        ]


def damage(baseline: Baseline, world: World, faulted: tuple[Key, ...]) -> list[str]:
    """What is worse now than in the baseline, one text each.

    Args:
        faulted: objects whose spec may differ, because repairing them is the point; they must
            still exist, Deployments under any name, with as many replicas, and Services with the same ports.
    """
    found: list[str] = []
    for key, before in baseline.objects.items():
        resource, namespace, name = key
        now = world.api.store.get(resource, namespace, name)
        label = f"{resource} {name}"
        if now is None and key in faulted:
            now = _in_its_place(baseline, world, before)
        if now is None and is_remnant(before, world):
            continue
        if now is None:
            found.append(f"{label} was deleted")
        elif "deletionTimestamp" in now["metadata"]:
            found.append(f"{label} is being deleted")
        elif key in faulted:
            found.extend(f"{label}: {what}" for what in _loss(before, now, scaled=is_scaled(world, now)))
        elif _essence(resource, before) != _essence(resource, now):
            found.append(f"{label} was changed")
        elif not is_scaled(world, now):
            found.extend(f"{label}: {what}" for what in _fewer(before, now))
    for node, unit in baseline.units:
        machine = world.machines.get(node)
        if machine is not None and not machine.power.on and ("nodes", "", node) in faulted:
            continue  # a dead machine has no units; what it did is looked at elsewhere
        state = None if machine is None else machine.unit(unit)
        if state is None or not state.active:
            found.append(f"{unit} no longer runs on {node}")
    return found


def is_remnant(before: ApiObject, world: World) -> bool:
    """Whether settings that are gone went with their owner, and who was made in its place has no use for them."""
    owner = controller_of(before)
    if owner is None or before["kind"] not in _SETTINGS:
        return False
    kept = resource_of(owner["kind"], world.api.resources.all)
    now = None if kept is None else world.api.store.get(kept.storage, namespace_of(before), owner["name"])
    return now is not None and now["metadata"]["uid"] != owner["uid"]


def _in_its_place(baseline: Baseline, world: World, before: ApiObject) -> ApiObject | None:
    """A Deployment that was made instead of one that is gone, for pods with the same labels."""
    if before["kind"] != "Deployment":
        return None
    resource, namespace = "deployments.apps", namespace_of(before)
    labels = before["spec"]["template"]["metadata"].get("labels")
    for one in world.api.store.objects(resource, namespace):
        made = (resource, namespace, one["metadata"]["name"]) not in baseline.objects
        if made and one["spec"]["template"]["metadata"].get("labels") == labels:
            return one
    return None


def is_scaled(world: World, workload: ApiObject) -> bool:
    """Whether an autoscaler decides how many pods a workload has."""
    targets = (one["spec"]["scaleTargetRef"] for one in world.api.store.objects(_AUTOSCALERS, namespace_of(workload)))
    return any((one["kind"], one["name"]) == (workload["kind"], name_of(workload)) for one in targets)


def _loss(before: ApiObject, now: ApiObject, *, scaled: bool) -> list[str]:
    """What a repaired object has less of than before."""
    found = [] if scaled else _fewer(before, now)
    if before["kind"] == "Service" and _ports(before) != _ports(now):
        found.append("its ports were changed")
    if before["kind"] == "Deployment":
        lost = [name for name in _containers(before) if name not in _containers(now)]
        found.extend(f"its container {name} was removed" for name in lost)
    return found


def _fewer(before: ApiObject, now: ApiObject) -> list[str]:
    old, new = (before.get("spec") or {}).get("replicas"), (now.get("spec") or {}).get("replicas")
    if isinstance(old, int) and isinstance(new, int) and new < old:
        return [f"scaled from {old} to {new}"]
    return []


def _ports(service: ApiObject) -> list[Any]:
    return [(p.get("port"), p.get("protocol", "TCP"), p.get("targetPort")) for p in service["spec"].get("ports") or ()]


def _containers(workload: ApiObject) -> list[str]:
    return [c["name"] for c in workload["spec"]["template"]["spec"]["containers"]]


def _essence(resource: str, obj: ApiObject) -> Any:
    """What an operator decides about an object; not status, versions or how often it was restarted."""
    if resource == "nodes":
        spec = obj.get("spec") or {}
        taints = [t for t in spec.get("taints") or () if not t["key"].startswith("node.kubernetes.io/")]
        return [bool(spec.get("unschedulable")), taints]
    essence = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    spec = essence.get("spec")
    if isinstance(spec, dict) and "replicas" in spec:
        spec = {key: value for key, value in spec.items() if key != "replicas"}  # more of them is no damage
        template = dict(spec.get("template") or {})
        # `kubectl rollout restart` writes an annotation there; restarting is no damage.
        template["metadata"] = {k: v for k, v in (template.get("metadata") or {}).items() if k == "labels"}
        essence["spec"] = {**spec, "template": template}
    return essence
