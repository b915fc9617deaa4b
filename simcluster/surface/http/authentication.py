"""Who is on the other side of a socket: a bearer token of the server's own, a client certificate, or nobody.

Tokens of service accounts are for the API server itself to believe. Who brings nothing is `system:anonymous`, and may
what RBAC lets that user do (source: k8s.io/apiserver, authentication/request/anonymous).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.request import Impersonation, User

ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_EXTRA = "impersonate-extra-"


class Credentials(NamedTuple):
    """What proves the agent's identity.

    Attributes:
        user: whom the token means.
        token: random, made when the server starts.
    """

    user: User
    token: str


class Proved(NamedTuple):
    """Who asks: a user, and the token that the API server has to look at, if any."""

    user: User
    token: str = ""


def proved(credentials: Credentials, headers: Mapping[str, str], certificate: Mapping[str, Any] | None) -> Proved:
    """Who sent these headers (names in lower case) over a connection with this client certificate."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        if hmac.compare_digest(value.strip().encode(), credentials.token.encode()):
            return Proved(credentials.user)
        return Proved(ANONYMOUS, value.strip() or "none")
    if scheme:
        return Proved(ANONYMOUS, "none")  # nothing that anybody could believe: 401
    if certificate:
        return Proved(user_of(certificate))
    return Proved(ANONYMOUS)


def user_of(certificate: Mapping[str, Any]) -> User:
    """The user of a client certificate, as `ssl` decodes it: its common name, and its organizations as groups."""
    parts = [pair for group in certificate.get("subject", ()) for pair in group]
    name = next((value for key, value in parts if key == "commonName"), "")
    groups = tuple(value for key, value in parts if key == "organizationName")
    return User(name, (*groups, "system:authenticated"))


def impersonated(headers: list[tuple[str, str]]) -> Impersonation | None:
    """As whom the request is to act; header names in lower case, repeated ones in order."""
    user = next((value for name, value in headers if name == "impersonate-user"), "")
    groups = tuple(value for name, value in headers if name == "impersonate-group")
    uid = next((value for name, value in headers if name == "impersonate-uid"), "")
    extra: dict[str, list[str]] = {}
    for name, value in headers:
        if name.startswith(_EXTRA):
            extra.setdefault(name.removeprefix(_EXTRA), []).append(value)
    if not (user or groups or uid or extra):
        return None
    return Impersonation(user, groups, uid, tuple((key, tuple(values)) for key, values in extra.items()))
