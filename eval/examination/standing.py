"""What stands at rest besides traffic: workloads that are complete, nodes and critical parts that run.

What is looked for is what an operator would call unfinished: a workload that wants replicas and does not have them, a
node that is registered and not Ready, a critical pod that does not run, a container on its way to its limit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from simcluster.api.objects import ApiObject, controller_of, name_of
from simcluster.engine.clock import HOUR
from simcluster.eval.examination.latent import piled
from simcluster.eval.trajectory import observe

if TYPE_CHECKING:
    from simcluster.world import World

WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
#: The taint by which an operator gives a machine up (Kubernetes, "Non-graceful node shutdown").
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
#: A container that reaches its limit of memory within such a time at the pace of now is on its way there.
AHEAD_NS = HOUR
#: Growth that is no trend: a share of the limit.
NO_TREND = 0.02


def workloads(world: World, namespace: str) -> list[tuple[str, ApiObject]]:
    """(resource, object) of every workload of a namespace that wants pods, in order of names."""
    found = [(kind, one) for kind in WORKLOADS for one in world.api.store.objects(kind, namespace)]
    return [(kind, one) for kind, one in found if kind == WORKLOADS[2] or one["spec"].get("replicas", 1)]


def pods_of(world: World, namespace: str, workload: str) -> list[ApiObject]:
    """The pods of a workload, `kind/name`, that are on a node."""
    pods = [pod for pod in world.api.store.objects("pods", namespace) if pod["spec"].get("nodeName")]
    return [pod for pod in pods if workload.partition("/")[2] in made_by(pod)]


def made_by(pod: ApiObject) -> tuple[str, str]:
    """The names that the workload of a pod may have: that of its owner, without a ReplicaSet's hash and with it."""
    owner = controller_of(pod) or {"name": ""}
    return owner["name"], owner["name"].rpartition("-")[0]


def is_given_up(node: ApiObject) -> bool:
    """Whether somebody has said that a machine is out of service: its pods are replaced, and nobody waits for it."""
    return any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())


def unfinished(resource: str, obj: ApiObject, given_up: int = 0) -> str:
    """Why a workload is not rolled out, as `kubectl rollout status` decides it, or an empty text.

    Args:
        given_up: nodes whose pods of a DaemonSet nobody waits for.
    """
    status, label = obj.get("status") or {}, f"{obj['kind']}/{name_of(obj)}"
    if status.get("observedGeneration", 0) < obj["metadata"].get("generation", 0):
        return f"the newest spec of {label} has not been observed"
    if resource == WORKLOADS[2]:
        wanted, have = status.get("desiredNumberScheduled", 0), status.get("numberAvailable", 0)
        updated, wanted = status.get("updatedNumberScheduled", 0), max(0, wanted - given_up)
    else:
        wanted, have = obj["spec"].get("replicas", 1), status.get("availableReplicas", 0)
        updated = status.get("updatedReplicas", 0)
    if resource == WORKLOADS[0] and status.get("replicas", 0) > updated:
        return f"{label}: pods of an older template are left"
    if updated < wanted:
        return f"{label}: {updated} of {wanted} pods are of the newest template"
    return "" if have >= wanted else f"{label}: {have} of {wanted} pods are available"


def lost(world: World, critical: list[str]) -> frozenset[str]:
    """Nodes that are not Ready, critical parts that do not run, and an API server that is silent, one text each."""
    store = world.api.store
    gone = [n for n in store.objects("nodes") if not observe.is_node_ready(n) and not is_given_up(n)]
    found = [f"Node {name_of(node)} is not Ready" for node in gone]
    if not world.api.available:  # then what is stored is what was true when it still answered
        found.append("the API server does not answer")
    return frozenset([*found, *(f"{n} does not run" for n in observe.critical_failing(store, world.sim.now, critical))])


def failings(world: World, namespaces: Sequence[str], critical: list[str], bound: Collection[str] = ()) -> list[str]:
    """What is unfinished or does not run, one text each.

    Args:
        namespaces: the application's, and others in which a fault was.
        critical: components of the control plane that must have a pod.
        bound: workloads that a circumstance may bind to a node.
    """
    store = world.api.store
    nodes = store.objects("nodes")
    given_up = sum(is_given_up(node) for node in nodes)  # integers
    found = [*sorted(lost(world, critical)), *piled(world, namespaces[0], bound)]
    for where in dict.fromkeys((*namespaces, "kube-system")):
        found += filter(None, (unfinished(kind, one, given_up) for kind, one in workloads(world, where)))
    return found


def ready_nodes(world: World) -> int:
    """Nodes that are registered and Ready, or given up by somebody."""
    return len([node for node in world.api.store.objects("nodes") if observe.is_node_ready(node) or is_given_up(node)])


def memory(world: World, namespace: str) -> dict[str, tuple[str, int, int]]:
    """Container id -> pod, bytes and limit of the running containers of a namespace that have a limit."""
    return {
        container.container_id: (container.spec.pod_name, container.memory_bytes, container.spec.memory_limit)
        for machine in world.machines.values()
        for container in machine.runtime.containers()
        if container.running and container.spec.namespace == namespace and container.spec.memory_limit
    }


def growing(
    before: dict[str, tuple[str, int, int]], after: dict[str, tuple[str, int, int]], lasts_ns: int
) -> list[str]:
    """Containers whose memory grows so that its limit is near, one text each."""
    found = []
    for container, (pod, now, limit) in after.items():
        grown = now - before[container][1] if container in before else 0
        if grown > NO_TREND * limit and (limit - now) * lasts_ns < grown * AHEAD_NS:
            found.append(
                f"the memory of pod {pod} grows by {grown >> 10} KiB in {lasts_ns // 10**9} s towards its limit"
            )
    return found
