"""RBAC, the node authorizer, impersonation and reviews, through requests."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from simcluster.api.authorization import bootstrap, rules
from simcluster.api.authorization.question import question_of
from simcluster.api.request import Impersonation, Request, Response, User, request_of
from simcluster.api.server import Api
from simcluster.engine import Simulation, fork

GROUP = "/apis/rbac.authorization.k8s.io/v1"
AUTH = "/apis/authorization.k8s.io/v1"
DEV = User("dev", ("system:authenticated",))
NODE = User("system:node:worker-1", ("system:nodes", "system:authenticated"))


@pytest.fixture(name="api")
def cluster() -> Api:
    api = Api(Simulation(1))
    for name in ("default", "shop", "kube-system"):
        create(api, "/api/v1/namespaces", {"metadata": {"name": name}})
    create(api, "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "default"}})
    bootstrap.enforce(api)
    return api


def create(api: Api, path: str, body: dict[str, Any], user: User | None = None) -> Response:
    request = Request("POST", path, body=body)
    return api.handle(request if user is None else Request("POST", path, body=body, user=user))


def get(api: Api, path: str, user: User = DEV) -> Response:
    return api.handle(request_of("GET", path, user=user))


def grant(api: Api, role: str, *, kind: str = "ClusterRole", namespace: str = "shop", subject: Any = None) -> None:
    space = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    body = {
        "metadata": {"name": f"dev-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [subject or {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev"}],
    }
    assert create(api, GROUP + space, body).code == 201


def message(response: Response) -> str:
    assert isinstance(response.body, dict)
    return str(response.body["message"])


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        (
            "GET",
            "/api/v1/namespaces/shop/pods",
            'pods is forbidden: User "dev" cannot list resource "pods" in API group "" in the namespace "shop"',
        ),
        (
            "GET",
            "/apis/apps/v1/deployments?watch=true",
            'deployments.apps is forbidden: User "dev" cannot watch resource "deployments" in API group "apps" '
            "at the cluster scope",
        ),
        (
            "GET",
            "/api/v1/namespaces/shop/pods/geo/log",
            'pods "geo" is forbidden: User "dev" cannot get resource "pods/log" in API group "" '
            'in the namespace "shop"',
        ),
        (
            "GET",
            "/api/v1/namespaces/shop",
            'namespaces "shop" is forbidden: User "dev" cannot get resource "namespaces" in API group "" '
            'in the namespace "shop"',
        ),
        (
            "DELETE",
            "/api/v1/namespaces/shop/configmaps",
            'configmaps is forbidden: User "dev" cannot deletecollection resource "configmaps" in API group "" '
            'in the namespace "shop"',
        ),
        ("GET", "/metrics", 'forbidden: User "dev" cannot get path "/metrics"'),
        (
            "GET",
            "/api/v1/widgets",
            'widgets is forbidden: User "dev" cannot list resource "widgets" in API group "" at the cluster scope',
        ),
    ],
)
def test_refusals(api: Api, method: str, path: str, text: str) -> None:
    response = api.handle(request_of(method, path, user=DEV))
    assert (response.code, message(response)) == (403, text)


def test_discovery_is_for_everybody_and_health_even_for_anonymous(api: Api) -> None:
    anonymous = User("system:anonymous", ("system:unauthenticated",))
    assert get(api, "/apis/apps/v1").ok
    assert get(api, "/openapi/v3").ok
    assert get(api, "/livez", anonymous).ok
    assert get(api, "/version", anonymous).ok
    assert get(api, "/api", anonymous).code == 403


def test_a_binding_to_view_lets_read_in_its_namespace_only(api: Api) -> None:
    grant(api, "view")
    assert get(api, "/api/v1/namespaces/shop/pods").ok
    assert get(api, "/api/v1/namespaces/shop").ok
    assert get(api, "/api/v1/namespaces/default/pods").code == 403
    assert get(api, "/api/v1/namespaces/shop/secrets").code == 403
    assert create(api, "/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "x"}}, DEV).code == 403


def test_answers_follow_the_bindings_at_once(api: Api) -> None:
    path = "/api/v1/namespaces/shop/pods"
    assert get(api, path).code == 403
    grant(api, "view")
    assert get(api, path).ok
    assert api.handle(Request("DELETE", f"{GROUP}/namespaces/shop/rolebindings/dev-view")).ok
    assert get(api, path).code == 403


def test_names_and_subresources(api: Api) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps", "pods/log"], "resourceNames": ["a"]}
    role = {"metadata": {"name": "one"}, "rules": [rule]}
    assert create(api, f"{GROUP}/namespaces/shop/roles", role).code == 201
    grant(api, "one", kind="Role")
    assert get(api, "/api/v1/namespaces/shop/configmaps/a").code == 404
    assert get(api, "/api/v1/namespaces/shop/configmaps/b").code == 403
    assert get(api, "/api/v1/namespaces/shop/pods/a/log").code == 404
    assert get(api, "/api/v1/namespaces/shop/pods/a").code == 403


def test_a_binding_to_a_missing_role_says_so(api: Api) -> None:
    grant(api, "nope")
    text = message(get(api, "/api/v1/namespaces/shop/pods"))
    assert text.endswith('in the namespace "shop": RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found')


def test_groups_and_service_accounts(api: Api) -> None:
    account = {"kind": "ServiceAccount", "name": "robot", "namespace": "shop"}
    grant(api, "edit", subject=account)
    groups = ("system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated")
    robot = User("system:serviceaccount:shop:robot", groups)
    assert get(api, "/api/v1/namespaces/shop/secrets", robot).ok
    other = User("system:serviceaccount:default:robot", groups)
    assert get(api, "/api/v1/namespaces/shop/secrets", other).code == 403


def test_aggregated_roles_have_the_rules_of_all_they_gather(api: Api) -> None:
    found = {}
    for name in ("view", "edit", "admin"):
        role = api.store.get("clusterroles.rbac.authorization.k8s.io", "", name)
        assert role is not None
        found[name] = role["rules"]
    assert all(rule in found["edit"] for rule in found["view"])
    assert all(rule in found["admin"] for rule in found["edit"])
    assert {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["localsubjectaccessreviews"]} in (
        found["admin"]
    )


# Escalation.


def test_nobody_grants_what_he_does_not_have(api: Api) -> None:
    grant(api, "admin")
    role = {
        "metadata": {"name": "more"},
        "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["nodes", "pods"]}],
    }
    response = create(api, f"{GROUP}/namespaces/shop/roles", role, DEV)
    assert response.code == 403
    assert message(response) == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "dev" (groups=["system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}'
    )
    role["rules"][0]["resources"] = ["pods"]
    assert create(api, f"{GROUP}/namespaces/shop/roles", role, DEV).code == 201


def test_nobody_binds_to_more_than_he_has(api: Api) -> None:
    grant(api, "admin")
    body = {
        "metadata": {"name": "root"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev"}],
    }
    response = create(api, f"{GROUP}/namespaces/shop/rolebindings", body, DEV)
    assert response.code == 403
    assert message(response).endswith(
        '\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}'
    )
    body["roleRef"] = {**body["roleRef"], "name": "view"}  # type: ignore[dict-item]
    assert create(api, f"{GROUP}/namespaces/shop/rolebindings", body, DEV).code == 201


# Nodes.


def test_a_kubelet_reads_only_what_its_pods_need(api: Api) -> None:
    for name in ("used", "other"):
        create(api, "/api/v1/namespaces/shop/secrets", {"metadata": {"name": name}})
    container = {"name": "c", "image": "c", "envFrom": [{"secretRef": {"name": "used"}}]}
    pod = {"metadata": {"name": "geo"}, "spec": {"nodeName": "worker-1", "containers": [container]}}
    assert create(api, "/api/v1/namespaces/shop/pods", pod).code == 201
    assert get(api, "/api/v1/namespaces/shop/secrets/used", NODE).ok
    refused = get(api, "/api/v1/namespaces/shop/secrets/other", NODE)
    assert refused.code == 403
    assert message(refused).endswith("no relationship found between node 'worker-1' and this object")
    other_node = User("system:node:worker-2", NODE.groups)
    assert get(api, "/api/v1/namespaces/shop/secrets/used", other_node).code == 403
    assert get(api, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-1", NODE).code == 404
    assert get(api, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/worker-2", NODE).code == 403
    assert get(api, "/apis/apps/v1/deployments", NODE).code == 403


# Impersonation and reviews.


def test_impersonation_needs_the_verb(api: Api) -> None:
    wanted = Request("GET", "/api/v1/pods", user=DEV, impersonate=Impersonation("root", ("system:masters",)))
    response = api.handle(wanted)
    assert message(response) == (
        'users "root" is forbidden: User "dev" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    by_admin = Request("GET", "/api/v1/pods", impersonate=Impersonation("dev"))
    assert message(api.handle(by_admin)).startswith('pods is forbidden: User "dev"')
    grant(api, "view")
    as_account = Impersonation("system:serviceaccount:shop:robot")
    request = Request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body={}, impersonate=as_account)
    assert api.handle(request).body["status"]["userInfo"] == {
        "username": "system:serviceaccount:shop:robot",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    }


def test_access_reviews(api: Api) -> None:
    grant(api, "view")
    asked = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "shop"}}
    answer = create(api, f"{AUTH}/selfsubjectaccessreviews", {"spec": asked}, DEV)
    assert answer.body["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "dev-view/shop" of ClusterRole "view" to User "dev"',
    }
    review = {"spec": {**asked, "user": "nobody"}}
    assert create(api, f"{AUTH}/subjectaccessreviews", review).body["status"] == {"allowed": False}
    assert create(api, f"{AUTH}/subjectaccessreviews", {"spec": asked}).code == 422
    assert create(api, f"{AUTH}/selfsubjectaccessreviews", {"spec": {}}).code == 422
    local = f"{AUTH}/namespaces/default/localsubjectaccessreviews"
    wrong = create(api, local, {"metadata": {"namespace": "default"}, "spec": {**asked, "user": "x"}})
    assert message(wrong).endswith(
        'spec.resourceAttributes.namespace: Invalid value: "shop": must match metadata.namespace'
    )
    assert create(api, f"{AUTH}/selfsubjectrulesreviews", {"spec": {}}, DEV).code == 400


def test_without_an_authorizer_everything_is_allowed() -> None:
    api = Api(Simulation(1))
    assert get(api, "/api/v1/pods").ok
    asked = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
    assert create(api, f"{AUTH}/selfsubjectaccessreviews", asked, DEV).body["status"] == {"allowed": True}


# State.


def test_what_was_found_is_no_part_of_a_saved_cluster(api: Api) -> None:
    before = len(pickle.dumps(api.authorizer.rbac._kept))  # type: ignore[union-attr]
    copy = fork(api)
    for user in ("a", "b", "c"):
        get(api, "/api/v1/pods", User(user, ("system:authenticated",)))
    assert len(pickle.dumps(api.authorizer.rbac._kept)) > before  # type: ignore[union-attr]
    assert not fork(api).authorizer.rbac._kept  # type: ignore[union-attr]
    grant(copy, "view")
    assert get(copy, "/api/v1/namespaces/shop/pods").ok
    assert get(api, "/api/v1/namespaces/shop/pods").code == 403


def test_rules() -> None:
    own = [{"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*/scale", "deployments"]}]
    wanted = [{"verbs": ["get"], "apiGroups": ["apps"], "resources": ["replicasets/scale", "replicasets"]}]
    assert rules.uncovered(own, wanted) == [{"verbs": ["get"], "apiGroups": ["apps"], "resources": ["replicasets"]}]
    assert rules.matches_path({"nonResourceURLs": ["/api/*"]}, "/api/v1")
    assert not rules.matches_path({"nonResourceURLs": ["/api/*"]}, "/api")
    assert question_of(request_of("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx")).name == "x"
