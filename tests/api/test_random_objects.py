"""Objects of every kind with any fields, or without: each write is answered, and no answer is a 500."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.objects import Json
from simcluster.api.request import ADMIN, APPLY_PATCH, MERGE_PATCH, TABLE, Request
from simcluster.api.resources import BUILT_IN
from simcluster.api.schema.types import Field, TypeSchema, type_of
from simcluster.api.server import Api
from simcluster.engine import Simulation

WHOLE, SAMPLE, NAMES = 30_000, 500, 7
#: Whatever intercepts or defines other writes would answer for them.
KINDS = [
    resource
    for resource in BUILT_IN.all
    if {"create", "get"} <= set(resource.verbs)
    and resource.group not in ("admissionregistration.k8s.io", "apiextensions.k8s.io")
]
TEXTS = (
    "",
    "a",
    "a.b",
    "a/b",
    "In",
    "Exists",
    "Gt",
    "Localhost",
    "Pod",
    "10.0.0.0/8",
    "*",
    "Limited",
    "Always",
    "x" * 70,
)
VALUES: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "integer": (0, 1, -1, 5, 70_000, 2**31 - 1),
    "number": (0, 1.5),
    "quantity": ("1", "0", "-1", "1Gi", "100m"),
    "int-or-string": (0, 1, -1, "25%", "x", ""),
    "time": ("2026-03-02T09:00:00Z",),
    "microtime": ("2026-03-02T09:00:00.000000Z",),
    "bytes": ("", "aGVsbG8="),
}


def value(draw: random.Random, field: Field | None, depth: int) -> Any:
    if field is None or draw.random() < 0.03:
        return None
    if field.kind == "object":
        return some(draw, field.type, depth + 1)
    if field.kind == "list":
        return [value(draw, field.item, depth) for _ in range(draw.choice((0, 1, 1, 2)))]
    if field.kind == "map":
        keys = draw.choices(("a", "app", "cpu", "x/y", ""), k=draw.choice((0, 1, 2)))
        return {key: value(draw, field.item, depth) for key in keys}
    return draw.choice(VALUES.get(field.kind, TEXTS))


def some(draw: random.Random, entry: TypeSchema | None, depth: int = 0) -> Json:
    """An object of a type with some of its fields."""
    if entry is None or depth > 14:
        return {}
    share = (0.6 if depth < 6 else 0.35) * (1.0 if len(entry.fields) < 12 else 0.35)
    return {
        name: value(draw, field, depth)
        for name, field in entry.fields.items()
        if (depth or name not in ("metadata", "apiVersion", "kind")) and draw.random() < share
    }


def cluster() -> Api:
    api = Api(Simulation(1))
    client = Client(api, ADMIN, "kubectl")
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("warn", "audit")}
    client.create("namespaces", "", {"metadata": {"name": "default", "labels": levels}})
    client.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    limits = [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}, {"type": "Pod", "max": {"cpu": "4"}}]
    client.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": {"limits": limits}})
    client.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "9"}}})
    return api


def test_every_write_is_answered(request: pytest.FixtureRequest) -> None:
    api, draw, codes = cluster(), random.Random(4), set()
    for turn in range(WHOLE if request.config.getoption("--whole") else SAMPLE):
        resource = draw.choice(KINDS)
        entry, name = type_of(resource.group, resource.version, resource.kind), f"x{turn % NAMES}"
        path = api.resources.path(resource.name, "default" if resource.namespaced else "", "")
        one, part = f"{path}/{name}", "/status" if "status" in resource.subresources else ""
        named: Json = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        forced = (("fieldManager", "m"), ("force", "true"))
        for sent in (
            Request("POST", path, (), {**some(draw, entry), **named}),
            Request("PUT", one, (), {**some(draw, entry), **named}),
            Request("PATCH", one + part, (), {"status": some(draw, entry).get("status")}, MERGE_PATCH),
            Request("PATCH", one, forced, {**some(draw, entry), **named}, APPLY_PATCH),
            Request("GET", path, accept=TABLE),
            Request("DELETE" if turn % 5 == 0 else "GET", one),
        ):
            answer = api.handle(sent)
            assert answer.code < 500, (sent, answer.body)
            codes.add(answer.code)
    assert {200, 201, 404, 409, 422} <= codes
