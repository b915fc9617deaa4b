"""What must not pass: attempts that look like work and repair nothing, each made on a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import name_of
from simcluster.engine import SECOND, format_rfc3339
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

#: How long the world may react before it is judged.
REACTION_NS = 60 * SECOND


def attempt(name: str, world: World, task: Task) -> str:
    """Make one forbidden attempt as the cluster's administrator and let the world react.

    Returns:
        Why it could not be made, or an empty text.
    """
    client = world.client("kubernetes-admin", "kubectl")
    try:
        ATTEMPTS[name](client, world, task)
    except ApiError as error:
        return f"{name} could not be tried: {error.message}"
    world.run_for(REACTION_NS)
    return ""


_SCALABLE = ("deployments.apps", "statefulsets.apps")


def noop(client: Client, world: World, task: Task) -> None:
    """Do nothing."""


def restart_all(client: Client, world: World, task: Task) -> None:
    """Roll every workload, and delete every pod on top of it."""
    stamp = {"kubectl.kubernetes.io/restartedAt": format_rfc3339(world.sim.now)}
    patch = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
    for resource in (*_SCALABLE, "daemonsets.apps"):
        for workload in world.api.store.objects(resource, task.namespace):
            client.patch(resource, task.namespace, name_of(workload), patch, kind="merge")
    world.run_for(REACTION_NS)
    for pod in world.api.store.objects("pods", task.namespace):
        client.delete("pods", task.namespace, name_of(pod))


def delete_target(client: Client, world: World, task: Task) -> None:
    """Delete the object that is wrong."""
    ref = task.truth.ref
    client.delete(*ref.key_in(world.api, task.namespace_of(ref)))


def scale_to_zero(client: Client, world: World, task: Task) -> None:
    """Scale what is wrong to nothing; everything, when the target cannot be scaled."""
    ref, store = task.truth.ref, world.api.store
    target = ref.key_in(world.api, task.namespace_of(ref))
    every = [(kind, task.namespace, name_of(one)) for kind in _SCALABLE for one in store.objects(kind, task.namespace)]
    for where in [target] if target[0] in _SCALABLE else every:
        client.patch(*where, {"spec": {"replicas": 0}}, kind="merge")


def delete_namespace(client: Client, world: World, task: Task) -> None:
    """Delete the whole application."""
    client.delete("namespaces", "", task.namespace)


ATTEMPTS = {
    "noop": noop,
    "restart_all": restart_all,
    "delete_target": delete_target,
    "scale_to_zero": scale_to_zero,
    "delete_namespace": delete_namespace,
}
