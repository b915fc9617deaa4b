"""Paths that are no resources: version, health, discovery, OpenAPI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from simcluster.api import discovery, health, metrics, openapi, openapi_v2
from simcluster.api.authentication import signing
from simcluster.api.errors import ApiError, page_not_found
from simcluster.api.objects import Json
from simcluster.api.request import Request, Response

if TYPE_CHECKING:
    from simcluster.api.server import Api

#: What the imitated server says of itself.
VERSION: Json = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.13",
    "gitCommit": "63adf010aa20e104c0b7043b47f42f50c9f72b17",
    "gitTreeState": "clean",
    "buildDate": "2026-08-21T00:00:00Z",
    "goVersion": "go1.24.11",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_TEXT = health.TEXT
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#: Of a server that nobody has given an address.
_ADDRESS = "10.0.0.10:6443"


def serve(api: Api, request: Request, *, known_version: bool) -> Response:
    """Answer a path that is no resource path. Raises ApiError."""
    path = request.path.strip("/")
    answer = _find(api, request, path)
    if answer is None:
        if known_version:
            raise page_not_found()
        return Response(404, text="404 page not found\n", content_type=_TEXT)
    if request.method != "GET":
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    return answer


def _find(api: Api, request: Request, path: str) -> Response | None:
    table = api.resources
    with_metrics = metrics.is_available(api.metrics)
    parts = path.split("/")
    if path == "version":
        return Response(200, VERSION)
    if parts[0] in health.ENDPOINTS:
        return health.serve(request, path)
    if path in ("api", "apis"):
        if "as=APIGroupDiscoveryList" in request.accept:
            listed = discovery.aggregated(table, core=path == "api", metrics=with_metrics)
            return Response(200, listed, content_type=_AGGREGATED)
        if path == "api":
            return Response(200, discovery.api_versions(api.address or _ADDRESS))
        return Response(200, discovery.group_list(table, metrics=with_metrics))
    if parts[0] == "apis" and len(parts) == 2:
        found = discovery.group(table, parts[1], metrics=with_metrics)
        return Response(200, found) if found is not None else None
    if (parts[0] == "api" and len(parts) == 2) or (parts[0] == "apis" and len(parts) == 3):
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        if (group, version) in table.versions and (with_metrics or group != "metrics.k8s.io"):
            return Response(200, discovery.resource_list(table, group, version))
        return None
    if path == "openapi/v2":
        return Response(200, openapi_v2.swagger(table, api.store))
    if path == ".well-known/openid-configuration":
        return Response(200, _issuer(api.address or _ADDRESS))
    if path == "openid/v1/jwks":
        return Response(200, signing.public_keys(), content_type="application/jwk-set+json")
    if path == "openapi/v3":
        listed = openapi.index(table, api.store, metrics=with_metrics)
        return Response(200, text=json.dumps(listed, separators=(",", ":")), content_type=_TEXT)
    if path.startswith("openapi/v3/"):
        document = openapi.document(table, api.store, path.removeprefix("openapi/v3/"))
        return Response(200, document) if document is not None else None
    if not path:
        return Response(200, {"paths": _paths(api, with_metrics)})
    return None


def _issuer(address: str) -> Json:
    """Who signs the tokens of service accounts."""
    return {
        "issuer": "https://kubernetes.default.svc.cluster.local",
        "jwks_uri": f"https://{address}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _paths(api: Api, with_metrics: bool) -> list[str]:
    paths = ["/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", *health.paths(), "/metrics"]
    paths += ["/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"]
    for group, versions in discovery.groups_of(api.resources, metrics=with_metrics).items():
        paths.append(f"/apis/{group}")
        paths.extend(f"/apis/{group}/{version}" for version in versions)
    return sorted(paths)
