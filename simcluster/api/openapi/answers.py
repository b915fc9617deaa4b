"""`/openapi/v2` and `/openapi/v3`: the documents with the headers by which clients keep them.

Source: k8s.io/kube-openapi/pkg/{handler,handler3}.
"""

from __future__ import annotations

import hashlib
import json

from simcluster.api.objects import Json
from simcluster.api.openapi import documents, gnostic, v2
from simcluster.api.request import Request, Response
from simcluster.api.serving import Serving
from simcluster.engine import SECOND
from simcluster.engine.clock import format_rfc1123

_TEXT = "text/plain; charset=utf-8"
_YEAR_NS = 365 * 86_400 * SECOND


def serve(api: Serving, request: Request, path: str, *, with_metrics: bool) -> Response | None:
    """The answer to a path below `/openapi`, None if there is nothing."""
    if path == "openapi/v2":
        document = v2.swagger(api.resources, api.store)
        stamp = hashlib.sha512(json.dumps(document, separators=(",", ":")).encode()).hexdigest().upper()
        headers = {**_kept(), "Etag": f'"{stamp}"', "Vary": "Accept"}
        if any(name in request.accept for name in gnostic.ASKED):
            return Response(200, gnostic.document(document), content_type=gnostic.MEDIA_TYPE, headers=headers)
        return Response(200, document, headers=headers)
    if path == "openapi/v3":
        listed = documents.index(api.resources, api.store, metrics=with_metrics)
        return Response(200, text=json.dumps(listed, separators=(",", ":")), content_type=_TEXT, headers=_kept())
    if not path.startswith("openapi/v3/"):
        return None
    name = path.removeprefix("openapi/v3/")
    found = documents.document(api.resources, api.store, name)
    if found is None:
        return None
    return _version_3(api, request, name, found, with_metrics=with_metrics)


def _version_3(api: Serving, request: Request, name: str, document: Json, *, with_metrics: bool) -> Response:
    stamp = documents.stamp(api.resources, api.store, name, metrics=with_metrics)
    headers = {**_kept(), "Etag": f'"{stamp}"', "Vary": "Accept"}
    wanted = request.param("hash")
    if wanted and wanted != stamp:
        return Response(301, text="", content_type="", headers={"Location": f"/openapi/v3/{name}?hash={stamp}"})
    if wanted:  # a document of this name never changes
        expires = format_rfc1123(api.sim.now + _YEAR_NS).replace("+0000", "UTC")
        headers = {**headers, "Cache-Control": "public, immutable", "Expires": expires}
    return Response(200, document, headers=headers)


def _kept() -> dict[str, str]:
    """Headers of every document; they are made when the server starts."""
    return {"Accept-Ranges": "bytes", "Last-Modified": format_rfc1123(0).replace("+0000", "GMT")}
