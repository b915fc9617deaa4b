"""Tokens of service accounts: JSON Web Tokens that are made and believed by the API server.

Sources: pkg/serviceaccount/{claims,jwt,legacy}.go and pkg/registry/core/serviceaccount/storage/token.go
of Kubernetes 1.32. A token of a TokenRequest is bound to its account, and if asked to a pod,
a secret or a node: it dies with them. The token in a Secret lives as long as the Secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.api.authentication import signing
from simcluster.api.objects import ApiObject, Json, name_of, uid_of
from simcluster.api.request import User
from simcluster.api.store import Store
from simcluster.engine import SECOND

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEGACY_ISSUER = "kubernetes/serviceaccount"
#: Seconds that a kubelet asks for, after which a token that lives on is warned of.
WARN_AFTER_S = 3607
#: Seconds that such a token lives in fact (`--service-account-extend-token-expiration`).
_EXTENDED_S = 365 * 24 * 3600
#: A clock may differ by so much (jwt.DefaultLeeway of go-jose).
_LEEWAY_S = 60
_BOUND = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_LEGACY = "kubernetes.io/serviceaccount/"
_MARKED_INVALID = (
    "the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked invalid. "
    "Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
    "'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"
)


class TokenError(Exception):
    """A token is not believed; the message is the server's."""


class Holder(NamedTuple):
    """What a token proves: the user, and for which audiences."""

    user: User
    audiences: tuple[str, ...]


# Making.


def bound_claims(
    account: ApiObject, bound: Mapping[str, ApiObject], audiences: Sequence[str], life_s: int, now_s: int, jti: str
) -> Json:
    """The claims of a token for a TokenRequest.

    Args:
        bound: objects it dies with, by `pod`, `secret` and `node`.
        life_s: how long it was asked to live, in seconds.
        jti: its identifier.
    """
    private: Json = {"namespace": account["metadata"]["namespace"]}
    for kind in sorted(bound):
        private[kind] = {"name": name_of(bound[kind]), "uid": uid_of(bound[kind])}
    private["serviceaccount"] = {"name": name_of(account), "uid": uid_of(account)}
    expires_s = now_s + life_s
    if life_s == WARN_AFTER_S and "pod" in bound:
        private["warnafter"] = expires_s
        expires_s = now_s + _EXTENDED_S
    return {
        "aud": list(audiences),
        "exp": expires_s,
        "iat": now_s,
        "iss": ISSUER,
        "jti": jti,
        "kubernetes.io": private,
        "nbf": now_s,
        "sub": user_name(account["metadata"]["namespace"], name_of(account)),
    }


def legacy_claims(account: ApiObject, secret: str) -> Json:
    """The claims of the token that the token controller puts into a Secret."""
    namespace = account["metadata"]["namespace"]
    return {
        "iss": LEGACY_ISSUER,
        f"{_LEGACY}namespace": namespace,
        f"{_LEGACY}secret.name": secret,
        f"{_LEGACY}service-account.name": name_of(account),
        f"{_LEGACY}service-account.uid": uid_of(account),
        "sub": user_name(namespace, name_of(account)),
    }


def written(claims: Json) -> str:
    """The signed token with these claims."""
    head = json.dumps({"alg": "RS256", "kid": signing.key_id()}, separators=(",", ":"))
    text = f"{signing.encoded(head.encode())}.{signing.encoded(json.dumps(claims, separators=(',', ':')).encode())}"
    return f"{text}.{signing.sign(text)}"


def user_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


# Believing.


