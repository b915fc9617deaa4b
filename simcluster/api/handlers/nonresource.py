"""Paths that are no resources: version, health, discovery, OpenAPI."""

from __future__ import annotations

from simcluster.api import metrics, servermetrics
from simcluster.api.authentication import signing
from simcluster.api.errors import ApiError, page_not_found
from simcluster.api.handlers import discovery, health
from simcluster.api.objects import Json
from simcluster.api.openapi import answers as openapi_answers
from simcluster.api.request import NO_SNIFF, Request, Response
from simcluster.api.serving import Serving
from simcluster.api.version import VERSION
from simcluster.telemetry import exposition
from simcluster.telemetry.exposition import Family

_TEXT = health.TEXT
#: The aggregated forms of discovery, by version; kubectl up to 1.29 asks for the older one alone.
_AGGREGATED = {
    version: f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
}
#: Of a server that nobody has given an address.
_ADDRESS = "10.0.0.10:6443"


def serve(api: Serving, request: Request, *, known_version: bool) -> Response:
    """Answer a path that is no resource path. Raises ApiError."""
    path = request.path.strip("/")
    answer = _find(api, request, path)
    if answer is None:
        if known_version:
            raise page_not_found()
        return Response(404, text="404 page not found\n", content_type=_TEXT, headers=NO_SNIFF)
    if request.method != "GET":
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    return answer


def _find(api: Serving, request: Request, path: str) -> Response | None:
    table = api.resources
    with_metrics = metrics.is_available(api.metrics)
    parts = path.split("/")
    if path == "version":
        return Response(200, VERSION)
    if parts[0] in health.ENDPOINTS:
        return health.serve(request, path)
    if path in ("api", "apis"):
        for version, content_type in _AGGREGATED.items():
            if content_type in request.accept.replace(" ", ""):
                listed = discovery.aggregated(table, version, core=path == "api", metrics=with_metrics)
                return Response(200, listed, content_type=content_type)
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
    if path == "metrics":
        return _exposed(exposition.families_of(servermetrics.samples(api.served, api.store, table)))
    if path == "metrics/slis":
        return _exposed(health.indicators())
    if parts[0] == "openapi":
        return openapi_answers.serve(api, request, path, with_metrics=with_metrics)
    if path == ".well-known/openid-configuration":
        return Response(200, _issuer(api.address or _ADDRESS))
    if path == "openid/v1/jwks":
        return Response(200, signing.public_keys(), content_type="application/jwk-set+json")
    if not path:
        return Response(200, {"paths": _paths(api, with_metrics)})
    return None


def _exposed(families: list[Family]) -> Response:
    return Response(200, text=exposition.text(families), content_type=exposition.CONTENT_TYPE)


def _issuer(address: str) -> Json:
    """Who signs the tokens of service accounts."""
    return {
        "issuer": "https://kubernetes.default.svc.cluster.local",
        "jwks_uri": f"https://{address}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _paths(api: Serving, with_metrics: bool) -> list[str]:
    paths = ["/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", *health.paths(), "/metrics"]
    paths += ["/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"]
    for group, versions in discovery.groups_of(api.resources, metrics=with_metrics).items():
        paths.append(f"/apis/{group}")
        paths.extend(f"/apis/{group}/{version}" for version in versions)
    return sorted(paths)
