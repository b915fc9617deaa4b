"""The API server's socket, as programs in the cluster's network meet it: curl in a container.

Left out: HTTP/2, open watches (what is there at once is the whole answer), client certificates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from simcluster.api.encoding.wire import encode, frames
from simcluster.api.request import JSON, Query, Request, Response, User, request_of
from simcluster.api.server import Api
from simcluster.models.machine.process import ANY_SERVER, Answer, Call

_ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
#: What the server prints indented without being asked (endpoints/handlers/negotiation, isPrettyPrint).
_TERMINALS = ("curl", "Wget", "Mozilla/5.0")


class Server(Protocol):
    """Who answers requests: the API server, or whoever carries them there."""

    def handle(self, request: Request) -> Response:
        """Answer a request."""


def answered(api: Api, call: Call) -> Answer:
    """The answer to one HTTPS request."""
    if call.trust != ANY_SERVER and not _is_trusted(api, call.trust):
        return Answer("untrusted")
    return asked(api, call, _ANONYMOUS)


def asked(api: Server, call: Call, user: User) -> Answer:
    """The answer to one request of a user, if it brings no token of its own."""
    headers = dict(call.headers)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    agent = headers.get("user-agent", "")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    if scheme.lower() == "basic":
        bearer = "basic"  # nobody can log in by password: not anonymous, but refused
    request = request_of(
        call.method,
        call.path,
        body=call.body.encode() or None,
        content_type=headers.get("content-type", JSON),
        accept=headers.get("accept", "*/*"),
        user=user,
        user_agent=agent,
        token=bearer,
    )
    response = api.handle(request)
    pretty: Query = (("pretty", "true"),) if agent.startswith(_TERMINALS) and not request.params("pretty") else ()
    wire = encode(replace(request, query=request.query + pretty), response)
    body = wire.body
    if response.stream is not None:
        body = frames(response.stream.poll())
        response.stream.close()
    kind = dict(wire.headers).get("Content-Type", "")
    return Answer("ok", wire.code, "" if call.method == "HEAD" else body.decode(), response.latency_ns, kind)


def _is_trusted(api: Api, bundle: str) -> bool:
    """Whether a bundle of certificates contains the cluster's own authority."""
    published = api.store.get("configmaps", "kube-system", "kube-root-ca.crt")
    if published is None:
        return False
    text = str((published.get("data") or {}).get("ca.crt", ""))
    return bool(text.strip()) and text.strip() in bundle
