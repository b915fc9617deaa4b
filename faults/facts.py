"""Facts of a world, and facts that were changed: a place, a path there, what was and what is.

A place is an API object, a part of a node (`disk/sda`, `nic/eth0`, `cpu`, `fan/FAN1`, `clock`, `power`, `unit/kubelet`,
`sysctl`, `file`), the behaviour of an image, or the load of a Service. A path names one value at the place; what is
not there is None. What the cluster itself makes of decisions (status, Events, pods of controllers) is no fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simcluster.api.objects import ApiObject, Json, namespace_of, thaw
from simcluster.engine import Shared

#: What stands for a value that is not there: no object of the API holds a null.
ABSENT = None
#: Kinds of places that are no API objects: an image's behaviour, and the users of a Service.
IMAGE, LOAD = "Image", "Load"
#: By which of these the entries of a list are told apart (the list-map keys of Kubernetes' own schema).
_KEYS = ("name", "mountPath", "containerPort", "port", "key", "ip", "uid")
#: Annotations in which programs keep copies and counters of what stands elsewhere.
_COPIES = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")
#: What the volume controller writes into a claim and a volume that it binds (pkg/controller/volume/persistentvolume).
_BOUND, _BINDER, _BINDING = "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/", ("claimRef", "volumeName")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_SEGMENT = re.compile(r"\.?([A-Za-z0-9_-]+)|\[([^\]]*)\]")


@dataclass(frozen=True)
class Place(Shared):
    """Where a fact is.

    Attributes:
        kind, namespace, name: of an API object, of a Node, or of an image (`Image`) or load (`Load`).
        part: of a Node, which part of its machine; of a workload, what its pods have besides: `store` (users, roles and
            settings), `broker` (records that nobody reads), `qdisc` (at the way out), `ways` (to others); empty for
            the object.
    """

    kind: str
    namespace: str
    name: str
    part: str = ""

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Place:
        """The place of a stored object."""
        return cls(obj["kind"], namespace_of(obj), obj["metadata"]["name"])

    @property
    def component(self) -> str:
        """`kind/name` in lower case, as claims name it."""
        return f"{self.kind}/{self.name}".lower()

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" + (f" {self.part}" if self.part else "")


@dataclass(frozen=True)
class ChangedFact(Shared):
    """One value that was changed. `before` and `after` are plain JSON, None where there is nothing."""

    place: Place
    path: str
    before: Any
    after: Any

    @property
    def where(self) -> str:
        """Part and path in one text, as the patterns of data sheets match it."""
        return f"{self.place.part} {self.path}".strip()

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        place = self.place
        head = {"kind": place.kind, "namespace": place.namespace, "name": place.name, "part": place.part}
        return {**head, "path": self.path, "before": self.before, "after": self.after}


def essence(obj: Mapping[str, Any]) -> Json:
    """What was decided about an object: not its status, and of its metadata labels, annotations and finalizers."""
    found = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "status", "metadata")}
    meta = obj["metadata"]
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key not in _COPIES}
    kept = {"labels": meta.get("labels"), "annotations": notes, "finalizers": meta.get("finalizers")}
    if isinstance(found.get("spec"), Mapping) and _BOUND in notes:
        found["spec"] = {key: value for key, value in found["spec"].items() if key not in _BINDING}
        kept["annotations"] = {key: value for key, value in notes.items() if not key.startswith(_BINDER)}
    return {"metadata": {key: value for key, value in kept.items() if value}, **found}


def differences(place: Place, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[ChangedFact]:
    """Facts in which two versions of an object differ; one with an empty path if one of them is not there.

    A list whose entries have names in one of them, and twice the same in the other, is one value.
    """
    if before is None or after is None:
        old, new = (None if one is None else essence(one) for one in (before, after))
        return [] if old == new else [ChangedFact(place, "", old, new)]
    old, new = essence(before), essence(after)
    values, changed = dict(leaves(old)), dict(leaves(new))
    for path in [path for path in {**values, **changed} if (path in values) != (path in changed)]:
        there, other = (values, changed) if path in values else (changed, values)
        if there[path] == {} and any(one.startswith((f"{path}.", f"{path}[")) for one in other):  # it has become fuller
            del there[path]
            continue
        whole = values.get(path) or changed.get(path)
        if whole and any(one.startswith(f"{path}[") for one in {**values, **changed}):  # told apart in one only
            for found, obj in ((values, old), (changed, new)):
                for part in [part for part in found if part.startswith(f"{path}[")]:
                    del found[part]
                found[path] = value_at(obj, path)
    return differing(place, values, changed)


def differing(place: Place, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[ChangedFact]:
    """Facts in which values by path differ, sorted by path."""
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    return [ChangedFact(place, path, old.get(path), new.get(path)) for path in paths]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of everything below a value.

    >>> dict(leaves({"env": [{"name": "A", "value": "1"}], "labels": {"a/b": "c"}, "args": ["x"]}))
    {'env[A].name': 'A', 'env[A].value': '1', 'labels[a/b]': 'c', 'args': ['x']}
    """
    if isinstance(value, dict) and value:
        for key, item in value.items():
            plain = _PLAIN.fullmatch(key)
            step = (f".{key}" if path else key) if plain else f"[{key}]"
            yield from leaves(item, f"{path}{step}")
        return
    name = key_of(value)
    if not name:
        yield path, value
        return
    for item in value:
        yield from leaves(item, f"{path}[{item[name]}]")


