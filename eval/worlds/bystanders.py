"""What others do in the minutes of an incident: changes that hurt nobody for longer than a rollout takes.

They are drawn by the seed and the task. The cause of an incident is rarely the only change of its hour, and nothing
says which of them it is. So others roll out a program again that has nothing to do with what is broken, note
something on another object of the kind that the incident is aimed at, by the field manager that the incident has, and
make a ConfigMap that nothing reads. When they do does not depend on the cause: as of independent Poisson processes,
its place among all changes of the time is any with the same chance, from the first to the last. They are steps of the
incident that are harmless (`IncidentStep.drawn`): a judge leaves them alone, and a healthy twin has none of them.
What noise must spare (`noise/spared.py`) they do not restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simcluster.api.objects import ApiObject, name_of
from simcluster.apps.history import history_of
from simcluster.engine import SECOND
from simcluster.engine.content import Library
from simcluster.engine.streams import Stream, Streams
from simcluster.faults.deployer import Deployer
from simcluster.faults.steps import Aim, IncidentStep, completed, mechanism_of, touched
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.noise.bystanders import deployments
from simcluster.noise.spared import Spared
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

#: Faults that are circumstances: an object is made, one is noted on, a workload is rolled out again.
MADE, NOTED, ROLLED = "object_made", "object_noted", "workload_restart"
#: How many Deployments are rolled out again, and how many objects are noted on: equal chances.
ROLLOUTS, NOTES = (1, 1, 2), (1, 1, 2)
#: Chance of a ConfigMap.
MADE_CHANCE = 0.6
#: So long after the last step of the incident at most, and so long before its first at most.
AFTER_S, BEFORE_S = (2, 40), (1, 50)
#: What is noted on objects, and what ConfigMaps are made: keys that no program reads.
_NOTES = (
    ("owner", ("discovery-team", "platform", "edge-team", "data-team")),
    ("reviewed-by", ("k.adeyemi", "p.novak", "s.ito")),
    ("change-ticket", ("CHG-20817", "CHG-20833", "CHG-20901")),
    ("runbook", ("wiki/runbooks/general", "wiki/runbooks/on-call")),
)
_MAPS = (
    ("release-notes", {"version": "pending", "freeze": "friday"}),
    ("maintenance-window", {"day": "sunday", "hour": "03"}),
    ("team-contacts", {"primary": "p.novak", "backup": "s.ito"}),
    ("report-schedule", {"cron": "15 4 * * *"}),
    ("experiment-arms", {"control": "90", "variant": "10"}),
)
_MANAGERS = ("kubectl-create", "kubectl-client-side-apply", "helm")
#: Images of programs that keep data, by how their names begin: nobody rolls them out in passing.
STORES = (
    "mongo",
    "redis",
    "memcached",
    "mysql",
    "postgres",
    "consul",
    "etcd",
    "tikv",
    "pd",
    "tidb",
    "nats",
    "kafka",
    "cache",
)
#: Kinds whose objects nobody notes on: they come and go, or others keep them as they are.
_NOT_NOTED = ("Pod", "Namespace", "EndpointSlice", "Lease", "CustomResourceDefinition")
#: ConfigMaps that controllers keep in every namespace.
_KEPT = ("kube-root-ca.crt",)


def accompanied(task: Task, world: World, seed: int, library: Library | None = None) -> Task:
    """The task with what others do meanwhile; itself, if nobody is to.

    Args:
        task: with resolved targets.
        world: healthy, before the incident.
    """
    if not task.bystanders:
        return task
    stream = Streams(seed).stream("bystanders", task.id)
    steps = [completed(one, library) for one in _deeds(task, world, stream, library)]
    steps = [one for one in steps if _possible(one, task, world, library)]
    return task.model_copy(update={"incident": (*task.incident, *steps), "bystanders": False})


def _possible(step: IncidentStep, task: Task, world: World, library: Library | None) -> bool:
    try:
        mechanism_of(step, task.namespace, library).check(world)
    except (ValueError, ImpossibleTarget):  # the API server would not take it, or it is so already
        return False
    return True


def _deeds(task: Task, world: World, stream: Stream, library: Library | None) -> Iterator[IncidentStep]:
    causes = [step for step in task.incident if step.fault and not step.harmless]
    causes = causes or [step for step in task.incident if step.fault]  # nothing is wrong
    first, last = min(step.at for step in task.incident), max(step.at for step in task.incident)
    people = sorted({change.user for change in history_of(world.catalog.folder(task.app)).changes})
    spared = Spared.of(
        world, task.namespace, [ref for step in causes for ref in touched(step, task.namespace, library)]
    )
    free = [name_of(one) for one in deployments(world, task.namespace, spared) if _rolls(one)]
    stream.shuffle(free)
    later = stream.uniform()  # the share of the time that is after the cause: any
    for name in free[: stream.choice(ROLLOUTS)]:
        hand = {"user": stream.choice(people), "manager": "kubectl-rollout"}
        yield _step(ROLLED, _around(stream, later, first, last), hand, Aim(kind="Deployment", name=name), {})
    notes = list(_NOTES)  # no two of one kind: the second would change nothing
    stream.shuffle(notes)
    for key, values in notes[: stream.choice(NOTES)]:
        cause = stream.choice(causes)
        hand = {"user": stream.choice(people), "manager": mechanism_of(cause, task.namespace, library).deployer.manager}
        aim = _like(task, cause, world, stream)
        if aim is not None:
            at = _around(stream, later, first, last)
            yield _step(NOTED, at, hand, aim, {"set": {f"metadata.annotations.{key}": stream.choice(values)}})
    if stream.chance(MADE_CHANCE):
        name, data = stream.choice(_MAPS)
        hand = {"user": stream.choice(people), "manager": stream.choice(_MANAGERS)}
        at = _around(stream, later, first, last)
        yield _step(MADE, at, hand, Aim(kind="ConfigMap", name=name), {"create": {"data": dict(data)}})


def _rolls(workload: ApiObject) -> bool:
    """Whether a rollout goes by unnoticed: it stops nobody before his successor runs, and loses no data."""
    strategy = workload["spec"].get("strategy") or {}
    return strategy.get("type") != "Recreate" and not _keeps_data(workload)


def _keeps_data(workload: ApiObject) -> bool:
    """Whether its pods have data that a rollout could lose."""
    spec = workload["spec"]["template"]["spec"]
    if any(
        "emptyDir" in one or "persistentVolumeClaim" in one or "hostPath" in one for one in spec.get("volumes") or ()
    ):
        return True
    images = [one["image"].rpartition("/")[2].partition(":")[0] for one in spec["containers"]]
    return any(image.startswith(STORES) for image in images)


def _like(task: Task, cause: IncidentStep, world: World, stream: Stream) -> Aim | None:
    """Another object of the kind that a cause is aimed at, beside it, or else a Service."""
    aim = cause.aims[0]
    for one in (aim, Aim(kind="Service", name="any")):
        names = [] if one.kind in _NOT_NOTED else _others(task, one, world)
        if names:
            return one.model_copy(update={"name": stream.choice(sorted(names))})
    return None


def _others(task: Task, aim: Aim, world: World) -> list[str]:
    ref = ObjectRef(kind=aim.kind, name=aim.name)
    resource, where, _ = ref.key_in(world.api, aim.namespace or task.namespace)
    taken = {one.name for step in task.incident for one in step.aims if one.kind == aim.kind}
    return [
        name_of(one)
        for one in world.api.store.objects(resource, where)
        if name_of(one) not in taken and name_of(one) not in _KEPT and not one["metadata"].get("ownerReferences")
    ]


def _around(stream: Stream, later: float, first: int, last: int) -> int:
    """After the last step with this chance, or before the first."""
    if stream.chance(later):
        return last + _seconds(stream, *AFTER_S)
    return max(SECOND, first - _seconds(stream, *BEFORE_S))


def _seconds(stream: Stream, low: int, high: int) -> int:
    return stream.integer(low, high) * SECOND


def _step(fault: str, at_ns: int, hand: dict[str, str], aim: Aim, params: dict[str, Any]) -> IncidentStep:
    data = {"fault": fault, "at": f"{at_ns}ns", "target": aim, "params": params, "deployer": Deployer(**hand)}
    return IncidentStep.model_validate({**data, "harmless": True, "drawn": True})
