"""Requests that bring or ask for a token: authentication, TokenRequest, TokenReview.

Sources: pkg/registry/core/serviceaccount/storage/token.go, pkg/registry/authentication/tokenreview,
pkg/apis/authentication/validation of Kubernetes 1.32.
"""

from __future__ import annotations

import json

from simcluster.api import errors
from simcluster.api.authentication.identity import user_info
from simcluster.api.authentication.tokens import ISSUER, TokenError, bound_claims, holder_of, written
from simcluster.api.errors import ApiError, Cause
from simcluster.api.handlers import vetting
from simcluster.api.handlers.reading import need
from simcluster.api.objects import ApiObject, Json, uid_of
from simcluster.api.request import Request, Response, User
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.api.serving import Serving
from simcluster.api.subresources.admitting import admit_part
from simcluster.engine import SECOND, format_rfc3339

_TOKEN_REQUEST = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", True)
_DEFAULT_LIFE_S, _LEAST_LIFE_S, _MOST_LIFE_S = 3600, 600, 1 << 32
_KINDS = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


def authenticated(api: Serving, token: str) -> User:
    """The user whom a bearer token proves. Raises ApiError 401."""
    try:
        return holder_of(token, api.store, api.sim.now).user
    except TokenError:
        raise ApiError(401, "Unauthorized", "Unauthorized") from None


def review(api: Serving, spec: Json) -> Json:
    """The status of a TokenReview. Raises ApiError 400."""
    if not spec.get("token"):
        raise errors.bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or ())
    try:
        holder = holder_of(spec["token"], api.store, api.sim.now, audiences or (ISSUER,))
    except TokenError as error:
        return {"user": {}, "error": str(error)}
    return {"authenticated": True, "user": user_info(holder.user), "audiences": list(holder.audiences)}


def token(api: Serving, request: Request, route: Route) -> Response:
    """POST of a TokenRequest. Raises ApiError 400, 404, 409, 422."""
    account = need(api, route)
    body = vetting.received(request, _TOKEN_REQUEST).object if request.body else {}
    body = admit_part(api, request, route, _TOKEN_REQUEST, body)
    spec = body.get("spec") or {}
    life_s = spec.get("expirationSeconds")
    life_s = _DEFAULT_LIFE_S if life_s is None else life_s
    _validate(life_s)
    reference = spec.get("boundObjectRef")
    bound = _bound(api, account, reference) if reference else {}
    audiences = spec.get("audiences") or [ISSUER]
    jti = api.registry.identities.uid("tokens", route.namespace, route.name)
    claims = bound_claims(account, bound, audiences, life_s, api.sim.now // SECOND, jti)
    filled: Json = {"audiences": audiences, "expirationSeconds": life_s, "boundObjectRef": reference or None}
    status = {
        "token": "" if "All" in request.params("dryRun") else written(claims),
        "expirationTimestamp": format_rfc3339(api.sim.now + life_s * SECOND),
    }
    metadata = {"name": route.name, "namespace": route.namespace, "creationTimestamp": api.registry.now_text()}
    answer = {"kind": "TokenRequest", "apiVersion": _TOKEN_REQUEST.api_version, "metadata": metadata}
    return Response(201, {**answer, "spec": filled, "status": status})


def _validate(life_s: int) -> None:
    why = ""
    if life_s < _LEAST_LIFE_S:
        why = "may not specify a duration less than 10 minutes"
    elif life_s > _MOST_LIFE_S:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        cause = Cause("FieldValueInvalid", f"Invalid value: {life_s}: {why}", "spec.expirationSeconds")
        raise errors.invalid("TokenRequest", "authentication.k8s.io", "", [cause])


def _bound(api: Serving, account: ApiObject, reference: Json) -> dict[str, ApiObject]:
    """The objects a token is to be bound to, by kind in lower case. Raises ApiError."""
    api_version, kind, name = (str(reference.get(key, "")) for key in ("apiVersion", "kind", "name"))
    resource = _KINDS.get((api_version, kind))
    if resource is None:
        group, _, version = api_version.rpartition("/")
        raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    namespace = "" if resource == "nodes" else account["metadata"]["namespace"]
    found = api.store.get(resource, namespace, name)
    if found is None:
        raise errors.not_found(resource, name)
    uid = reference.get("uid")
    if uid and uid != uid_of(found):
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource, name, why)
    bound = {kind.lower(): found}
    if kind == "Pod":
        own = account["metadata"]["name"]
        if found["spec"].get("serviceAccountName") != own:
            raise errors.bad_request(
                f"cannot bind token for serviceaccount {json.dumps(own)} to pod running with "
                "different serviceaccount name."
            )
        node = api.store.get("nodes", "", found["spec"].get("nodeName", ""))
        if node is not None:
            bound["node"] = node
    return bound
