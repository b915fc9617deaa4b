"""Requests that say what their path names are served as those whose path the server reads."""

from __future__ import annotations

import pytest

from simcluster.api.authorization import bootstrap
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, Request, User
from simcluster.api.routing import Route, route
from simcluster.api.server import Api
from simcluster.engine import Simulation, fork

DEV = User("dev", ("system:authenticated",))
NODE = User("system:node:worker-1", ("system:nodes", "system:authenticated"))
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(name="api")
def server() -> Api:
    api = Api(Simulation(1))
    admin = Client(api, ADMIN, "test")
    for name in ("default", "shop", "kube-system"):
        admin.create("namespaces", "", {"metadata": {"name": name}})
    bootstrap.enforce(api)
    return api


def allow(api: Api, *verbs: str, names: tuple[str, ...] = ()) -> None:
    admin = Client(api, ADMIN, "test")
    rule = {"verbs": list(verbs), "apiGroups": [""], "resources": ["configmaps"]}
    if names:
        rule["resourceNames"] = list(names)
    admin.create(f"roles.{RBAC}", "shop", {"metadata": {"name": "dev"}, "rules": [rule]})
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "dev"}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": "dev"}]
    binding = {"metadata": {"name": "dev"}, "roleRef": reference, "subjects": subjects}
    admin.create(f"rolebindings.{RBAC}", "shop", binding)


@pytest.mark.parametrize("name", ["", "cart"])
@pytest.mark.parametrize("subresource", ["", "status"])
def test_what_a_client_says_is_what_the_path_names(api: Api, name: str, subresource: str) -> None:
    for resource in api.resources.all:
        if subresource and (not name or subresource not in resource.subresources):
            continue
        for namespace in ("", "shop"):
            path = api.resources.path(resource.name, namespace, name, subresource)
            entry = api.resources.by_name[resource.name]
            said = Route(entry, namespace if entry.namespaced else "", name, subresource)
            assert route(api.resources, path) == said


def test_a_name_with_a_slash_goes_by_its_path(api: Api) -> None:
    with pytest.raises(ApiError) as refused:
        Client(api, ADMIN, "test").get("configmaps", "shop", "a/b/c")
    assert refused.value.message == "the server could not find the requested resource"


def test_a_permission_that_was_used_ends_with_its_binding(api: Api) -> None:
    allow(api, "create", "get")
    dev = Client(api, DEV, "test")
    for name in ("a", "b", "c"):
        dev.create("configmaps", "shop", {"metadata": {"name": name}})
    assert api.authorizer is not None
    assert api.authorizer.rbac.known
    with pytest.raises(ApiError):  # the same, elsewhere
        dev.create("configmaps", "default", {"metadata": {"name": "a"}})
    with pytest.raises(ApiError):  # something else, here
        dev.delete("configmaps", "shop", "a")
    Client(api, ADMIN, "test").delete(f"rolebindings.{RBAC}", "shop", "dev")
    with pytest.raises(ApiError) as refused:
        dev.create("configmaps", "shop", {"metadata": {"name": "d"}})
    assert refused.value.code == 403


def test_a_permission_for_one_name_is_none_for_another(api: Api) -> None:
    allow(api, "get", "patch", names=("mine",))
    admin, dev = Client(api, ADMIN, "test"), Client(api, DEV, "test")
    for name in ("mine", "theirs"):
        admin.create("configmaps", "shop", {"metadata": {"name": name}})
    dev.patch("configmaps", "shop", "mine", {"data": {"a": "1"}})
    with pytest.raises(ApiError) as refused:
        dev.patch("configmaps", "shop", "theirs", {"data": {"a": "1"}})
    assert refused.value.code == 403


def test_a_kubelet_is_asked_again_about_what_depends_on_its_pods(api: Api) -> None:
    node = Client(api, NODE, "kubelet")
    lease = {"metadata": {"name": "worker-1"}, "spec": {}}
    Client(api, ADMIN, "test").create("namespaces", "", {"metadata": {"name": "kube-node-lease"}})
    node.create("leases.coordination.k8s.io", "kube-node-lease", lease)
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            node.get("secrets", "shop", "token")
        assert refused.value.code == 403
    with pytest.raises(ApiError):
        node.patch("leases.coordination.k8s.io", "kube-node-lease", "worker-2", {"spec": {}}, kind="merge")


def test_what_is_known_is_no_part_of_a_copy(api: Api) -> None:
    allow(api, "create")
    Client(api, DEV, "test").create("configmaps", "shop", {"metadata": {"name": "a"}})
    twin = fork(api)
    assert twin.authorizer is not None
    assert not twin.authorizer.rbac.known
    Client(twin, DEV, "test").create("configmaps", "shop", {"metadata": {"name": "b"}})


def test_a_list_keeps_its_order_when_objects_come_and_go(api: Api) -> None:
    admin = Client(api, ADMIN, "test")
    for name in ("c", "a", "b"):
        admin.create("configmaps", "shop", {"metadata": {"name": name}})

    def names() -> list[str]:
        return [obj["metadata"]["name"] for obj in api.store.objects("configmaps", "shop")]

    assert names() == ["a", "b", "c"]
    admin.patch("configmaps", "shop", "b", {"data": {"x": "1"}})
    assert api.store.objects("configmaps")[1]["data"] == {"x": "1"}
    admin.delete("configmaps", "shop", "a")
    admin.create("configmaps", "shop", {"metadata": {"name": "aa"}})
    assert names() == ["aa", "b", "c"]
    assert api.handle(Request("GET", "/api/v1/configmaps")).body["items"][0]["metadata"]["name"] == "aa"
