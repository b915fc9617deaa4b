"""Selectors, pages and watches."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, TABLE, WatchStream, request_of
from simcluster.api.selectors import label_text, matches, of_label_selector, parse_labels
from simcluster.api.server import Api
from simcluster.engine import MINUTE, Simulation, fork

CONFIGMAPS = "/api/v1/namespaces/shop/configmaps"


def configmap(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


@pytest.fixture
def api() -> Api:
    return Api(Simulation(2))


@pytest.fixture
def client(api: Api) -> Client:
    return Client(api, ADMIN, "test")


def names(api: Api, target: str) -> list[str]:
    answer = api.handle(request_of("GET", target))
    assert answer.ok, answer.body
    return [item["metadata"]["name"] for item in answer.body["items"]]


def watch(api: Api, target: str, **rest: Any) -> WatchStream:
    stream = api.handle(request_of("GET", target, **rest)).stream
    assert stream is not None
    return stream


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("a=1", {"a": "1"}, True),
        ("a==1,b!=2", {"a": "1"}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1, 2)", {"a": "2"}, True),
        ("a notin (1,2)", {}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("a>3", {"a": "4"}, True),
        ("a<3", {"a": "x"}, False),
        ("a=", {"a": ""}, True),
        ("", {}, True),
    ],
)
def test_label_selectors(text: str, labels: dict[str, str], selected: bool) -> None:
    parsed = parse_labels(text)
    assert matches(parsed, labels) is selected
    assert parse_labels(label_text(parsed)) == parsed


@pytest.mark.parametrize("text", ["a in", "a in 1", "=1", "a,,b", "a=1 b=2", "a in (1"])
def test_bad_label_selectors(text: str) -> None:
    with pytest.raises(ApiError, match="expected: "):
        parse_labels(text)


def test_selector_objects() -> None:
    expressions = [{"key": "b", "operator": "NotIn", "values": ["x"]}, {"key": "c", "operator": "Exists"}]
    selector = of_label_selector({"matchLabels": {"a": "1"}, "matchExpressions": expressions})
    assert matches(selector, {"a": "1", "c": ""})
    assert not matches(selector, {"a": "1", "b": "x", "c": ""})


def test_field_selectors(api: Api, client: Client) -> None:
    for name in ("a", "b"):
        client.create(
            "pods", "shop", {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
    client.bind(client.get("pods", "shop", "a"), "worker-1")
    assert names(api, "/api/v1/pods?fieldSelector=spec.nodeName%3Dworker-1") == ["a"]
    assert names(api, "/api/v1/pods?fieldSelector=spec.nodeName%3D") == ["b"]
    assert names(api, "/api/v1/pods?fieldSelector=status.phase%21%3DPending") == []
    assert names(api, "/api/v1/namespaces/shop/pods?fieldSelector=metadata.name%3Db,status.phase%3DPending") == ["b"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/api/v1/pods?fieldSelector=spec.foo%3Dbar", "field label not supported: spec.foo"),
        (
            "/apis/apps/v1/deployments?fieldSelector=spec.foo%3Dbar",
            '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_unknown_field(api: Api, target: str, text: str) -> None:
    answer = api.handle(request_of("GET", target))
    assert (answer.code, answer.body["message"]) == (400, text)


def test_pages_show_one_instant(api: Api, client: Client) -> None:
    for name in ("a", "b", "c", "d", "e"):
        client.create("configmaps", "shop", configmap(name))
    first = api.handle(request_of("GET", CONFIGMAPS + "?limit=2")).body
    assert first["metadata"]["remainingItemCount"] == 3
    client.delete("configmaps", "shop", "c")
    client.create("configmaps", "shop", configmap("cc"))
    client.patch("configmaps", "shop", "d", {"data": {"x": "y"}})
    token = first["metadata"]["continue"]
    second = api.handle(request_of("GET", f"{CONFIGMAPS}?limit=2&continue={token}")).body
    assert [i["metadata"]["name"] for i in second["items"]] == ["c", "d"]
    assert "data" not in second["items"][1]
    token = second["metadata"]["continue"]
    third = api.handle(request_of("GET", f"{CONFIGMAPS}?limit=2&continue={token}")).body
    assert [i["metadata"]["name"] for i in third["items"]] == ["e"]
    assert "continue" not in third["metadata"]


def test_bad_token(api: Api) -> None:
    assert api.handle(request_of("GET", CONFIGMAPS + "?continue=zzz")).code == 400


def test_watch_from_a_version(api: Api, client: Client) -> None:
    client.create("configmaps", "shop", configmap("a"))
    version = api.store.version
    stream = watch(api, f"{CONFIGMAPS}?watch=true&resourceVersion={version}")
    assert stream.poll() == []
    client.create("configmaps", "shop", configmap("b"))
    client.create("secrets", "shop", configmap("other"))
    client.patch("configmaps", "shop", "a", {"data": {"x": "y"}})
    client.delete("configmaps", "shop", "b")
    events = [(e["type"], e["object"]["metadata"]["name"]) for e in stream.poll()]
    assert events == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert stream.poll() == []


def test_leaving_the_selection_is_a_deletion(api: Api, client: Client) -> None:
    client.create("configmaps", "shop", configmap("a", app="x"))
    stream = watch(api, CONFIGMAPS + "?watch=1&labelSelector=app%3Dx")
    assert [e["type"] for e in stream.poll()] == ["ADDED"]
    client.patch("configmaps", "shop", "a", {"metadata": {"labels": {"app": "y"}}})
    (event,) = stream.poll()
    assert (event["type"], event["object"]["metadata"]["labels"]) == ("DELETED", {"app": "x"})
    assert event["object"]["metadata"]["resourceVersion"] == str(api.store.version)
    client.patch("configmaps", "shop", "a", {"metadata": {"labels": {"app": "x"}}})
    assert [e["type"] for e in stream.poll()] == ["ADDED"]


def test_initial_events_and_bookmarks(api: Api, client: Client) -> None:
    client.create("configmaps", "shop", configmap("a"))
    query = "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    stream = watch(api, CONFIGMAPS + query)
    added, bookmark = stream.poll()
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    annotations = bookmark["object"]["metadata"]["annotations"]
    assert annotations["k8s.io/initial-events-end"] == "true"
    blueprint = json.loads(base64.b64decode(annotations["kubernetes.io/initial-events-list-blueprint"]))
    assert blueprint == {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": None}
    api.sim.run_for(2 * MINUTE)
    assert [e["type"] for e in stream.poll()] == ["BOOKMARK"]


def test_expired_version(api: Api, client: Client) -> None:
    stream = watch(api, CONFIGMAPS + "?watch=1&resourceVersion=0")
    client.create("configmaps", "shop", configmap("a"))
    for index in range(64 * 256 + 256):
        api.store.put("configmaps", {"metadata": {"name": "a", "namespace": "shop"}, "data": {"n": str(index)}})
    (event,) = stream.poll()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_tables(api: Api, client: Client) -> None:
    client.create("configmaps", "shop", configmap("a"))
    stream = watch(api, CONFIGMAPS + "?watch=1", accept=TABLE)
    (event,) = stream.poll()
    assert event["object"]["kind"] == "Table"
    assert event["object"]["rows"][0]["cells"][0] == "a"
    listed = api.handle(request_of("GET", CONFIGMAPS, accept=TABLE)).body
    assert (listed["kind"], listed["metadata"]["resourceVersion"]) == ("Table", str(api.store.version))


def test_reading_changes_nothing(api: Api, client: Client) -> None:
    client.create("configmaps", "shop", configmap("a"))
    digest, queued = api.sim.digest.hex(), len(api.sim.clock._queue)
    for target in (
        CONFIGMAPS,
        CONFIGMAPS + "/a",
        CONFIGMAPS + "?watch=1",
        "/apis",
        "/version",
        "/openapi/v3",
        "/readyz",
    ):
        for accept in ("application/json", TABLE):
            assert api.handle(request_of("GET", target, accept=accept)).ok
    assert (api.sim.digest.hex(), len(api.sim.clock._queue)) == (digest, queued)


operations = st.lists(
    st.tuples(st.sampled_from(["create", "label", "data", "delete"]), st.sampled_from("abc"), st.sampled_from("xy")),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(operations, operations, st.sampled_from(["", "&labelSelector=app%3Dx", "&fieldSelector=metadata.name%3Da"]))
def test_list_and_watch_equal_list(before: Any, after: Any, query: str) -> None:
    """What a client knows that lists once and follows the watch is what a list would say; versions grow."""
    api = Api(Simulation(1))
    client = Client(api, ADMIN, "test")
    _perform(client, before)
    listed = api.handle(request_of("GET", f"{CONFIGMAPS}?{query[1:]}")).body
    known = {item["metadata"]["name"]: item for item in listed["items"]}
    version = int(listed["metadata"]["resourceVersion"])
    stream = watch(api, f"{CONFIGMAPS}?watch=1&resourceVersion={version}{query}")
    _perform(client, after)
    twin = fork(stream)
    events = stream.poll()
    assert twin.poll() == events
    for event in events:
        grown = int(event["object"]["metadata"]["resourceVersion"])
        assert grown > version
        version = grown
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            del known[name]
        else:
            assert (event["type"] == "ADDED") is (name not in known)
            known[name] = event["object"]
    now = api.handle(request_of("GET", f"{CONFIGMAPS}?{query[1:]}")).body["items"]
    assert [known[name] for name in sorted(known)] == now


def _perform(client: Client, steps: Any) -> None:
    for kind, name, value in steps:
        with contextlib.suppress(ApiError):  # the object exists, or does not
            if kind == "create":
                client.create("configmaps", "shop", configmap(name, app=value))
            elif kind == "label":
                client.patch("configmaps", "shop", name, {"metadata": {"labels": {"app": value}}})
            elif kind == "data":
                client.patch("configmaps", "shop", name, {"data": {"k": value}})
            else:
                client.delete("configmaps", "shop", name)


@pytest.mark.parametrize(("query", "last"), [("&allowWatchBookmarks=true", ["BOOKMARK"]), ("", [])])
def test_a_watch_that_the_server_ends_says_where(api: Api, client: Client, query: str, last: list[str]) -> None:
    version = client.create("configmaps", "shop", configmap("z"))["metadata"]["resourceVersion"]
    stream = api.handle(request_of("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={version}{query}")).stream
    assert stream is not None
    client.create("configmaps", "shop", configmap("a"))
    stream.finish()
    client.create("configmaps", "shop", configmap("b"))
    assert [event["type"] for event in stream.poll()] == ["ADDED", *last]


@pytest.mark.parametrize(
    ("text", "meant"), [("true", True), ("True", True), ("", True), ("x", True), ("0", False), ("FALSE", False)]
)
def test_parameters_that_are_true(text: str, meant: bool) -> None:
    assert request_of("GET", f"/x?follow={text}").flag("follow") is meant
    assert not request_of("GET", "/x").flag("follow")
