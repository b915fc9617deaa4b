"""Questions that are answered and not stored: who am I, may I, whose token is this.

Source: pkg/registry/authorization and pkg/apis/authorization/validation of Kubernetes.
"""

from __future__ import annotations

import json

from simcluster.api import errors
from simcluster.api.authentication import requests as tokenrequests
from simcluster.api.authentication.identity import user_info
from simcluster.api.authorization.question import Question
from simcluster.api.errors import Cause
from simcluster.api.handlers import vetting
from simcluster.api.objects import Json
from simcluster.api.request import Request, Response, User
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.serving import Serving


def is_review(resource: Resource) -> bool:
    """Whether objects of the resource are answered instead of stored."""
    return resource.group in ("authentication.k8s.io", "authorization.k8s.io")


def serve(api: Serving, request: Request, route: Route) -> Response:
    """POST of a review. Raises ApiError 400, 422."""
    resource = route.resource
    body: Json = {}
    if request.body:
        vetted = vetting.received(request, resource)
        api.warn(vetted.warnings)
        body = vetted.object
    metadata: Json = {"creationTimestamp": None}
    answer: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    spec = body.get("spec") or {}
    if resource.kind == "SelfSubjectReview":
        metadata["creationTimestamp"] = api.registry.now_text()
        answer["status"] = {"userInfo": user_info(request.user)}
    elif resource.kind == "SelfSubjectRulesReview":
        answer["spec"], answer["status"] = {}, _rules(api, request.user, spec.get("namespace", ""))
    elif resource.kind == "TokenReview":
        answer["spec"], answer["status"] = spec, tokenrequests.review(api, spec)
    else:
        if route.namespace:
            metadata["namespace"] = route.namespace
        answer["spec"], answer["status"] = spec, _access(api, request.user, resource, route.namespace, spec)
    return Response(201, answer)


def _rules(api: Serving, user: User, namespace: str) -> Json:
    if not namespace:
        raise errors.bad_request("no namespace on request")
    if api.authorizer is None:
        everything: Json = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        paths = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        return {"resourceRules": [everything], "nonResourceRules": paths, "incomplete": False}
    own = api.authorizer.rules_of(user, namespace)
    status: Json = {"resourceRules": own.resource_rules, "nonResourceRules": own.path_rules}
    status["incomplete"] = own.incomplete
    return {**status, "evaluationError": own.error} if own.error else status


def _access(api: Serving, user: User, resource: Resource, namespace: str, spec: Json) -> Json:
    causes = _causes(resource, namespace, spec)
    if causes:
        raise errors.invalid(resource.kind, resource.group, "", causes)
    if resource.kind != "SelfSubjectAccessReview":
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
    if api.authorizer is None:
        return {"allowed": True}
    allowed, reason = api.authorizer.decide(user, _question(spec))
    return {"allowed": allowed, "reason": reason} if reason else {"allowed": allowed}


def _question(spec: Json) -> Question:
    path = spec.get("nonResourceAttributes")
    if path:
        return Question(path.get("verb", ""), path=path.get("path", ""))
    asked = spec["resourceAttributes"]
    names = ("verb", "group", "resource", "subresource", "namespace", "name", "version")
    return Question(*(asked.get(name, "") for name in names))


def _causes(resource: Resource, namespace: str, spec: Json) -> list[Cause]:
    found = []
    asked, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if asked is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        found.append(_invalid("spec.nonResourceAttributes", json.dumps(path, separators=(",", ":")), why))
    elif asked is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found.append(_invalid("spec.resourceAttributes", "null", why))
    if resource.kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        found.append(_invalid("spec.user", '""', "at least one of user or group must be specified"))
    if resource.kind == "LocalSubjectAccessReview":
        written = (asked or {}).get("namespace", "")
        if written != namespace:
            why = "must match metadata.namespace"
            found.append(_invalid("spec.resourceAttributes.namespace", json.dumps(written), why))
        if path is not None:
            shown = json.dumps(path, separators=(",", ":"))
            found.append(_invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return found


def _invalid(field: str, shown: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)
