"""JSON patch, merge patch, strategic merge patch, server-side apply."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.api.client import Client
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.request import (
    ADMIN,
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Response,
    request_of,
)
from simcluster.api.schema import type_of
from simcluster.api.server import Api
from simcluster.engine import Simulation

POD = type_of("", "v1", "Pod")
SERVICE = type_of("", "v1", "Service")

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text("abc", max_size=1), documents, max_size=4)


def without_nulls(value: Any) -> Any:
    """A document that can stand as the result of a merge patch."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return value


class TestMergePatch:
    @given(objects, objects)
    def test_applying_twice_changes_nothing_more(self, target: Any, patch: Any) -> None:
        once = merge.merge(target, patch)
        assert merge.merge(once, patch) == once

    @given(objects, objects)
    def test_the_difference_of_two_documents_leads_from_one_to_the_other(self, old: Any, new: Any) -> None:
        new = without_nulls(new)
        assert jsonpatch.same(merge.merge(old, difference(old, new)), new)

    @given(objects, objects)
    def test_arguments_are_not_changed(self, target: Any, patch: Any) -> None:
        before = copy.deepcopy((target, patch))
        merge.merge(target, patch)
        assert (target, patch) == before


def difference(old: Any, new: Any) -> Any:
    """The merge patch from one document to the other (which has no nulls in objects)."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    patch = {key: None for key in old if key not in new}
    for key, value in new.items():
        replaced = isinstance(old.get(key), dict) and not isinstance(value, dict)
        if key not in old or replaced or not jsonpatch.same(old[key], value):
            patch[key] = difference(old.get(key), value)
    return patch


def _pointers(value: Any, path: str = "") -> list[str]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _pointers(item, path + "/" + key.replace("~", "~0").replace("/", "~1"))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _pointers(item, f"{path}/{index}")
    return found


class TestJsonPatch:
    @given(objects, st.data())
    def test_laws(self, document: Any, data: st.DataObject) -> None:
        before = copy.deepcopy(document)
        path = data.draw(st.sampled_from(_pointers(document)))
        value = jsonpatch.look_up(document, jsonpatch.pointer(path))
        assert jsonpatch.apply(document, [{"op": "test", "path": path, "value": value}]) == document
        assert jsonpatch.apply(document, [{"op": "replace", "path": path, "value": value}]) == document
        if path:
            moved = [{"op": "remove", "path": path}, {"op": "add", "path": path, "value": value}]
            assert jsonpatch.same(jsonpatch.apply(document, moved), document)
        assert jsonpatch.same(document, before)

    @pytest.mark.parametrize(
        "operation",
        [
            {"op": "remove", "path": "/nope"},
            {"op": "replace", "path": "/nope", "value": 1},
            {"op": "test", "path": "/a", "value": 2},
            {"op": "add", "path": "/list/7", "value": 1},
            {"op": "add", "path": "/x/y", "value": 1},
            {"op": "move", "from": "/nope", "path": "/a"},
            {"op": "dance", "path": "/a"},
        ],
    )
    def test_refused(self, operation: Any) -> None:
        with pytest.raises(jsonpatch.JsonPatchError):
            jsonpatch.apply({"a": 1, "list": [1]}, [operation])

    def test_append_copy_move(self) -> None:
        operations = [
            {"op": "add", "path": "/list/-", "value": 2},
            {"op": "add", "path": "/list/0", "value": 0},
            {"op": "copy", "from": "/list/1", "path": "/b"},
            {"op": "move", "from": "/a", "path": "/c"},
        ]
        assert jsonpatch.apply({"a": 1, "list": [1]}, operations) == {"list": [0, 1, 2], "b": 1, "c": 1}


class TestStrategicMergePatch:
    def containers(self, patch: Any, *names: str, **more: Any) -> list[Any]:
        original = {"spec": {"containers": [{"name": n, "image": n, **more} for n in names]}}
        before = copy.deepcopy(original)
        result = strategic.merge(original, {"spec": patch}, POD)
        assert original == before
        found: list[Any] = result["spec"]["containers"]
        return found

    def test_items_merge_by_key(self) -> None:
        found = self.containers({"containers": [{"name": "b", "image": "new"}]}, "a", "b")
        assert found == [{"name": "a", "image": "a"}, {"name": "b", "image": "new"}]

    def test_new_item_comes_before_those_the_patch_does_not_name(self) -> None:
        assert [c["name"] for c in self.containers({"containers": [{"name": "c"}]}, "a", "b")] == ["c", "a", "b"]

    def test_delete_directive(self) -> None:
        found = self.containers({"containers": [{"name": "a", "$patch": "delete"}]}, "a", "b")
        assert [c["name"] for c in found] == ["b"]

    def test_replace_directive(self) -> None:
        found = self.containers({"containers": [{"$patch": "replace"}, {"name": "z"}]}, "a", "b")
        assert found == [{"name": "z"}]

    def test_order_directive(self) -> None:
        order = [{"name": "b"}, {"name": "a"}]
        found = self.containers(
            {"$setElementOrder/containers": order, "containers": [{"name": "a", "image": "x"}]}, "a", "b"
        )
        assert [(c["name"], c["image"]) for c in found] == [("b", "b"), ("a", "x")]

    def test_order_alone(self) -> None:
        found = self.containers({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}, "a", "b")
        assert [c["name"] for c in found] == ["b", "a"]

    def test_nested_lists(self) -> None:
        env = [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]
        patch = {"containers": [{"name": "a", "env": [{"name": "Y", "value": "3"}, {"name": "X", "$patch": "delete"}]}]}
        assert self.containers(patch, "a", env=env)[0]["env"] == [{"name": "Y", "value": "3"}]

    def test_retain_keys(self) -> None:
        original = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
        volume = {"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}
        result = strategic.merge(original, {"spec": {"volumes": [volume]}}, POD)
        assert result["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "s"}}]

    def test_scalars(self) -> None:
        original = {"metadata": {"finalizers": ["a", "b"]}}
        assert strategic.merge(original, {"metadata": {"finalizers": ["c"]}}, POD)["metadata"]["finalizers"] == [
            "c",
            "a",
            "b",
        ]
        removed = strategic.merge(original, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, POD)
        assert removed["metadata"]["finalizers"] == ["b"]

    def test_atomic_list_is_replaced(self) -> None:
        original = {"spec": {"tolerations": [{"key": "a"}]}}
        assert strategic.merge(original, {"spec": {"tolerations": [{"key": "b"}]}}, POD)["spec"]["tolerations"] == [
            {"key": "b"}
        ]

    def test_missing_key(self) -> None:
        with pytest.raises(strategic.StrategicPatchError, match="does not contain declared merge key: port"):
            strategic.merge({"spec": {}}, {"spec": {"ports": [{"name": "x"}]}}, SERVICE)

    @given(objects, objects)
    def test_without_schema_knowledge_it_is_a_merge_patch(self, target: Any, patch: Any) -> None:
        target, patch = {"x": target}, {"x": _without_lists(patch)}
        assert without_nulls(strategic.merge(target, patch, None)) == without_nulls(merge.merge(target, patch))


def _without_lists(value: Any) -> Any:
    return {k: _without_lists(v) for k, v in value.items()} if isinstance(value, dict) else value


# Through the server.

CONTAINERS = [{"name": "c", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "d", "image": "b:1"}]


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(1))
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}
    Client(api, ADMIN, "kubectl-create").create("deployments.apps", "shop", body)
    return api


def patched(api: Api, patch: Any, media: str, query: str = "") -> Response:
    target = f"/apis/apps/v1/namespaces/shop/deployments/web{query}"
    return api.handle(request_of("PATCH", target, body=patch, content_type=media))


def test_each_type(api: Api) -> None:
    assert (
        patched(api, [{"op": "replace", "path": "/spec/replicas", "value": 2}], JSON_PATCH).body["spec"]["replicas"]
        == 2
    )
    assert patched(api, {"spec": {"replicas": 3}}, MERGE_PATCH).body["spec"]["replicas"] == 3
    spec = {"template": {"spec": {"containers": [{"name": "d", "image": "b:2"}]}}}
    answer = patched(api, {"spec": spec}, STRATEGIC_MERGE_PATCH).body
    assert [c["image"] for c in answer["spec"]["template"]["spec"]["containers"]] == ["a:1", "b:2"]
    assert answer["metadata"]["generation"] == 4


def test_wrong_type_in_a_strategic_patch(api: Api) -> None:
    answer = patched(api, {"spec": {"replicas": "two"}}, STRATEGIC_MERGE_PATCH)
    text = ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:two]]": unrecognized type: int32'
    assert (answer.code, answer.body["message"]) == (422, text)


def test_conflict_by_version(api: Api) -> None:
    assert patched(api, {"metadata": {"resourceVersion": "999"}}, MERGE_PATCH).code == 409


def test_other_name(api: Api) -> None:
    answer = patched(api, {"metadata": {"name": "other"}}, MERGE_PATCH)
    text = "the name of the object (other) does not match the name on the URL (web)"
    assert (answer.code, answer.body["message"]) == (400, text)


class TestApply:
    def configuration(self, **spec: Any) -> dict[str, Any]:
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    def template(self, image: str) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "c", "image": image}]}}

    def test_conflict_and_force(self, api: Api) -> None:
        wanted = self.configuration(template=self.template("a:2"))
        answer = patched(api, wanted, APPLY_PATCH, "?fieldManager=gitops")
        text = (
            'Apply failed with 1 conflict: conflict with "kubectl-create" using apps/v1: '
            '.spec.template.spec.containers[name="c"].image'
        )
        assert (answer.code, answer.body["message"]) == (409, text)
        answer = patched(api, wanted, APPLY_PATCH, "?fieldManager=gitops&force=true")
        assert answer.code == 200
        containers = answer.body["spec"]["template"]["spec"]["containers"]
        assert [(c["name"], c["image"]) for c in containers] == [("c", "a:2"), ("d", "b:1")]
        owners = {e["manager"]: e["operation"] for e in answer.body["metadata"]["managedFields"]}
        assert owners == {"gitops": "Apply", "kubectl-create": "Update"}

    def test_same_values_are_shared(self, api: Api) -> None:
        assert (
            patched(api, self.configuration(template=self.template("a:1")), APPLY_PATCH, "?fieldManager=g").code == 200
        )

    def test_applying_again_changes_nothing(self, api: Api) -> None:
        wanted = self.configuration(template=self.template("a:1"))
        patched(api, wanted, APPLY_PATCH, "?fieldManager=g")
        version = api.store.version
        api.sim.run_for(5_000_000_000)
        patched(api, wanted, APPLY_PATCH, "?fieldManager=g")
        assert api.store.version == version

    def test_what_is_no_longer_applied_goes(self, api: Api) -> None:
        first = self.configuration(minReadySeconds=5)
        first["metadata"]["labels"] = {"a": "1", "b": "2"}
        patched(api, first, APPLY_PATCH, "?fieldManager=g")
        second = self.configuration()
        second["metadata"]["labels"] = {"a": "1"}
        answer = patched(api, second, APPLY_PATCH, "?fieldManager=g").body
        assert answer["metadata"]["labels"] == {"a": "1"}
        assert "minReadySeconds" not in answer["spec"]

    def test_creates(self) -> None:
        api = Api(Simulation(1))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"a": "1"}}
        target = "/api/v1/namespaces/shop/configmaps/cm?fieldManager=g"
        answer = api.handle(request_of("PATCH", target, body=body, content_type=APPLY_PATCH))
        assert answer.code == 201
        (entry,) = answer.body["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"], entry["fieldsV1"]) == ("g", "Apply", {"f:data": {"f:a": {}}})


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("names", [("Ready", "Initialized"), ("Initialized", "Ready"), ("Ready",), ("Other", "Ready")])
def test_lists_merge_alike_in_place_and_item_by_item(names: tuple[str, ...], ordered: bool) -> None:
    """A report with the items that are there already takes a short way, to the result of the long one."""
    live = [{"type": "Ready", "status": "True", "reason": "a"}, {"type": "Initialized", "status": "True"}]
    patch: dict[str, Any] = {"conditions": [{"type": name, "status": "False"} for name in names]}
    if ordered:
        patch["$setElementOrder/conditions"] = [{"type": name} for name in names]
    merged = strategic.merge({"status": {"conditions": live}}, {"status": patch}, POD)["status"]["conditions"]
    by_type = {item["type"]: item for item in merged}
    assert len(by_type) == len(merged) == len({*names, "Ready", "Initialized"})
    for item in live:
        wanted = {**item, "status": "False"} if item["type"] in names else item
        assert by_type[item["type"]] == wanted
    positions = [list(by_type).index(name) for name in names]
    assert positions == sorted(positions)
    assert [item["status"] for item in live] == ["True", "True"]
