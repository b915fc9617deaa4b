"""Spans as jaeger-client-go 2.x reports them, of programs instrumented by opentracing-contrib's go-grpc and go-stdlib,
and as jaeger-client-cpp does of programs that begin and end spans by hand and set no tags.

Sources: `otgrpc/client.go`, `server.go`, `errors.go` (`SetSpanTags`), `nethttp/server.go`, jaeger-client-go `span.go`.
"""

from __future__ import annotations

from simcluster.models.tracing.words import code_of, error_of
from simcluster.models.traffic.cluster.operations import STORES
from simcluster.models.traffic.exemplars.spans import CLIENT, Finished
from simcluster.telemetry.traces.span import Log, Tags

#: `jaeger.version` by library.
VERSIONS = {"jaeger-client-go": "Go-2.30.0", "jaeger-client-cpp": "C++-0.4.2"}
#: `otgrpc.ErrorClass` by code: whose fault an error is.
_CLIENT_ERRORS = (
    "InvalidArgument", "NotFound", "AlreadyExists", "PermissionDenied", "Unauthenticated", "FailedPrecondition",
    "OutOfRange", "Canceled",
)  # fmt: skip


def process_tags(sdk: str, pod: str, address: str, identity: str) -> Tags:
    """Tags of the process; `identity` is made at its start, by the library for Go."""
    known: Tags = (("hostname", pod), ("ip", address), ("jaeger.version", VERSIONS[sdk]))
    return (("client-uuid", identity), *known) if sdk == "jaeger-client-go" else known


def tags_of(span: Finished, protocol: str, url: str, method: str, ratio: float) -> Tags:
    """What its instrumentation sets."""
    first: Tags = ()
    if not span.parent:
        first = (("sampler.type", "probabilistic"), ("sampler.param", ratio))
    if protocol == "tcp":  # by hand
        return (*first, ("internal.span.format", "jaeger"))
    if span.call is not None and span.call.client in STORES:
        return (*first, ("span.kind", CLIENT), ("internal.span.format", "jaeger"))
    if protocol == "http" and span.kind != CLIENT:
        failed: Tags = (("error", True),) if span.status >= 500 else ()
        own: Tags = (("span.kind", span.kind), ("http.method", method), ("http.url", url), ("component", "net/http"))
        return (*first, *own, ("http.status_code", span.status), *failed, ("internal.span.format", "jaeger"))
    found: Tags = (*first, ("span.kind", span.kind), ("component", "gRPC"))
    if span.cause is not None:
        code = code_of(span)
        family = "4xx" if code in _CLIENT_ERRORS else "5xx"
        found = (*found, ("response_code", code), ("response_class", family))
        if span.kind == CLIENT or family == "5xx":
            found = (*found, ("error", True))
    return (*found, ("internal.span.format", "jaeger"))


def logs_of(span: Finished, protocol: str, end_us: int) -> tuple[Log, ...]:
    """Events: an error of a call or a handler."""
    if span.cause is None or protocol == "tcp" or (protocol == "http" and span.kind != CLIENT):
        return ()
    if span.call is not None and span.call.client in STORES:
        return ()
    return (Log(end_us, (("event", "error"), ("message", error_of(span)))),)
