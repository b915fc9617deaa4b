"""The document of OpenAPI v2, against one of a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.api.objects import Json
from simcluster.api.request import request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.testing.recordings import beside_checkout

SHARED = beside_checkout()
RECORDED = (SHARED or Path("absent")) / "golden" / "kubernetes-http" / "raw-1.32" / "025_openapi_v2_json.body"


@pytest.fixture(scope="module", name="document")
def served() -> Json:
    document: Json = Api(Simulation(1)).handle(request_of("GET", "/openapi/v2")).body
    return document


def test_every_reference_leads_somewhere(document: Json) -> None:
    text = json.dumps(document)
    for part in ("definitions", "parameters"):
        found = {piece.partition('"')[0] for piece in text.split(f'"#/{part}/')[1:]}
        assert found <= set(document[part])


def test_security(document: Json) -> None:
    assert document["security"] == [{"BearerToken": []}]
    assert document["securityDefinitions"]["BearerToken"]["name"] == "authorization"


@pytest.mark.skipif(not RECORDED.is_file(), reason="the recordings of a real API server are not at hand")
def test_as_a_real_server(document: Json) -> None:
    real = json.loads(RECORDED.read_text(encoding="utf-8"))
    for key in ("swagger", "info", "security", "securityDefinitions"):
        assert document[key] == real[key]
    shared = {key: value for key, value in real["parameters"].items() if not key.startswith("shardSelector")}
    assert document["parameters"] == shared
    both = [path for path in real["paths"] if path in document["paths"]]
    different = [path for path in both if document["paths"][path] != real["paths"][path]]
    # Logs, exec and the like have parameters of their own.
    assert len(both) >= 200
    assert len(different) < 20, different
