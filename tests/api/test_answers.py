"""What the server answers when any field of any kind is left out, set, or set wrongly: pinned whole.

Each object of a few manifests in which every kind stands is created and changed (in dry runs) with one of its fields
another. What the answer says beyond that, a default, a refusal with all its causes, a warning, stands in the pin.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcluster.api.objects import Json, thaw
from simcluster.api.request import ADMIN, Request, Response
from simcluster.api.schema import Field, TypeSchema, type_of
from simcluster.engine import SECOND
from simcluster.world import World
from tests.pins import Pins
from tests.scenes import flat

CLUSTER = Path(__file__).parents[1] / "control" / "spoiled" / "cluster.yaml"
SPECIMENS = Path(__file__).with_name("specimens.yaml")
#: Another value of each kind of field; those that are met already are left out.
OTHERS: dict[str, tuple[Any, ...]] = {
    "string": ("", "Bogus", "a/b:c d"),
    "integer": (-1, 0, 70000, "x"),
    "number": (-1,),
    "boolean": (True, False, "x"),
    "bytes": ("*",),
    "quantity": ("-1", "1500m", "x"),
    "int-or-string": (-1, 99999, "200%", "x y"),
    "time": ("x",),
    "microtime": ("x",),
    "any": ("x", 7),
}
#: A plausible value of a field that was not there.
PLAUSIBLE: dict[str, Any] = {
    **{"string": "x", "integer": 1, "number": 1, "boolean": True, "bytes": "eA==", "quantity": "1"},
    **{"int-or-string": 1, "time": "2026-03-02T09:00:00Z", "microtime": "2026-03-02T09:00:00.000000Z", "any": {}},
}
#: Of the object's metadata only these are tried: the rest is everybody's, or the server's.
METADATA = ("name", "namespace", "generateName", "labels", "annotations", "finalizers", "ownerReferences")
#: Kinds whose names say what they are.
NAMED = ("CustomResourceDefinition", "APIService", "CSINode")
#: Fields that Pod Security looks at.
SECURITY = frozenset(
    ("securityContext", "hostNetwork", "hostPID", "hostIPC", "hostPath", "hostPort", "os", "ephemeralContainers")
)
GONE = object()
#: Characters of a line.
LONGEST = 300
Step = str | int


@pytest.fixture(scope="module", name="world")
def lived() -> World:
    world = World(seed=5, workers=1)
    world.apply(CLUSTER.read_text())
    world.run_for(5 * SECOND)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    for name, level in (("strict", labels), ("base", {"pod-security.kubernetes.io/enforce": "baseline"})):
        world.client("x", "x").create("namespaces", "", {"metadata": {"name": name, "labels": level}})
    world.run_for(2 * SECOND)
    return world


def documents() -> list[Json]:
    """The objects, one of each name."""
    return [*yaml.safe_load_all(CLUSTER.read_text()), *yaml.safe_load_all(SPECIMENS.read_text())]


def schema_of(obj: Json) -> TypeSchema:
    group, _, version = obj["apiVersion"].rpartition("/")
    found = type_of(group, version, obj["kind"])
    assert found is not None
    return found


def others(value: Any, kind: TypeSchema, at: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Where something can be another, and what."""
    for name, field in sorted(kind.fields.items()):
        if (name in ("apiVersion", "kind", "status") and not at) or (at == ("metadata",) and name not in METADATA):
            continue
        here = (*at, name)
        if name not in value:
            yield here, plausible(field, 2)
        else:
            yield here, GONE
            yield from inside(value[name], field, here)


