"""New pods of the workloads that are there: whether admission takes them, and leaves them what the present ones use.

Asked by a dry run: who forbids, or gives less (quotas, LimitRanges, webhooks, Pod Security), hurts at the next restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of, thaw
from simcluster.api.quantity import parse
from simcluster.api.request import Request
from simcluster.eval.examination.standing import made_by, workloads

if TYPE_CHECKING:
    from simcluster.models.machine.container import Container
    from simcluster.world import World


class Used(NamedTuple):
    """What a container has used: CPU time since it started, in ns, and memory now, in bytes."""

    cpu_ns: int
    memory: int


def used(world: World, namespace: str) -> dict[str, Used]:
    """Container id -> what it uses, of the running containers of a namespace."""
    return {one.container_id: Used(one.cpu_ns, one.memory_bytes) for one in _running(world, namespace)}


def refused(world: World, namespace: str) -> str:
    """Why admission takes no new pod of some workload; empty if it takes all."""
    for _, workload in workloads(world, namespace):
        try:
            _admitted(world, workload)
        except ApiError as error:
            return f"a new pod of {name_of(workload)} is refused: {error.message}"
    return ""


def starved(world: World, namespace: str, before: dict[str, Used], lasts_ns: int) -> str:
    """Which new pod would get less than one that is there has used on average; empty if none would.

    Args:
        before: what containers had used so many nanoseconds ago.
    """
    running = [(one, before[one.container_id]) for one in _running(world, namespace) if one.container_id in before]
    pods = {name_of(pod): made_by(pod) for pod in world.api.store.objects("pods", namespace)}
    for _, workload in workloads(world, namespace):
        mine = [one for one in running if name_of(workload) in pods.get(one[0].spec.pod_name, ())]
        for name, kind, limit in _given(workload, _admitted(world, workload)):
            for container, then in mine if lasts_ns else ():
                cpu = 1000 * (container.cpu_ns - then.cpu_ns) / lasts_ns
                now = cpu if kind == "cpu" else container.memory_bytes
                bound = limit / 1e6 if kind == "cpu" else limit / 1e9
                if container.spec.name == name and now > bound:
                    amounts = (f"{bound:.0f}m", f"{cpu:.0f}m") if kind == "cpu" else (int(bound), int(now))
                    return (f"a new pod of {name_of(workload)} would get {kind} {amounts[0]} for {name}, "
                            f"which uses {amounts[1]}")  # fmt: skip
    return ""


def _running(world: World, namespace: str) -> Iterator[Container]:
    for machine in world.machines.values():
        for one in machine.runtime.containers():
            if one.running and one.spec.namespace == namespace:
                yield one


def _admitted(world: World, workload: ApiObject) -> Json:
    """A new pod of a workload as it would be stored. Raises ApiError."""
    template, namespace = thaw(workload["spec"]["template"]), workload["metadata"]["namespace"]
    meta = {**(template.get("metadata") or {}), "generateName": f"{name_of(workload)}-", "namespace": namespace}
    spec = {**template["spec"], "volumes": [*(template["spec"].get("volumes") or ()), *_claimed(workload)]}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    user, path = world.client("kubernetes-admin", "kubectl").user, f"/api/v1/namespaces/{namespace}/pods"
    response = world.api.handle(Request("POST", path, (("dryRun", "All"),), body, user=user))
    if response.code >= 400:
        raise ApiError(response.code, response.body.get("reason", ""), response.body.get("message", ""))
    pod: Json = response.body
    return pod


def _claimed(workload: ApiObject) -> list[Json]:
    """The volumes that the controller of a StatefulSet adds: one for each template of a claim."""
    names = [name_of(one) for one in workload["spec"].get("volumeClaimTemplates") or ()]
    return [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{name_of(workload)}-0"}} for name in names]


def _given(workload: ApiObject, pod: Json) -> Iterator[tuple[str, str, int]]:
    """(container, resource, billionths) of limits that admission has changed or added."""
    asked = {one["name"]: one for one in workload["spec"]["template"]["spec"]["containers"]}
    for container in pod["spec"]["containers"]:
        own = ((asked.get(container["name"]) or {}).get("resources") or {}).get("limits") or {}
        for kind, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if kind in ("cpu", "memory") and own.get(kind) != limit:
                yield container["name"], kind, parse(limit).nano
