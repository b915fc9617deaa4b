"""Acting as somebody else: `kubectl --as`, the Impersonate-* headers.

Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simcluster.api.authorization.question import Question
from simcluster.api.errors import ApiError
from simcluster.api.request import Impersonation, User

if TYPE_CHECKING:
    from simcluster.api.authorization.authorizer import Authorizer

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"
_ACCOUNT = "system:serviceaccount:"


def impersonated(user: User, wanted: Impersonation, authorizer: Authorizer | None) -> User:
    """The user a request acts as. Raises ApiError 403 if `user` may not, 500 without a user name."""
    if not wanted.user:
        raise ApiError(500, "InternalError", f"Internal error occurred: {_without_user(wanted)}", {})
    if authorizer is not None:
        for question in _questions(wanted):
            authorizer.require(user, question)
    groups = wanted.groups
    account = _account(wanted.user)
    if not groups and account:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if wanted.user == ANONYMOUS or UNAUTHENTICATED in groups:
        extra = UNAUTHENTICATED
    else:
        extra = AUTHENTICATED
    if extra not in groups:
        groups = (*groups, extra)
    return User(wanted.user, groups, wanted.uid, tuple(sorted(wanted.extra)))


def _without_user(wanted: Impersonation) -> str:
    """As Go prints the list of references that it made of the headers."""
    asked = [f"{{Group  {group}    }}" for group in wanted.groups]
    if wanted.uid:
        asked.append(f"{{UID  {wanted.uid}  authentication.k8s.io/v1  }}")
    asked += [
        f"{{UserExtra  {value}  authentication.k8s.io/v1  {key}}}" for key, values in wanted.extra for value in values
    ]
    return f"requested [{' '.join(asked)}] without impersonating a user"


def _account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name."""
    if not name.startswith(_ACCOUNT):
        return None
    namespace, found, account = name.removeprefix(_ACCOUNT).partition(":")
    return (namespace, account) if found and namespace and account and ":" not in account else None


def _questions(wanted: Impersonation) -> Iterator[Question]:
    account = _account(wanted.user)
    if account:
        yield Question("impersonate", "", "serviceaccounts", "", account[0], account[1], "v1")
    else:
        yield Question("impersonate", "", "users", "", "", wanted.user, "v1")
    for group in wanted.groups:
        yield Question("impersonate", "", "groups", "", "", group, "v1")
    if wanted.uid:
        yield Question("impersonate", "authentication.k8s.io", "uids", "", "", wanted.uid, "v1")
    for key, values in wanted.extra:
        for value in values:
            yield Question("impersonate", "authentication.k8s.io", "userextras", key, "", value, "v1")
