"""What a request asks to be allowed: verb, resource and namespace, or a path.

Sources: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go and the texts of
k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.errors import ApiError
from simcluster.api.request import Request, User

MASTERS = "system:masters"

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_PARTS = ("status", "finalize")
_NAME_SELECTOR = "metadata.name="


class Question(NamedTuple):
    """One question to an authorizer. With a `path` it is about no resource.

    Attributes:
        namespace: empty at the cluster scope; a Namespace is asked about within itself.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """`pods/log`, or `pods` without subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Decision(NamedTuple):
    """The answer: whether it is allowed, and why (empty if there is nothing to say)."""

    allowed: bool
    reason: str = ""


def question_of(request: Request) -> Question:
    """What a request needs to be allowed.

    >>> question_of(Request("GET", "/api/v1/namespaces/shop/pods/geo-0/log"))[:6]
    ('get', '', 'pods', 'log', 'shop', 'geo-0')
    """
    parts = request.path.strip("/").split("/")
    first = 2 if parts[0] == "api" else 3 if parts[0] == "apis" else 0
    if not first or len(parts) <= first:
        return Question(request.method.lower(), path=request.path)
    group, version = ("", parts[1]) if first == 2 else (parts[1], parts[2])
    rest = parts[first:]
    watches = rest[0] == "watch" and len(rest) > 1
    if watches:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_PARTS:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    verb = _VERBS.get(request.method, request.method.lower())
    if watches:
        verb = "watch"
    elif not name:
        verb, name = _of_collection(request, verb)
    return Question(verb, group, rest[0], rest[2] if len(rest) > 2 else "", namespace, name, version)


def _of_collection(request: Request, verb: str) -> tuple[str, str]:
    if verb == "delete":
        return "deletecollection", ""
    if verb != "get":
        return verb, ""
    watches = request.flag("watch") or request.param("watch") in ("1", "t")
    selector = request.param("fieldSelector") if request.query else ""
    name = ""
    for requirement in selector.split(",") if selector else ():
        if requirement.startswith(_NAME_SELECTOR):
            name = requirement.removeprefix(_NAME_SELECTOR).removeprefix("=")
    return "watch" if watches else "list", name


def refusal(user: User, question: Question, reason: str = "") -> ApiError:
    """The 403 of a request that is not allowed."""
    if question.path:
        why = f'User "{user.name}" cannot {question.verb} path "{question.path}"'
        return ApiError(403, "Forbidden", "forbidden: " + _with(why, reason), {})
    scope = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    why = (
        f'User "{user.name}" cannot {question.verb} resource "{question.full_resource}" '
        f'in API group "{question.group}" {scope}'
    )
    qualified = f"{question.resource}.{question.group}" if question.group else question.resource
    subject = f'{qualified} "{question.name}"' if question.name else qualified
    details = {"name": question.name} if question.name else {}
    if question.group:
        details["group"] = question.group
    details["kind"] = question.resource
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {_with(why, reason)}", details)


def _with(why: str, reason: str) -> str:
    return f"{why}: {reason}" if reason else why
