"""Which changed facts a claim names: its component, and the place there.

Components are named as operators name them: a pod or a ReplicaSet stands for the workload that made it, a Service for
the workload behind it where only that was changed, an image's repository for who runs it. A place is named by its path
or the distinguishing end of it, a device, a unit or a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from simcluster.api.objects import controller_of, labels_of, name_of
from simcluster.eval.judge.claims import Claim
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, leaves
from simcluster.faults.target import matches

if TYPE_CHECKING:
    from simcluster.world import World

#: Steps of paths that tell nothing apart, and words that people add to a name.
_COMMON = frozenset(
    (
        *("spec", "template", "metadata", "containers", "container", "value", "name", "env", "resources", "dev"),
        *("service", "file", "unit", "sysctl", "the", "of", "in", "field", "path", "variable", "environment"),
        *("label", "var", "device", "interface", "drive", "parameter", "deployment", "node", "pod"),
    )
)
#: What people call it, and the step of a path.
_ALSO = {
    "disk": "slow unreadable wrong",
    "tag": "image",
    "limit": "limits",
    "fan1": "airflow",
    "cooling": "fan airflow",
    "packet": "loss",
    "time": "clock",
    "chrony": "servers chrony",
    "chronyd": "servers chrony",
    "ntp": "servers chrony",
    "users": "rps",
    "load": "rps",
    "traffic": "rps",
}
#: What is said of an object that is not there, or should not be.
_WHOLE = ("object", "missing", "absent", "deleted", "gone", "created", "existence")
_WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")


class Named(NamedTuple):
    """What a claim names.

    Attributes:
        here: what was changed at its component.
        facts: those of them that its places cover.
        why: there are none, in words.
    """

    here: tuple[ChangedFact, ...]
    facts: tuple[ChangedFact, ...]
    why: str


def named(claim: Claim, facts: Sequence[ChangedFact], world: World, namespace: str) -> Named:
    """The changed facts that a claim names, in a world in which they stand: at its component and in its scope."""
    origin = names_of(claim.component, world, namespace)
    known = origin | {f"*/{name}".lower() for name in claim.scope}
    places = {fact.place: _places(fact.place, world, namespace) for fact in facts}
    here = tuple(fact for fact in facts if known & places[fact.place])
    if not any(origin & places[fact.place] for fact in here):
        return Named((), (), f"nothing was changed at {claim.component}")
    whole = tuple(fact for fact in here if not fact.where)  # the object itself: its name says where
    if not any(map(words, claim.places)):
        return Named(here, whole, "" if whole else "it does not say where")
    found = tuple(fact for fact in here if any(covers(where, fact) for where in claim.places))
    return Named(here, found, "" if found else f"nobody changed {claim.places[0]} of {claim.component}")


def called(names: Iterable[str], place: Place, world: World, namespace: str) -> bool:
    """Whether one of several plain names means a place."""
    return bool(_places(place, world, namespace) & {f"*/{name}".lower() for name in names})


def names_of(component: str, world: World, namespace: str) -> frozenset[str]:
    """`kind/name` of what a component is, and of what made it. Without a kind any kind is meant."""
    kind, slash, name = component.lower().strip().rpartition("/")
    if not slash:
        return frozenset([f"*/{name}"])
    kind = kind.rpartition("/")[2].removesuffix("s") if kind not in ("ingress",) else kind
    found = {f"{kind}/{name}"}
    if kind in ("pod", "po"):
        pod = world.api.store.get("pods", namespace, name)
        owner = None if pod is None else controller_of(pod)
        made = owner["name"] if owner is not None else name.rpartition("-")[0]
        found |= {f"{kind}/{made}" for kind in ("statefulset", "daemonset")}
        found.add(f"deployment/{made.rpartition('-')[0]}")
    elif kind == "replicaset":
        found.add(f"deployment/{name.rpartition('-')[0]}")
    elif kind in ("service", "svc"):
        found |= {f"service/{name}", *(behind(name, world, namespace))}
    return frozenset(found)


def behind(service: str, world: World, namespace: str) -> list[str]:
    """`kind/name` of workloads whose pods a Service is meant for: its selector selects them, or they have its name."""
    store = world.api.store
    found = store.get("services", namespace, service)
    selector = {} if found is None else found["spec"].get("selector") or {}
    return [
        f"{one['kind'].lower()}/{name_of(one)}"
        for resource in _WORKLOADS
        for one in store.objects(resource, namespace)
        if name_of(one) == service or matches(selector, labels_of(one["spec"]["template"]))
    ]


def _places(place: Place, world: World, namespace: str) -> frozenset[str]:
    """The names by which a place can be meant."""
    found = {place.component, f"*/{place.name}".lower()}
    if place.kind == IMAGE:
        last = place.name.rpartition("/")[2].partition(":")[0]
        found |= {f"image/{last}", f"image/{last}:{place.name.rpartition(':')[2]}", f"*/{last}", f"deployment/{last}"}
    if place.kind == LOAD:
        found |= {f"service/{place.name}", *behind(place.name, world, namespace)}
    return frozenset(found)


def words(where: str) -> list[str]:
    """The words of a place that tell something apart.

    >>> words("spec.template.spec.containers[server].env[CART_ADDR].value"), words("/dev/sda"), words("kubelet.service")
    (['server', 'cart_addr'], ['sda'], ['kubelet'])
    """
    return [word for word in re.findall(r"[a-z0-9_-]+", where.lower()) if word not in _COMMON]


def covers(where: str, fact: ChangedFact) -> bool:
    """Whether a place as somebody writes it is that of a fact: it names its end, and nothing that is not on the way.

    >>> fact = ChangedFact(Place("Service", "shop", "cart"), "spec.selector.version", None, "v2")
    >>> [covers(where, fact) for where in ("spec.selector", ".spec.selector.version", "spec.ports", "")]
    [True, True, False, False]
    """
    asked = words(where)
    way = re.findall(r"[a-z0-9_-]+", fact.where.lower().replace("/", " "))
    if not fact.where:
        content = [path for value in (fact.before, fact.after) if value is not None for path, _ in leaves(value)]
        way = [word for path in (fact.place.name, *content) for word in re.findall(r"[a-z0-9_-]+", path.lower())]
        way += _WHOLE
    known = {*way, "value", *(piece for word in way for piece in word.split("_"))}
    known |= {alias for alias, meant in _ALSO.items() if set(meant.split()) & set(way)}
    known |= {"_".join(way[index:]) for index in range(len(way))}
    if not asked or not all(word in known for word in asked):
        return False
    containers = re.findall(r"containers\[([^\]]*)\]", fact.path.lower())  # one says not yet what of it is wrong
    return any(word not in containers for word in asked)
