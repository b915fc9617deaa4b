"""Nothing in a cluster raises on a stored object, whatever its fields say.

Random fields of random objects are spoiled: taken out, emptied, changed. Once as a client does it, through the
API, which may refuse; and once behind its back, as another version of the API server may have stored it: the
types hold, and a field that the Go type always prints has the zero value when it is missing.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.api import defaults
from simcluster.api.objects import ApiObject, Json, name_of, namespace_of, thaw
from simcluster.api.request import ADMIN, Request
from simcluster.api.schema import Field, TypeSchema, decode, type_of
from simcluster.engine import SECOND, Snapshot
from simcluster.world import World

MANIFEST = Path(__file__).with_name("cluster.yaml")
#: Worlds, and spoils in each: 20,000 in `make test-all`; `make test` runs a sample.
WHOLE, SAMPLE, SPOILS = 800, 8, 25
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 2}}
#: What says which object it is.
IDENTITY = {
    "": ("apiVersion", "kind"),
    "meta.v1.ObjectMeta": ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"),
}
VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("", "x", "Bogus", "-1", "10.96.0.1", "worker-1", "a/b:c%d\n"),
    "integer": (0, 1, -1, 7, 2**31 - 1),
    "number": (0, 0.5, -1),
    "boolean": (True, False),
    "bytes": ("", "eA=="),
    "quantity": ("0", "1", "-1", "1500m", "9Ei", "1e3"),
    "int-or-string": (0, -1, 99999, "", "x", "0%", "250%", "-5%"),
    "time": ("1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"),
    "microtime": ("1970-01-01T00:00:00.000000Z",),
    "any": ({}, "x", 1),
}
#: Where a template no longer matches its selector, pods are made for ever: there a world ends.
MOST_PODS = 150
#: Two thousand million pods are another test.
COUNTS = ("replicas", "parallelism", "completions", "minReplicas", "maxReplicas")


class Spoil(NamedTuple):
    """Which object, which of its fields, and what becomes of it, all as positions in lists as they are then."""

    kind: int
    object: int
    field: int
    value: int
    way: str


spoils = st.builds(
    Spoil,
    *[st.integers(0, 10**6)] * 4,
    st.sampled_from(("store", "store", "update", "status")),
)


def zero(field: Field) -> Any:
    """The zero value of a field, as Go prints it."""
    if field.kind in ("list", "map", "object"):
        return [] if field.kind == "list" else {} if field.type is None else filled({}, field.type)
    plain = {
        "string": "",
        "bytes": "",
        "integer": 0,
        "number": 0,
        "boolean": False,
        "quantity": "0",
        "int-or-string": 0,
    }
    return plain.get(field.kind)  # no time is null


def filled(value: Json, kind: TypeSchema) -> Json:
    """The value with all fields that are always printed."""
    missing = {n: zero(f) for n, f in kind.fields.items() if f.required and n not in value and f.kind not in _UNSET}
    return {**value, **missing}


_UNSET = ("time", "microtime", "any")


class Place(NamedTuple):
    """A value inside of an object: its container, its key there, its field; whether it may be missing."""

    holder: Any
    key: Any
    field: Field
    optional: bool


def places(value: Any, kind: TypeSchema) -> list[Place]:
    """All values inside of an object, the object's identity left out."""
    found = []
    kept = IDENTITY.get(kind.name, IDENTITY[""] if "metadata" in kind.fields else ())
    for name, inner in value.items():
        field = kind.fields.get(name)
        if field is not None and name not in kept:
            printed = field.required or ("metadata" in kind.fields and name in ("spec", "status", "metadata"))
            if name != "metadata" or not kind.kinds:
                found.append(Place(value, name, field, not printed))
            found += inside(inner, field)
    return found


