"""HTTP exchanges as requests of a session: how one stands in the log, and what comes of it.

A request of kind `http` carries one exchange as a line of JSON, so that a log repeats it without sockets. What differs
from run to run and means nothing to a world (ports, the random name of a command's session) does not stand in it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from simcluster.api.encoding.wire import Encoder
from simcluster.api.errors import ApiError
from simcluster.api.request import ADMIN, JSON, Impersonation, Response, User, request_of
from simcluster.api.request import Request as ApiRequest
from simcluster.session import plainjson
from simcluster.session.clock import Charge
from simcluster.surface.protocols import HttpAnswer, Outcome

if TYPE_CHECKING:
    from simcluster.session.kinds import Executor

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def written(request: ApiRequest, charge: Charge, *, counts: bool) -> str:
    """An exchange as the text of a session's request.

    Args:
        request: as it came over a socket, with a body of bytes or None.
        charge: what it costs by the clock.
        counts: whether it begins a command; the others belong to the one before.
    """
    call: dict[str, Any] = {"method": request.method, "target": request.target, "charge": charge, "counts": counts}
    call["user"] = _identity(request.user)
    for key, value, usual in (
        ("accept", request.accept, JSON),
        ("type", request.content_type, JSON),
        ("agent", request.user_agent, ""),
        ("token", request.token, ""),
    ):
        if value != usual:
            call[key] = value
    if request.impersonate is not None:
        call["as"] = _identity(request.impersonate)
    if not request.upgraded:
        call["plain"] = True
    if request.body:
        try:
            call["body"] = request.body.decode()
        except UnicodeDecodeError:
            call["body64"] = b64encode(request.body).decode()
    return plainjson.dumps(call, "the exchange")


def _identity(who: User | Impersonation) -> list[Any]:
    name = who.name if isinstance(who, User) else who.user
    return [name, list(who.groups), who.uid, [[key, list(values)] for key, values in who.extra]]


def _parts(written_identity: list[Any]) -> tuple[Any, ...]:
    name, groups, uid, extra = written_identity
    return name, tuple(groups), uid, tuple((key, tuple(values)) for key, values in extra)


@lru_cache(maxsize=4)
def read(text: str) -> dict[str, Any]:
    """The exchange that a text carries; asked for several times on the way of one request, and not to be changed.

    Raises:
        ValueError: it carries none; the message names what is wrong.
    """
    call = json.loads(text)
    if not isinstance(call, dict):
        raise ValueError("an exchange is a JSON object")
    for key in ("method", "target", "charge", "counts", "user"):
        if key not in call:
            raise ValueError(f"an exchange lacks {key!r}")
    if call["method"] not in _METHODS:
        raise ValueError(f"no method of HTTP that is served: {call['method']!r}")
    if call["charge"] not in get_args(Charge):
        raise ValueError(f"a charge is one of {', '.join(get_args(Charge))}, not {call['charge']!r}")
    return call


def changes(call: dict[str, Any]) -> bool:
    """Whether an exchange may change objects."""
    return call["method"] in ("POST", "PUT", "PATCH", "DELETE") and "dryRun=All" not in call["target"]


def execute(executor: Executor, text: str, encoder: Encoder) -> HttpAnswer:
    """Ask the API server and let the time pass that the answer takes."""
    call = read(text)
    body = b64decode(call["body64"]) if "body64" in call else call.get("body", "").encode() or None
    request = request_of(
        "GET" if call["method"] == "HEAD" else call["method"],
        call["target"],
        body=body,
        content_type=call.get("type", JSON),
        accept=call.get("accept", JSON),
        user=executor.operator if call["user"][0] == ADMIN.name else User(*_parts(call["user"])),
        user_agent=call.get("agent", ""),
        impersonate=Impersonation(*_parts(call["as"])) if "as" in call else None,
        token=call.get("token", ""),
        patience_ns=executor.clock.left_ns,
        upgraded=not call.get("plain", False),
    )
    response = executor.uplink.handle(request)
    lasted_ns = response.latency_ns + ran_for(request, response)
    if lasted_ns:
        executor.clock.advance(lasted_ns)
    return answer(request, response, encoder)


def ran_for(request: ApiRequest, response: Response) -> int:
    """How long a command in a container took."""
    if request.path.endswith("/exec") and isinstance(response.body, dict):
        return int(response.body.get("lasted_ns", 0))
    return 0


def answer(request: ApiRequest, response: Response, encoder: Encoder) -> HttpAnswer:
    """What came of an exchange, as a command's result: its text names the answer by a digest."""
    wire = encoder.encode(request, response)
    return HttpAnswer(f"{wire.code} {wire.digest}", "", 0, wire, response)


def interrupted(result: Outcome) -> HttpAnswer:
    """What a client is answered whose patience, or whose budget, ended before the server answered."""
    message = "Timeout: request did not complete within the allotted timeout"
    error = ApiError(504, "Timeout", message)
    wire = Encoder().encode(ApiRequest("GET", "/"), Response(error.code, error.status()))
    return HttpAnswer(result.stdout, result.stderr, result.exit_code, wire, None)
