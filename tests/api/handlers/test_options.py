"""Options of lists, watches and writes: what they mean, what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from simcluster.api.request import MERGE_PATCH, Request, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

MAPS = "/api/v1/namespaces/shop/configmaps"


@pytest.fixture(name="api")
def served() -> Api:
    api = Api(Simulation(3))
    for name in "abcde":
        assert api.handle(Request("POST", MAPS, body={"metadata": {"name": name}})).ok
    return api


def get(api: Api, query: str = "") -> Response:
    return api.handle(request_of("GET", f"{MAPS}?{query}" if query else MAPS))


def names(response: Response) -> list[str]:
    assert response.ok, response.body
    return [item["metadata"]["name"] for item in response.body["items"]]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("resourceVersionMatch=Exact", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
        ("watch=1&sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    ],
)
def test_forbidden_combinations(api: Api, query: str, why: str) -> None:
    answer = get(api, query)
    assert answer.code == 422
    field = "sendInitialEvents" if why.startswith("sendInitialEvents is") else "resourceVersionMatch"
    assert answer.body["message"] == f'ListOptions.meta.k8s.io "" is invalid: {field}: Forbidden: {why}'


def test_unknown_match(api: Api) -> None:
    assert get(api, "resourceVersionMatch=Newest&resourceVersion=1").body["message"] == (
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Newest": '
        'supported values: "Exact", "NotOlderThan", ""'
    )


def test_exact_version(api: Api) -> None:
    assert names(get(api, "resourceVersion=2&resourceVersionMatch=Exact")) == ["a", "b"]
    assert names(get(api, "resourceVersion=2&limit=10")) == ["a", "b"]  # what a limit means without a match
    assert names(get(api, "resourceVersion=2&limit=10&resourceVersionMatch=NotOlderThan")) == list("abcde")
    assert names(get(api, "resourceVersion=2")) == list("abcde")


def test_version_that_is_not_reached(api: Api) -> None:
    for query in ("resourceVersion=99", "resourceVersion=99&resourceVersionMatch=Exact"):
        answer = get(api, query)
        assert answer.code == 504
        assert answer.body["message"] == "Timeout: Too large resource version: 99, current: 5"
        assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert api.handle(request_of("GET", MAPS + "/a?resourceVersion=99")).code == 504


def test_version_that_is_no_number(api: Api) -> None:
    answer = get(api, "resourceVersion=x")
    assert (answer.code, answer.body["message"]) == (
        400,
        'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    )


def test_a_watch_cache_does_not_page(api: Api) -> None:
    assert names(get(api, "resourceVersion=0&limit=2")) == list("abcde")


def test_continue(api: Api) -> None:
    first = get(api, "limit=2").body["metadata"]
    assert first["remainingItemCount"] == 3
    second = get(api, f"limit=2&continue={first['continue']}")
    assert names(second) == ["c", "d"]
    token = second.body["metadata"]["continue"]
    start = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["start"]
    assert start == "d\0"
    answer = get(api, f"resourceVersion=3&continue={token}")
    assert answer.body["message"] == "specifying resource version is not allowed when using continue"


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("a!b", "continue key is not valid: illegal base64 data at input byte 1"),
        (
            base64.urlsafe_b64encode(b'{"v":"v9","rv":1,"start":"a"}').decode().rstrip("="),
            "continue key is not valid: server does not recognize this encoded version v9",
        ),
    ],
)
def test_bad_tokens(api: Api, token: str, why: str) -> None:
    answer = get(api, f"continue={token}")
    assert (answer.code, answer.body["message"]) == (400, f"invalid continue token: {why}")


def test_expired_token(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    token = get(api, "limit=2").body["metadata"]["continue"]
    api.handle(Request("DELETE", MAPS + "/d"))
    with monkeypatch.context() as patched:
        patched.setattr(api.store, "changes_since", lambda version: None)
        expired = get(api, f"limit=2&continue={token}")
    assert (expired.code, expired.body["reason"]) == (410, "Expired")
    assert "inconsistent list" in expired.body["message"]
    rest = get(api, f"limit=2&continue={expired.body['metadata']['continue']}")
    assert names(rest) == ["c", "e"]


def test_watch_timeout(api: Api) -> None:
    stream = get(api, "watch=1&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion=5").stream
    assert stream is not None
    assert stream.poll() == []
    api.sim.run_for(3 * SECOND)
    assert [event["type"] for event in stream.poll()] == ["BOOKMARK"]
    api.sim.run_for(2 * SECOND)
    assert stream.poll() == []
    api.handle(Request("DELETE", MAPS + "/d"))
    assert stream.poll() == []


def test_watch_without_initial_events(api: Api) -> None:
    stream = get(api, "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan").stream
    assert stream is not None
    assert stream.poll() == []


def test_watch_of_one_object(api: Api) -> None:
    stream = get(api, "watch=1&fieldSelector=metadata.name%3Db").stream
    assert stream is not None
    assert [event["object"]["metadata"]["name"] for event in stream.poll()] == ["b"]
    api.handle(Request("DELETE", MAPS + "/a"))
    api.handle(Request("DELETE", MAPS + "/b"))
    assert [(e["type"], e["object"]["metadata"]["name"]) for e in stream.poll()] == [("DELETED", "b")]


@pytest.mark.parametrize(
    ("method", "query", "kind", "why"),
    [
        ("POST", "dryRun=Some", "Create", 'dryRun: Unsupported value: []string{"Some"}: supported values: "All"'),
        ("PATCH", "force=true", "Patch", "force: Forbidden: may not be specified for non-apply patch"),
        ("POST", "fieldManager=" + "x" * 129, "Create", "fieldManager: Too long: may not be more than 128 bytes"),
        (
            "POST", "fieldManager=%07", "Create",
            'fieldManager: Invalid value: "\\u0007": should only contain printable characters',
        ),
        (
            "PUT", "fieldValidation=Loose", "Update",
            'fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
        ),
    ],
)  # fmt: skip
def test_write_options(api: Api, method: str, query: str, kind: str, why: str) -> None:
    path = MAPS if method == "POST" else MAPS + "/a"
    body: dict[str, Any] = {"metadata": {"name": "a"}}
    content = MERGE_PATCH if method == "PATCH" else "application/json"
    answer = api.handle(request_of(method, f"{path}?{query}", body=body, content_type=content))
    assert answer.code == 422
    assert answer.body["message"] == f'{kind}Options.meta.k8s.io "" is invalid: {why}'


def test_delete_options(api: Api) -> None:
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["x"]}
    answer = api.handle(Request("DELETE", MAPS + "/a", body=body))
    assert answer.body["message"] == (
        'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: []string{"x"}: supported values: "All"'
    )


def test_collection_with_a_precondition(api: Api) -> None:
    body = {"preconditions": {"uid": "nobody"}}
    answer = api.handle(Request("DELETE", MAPS, body=body))
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
