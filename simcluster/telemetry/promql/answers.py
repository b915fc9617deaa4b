"""Results as the JSON of Prometheus' API, in Go's spelling."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.evaluation import Result, Series
from simcluster.telemetry.promql.native import Native

#: `errorType` -> HTTP status.
STATUS = {
    "bad_data": 400, "execution": 422, "internal": 500, "timeout": 503, "canceled": 503, "not_found": 404,
    "unavailable": 503,
}  # fmt: skip
JSON = "application/json"
#: Go's encoder escapes what HTML would take for markup.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes


class Raw(str):
    """JSON that is written as it is."""

    __slots__ = ()


def encoded(value: Any) -> str:
    """JSON as Go writes it: no spaces, no markup, UTF-8."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(f"{encoded(str(key))}:{encoded(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(encoded(each) for each in value) + "]"
    if isinstance(value, float):
        return _plain(value)
    shown = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        for character, escape in _ESCAPED.items():
            shown = shown.replace(character, escape)
    return shown


def _plain(value: float) -> str:
    return text.scientific(value) if value != 0 and not 1e-6 <= abs(value) < 1e21 else text.decimal(value)


def answer(status: int, body: str, content_type: str = JSON) -> Answer:
    """A response with a body."""
    try:
        content = body.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        content = body.encode(errors="surrogateescape").decode(errors="replace").encode()
    return Answer(status, {"Content-Type": content_type}, content)


def plain(status: int, body: str) -> Answer:
    """A response of text."""
    return answer(status, body, "text/plain; charset=utf-8")


def success(data: Any, warnings: list[str] | None = None, infos: list[str] | None = None) -> Answer:
    """`status: success`, with what was noted."""
    body: dict[str, Any] = {"status": "success", "data": data}
    if warnings:
        body["warnings"] = warnings
    if infos:
        body["infos"] = infos
    return answer(200, encoded(body))


def failure(kind: str, message: str) -> Answer:
    """`status: error`."""
    return answer(STATUS[kind], encoded({"status": "error", "errorType": kind, "error": message}))


def result(found: Result) -> Raw:
    """`resultType` and `result` of a query."""
    stamp = text.timestamp(found.time)
    if found.kind == "string":
        inside = f"[{stamp},{json.dumps(found.text, ensure_ascii=False)}]"
    elif found.kind == "scalar":
        inside = f'[{stamp},"{text.sample(float(found.series[0].values[0]))}"]'
    elif found.kind == "vector":
        inside = "[" + ",".join(_vector(one, stamp) for one in found.series) + "]"
    else:
        stamps: dict[int, str] = {}
        inside = "[" + ",".join([_matrix(one, stamps) for one in found.series]) + "]"
    return Raw(f'{{"resultType":"{found.kind}","result":{inside}}}')


def _metric(one: Series) -> str:
    return json.dumps(dict(one.labels), ensure_ascii=False, separators=(",", ":"))


def _vector(one: Series, stamp: str) -> str:
    if one.natives:
        return f'{{"metric":{_metric(one)},"histogram":[{stamp},{_histogram(one.natives[0][1])}]}}'
    return f'{{"metric":{_metric(one)},"value":[{stamp},"{text.sample(float(one.values[0]))}"]}}'


def _matrix(one: Series, stamps: dict[int, str]) -> str:
    """A series; `stamps`: instants as they are written, so far (those of a range are the same for all series)."""
    times, sample = one.times.tolist(), text.sample
    for time in times:
        if time not in stamps:
            stamps[time] = f'[{text.timestamp(time)},"'
    values = ",".join(
        [f'{stamps[time]}{sample(value)}"]' for time, value in zip(times, one.values.tolist(), strict=True)]
    )
    parts = [f'"values":[{values}]'] if values or not one.natives else []
    if one.natives:
        natives = ",".join(f"[{text.timestamp(time)},{_histogram(each)}]" for time, each in one.natives)
        parts.append(f'"histograms":[{natives}]')
    return f'{{"metric":{_metric(one)},{",".join(parts)}}}'


def _histogram(one: Native) -> str:
    """A native histogram: each bucket with which of its bounds belong to it (0 the upper, 1 the lower, 3 both)."""
    buckets = []
    for lower, upper, count in one.buckets():
        kind = 1 if upper < 0 else 3 if lower < 0 < upper else 0
        bounds = f'"{text.sample(lower)}","{text.sample(upper)}"'
        buckets.append(f'[{kind},{bounds},"{text.sample(count)}"]')
    inside = f'"count":"{text.sample(one.count)}","sum":"{text.sample(one.sum)}"'
    return "{" + inside + (f',"buckets":[{",".join(buckets)}]' if buckets else "") + "}"
