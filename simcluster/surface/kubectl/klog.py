"""What kubectl logs on standard error: klog's lines, and at `-v=6` and above its requests.

Source: k8s.io/klog and client-go/transport/round_trippers.go. Left out: `-v=9`, which writes
requests as curl commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus

from simcluster.api.encoding.wire import encode
from simcluster.api.objects import Json
from simcluster.api.request import Request, Response
from simcluster.engine import MILLISECOND, format_rfc3339

#: From which level on failed answers are shown, and requests: their lines, headers and bodies.
DEBUG, REQUESTS, HEADERS, BODIES = 4, 6, 7, 8
#: So many characters of a body are shown.
_MOST = 1024
#: Of one GET of a real server: p50 0.8 ms, p95 1 ms.
_TYPICAL_MS = 1


def line(now_ns: int, severity: str, place: str, text: str) -> str:
    """A line as klog writes it: `W1121 20:41:43.191385   28827 prune.go:71] ...`."""
    stamp = format_rfc3339(now_ns)
    day, time = stamp[5:10].replace("-", ""), stamp[11:19]
    return f"{severity}{day} {time}.{now_ns // 1000 % 1_000_000:06d}   28827 {place}] {text}"


def status_text(status: Json) -> str:
    """The line about an answer that was no success."""
    return f"server response object: %s[{json.dumps(status, indent=2, ensure_ascii=False)}]"


def exchange(level: int, server: str, request: Request, response: Response) -> Iterator[tuple[str, str]]:
    """Place and text of the lines about one request, as a level of verbosity shows it."""
    what = f"{request.method} {server}{request.target}"
    milliseconds = max(_TYPICAL_MS, response.latency_ns // MILLISECOND)
    outcome = f"{response.code} {HTTPStatus(response.code).phrase} in {milliseconds} milliseconds"
    if level < HEADERS:
        yield "round_trippers.go:560", f"{what} {outcome}"
        return
    if level >= BODIES:
        sent = request.body.decode(errors="replace") if isinstance(request.body, bytes) else request.body
        yield "helper.go:105", f'"Request Body" body={_shown(sent if isinstance(sent, str) else _compact(sent))}'
    yield "round_trippers.go:470", what
    yield "round_trippers.go:476", "Request Headers:"
    headers = {"Accept": request.accept, "User-Agent": request.user_agent}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    if request.token:
        headers["Authorization"] = "Bearer <masked>"
    for name in sorted(headers):
        yield "round_trippers.go:480", f"    {name}: {headers[name]}"
    yield "round_trippers.go:581", f"Response Status: {outcome}"
    if level >= BODIES:
        wire = encode(request, response)
        yield "round_trippers.go:584", "Response Headers:"
        for name, value in wire.headers:
            yield "round_trippers.go:587", f"    {name}: {value}"
        yield "helper.go:105", f'"Response Body" body={_shown(wire.body.decode().rstrip())}'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) if value is not None else ""


def _shown(text: str) -> str:
    """A body as klog quotes it."""
    if len(text) > _MOST:
        text = f"{text[:_MOST]} [truncated {len(text) - _MOST} chars]"
    return f"<\n\t{text}\n >" if text else '""'
