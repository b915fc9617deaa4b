"""How a user is written in reviews."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.request import User


def service_account(namespace: str, name: str) -> User:
    """The user that a service account is."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


def user_info(user: User) -> Json:
    """A user as reviews show it."""
    info: Json = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in sorted(user.extra)}
    return info