def key_of(value: Any) -> str:
    """The field by which the entries of a list are told apart; empty if it is no such list."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return ""
    for name in _KEYS:
        found = [str(item[name]) for item in value if name in item]
        if len(found) == len(value) == len(set(found)):
            return name
    return ""


def segments(path: str) -> list[str]:
    """The steps of a path.

    >>> segments("spec.containers[server].env[A].value"), segments("metadata.labels[a/b.c]")
    (['spec', 'containers', 'server', 'env', 'A', 'value'], ['metadata', 'labels', 'a/b.c'])
    """
    return [plain or quoted for plain, quoted in _SEGMENT.findall(path)]


def value_at(obj: Any, path: str) -> Any:
    """What stands at a path of an object; None where there is nothing."""
    for step in segments(path):
        name = key_of(obj)
        if name:
            obj = next((item for item in obj if str(item[name]) == step), None)
        else:
            obj = obj.get(step) if isinstance(obj, Mapping) else None
        if obj is None:
            return None
    return obj


#: Maps with keys that are written as entries of a list are.
_MAPS = (
    "labels",
    "annotations",
    "matchLabels",
    "selector",
    "nodeSelector",
    "data",
    "stringData",
    "limits",
    "requests",
    "hard",
)


def put_at(obj: Json, path: str, value: Any) -> None:
    """Set what stands at a path of an object, in place; None removes it, an entry of a list with its name, and maps
    that are empty without it.
    """
    *way, last = segments(path)
    entries = [bool(quoted) for _, quoted in _SEGMENT.findall(path)]
    here: Any = obj
    above: list[tuple[Any, str]] = []
    for index, step in enumerate(way):
        name = key_of(here)
        if not name and isinstance(here, list):
            name = "name"
        below: Any = next((item for item in here if str(item[name]) == step), None) if name else here.get(step)
        if below is None:
            if value is None:
                return
            below = {name: step} if name else [] if entries[index + 1] and step not in _MAPS else {}
            if name:
                here.append(below)
            else:
                here[step] = below
        if value is None and index == len(way) - 1 and key_of(here) == last:
            here.remove(below)
            return
        above = [*above, (here, step)] if isinstance(here, dict) else []
        here = below
    key = next((key for key in _KEYS if isinstance(value, dict) and str(value.get(key)) == last), "")
    if key and isinstance(here, list):
        here[:] = [*(item for item in here if str(item.get(key)) != last), value]
    elif key and not here and above:  # a list of which nothing was left
        parent, step = above[-1]
        parent[step] = [value]
    elif value is not None:
        here[last] = value
    elif isinstance(here, list):
        here[:] = [item for item in here if str(item.get(key_of(here))) != last]
    elif here.pop(last, None) is not None:
        for parent, step in reversed(above):
            if parent[step]:
                break
            del parent[step]


def with_value(obj: ApiObject, path: str, value: Any) -> Json:
    """A copy of an object in which another value stands at a path."""
    made = thaw(obj)
    put_at(made, path, value)
    return made
