"""How the API server posts a review to a webhook, and client-go's words for what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.api.backends import WebhookCall, WebhookReply
from simcluster.api.objects import Json


class CallFailure(Exception):
    """The webhook could not be asked, or its answer cannot be believed; the message says why."""


def call_of(config: Mapping[str, Any], review: Json, timeout_ns: int) -> WebhookCall:
    """The call of a server that a `clientConfig` describes."""
    service = config.get("service")
    bundle = config.get("caBundle", "")
    if not service:
        return WebhookCall("", "", 0, config.get("url", ""), bundle, review, timeout_ns)
    namespace, name, port = service["namespace"], service["name"], service.get("port", 443)
    path = "/" + (service.get("path") or "").lstrip("/")
    url = f"https://{name}.{namespace}.svc:{port}{path}"
    return WebhookCall(namespace, name, port, url, bundle, review, timeout_ns)


def refused(reply: WebhookReply) -> str:
    """client-go's words for an HTTP status."""
    known = {
        401: "the server has asked for the client to provide credentials",
        403: f"{reply.body.strip() or 'unknown'}",
        404: "the server could not find the requested resource",
        405: "the server does not allow this method on the requested resource",
        429: "the server has received too many requests and has asked us to try again later",
        503: "the server is currently unable to handle the request",
        504: "the server was unable to return a response in the time allotted, but may still be processing the request",
    }
    if reply.status in known:
        return known[reply.status]
    if reply.status >= 500:
        said = json.dumps(reply.body.strip() or "unknown")
        return f"an error on the server ({said}) has prevented the request from succeeding"
    return "the server rejected our request for an unknown reason"