def inside(value: Any, field: Field) -> list[Place]:
    """The values that a field holds."""
    if field.type is not None:
        return places(value, field.type)
    found: list[Place] = []
    if field.item is not None and isinstance(value, (list, dict)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found.append(Place(value, key, field.item, True))
            found += inside(value[key], field.item)
    return found


def spoil_one(place: Place, number: int, *, typed: bool) -> None:
    """Spoil one value; `typed`: a missing one is a zero value where its type has no other."""
    holder, key, field, _ = place
    known = holder[key]
    choices: list[Any] = [None]  # take it out
    if field.kind == "list":
        assert field.item is not None
        known = known or []  # a few are stored as null
        choices += [[], [*known, *known[:1]], [*known, zero(field.item)], known[:-1]]
    elif field.kind == "map":
        assert field.item is not None
        known = known or {}
        choices += [{}, {**known, "": zero(field.item)}, {**known, "x": zero(field.item)}]
    elif field.type is not None:
        choices += [filled({}, field.type)]
    else:
        most = 9 if key in COUNTS else 2**31
        choices += [v for v in VALUES[field.kind] if v != known and not (isinstance(v, int) and v > most)]
    value = choices[number % len(choices)]
    if value is not None:
        holder[key] = value
    elif isinstance(holder, list) or place.optional or not typed:
        del holder[key]
    else:
        holder[key] = zero(field)


@functools.cache
def living() -> Snapshot:
    """A cluster where every kind of object is in use."""
    world = World(seed=5, workers=2)
    world.apply(MANIFEST.read_text())
    world.run_for(2 * SECOND)
    world.client("someone", "test").create("widgets.example.com", "default", WIDGET)
    world.run_for(50 * SECOND)
    return Snapshot(world)


def kind_of(obj: ApiObject) -> TypeSchema | None:
    group, _, version = obj["apiVersion"].rpartition("/")
    return type_of(group, version, obj["kind"])


def apply(world: World, spoil: Spoil) -> str:
    """Spoil one field; what was done, for a failure to print."""
    store = world.api.store
    resources = [name for name in store.resources() if store.count(name)]
    resource = resources[spoil.kind % len(resources)]
    objects = store.objects(resource)
    obj = objects[spoil.object % len(objects)]
    kind = kind_of(obj)
    body = thaw(obj)
    where = [] if kind is None else places(body, kind)
    if not where:
        return "nothing"
    place = where[spoil.field % len(where)]
    before = str(place.holder)[:200]
    spoil_one(place, spoil.value, typed=spoil.way != "status")
    if spoil.way == "store":
        # As a server reads what it has stored: empty fields are none, and what is left out has its default.
        entry = world.api.resources.by_name[resource]
        read = decode(entry, body)
        assert read.error is None, read.error
        defaults.apply(entry, read.object)
        store.put(resource, {**read.object, "metadata": {**body["metadata"], **read.object["metadata"]}})
    else:
        path = world.api.resources.path(resource, namespace_of(obj), name_of(obj), spoil.way.replace("update", ""))
        answer = world.api.handle(Request("PUT", path, user=ADMIN, body=body))
        assert answer.code < 500 or answer.code == 504, answer
    return f"{spoil.way} {resource} {name_of(obj)}: {place.key} of {before} -> {str(place.holder)[:200]}"


def look(world: World) -> None:
    """Have everything that prints or measures look at all objects."""
    for kubelet in world.kubelets.values():
        kubelet.stats()
    world.api.handle(Request("GET", "/metrics", user=ADMIN))


def live_through(spoils: list[Spoil]) -> None:
    world = living().restore()
    done: list[str] = []
    try:
        for spoil in spoils:
            done.append(apply(world, spoil))
            world.run_for(SECOND)
            if world.api.store.count("pods") > MOST_PODS:
                return
        look(world)
        world.run_for(20 * SECOND)
    except Exception as error:
        error.add_note("\n".join(done))
        raise


@pytest.mark.slow
def test_nothing_raises_on_a_stored_object(request: pytest.FixtureRequest) -> None:
    examples = WHOLE if request.config.getoption("--whole") else SAMPLE
    rules = settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
    )
    rules(given(st.lists(spoils, min_size=SPOILS, max_size=SPOILS))(live_through))()
