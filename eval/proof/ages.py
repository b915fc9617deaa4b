"""Whether the age of an object, its last change or who made that singles out what an incident was aimed at.

At the page all objects of the application's namespace are ranked, the youngest first: by creation (pods and
ReplicaSets count as their workload), and by the last change that a hand made (`managedFields`, without what controllers
and kubelets write). Of a fair incident the culprit is first as often as any other component is that was touched in the
last hour.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simcluster.engine import parse_rfc3339
from simcluster.engine.clock import HOUR
from simcluster.surface.protocols import Outcome
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

KINDS = (
    *("pods", "replicasets", "deployments", "statefulsets", "daemonsets", "services", "configmaps", "secrets"),
    *("serviceaccounts", "networkpolicies", "ingresses", "horizontalpodautoscalers", "poddisruptionbudgets"),
    *("persistentvolumeclaims", "resourcequotas", "limitranges", "jobs", "cronjobs", "endpointslices"),
)
#: Field managers of what no hand writes (Kubernetes 1.32: components' user agents).
MACHINES = ("kube-controller-manager", "kubelet", "kube-scheduler", "kube-apiserver")
#: What was touched since then is one of what an operator looks at.
RECENT_NS = HOUR
#: So many standard deviations above chance are no chance.
SIGMAS = 2.0


class Looked(Protocol):
    """What is needed of an episode."""

    task: Task
    world: World

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""


class Ranked(NamedTuple):
    """One way to rank: whose is first, how many components were touched lately, and whether the first is a culprit."""

    by: str
    first: str
    touched: int
    culprit: bool

    @property
    def chance(self) -> float:
        """How often a culprit would be first by chance."""
        return 1 / max(self.touched, 1)


def ranked(episode: Looked) -> list[Ranked]:
    """The culprit's rank by creation and by the last change of a hand; none if it is no object of the namespace."""
    task = episode.task
    guilty = {
        f"{aim.kind}/{aim.name}"
        for step in task.incident
        if step.fault and not step.harmless
        for aim in step.aims
        if aim.kind != "Node" and (aim.namespace or task.namespace) == task.namespace
    }
    if not guilty:
        return []
    created, changed = dict[str, int](), dict[str, int]()
    for obj in _objects(episode, task.namespace):
        of, meta = _component(obj), obj["metadata"]
        created[of] = max(created.get(of, 0), parse_rfc3339(meta["creationTimestamp"]))
        for field in meta.get("managedFields") or ():
            if field["manager"] not in MACHINES and "time" in field and of == f"{obj['kind']}/{meta['name']}":
                changed[of] = max(changed.get(of, 0), parse_rfc3339(field["time"]))
    return [
        _rank(by, instants, guilty, episode.world.now - RECENT_NS)
        for by, instants in (("creation", created), ("change", changed))
    ]


def _rank(by: str, instants: dict[str, int], guilty: set[str], since_ns: int) -> Ranked:
    order = sorted(instants, key=lambda one: (-instants[one], one))
    return Ranked(by, order[0], sum(at >= since_ns for at in instants.values()), order[0] in guilty)  # integers


def verdict(found: Iterable[Ranked]) -> tuple[int, float, float]:
    """How often a culprit was first, how often it would be by chance, and the most that is still chance."""
    rows = list(found)
    chances = [one.chance for one in rows]
    expected, variance = math.fsum(chances), math.fsum(p * (1 - p) for p in chances)
    return sum(one.culprit for one in rows), expected, expected + SIGMAS * math.sqrt(variance)  # integers


def alone(episode: Looked) -> list[str]:
    """Field managers of the culprits' last changes that no other object of the namespace has had in the last day."""
    task, by_manager = episode.task, dict[str, set[str]]()
    guilty = {f"{aim.kind}/{aim.name}" for s in task.incident if s.fault and not s.harmless for aim in s.aims}
    for obj in _objects(episode, task.namespace):
        for field in obj["metadata"].get("managedFields") or ():
            if field["manager"] not in MACHINES and episode.world.now - parse_rfc3339(field["time"]) < 24 * HOUR:
                by_manager.setdefault(field["manager"], set()).add(_component(obj))
    return sorted(manager for manager, of in by_manager.items() if of <= guilty)


def _objects(episode: Looked, namespace: str) -> Iterator[dict[str, Any]]:
    command = f"get {','.join(KINDS)} -n {namespace} -o json --show-managed-fields"
    yield from json.loads(episode.kubectl(command).stdout or "{}").get("items") or []


def _component(obj: dict[str, Any]) -> str:
    """What it belongs to, as an operator thinks of it: its workload, or itself."""
    owners = obj["metadata"].get("ownerReferences") or ()
    if obj["kind"] == "Pod" and owners and owners[0]["kind"] == "ReplicaSet":
        return f"Deployment/{owners[0]['name'].rpartition('-')[0]}"
    return f"{owners[0]['kind']}/{owners[0]['name']}" if owners else f"{obj['kind']}/{obj['metadata']['name']}"
