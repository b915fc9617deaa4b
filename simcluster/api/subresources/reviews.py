"""Questions that are answered and not stored: who am I, may I, tokens.

Authorization allows everything, so every review of access says yes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING

from simcluster.api import codec
from simcluster.api.objects import Json
from simcluster.api.reading import need
from simcluster.api.request import Request, Response
from simcluster.api.resources import Resource
from simcluster.api.routing import Route
from simcluster.engine import SECOND, format_rfc3339

if TYPE_CHECKING:
    from simcluster.api.server import Api

#: What the bootstrap roles give a cluster administrator.
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"]
_VERSIONS = ["/version", "/version/"]
_RULES: Json = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {
            "verbs": ["create"],
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    ],
    "nonResourceRules": [
        {"verbs": ["get"], "nonResourceURLs": [*_DISCOVERY, *_VERSIONS]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
        {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", *_VERSIONS]},
    ],
    "incomplete": False,
}
_TOKEN_REQUEST = Resource("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", True)
_TOKEN_LIFE_S = 3600


def is_review(resource: Resource) -> bool:
    """Whether objects of the resource are answered instead of stored."""
    return resource.group in ("authentication.k8s.io", "authorization.k8s.io")


def serve(api: Api, request: Request, route: Route) -> Response:
    """POST of a review."""
    resource = route.resource
    body = codec.read_object(request, resource).value if request.body else {}
    metadata: Json = {"creationTimestamp": None}
    answer: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    user = request.user
    if resource.kind == "SelfSubjectReview":
        metadata["creationTimestamp"] = api.registry.now_text()
        answer["status"] = {"userInfo": {"username": user.name, "groups": list(user.groups)}}
    elif resource.kind == "SelfSubjectRulesReview":
        answer["spec"], answer["status"] = {}, _RULES
    elif resource.kind == "TokenReview":
        answer["spec"], answer["status"] = body.get("spec") or {}, {"user": {}, "error": "invalid bearer token"}
    else:
        answer["spec"], answer["status"] = body.get("spec") or {}, {"allowed": True}
    return Response(201, answer)


def token(api: Api, request: Request, route: Route) -> Response:
    """POST of a TokenRequest: a token in the form of a JWT, which no server will ever accept."""
    account = need(api, route)
    body = codec.read_object(request, _TOKEN_REQUEST).value if request.body else {}
    spec = body.get("spec") or {}
    life_s = spec.get("expirationSeconds") or _TOKEN_LIFE_S
    subject = f"system:serviceaccount:{route.namespace}:{route.name}"
    claims = {"iss": "https://kubernetes.default.svc.cluster.local", "sub": subject, "exp": life_s}
    head = _part(json.dumps({"alg": "RS256"})) + "." + _part(json.dumps(claims, separators=(",", ":")))
    seal = hashlib.blake2b(f"{head}:{account['metadata']['uid']}:{api.sim.now}".encode()).digest()
    signed = head + "." + base64.urlsafe_b64encode(seal).decode().rstrip("=")
    status = {
        "token": signed,
        "expirationTimestamp": format_rfc3339(api.sim.now + life_s * SECOND),
    }
    filled = {"audiences": [claims["iss"]], "boundObjectRef": None, **spec, "expirationSeconds": life_s}
    metadata = {
        "name": route.name,
        "namespace": route.namespace,
        "creationTimestamp": api.registry.now_text(),
    }
    answer = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata}
    return Response(201, {**answer, "spec": filled, "status": status})


def _part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
