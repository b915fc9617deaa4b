"""OpenAPI v2 in protobuf says what it says in JSON. (A real kubectl reads it in `tests/golden`.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from simcluster.api.encoding.protobuf import entries
from simcluster.api.objects import Json
from simcluster.api.openapi import gnostic
from simcluster.api.request import Response, request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation


def parts(message: bytes, number: int) -> Iterator[Any]:
    return (value for found, value in entries(message) if found == number)


def named(message: bytes, number: int) -> dict[str, bytes]:
    """Entries of a map in a message."""
    found = {}
    for entry in parts(message, number):
        name, value = dict(entries(entry)).get(1, b""), dict(entries(entry)).get(2, b"")
        found[name.decode()] = value
    return found


@pytest.fixture(scope="module", name="api")
def server() -> Api:
    return Api(Simulation(1))


@pytest.fixture(scope="module", name="document")
def swagger(api: Api) -> Json:
    found: Json = api.handle(request_of("GET", "/openapi/v2")).body
    return found


@pytest.mark.parametrize("accept", gnostic.ASKED)
def test_it_is_served_under_a_name_that_go_reads(api: Api, document: Json, accept: str) -> None:
    answer: Response = api.handle(request_of("GET", "/openapi/v2", accept=accept))
    assert answer.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert answer.body == gnostic.document(document)


def test_it_has_every_definition_and_path(document: Json) -> None:
    message = gnostic.document(document)
    assert next(parts(message, 1)) == b"2.0"
    (definitions,) = parts(message, 9)
    (paths,) = parts(message, 8)
    assert list(named(definitions, 1)) == list(document["definitions"])
    assert list(named(paths, 2)) == list(document["paths"])


def test_a_definition_keeps_types_descriptions_and_kinds(document: Json) -> None:
    (definitions,) = parts(gnostic.document(document), 9)
    name = "io.k8s.api.apps.v1.Deployment"
    wanted, found = document["definitions"][name], named(definitions, 1)[name]
    assert next(parts(found, 4)).decode() == wanted["description"]
    assert list(parts(next(parts(found, 22)), 1)) == [b"object"]
    (properties,) = parts(found, 25)
    assert list(named(properties, 1)) == list(wanted["properties"])
    assert next(parts(named(properties, 1)["kind"], 4)).decode() == wanted["properties"]["kind"]["description"]
    kinds = next(parts(named(found, 31)["x-kubernetes-group-version-kind"], 2))
    assert json.loads(kinds) == wanted["x-kubernetes-group-version-kind"]
