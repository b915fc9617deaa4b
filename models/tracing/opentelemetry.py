"""Spans as OpenTelemetry libraries report them over OTLP, and as Jaeger shows them.

Names of attributes are those of the semantic conventions 1.20 that the instrumentation of gRPC and of HTTP servers of
that time sets. Sources: `otelgrpc`, `otelhttp`, instrumentation-grpc (JS), opentelemetry-instrumentation-grpc (Python);
`internal/jaegertranslator` of the collector for what becomes of a span's status, kind and scope.
"""

from __future__ import annotations

from simcluster.models.tracing.words import NUMBERS, code_of, error_of
from simcluster.models.traffic.exemplars.spans import CLIENT, Finished
from simcluster.telemetry.traces.span import Log, Tags

_SDK = {
    "opentelemetry-go": ("go", "1.32.0", "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"),
    "opentelemetry-js": ("nodejs", "1.30.1", "@opentelemetry/instrumentation-grpc"),
    "opentelemetry-python": ("python", "1.29.0", "opentelemetry.instrumentation.grpc"),
    "opentelemetry-java": ("java", "1.55.0", "io.opentelemetry.grpc-1.6"),
    "opentelemetry-dotnet": ("dotnet", "1.13.1", "Microsoft.AspNetCore"),
    "opentelemetry-cpp": ("cpp", "1.23.0", "currency"),
    "opentelemetry-ruby": ("ruby", "1.10.0", "OpenTelemetry::Instrumentation::Rack"),
    "opentelemetry-rust": ("rust", "0.31.0", "opentelemetry-instrumentation-actix-web"),
    "opentelemetry-php": ("php", "1.7.0", "io.opentelemetry.contrib.php.slim"),
}
_HTTP = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"


def process_tags(sdk: str, pod: str, namespace: str, node: str) -> Tags:
    """Resource attributes, those that the collector's `k8sattributes` adds included."""
    language, version, _ = _SDK[sdk]
    return (
        ("host.name", pod), ("k8s.namespace.name", namespace), ("k8s.node.name", node), ("k8s.pod.name", pod),
        ("telemetry.sdk.language", language), ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", version),
    )  # fmt: skip


def tags_of(span: Finished, sdk: str, name: str, protocol: str, target: str, method: str) -> Tags:
    """Attributes of a span, its kind and status."""
    http = protocol == "http" and span.kind != CLIENT
    scope = _HTTP if http else _SDK[sdk][2]
    if http:
        own: Tags = (
            ("http.method", method), ("http.scheme", "http"), ("http.target", target),
            ("http.status_code", span.status), ("http.flavor", "1.1"),
        )  # fmt: skip
    else:
        service, _, called = name.removeprefix("grpc.").lstrip("/").rpartition("/")
        own = (("rpc.system", "grpc"), ("rpc.service", service), ("rpc.method", called))
        own = (*own, ("rpc.grpc.status_code", NUMBERS[code_of(span)]))
    if span.kind == CLIENT:
        own = (*own, ("net.peer.name", span.host), ("net.peer.port", span.port))
    if span.peer:
        own = (*own, ("net.sock.peer.addr", span.peer))
    failed: Tags = ()
    if span.cause is not None and (not http or span.status >= 500):
        words: Tags = () if http else (("otel.status_description", error_of(span)),)
        failed = (("otel.status_code", "ERROR"), ("error", True), *words)
    return (("otel.library.name", scope), ("span.kind", span.kind), *own, *failed, ("internal.span.format", "otlp"))


def logs_of(span: Finished, protocol: str, end_us: int) -> tuple[Log, ...]:
    """Events: an exception that a handler or a client met."""
    if span.cause is None or (protocol == "http" and span.kind != CLIENT):
        return ()
    fields: Tags = (
        ("event", "exception"), ("exception.type", f"rpc.{code_of(span)}"), ("exception.message", error_of(span)),
    )  # fmt: skip
    return (Log(end_us, fields),)
