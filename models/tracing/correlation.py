"""Ids of trace and span in log lines, where a logging library under instrumentation puts them.

Only lines in JSON have room for them. Sources: fields of a logrus entry, which it sorts; for pino
`@opentelemetry/instrumentation-pino` (`trace_id`, `span_id`, `trace_flags`, by a mixin before the message); for Python
`opentelemetry-instrumentation-logging`, whose attributes of a record python-json-logger appends.
"""

from __future__ import annotations

from typing import NamedTuple

#: Libraries whose instrumentation of logs exists; jaeger-client-go has none.
CORRELATING = ("opentelemetry-go", "opentelemetry-js", "opentelemetry-python")


class Ids(NamedTuple):
    """Of the span in which a line is printed, in hexadecimal digits; `service` is the tracer's."""

    sdk: str
    trace: str
    span: str
    service: str


def correlated(text: str, ids: Ids) -> str:
    """A line with the ids of its span.

    >>> correlated('{"message":"hi","timestamp":"t"}', Ids("opentelemetry-go", "7b", "1c", "web"))
    '{"message":"hi","span_id":"1c","timestamp":"t","trace_id":"7b"}'
    """
    if not (text.startswith("{") and text.endswith("}")):
        return text
    if ids.sdk == "opentelemetry-go":
        return f'{text[:-1]},"trace_id":"{ids.trace}"}}'.replace(
            '"timestamp":', f'"span_id":"{ids.span}","timestamp":', 1
        )
    if ids.sdk == "opentelemetry-js":
        own = f'"trace_id":"{ids.trace}","span_id":"{ids.span}","trace_flags":"01",'
        return text.replace('"message":', f'{own}"message":', 1)
    own = f'"otelSpanID": "{ids.span}", "otelTraceID": "{ids.trace}", "otelTraceSampled": true'
    return f'{text[:-1]}, {own}, "otelServiceName": "{ids.service}"}}'
