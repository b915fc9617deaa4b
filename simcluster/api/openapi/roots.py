"""OpenAPI v3: the documents that describe no resources: lists of groups, the version, the keys of the issuer."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.openapi.schemas import component, component_name, references_of
from simcluster.api.version import VERSION

ROOTS = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")
_MEDIA = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_VERSION_TYPE = "io.k8s.apimachinery.pkg.version.Info"
_ISSUER = "get service account issuer OpenID "
#: Description, tag, identifier and media types of what answers with a text.
_TEXTS = {
    ".well-known/openid-configuration": (
        f"{_ISSUER}configuration, also known as the 'OIDC discovery doc'",
        "WellKnown",
        "getServiceAccountIssuerOpenIDConfiguration",
        "application/json",
    ),
    "openid/v1/jwks": (
        f"{_ISSUER}JSON Web Key Set (contains public token verification keys)",
        "openid",
        "getServiceAccountIssuerOpenIDKeyset",
        "application/jwk-set+json",
    ),
}


def root(path: str) -> tuple[Json, Json]:
    """Paths and components of the document at `version`, `apis/apps` and the like."""
    if path in _TEXTS:
        text, tag, name, media = _TEXTS[path]
        return {f"/{path}/": {"get": _operation(text, tag, name, (media,), {"type": "string"})}}, {}
    if path == "version":
        schema = {"$ref": f"#/components/schemas/{_VERSION_TYPE}"}
        operation = _operation("get the code version", "version", "getCodeVersion", ("application/json",), schema)
        return {"/version/": {"get": operation}}, {_VERSION_TYPE: _version()}
    if path == "api":
        return _listing(path, "get available API versions", "core", "getCoreAPIVersions", "meta.v1.APIVersions")
    if path == "apis":
        return _listing(path, "get available API versions", "apis", "getAPIVersions", "meta.v1.APIGroupList")
    title = "".join(word[:1].upper() + word[1:] for word in path[5:].removesuffix(".k8s.io").split("."))
    tag = title[:1].lower() + title[1:]
    return _listing(path, "get information of a group", tag, f"get{title}APIGroup", "meta.v1.APIGroup")


def _listing(path: str, text: str, tag: str, name: str, kind: str) -> tuple[Json, Json]:
    schemas: Json = {}
    wanted = [kind]
    while wanted:
        known = wanted.pop()
        if component_name(known) not in schemas:
            schemas[component_name(known)] = component(known)
            wanted += references_of(known)
    schema = {"$ref": f"#/components/schemas/{component_name(kind)}"}
    return {f"/{path}/": {"get": _operation(text, tag, name, _MEDIA, schema)}}, schemas


def _operation(text: str, tag: str, name: str, media: tuple[str, ...], schema: Json) -> Json:
    content = {one: {"schema": schema} for one in media}
    answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    return {"tags": [tag], "description": text, "operationId": name, "responses": answers}


def _version() -> Json:
    return {
        "description": "Info contains versioning information. how we'll want to distribute that information.",
        "type": "object",
        "required": list(VERSION),
        "properties": {name: {"type": "string", "default": ""} for name in sorted(VERSION)},
    }
