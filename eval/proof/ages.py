"""Whether the age of an object, its last change or who made that singles out what an incident was aimed at.

At the page all objects of the application's namespace that were touched around the incident are ranked, the youngest
first: by creation (pods and ReplicaSets count as their workload), and by the last change that a hand made
(`managedFields`, without what controllers and kubelets write). Of fair incidents the culprit is first as often as any
other of them, neither more often nor less, and its place among them is any: half of them are younger on average.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simcluster.engine import SECOND, parse_rfc3339
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
#: Field managers of what no hand writes (user agents of Kubernetes 1.32, of ingress-nginx and of TiDB's operator).
MACHINES = (
    *("kube-controller-manager", "kubelet", "kube-scheduler", "kube-apiserver"),
    *("nginx-ingress-controller", "tidb-controller-manager"),
)
#: What was touched since then is one of what an operator looks at; and since so long before the culprit: what was
#: touched earlier in that hour is older than it for sure.
RECENT_NS, BEFORE_NS = HOUR, 60 * SECOND
#: So many standard deviations from chance are no chance.
SIGMAS = 2.0


class Looked(Protocol):
    """What is needed of an episode."""

    task: Task
    world: World

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""


class Ranked(NamedTuple):
    """A culprit's place among what was touched lately, in one way to rank: 0 is the youngest."""

    by: str
    place: int
    touched: int

    @property
    def chance(self) -> float:
        """How often a culprit would be first by chance."""
        return 1 / self.touched

    @property
    def depth(self) -> float:
        """Where among them it is, from 0 (the youngest) to 1."""
        return (self.place + 0.5) / self.touched


class Verdict(NamedTuple):
    """What chance says of many places: how often the culprit was first, how often it would be, and how far off is
    chance still; and the mean of its depths, and how far from a half is chance still.
    """

    first: int
    expected: float
    first_within: float
    depth: float
    depth_within: float

    @property
    def fair(self) -> bool:
        """Whether all that is chance."""
        return abs(self.first - self.expected) <= self.first_within and abs(self.depth - 0.5) <= self.depth_within


def ranked(episode: Looked) -> list[Ranked]:
    """The culprit's place by creation and by the last change of a hand; none where it was not touched so lately.

    Of several culprits the youngest counts.
    """
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
    since_ns = episode.world.now - RECENT_NS
    return [
        found
        for by, instants in (("creation", created), ("change", changed))
        for found in _placed(by, {one: at for one, at in instants.items() if at >= since_ns}, guilty)
    ]


def _placed(by: str, instants: dict[str, int], guilty: set[str]) -> Iterator[Ranked]:
    own = [instants[one] for one in sorted(guilty) if one in instants]
    instants = {one: at for one, at in instants.items() if own and at >= min(own) - BEFORE_NS}
    order = sorted(instants, key=lambda one: (-instants[one], one))
    places = [order.index(one) for one in sorted(guilty) if one in instants]
    if places:
        yield Ranked(by, min(places), len(order))


def verdict(found: Iterable[Ranked]) -> Verdict:
    """Whether places are what chance gives. The places of several culprits are not: the youngest of them counts."""
    rows = list(found)
    chances = [one.chance for one in rows]
    spread = math.sqrt(math.fsum(p * (1 - p) for p in chances))
    # a place drawn from n with equal chances has the variance (n^2 - 1) / 12 n^2
    depths = math.sqrt(math.fsum((1 - p * p) / 12 for p in chances)) / max(1, len(rows))
    mean = math.fsum(one.depth for one in rows) / len(rows) if rows else 0.5
    first = sum(one.place == 0 for one in rows)  # integers
    return Verdict(first, math.fsum(chances), SIGMAS * spread, mean, SIGMAS * depths)


def alone(episode: Looked) -> list[str]:
    """Field managers of the culprits' last changes that no other object of the namespace has had in the last day."""
    task, by_manager = episode.task, dict[str, set[str]]()
    guilty = {f"{aim.kind}/{aim.name}" for s in task.incident if s.fault and not s.harmless for aim in s.aims}
    for obj in _objects(episode, task.namespace):
        for field in obj["metadata"].get("managedFields") or ():
            hand = field["manager"] not in MACHINES and field.get("subresource") != "status"
            if hand and episode.world.now - parse_rfc3339(field["time"]) < 24 * HOUR:
                by_manager.setdefault(field["manager"], set()).add(f"{obj['kind']}/{obj['metadata']['name']}")
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