def inside(value: Any, field: Field, at: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """The same within a field."""
    if field.type is not None:
        yield at, {}
        yield from others(value, field.type, at)
    elif field.item is not None and isinstance(value, list):
        yield at, [*value, *value[:1]]
        yield at, "x"
        for number, inner in enumerate(value):
            yield from inside(inner, field.item, (*at, number))
    elif field.item is not None:
        yield at, {**value, "Bad key!": plausible(field.item, 1)}
        for key, inner in value.items():
            yield from inside(inner, field.item, (*at, key))
    else:
        for other in OTHERS[field.kind]:
            if other != value or isinstance(other, bool) != isinstance(value, bool):
                yield at, other


def plausible(field: Field, depth: int) -> Any:
    """A value with everything in it, to a depth."""
    if field.kind in ("list", "map"):
        assert field.item is not None
        inner = plausible(field.item, depth)
        return [inner] if field.kind == "list" else {"k": inner}
    if field.type is None:
        return PLAUSIBLE[field.kind]
    return {name: plausible(one, depth - 1) for name, one in sorted(field.type.fields.items())} if depth else {}


def changed(obj: Json, at: tuple[Step, ...], value: Any) -> Json:
    """A copy with another value there; what is beside the way to it is the same object."""
    made = copy.copy(obj)
    holder: Any = made
    for step in at[:-1]:
        holder[step] = copy.copy(holder[step])
        holder = holder[step]
    if value is GONE:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    return made


def summary(answer: Response, usual: dict[str, str]) -> str:
    """An answer, as what is not as usual."""
    body = answer.body
    warned = "".join(f" warning: {text}" for text in answer.warnings)
    if answer.code >= 400:
        causes = [f"{one.get('reason')}@{one.get('field')}" for one in (body.get("details") or {}).get("causes", ())]
        return f"{answer.code} {body.get('reason')} {body['message']} {causes}{warned}"
    now = {path: value for path, value in flat(body) if path != "metadata.uid"}
    more = [f"{path}={value}" for path, value in now.items() if usual.get(path) != value]
    less = [f"-{path}" for path in usual if path not in now]
    return f"{answer.code} {' '.join([*more, *less])}{warned}"


def short(line: str) -> str:
    """One line of bearable length: what is left out stands in a digest."""
    line = line.replace("\n", "\\n")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}... {blake2b(line.encode(), digest_size=6).hexdigest()}"


def send(world: World, method: str, path: str, body: Json) -> Response:
    return world.api.handle(Request(method, path, query=(("dryRun", "All"),), user=ADMIN, body=body))


def tried(world: World, method: str, path: str, obj: Json, about: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every change of one object, or of its fields that are `about` something: what becomes of it."""
    first = send(world, method, path, obj)
    usual = {path: value for path, value in flat(first.body) if path != "metadata.uid"} if first.code < 400 else {}
    yield f"{method} {path} {obj['metadata']['name']}: {summary(first, {})}"
    for at, value in others(obj, schema_of(obj)):
        if about and about.isdisjoint(at):
            continue
        answer = send(world, method, path, changed(obj, at, value))
        shown = "gone" if value is GONE else repr(value)
        yield short(f"  {'.'.join(map(str, at))}={shown[:60]}: {summary(answer, usual)}")


KINDS = sorted({obj["kind"] for obj in documents()})


@pytest.mark.parametrize("kind", KINDS)
def test_answers(pins: Pins, world: World, kind: str) -> None:
    lines: list[str] = []
    for obj in documents():
        if obj["kind"] == kind:
            group, _, version = obj["apiVersion"].rpartition("/")
            resource = world.api.resources.by_kind[group, version, kind]
            name = obj["metadata"]["name"]
            fresh = obj if kind in NAMED else {**obj, "metadata": {**obj["metadata"], "name": f"{name}-x"}}
            path = world.api.resources.path(resource.name, "default" if resource.namespaced else "")
            lines += tried(world, "POST", path, fresh)
            for namespace in ("strict", "base") if kind == "Pod" else ():
                inner = path.replace("default", namespace)
                same = set(lines)
                more = [line for line in tried(world, "POST", inner, fresh, SECURITY) if line not in same]
                lines += [inner, *(line for line in more if ": 201 " not in line[:120])]
            stored = world.api.store.get(resource.storage, "default" if resource.namespaced else "", name)
            if stored is not None:
                body = {key: value for key, value in thaw(stored).items() if key != "status"}
                body["metadata"] = {
                    key: value for key, value in body["metadata"].items() if key in (*METADATA, "resourceVersion")
                }
                lines += tried(world, "PUT", f"{path}/{name}", body)
    pins.hold(f"{kind.lower()}.txt.xz", lines)