def holder_of(token: str, store: Store, now_ns: int, audiences: Sequence[str] = (ISSUER,)) -> Holder:
    """Who holds the token. Raises TokenError."""
    claims = _claims(token)
    if claims is None:
        raise TokenError("invalid bearer token")
    text, _, signature = token.rpartition(".")
    if not signing.is_signed(text, signature):
        raise TokenError("invalid bearer token")
    if claims["iss"] == LEGACY_ISSUER:
        return _legacy_holder(token, claims, store, audiences)
    meant = tuple(a for a in claims.get("aud") or () if a in audiences)
    if not meant:
        raise _refused(
            f"token audiences {_quoted(claims.get('aud') or ())} is invalid for the target audiences "
            f"{_quoted(audiences)}"
        )
    return Holder(_bound_user(claims, store, now_ns // SECOND), meant)


def _refused(why: str) -> TokenError:
    return TokenError(f"[invalid bearer token, {why}]")


def _quoted(values: Sequence[str]) -> str:
    return "[" + " ".join(json.dumps(value) for value in values) + "]"


def _claims(token: str) -> Json | None:
    """The claims of what looks like a token of this cluster."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(signing.decoded(parts[1]))
    except ValueError:
        return None
    return claims if isinstance(claims, dict) and claims.get("iss") in (ISSUER, LEGACY_ISSUER) else None


def _bound_user(claims: Json, store: Store, now_s: int) -> User:
    if now_s > claims["exp"] + _LEEWAY_S:
        raise _refused("service account token has expired")
    if now_s < claims["nbf"] - _LEEWAY_S:
        raise _refused("service account token is not valid yet")
    private = claims["kubernetes.io"]
    account = _account(store, private["namespace"], private["serviceaccount"])
    extra: list[tuple[str, tuple[str, ...]]] = [("credential-id", (f"JTI={claims['jti']}",))]
    for kind, resource in _BOUND.items():
        reference = private.get(kind)
        if reference is None:
            continue
        namespace = "" if kind == "node" else private["namespace"]
        # A node beside a pod only tells where the pod runs.
        found = store.get(resource, namespace, reference["name"])
        alive = found is not None and uid_of(found) == reference["uid"]
        if not alive and not (kind == "node" and "pod" in private):
            raise _refused("service account token has been invalidated")
        if kind != "secret":
            extra += [(f"{kind}-name", (reference["name"],)), (f"{kind}-uid", (reference["uid"],))]
    return _user(account, tuple((f"authentication.kubernetes.io/{key}", value) for key, value in sorted(extra)))


def _account(store: Store, namespace: str, reference: Mapping[str, Any]) -> ApiObject:
    account = store.get("serviceaccounts", namespace, reference["name"])
    if account is None:
        raise _refused(f'serviceaccounts "{reference["name"]}" not found')
    if uid_of(account) != reference["uid"]:
        raise _refused("service account token has been invalidated")
    return account


def _legacy_holder(token: str, claims: Json, store: Store, audiences: Sequence[str]) -> Holder:
    namespace, name = claims[f"{_LEGACY}namespace"], claims[f"{_LEGACY}secret.name"]
    secret = store.get("secrets", namespace, name)
    if secret is None:
        raise _refused("Token has been invalidated")
    if (secret.get("data") or {}).get("token") != _base64(token):
        raise _refused("Token does not match server's copy")
    if "kubernetes.io/legacy-token-invalid-since" in (secret["metadata"].get("labels") or {}):
        account = claims[f"{_LEGACY}service-account.name"]
        raise _refused(_MARKED_INVALID.format(namespace=namespace, secret=name, account=account))
    reference = {"name": claims[f"{_LEGACY}service-account.name"], "uid": claims[f"{_LEGACY}service-account.uid"]}
    return Holder(_user(_account(store, namespace, reference), ()), tuple(audiences))


def _base64(text: str) -> str:
    padded = signing.encoded(text.encode()).replace("-", "+").replace("_", "/")
    return padded + "=" * (-len(padded) % 4)


def _user(account: ApiObject, extra: tuple[tuple[str, tuple[str, ...]], ...]) -> User:
    namespace = account["metadata"]["namespace"]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(user_name(namespace, name_of(account)), groups, uid_of(account), extra)
