"""Tokens of service accounts: what they claim, who believes them, when they die."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from simcluster.api.authentication import signing
from simcluster.api.authentication.tokens import legacy_claims, written
from simcluster.api.authorization import bootstrap
from simcluster.api.objects import Json
from simcluster.api.request import ADMIN, Impersonation, Request, Response, User
from simcluster.api.server import Api
from simcluster.control.serviceaccount import TokenController
from simcluster.engine import SECOND, Simulation

ISSUER = "https://kubernetes.default.svc.cluster.local"


@pytest.fixture(name="api")
def served() -> Api:
    api = Api(Simulation(1))
    for name in ("default", "shop"):
        post(api, "/api/v1/namespaces", {"metadata": {"name": name}})
    post(api, "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "geo"}})
    return api


def post(api: Api, path: str, body: Json, **rest: Any) -> Response:
    return api.handle(Request("POST", path, body=body, **rest))


def token_of(api: Api, **spec: Any) -> str:
    answer = post(api, "/api/v1/namespaces/shop/serviceaccounts/geo/token", {"spec": spec})
    assert answer.code == 201, answer.body
    return str(answer.body["status"]["token"])


def claims_of(token: str) -> Json:
    claims: Json = json.loads(signing.decoded(token.split(".")[1]))
    return claims


def whoami(api: Api, **rest: Any) -> Response:
    return post(api, "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, **rest)


def review(api: Api, token: str, **spec: Any) -> Json:
    answer = post(api, "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token, **spec}})
    status: Json = answer.body["status"]
    return status


def test_claims_and_signature(api: Api) -> None:
    token = token_of(api)
    claims = claims_of(token)
    uid = api.store.get("serviceaccounts", "shop", "geo")["metadata"]["uid"]  # type: ignore[index]
    assert list(claims) == ["aud", "exp", "iat", "iss", "jti", "kubernetes.io", "nbf", "sub"]
    assert claims["aud"] == [ISSUER]
    assert claims["iss"] == ISSUER
    assert claims["sub"] == "system:serviceaccount:shop:geo"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["kubernetes.io"] == {"namespace": "shop", "serviceaccount": {"name": "geo", "uid": uid}}
    head = json.loads(signing.decoded(token.split(".")[0]))
    keys = api.handle(Request("GET", "/openid/v1/jwks"))
    assert head == {"alg": "RS256", "kid": keys.body["keys"][0]["kid"]}
    assert keys.content_type == "application/jwk-set+json"


def test_signature_verifies_with_the_public_key(api: Api) -> None:
    key = api.handle(Request("GET", "/openid/v1/jwks")).body["keys"][0]
    modulus = int.from_bytes(signing.decoded(key["n"]), "big")
    text, _, signature = token_of(api).rpartition(".")
    plain = pow(int.from_bytes(signing.decoded(signature), "big"), 65537, modulus).to_bytes(256, "big")
    assert plain.endswith(hashlib.sha256(text.encode()).digest())
    assert not signing.is_signed(text + "x", signature)


def test_a_token_proves_its_account(api: Api) -> None:
    token = token_of(api)
    info = whoami(api, token=token).body["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:shop:geo"
    assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]
    assert info["extra"] == {"authentication.kubernetes.io/credential-id": [f"JTI={claims_of(token)['jti']}"]}
    assert review(api, token)["audiences"] == [ISSUER]


def test_unknown_tokens(api: Api) -> None:
    answer = whoami(api, token="nonsense")
    assert (answer.code, answer.body) == (
        401,
        {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
            "reason": "Unauthorized", "code": 401,
        },
    )  # fmt: skip
    forged = token_of(api)[:-8] + "AAAAAAAA"
    assert whoami(api, token=forged).code == 401
    assert review(api, forged) == {"user": {}, "error": "invalid bearer token"}


def test_expiry(api: Api) -> None:
    token = token_of(api, expirationSeconds=600)
    api.sim.after(700 * SECOND, api.sim.record, "test", b"later")
    api.sim.run_for(701 * SECOND)
    assert whoami(api, token=token).code == 401
    assert review(api, token)["error"] == "[invalid bearer token, service account token has expired]"


def test_a_token_dies_with_its_account(api: Api) -> None:
    token = token_of(api)
    api.handle(Request("DELETE", "/api/v1/namespaces/shop/serviceaccounts/geo"))
    assert review(api, token)["error"] == '[invalid bearer token, serviceaccounts "geo" not found]'
    post(api, "/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "geo"}})
    assert review(api, token)["error"] == "[invalid bearer token, service account token has been invalidated]"


def test_audiences(api: Api) -> None:
    token = token_of(api, audiences=["vault"])
    assert whoami(api, token=token).code == 401
    assert review(api, token, audiences=["vault", "other"])["audiences"] == ["vault"]
    assert "is invalid for the target audiences" in review(api, token)["error"]


def test_bound_to_a_pod(api: Api) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "geo"}
    post(api, "/api/v1/namespaces/shop/pods", {"metadata": {"name": "p"}, "spec": spec})
    token = token_of(api, expirationSeconds=3607, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})
    claims = claims_of(token)
    assert claims["kubernetes.io"]["pod"]["name"] == "p"
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    extra = whoami(api, token=token).body["status"]["userInfo"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    api.handle(Request("DELETE", "/api/v1/namespaces/shop/pods/p", (("gracePeriodSeconds", "0"),)))
    assert whoami(api, token=token).code == 401


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            {"expirationSeconds": 5}, 422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: '
            "may not specify a duration less than 10 minutes",
        ),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "x"}}, 404, 'pods "x" not found'),
        (
            {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}}, 400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ],
)  # fmt: skip
def test_refused_requests(api: Api, spec: Json, code: int, message: str) -> None:
    answer = post(api, "/api/v1/namespaces/shop/serviceaccounts/geo/token", {"spec": spec})
    assert (answer.code, answer.body["message"]) == (code, message)


def test_token_of_a_secret(api: Api) -> None:
    account = api.store.get("serviceaccounts", "shop", "geo")
    assert account is not None
    token = written(legacy_claims(account, "geo-token"))
    assert whoami(api, token=token).code == 401
    secret = {
        "metadata": {"name": "geo-token", "annotations": {"kubernetes.io/service-account.name": "geo"}},
        "type": "kubernetes.io/service-account-token",
        "stringData": {"token": token},
    }
    assert post(api, "/api/v1/namespaces/shop/secrets", secret).code == 201
    assert whoami(api, token=token).body["status"]["userInfo"]["username"] == "system:serviceaccount:shop:geo"


def test_impersonation_with_everything(api: Api) -> None:
    wanted = Impersonation("jane", ("dev",), "u-1", (("scopes", ("a", "b")),))
    info = whoami(api, user=ADMIN, impersonate=wanted).body["status"]["userInfo"]
    assert info == {
        "username": "jane", "uid": "u-1", "groups": ["dev", "system:authenticated"], "extra": {"scopes": ["a", "b"]},
    }  # fmt: skip


def test_who_may_not_impersonate(api: Api) -> None:
    bootstrap.enforce(api)
    viewer = User("viewer", ("system:authenticated",))
    assert whoami(api, user=viewer, impersonate=Impersonation("jane")).body["message"] == (
        'users "jane" is forbidden: User "viewer" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )
    post(
        api,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": {"name": "imp"}, "rules": [{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]}]},
    )
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "imp"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}
    post(
        api,
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {"metadata": {"name": "imp"}, "roleRef": reference, "subjects": [subject]},
    )
    assert whoami(api, user=viewer, impersonate=Impersonation("jane")).code == 201
    refused = whoami(api, user=viewer, impersonate=Impersonation("jane", extra=(("scopes", ("a",)),)))
    assert refused.body["message"] == (
        'userextras.authentication.k8s.io "a" is forbidden: User "viewer" cannot impersonate resource '
        '"userextras/scopes" in API group "authentication.k8s.io" at the cluster scope'
    )


def test_the_token_controller_fills_secrets(api: Api) -> None:
    TokenController(api.sim, api)
    secret = {
        "metadata": {"name": "geo-token", "annotations": {"kubernetes.io/service-account.name": "geo"}},
        "type": "kubernetes.io/service-account-token",
    }
    post(api, "/api/v1/namespaces/shop/secrets", secret)
    api.sim.run_for(SECOND)
    filled = api.store.get("secrets", "shop", "geo-token")
    assert filled is not None
    assert sorted(filled["data"]) == ["namespace", "token"]
    token = base64.b64decode(filled["data"]["token"]).decode()
    assert whoami(api, token=token).code == 201
    api.handle(Request("DELETE", "/api/v1/namespaces/shop/serviceaccounts/geo"))
    api.sim.run_for(SECOND)
    assert api.store.get("secrets", "shop", "geo-token") is None
    assert whoami(api, token=token).code == 401
