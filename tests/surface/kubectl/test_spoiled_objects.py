"""No describer and no printer raises on a stored object, whatever fields it lacks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.api.resources import BUILT_IN, Resource
from simcluster.api.schema import Field, TypeSchema, decode, type_of
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.surface.kubectl import Kubectl

SAMPLE, WHOLE = 400, 20_000
#: The kinds of which the store keeps objects, in their own form.
KINDS = [
    resource
    for resource in BUILT_IN.all
    if "list" in resource.verbs
    and resource.storage == resource.name
    and type_of(resource.group, resource.version, resource.kind) is not None
    and resource.group not in ("metrics.k8s.io", "apiextensions.k8s.io")
    and resource.kind != "ComponentStatus"
]
FORMS = (
    "get {kind} x -o wide",
    "get {kind} -A",
    "get {kind} x -o yaml",
    "get {kind} x -o json",
    "get {kind} x -o jsonpath='{{.metadata.name}} {{.spec.*}} {{.status..type}}'",
    "get {kind} x -o custom-columns=A:.metadata.name,B:.spec.*,C:.status.conditions[*].type",
    "get {kind} x -o go-template='{{{{.kind}}}} {{{{.spec}}}}'",
    "get {kind} --show-labels --sort-by=.metadata.name",
    "events",
)
WORDS = (
    *("x", "a", "True", "False", "Ready", "Running", "Pending", "Failed", "Complete", "InternalIP", "ExternalIP"),
    *("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Resource", "ContainerResource", "Pods", "Object"),
    *("External", "Utilization", "AverageValue", "Value", "Recreate", "RollingUpdate", "OnDelete", "In", "Exists"),
    *("NotIn", "DoesNotExist", "Gt", "Pod", "Node", "Service", "Deployment", "ServiceAccount", "User", "Container"),
    *("cpu", "Bound", "Lost", "Filesystem", "Block", "TCP", "Percent", "Terminating", "Running", "tokens"),
)


class Specimens:
    """Objects with every field of their type, to a depth, and some of them spoiled."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def of(self, resource: Resource) -> dict[str, Any]:
        """One object of a kind, as a decoder would store it."""
        schema = type_of(resource.group, resource.version, resource.kind)
        assert schema is not None
        while True:
            obj = self.struct(schema, 0)
            for _ in range(self.random.randint(0, 6)):
                self.spoil(obj)
            metadata = obj.get("metadata")
            obj["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "name": "x"}
            obj["metadata"].pop("ownerReferences", None)
            obj["metadata"].pop("namespace", None)
            if resource.namespaced:
                obj["metadata"]["namespace"] = "default"
            if resource.kind == "Event":
                about = {"name": "x", "namespace": "default", "uid": "u", "kind": self.random.choice(KINDS).kind}
                obj["involvedObject"] = {**(obj.get("involvedObject") or {}), **about}
            decoded = decode(resource, obj)
            if decoded.error is None:
                head = {"apiVersion": resource.api_version, "kind": resource.kind}
                spec = {"spec": {}} if "spec" in schema.fields else {}  # which every server sees to
                return {
                    **spec,
                    **decoded.object,
                    **head,
                    "metadata": {**decoded.object["metadata"], "name": "x", "uid": "u"},
                }

    def struct(self, schema: TypeSchema, depth: int) -> dict[str, Any]:
        if depth > 9 or schema.name.startswith("apiextensions"):
            return {}
        kept = 1.0 if self.random.random() < 0.5 else 0.7
        names = [name for name in schema.fields if self.random.random() < kept]
        return {name: self.value(schema.fields[name], depth + 1) for name in names}

    def value(self, field: Field, depth: int) -> Any:
        random = self.random
        if field.type is not None:
            return self.struct(field.type, depth)
        if field.item is not None and field.kind == "list":
            return [self.value(field.item, depth + 1) for _ in range(random.randint(0, 2))]
        if field.item is not None:
            return {random.choice(WORDS): self.value(field.item, depth + 1) for _ in range(random.randint(0, 2))}
        return {
            "string": random.choice(WORDS),
            "bytes": "eA==",
            "quantity": random.choice(("1", "100m", "1Gi")),
            "integer": random.randint(0, 3),
            "number": 1,
            "boolean": random.random() < 0.5,
            "int-or-string": random.choice((1, "25%", "http")),
            "time": "2026-03-02T09:00:00Z",
            "microtime": "2026-03-02T09:00:00.000000Z",
            "any": {"a": 1},
        }[field.kind]

    def spoil(self, value: Any) -> None:
        """Remove, empty or null something inside; what is there keeps its JSON type."""
        if isinstance(value, dict) and value:
            key: Any = self.random.choice(list(value))
        elif isinstance(value, list) and value:
            key = self.random.randrange(len(value))
        else:
            return
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and self.random.random() < 0.8:
            self.spoil(inner)
            return
        empty = {dict: {}, list: [], str: "", int: 0, bool: False}.get(type(inner))
        how = self.random.randrange(3)
        if how == 0:
            del value[key]
        else:
            value[key] = empty if how == 1 else None


class World:
    """An API server with one object of every kind, called x; and a kubectl."""

    def __init__(self, random: Random) -> None:
        self.sim = Simulation(1)
        self.api = Api(self.sim)
        self.kubectl = Kubectl(self.api, self)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "uid": "n"}}
        self.api.store.put("namespaces", namespace)
        for resource in KINDS:
            self.api.store.put(resource.storage, Specimens(random).of(resource))

    @property
    def now(self) -> int:
        return self.sim.now

    def advance(self, duration_ns: int) -> None:
        self.sim.run_until(self.sim.now + duration_ns)


def test_a_spoiled_object_is_described_and_printed(request: pytest.FixtureRequest) -> None:
    world = World(Random(0))

    @settings(
        max_examples=WHOLE if request.config.getoption("--whole") else SAMPLE,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**64))
    def check(seed: int) -> None:
        random = Random(seed)
        resource = random.choice(KINDS)
        world.api.store.put(resource.storage, Specimens(random).of(resource))
        for line in ("describe {kind} x", random.choice(FORMS)):
            answer = world.kubectl.run(line.format(kind=resource.name))
            assert answer.stdout or answer.stderr, line

    check()
