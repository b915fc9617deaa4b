"""OpenAPI documents: complete, closed under references, and like a real server's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.api.request import Request, request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.testing.recordings import beside_checkout
from tests.pins import Pins

SHARED = beside_checkout()
FOLDER = SHARED / "golden" / "kubernetes-http" / "raw-1.32" if SHARED is not None else Path("absent")


@pytest.fixture(name="api", scope="module")
def server() -> Api:
    return Api(Simulation(1))


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [r for item in value.values() for r in references(item)]
    return [r for item in value for r in references(item)] if isinstance(value, list) else []


def without_defaults(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_defaults(v) for k, v in value.items() if k not in ("default", "x-kubernetes-unions")}
    return [without_defaults(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["api/v1", "apis/batch/v1"])
def test_a_document_is_pinned_whole(api: Api, pins: Pins, name: str) -> None:
    answer = api.handle(Request("GET", f"/openapi/v3/{name}"))
    heads = [f"{head}: {text}" for head, text in sorted(answer.headers.items())]
    body = (answer.text or json.dumps(answer.body, indent=1)).splitlines()
    pins.hold(f"{name.replace('/', '-')}.txt.xz", [str(answer.code), answer.content_type, *heads, *body])


def test_every_document_of_the_index_is_there_and_closed(api: Api) -> None:
    index = json.loads(api.handle(Request("GET", "/openapi/v3")).text or "")
    assert "apis/apps/v1" in index["paths"]
    for path, entry in index["paths"].items():
        if path != "api/v1" and not (path.startswith("apis/") and path.count("/") == 2):
            continue
        document = api.handle(request_of("GET", entry["serverRelativeURL"])).body
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known, path


def test_version_2_holds_all_definitions(api: Api) -> None:
    document = api.handle(Request("GET", "/openapi/v2")).body
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert set(references(document["definitions"])) <= known
    ports = document["definitions"]["io.k8s.api.core.v1.ContainerPort"]["properties"]
    assert ports["protocol"]["enum"] == ["SCTP", "TCP", "UDP"]


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings of a real API server are not at hand")
@pytest.mark.parametrize("number", range(27, 38))
def test_like_the_recorded_documents(api: Api, number: int) -> None:
    (path,) = FOLDER.glob(f"{number:03d}_*.req")
    target = path.read_text(encoding="utf-8").splitlines()[0].split(" ", 1)[1]
    wanted = json.loads(path.with_suffix(".body").read_text(encoding="utf-8"))
    got = api.handle(request_of("GET", target)).body
    schemas, recorded = got["components"]["schemas"], wanted["components"]["schemas"]
    assert set(schemas) == set(recorded)
    for name, schema in recorded.items():
        left, right = without_defaults(schema), without_defaults(schemas[name])
        left["required"], right["required"] = sorted(left.get("required", ())), sorted(right.get("required", ()))
        # Kinds that belong to all groups are listed for more groups by the recorded server.
        left.pop("x-kubernetes-group-version-kind", None), right.pop("x-kubernetes-group-version-kind", None)
        assert {key: value for key, value in left.items() if right.get(key) != value} == {}, name
    assert set(got["paths"]) <= set(wanted["paths"])


def test_health(api: Api) -> None:
    text = api.handle(request_of("GET", "/readyz?verbose")).text or ""
    assert text.startswith("[+]ping ok\n[+]log ok\n[+]etcd ok\n")
    assert text.endswith("[+]shutdown ok\nreadyz check passed\n")
    assert api.handle(request_of("GET", "/livez/etcd")).text == "ok"
    assert api.handle(request_of("GET", "/livez/nope")).code == 404
    assert "[+]etcd excluded: ok\n" in (api.handle(request_of("GET", "/livez?verbose&exclude=etcd")).text or "")


def test_component_statuses(api: Api) -> None:
    answer = api.handle(Request("GET", "/api/v1/componentstatuses"))
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["etcd-0", "controller-manager", "scheduler"]
    assert answer.warnings == ("v1 ComponentStatus is deprecated in v1.19+",)
    assert api.handle(Request("GET", "/api/v1/componentstatuses/nope")).code == 404
