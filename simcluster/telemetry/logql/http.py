"""Loki's HTTP API as a pure function of a request, the lines and the instant.

Following (`tail`) is a connection, which who serves sockets keeps (`surface/http/tail`).
Left out: protobuf, tenants, rules that somebody writes, deletion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from simcluster.telemetry.logql import answers, exploring, storage
from simcluster.telemetry.logql.asked import Reading, Request
from simcluster.telemetry.logql.context import QueryError
from simcluster.telemetry.logql.evaluation import query, query_range
from simcluster.telemetry.logql.exploring import checked_span, selection
from simcluster.telemetry.logql.parameters import MAX_ENTRIES, Parameters, check_length, check_resolution, following
from simcluster.telemetry.logql.parsing import parse, parse_selector
from simcluster.telemetry.logql.printing import pretty
from simcluster.telemetry.logql.push import push
from simcluster.telemetry.logql.storage import LogSource
from simcluster.telemetry.logql.store import LogStore
from simcluster.telemetry.logql.syntax import Selection
from simcluster.telemetry.logql.tokens import ParseError
from simcluster.telemetry.promql.answers import JSON, Answer, answer, encoded, plain
from simcluster.telemetry.promql.parameters import Parameters as Form
from simcluster.telemetry.promql.storage import Labels

#: A release whose statistics have the fields of the recorded answers.
VERSION = "3.6.0"
#: What somebody is told who asks in the right way to follow, but not over a WebSocket (gorilla/websocket).
NOT_UPGRADED = "Bad Request\n"
#: Rows of `index/volume` when nothing else is asked for.
VOLUME_ROWS = 100


def handle(
    request: tuple[str, str, str, bytes], source: LogSource, now_ns: int, reading: Reading | None = None
) -> Answer:
    """The answer to `(method, path, query string, body)` at an instant in nanoseconds since the Unix epoch.

    Forms may stand in the body of a POST. Only a `LogStore` takes lines.

    Args:
        reading: learns what is read.
    """
    method, path, text, body = request
    path = path.rstrip("/") or "/"
    if path == "/loki/api/v1/push" and isinstance(source, LogStore):
        return push(source, body, now_ns) if method == "POST" else plain(405, "")
    route = ROUTES.get(path)
    if route is None:
        route = next((each for pattern, each in _VALUES if re.fullmatch(pattern, path)), None)
    if route is None:
        return plain(404, "404 page not found\n")
    if method not in ("GET", "POST", "HEAD"):
        return plain(405, "")
    values = Parameters(Form(text, body if method == "POST" else b""), now_ns)
    asked = Request(path, values, source, reading or Reading())
    try:
        return route(asked)
    except ParseError as error:
        return plain(400, str(error))
    except QueryError as error:
        return plain(error.status, str(error))
    except RecursionError:
        return plain(400, "query is nested too deeply")


def _query_range(asked: Request) -> Answer:
    values = asked.values
    span = values.span()
    if span[1] < span[0]:
        raise QueryError("end timestamp must not be before or equal to start time")
    limit, forward, step = values.limit(), values.forward(), values.step(span)
    check_resolution(span, step)
    interval = values.interval()
    if isinstance(parse(values.one("query")), Selection) and limit > MAX_ENTRIES:
        raise QueryError(
            f"max entries limit per query exceeded, limit > max_entries_limit_per_query ({limit} > {MAX_ENTRIES})"
        )
    check_length(span)
    return asked.result(query_range(asked.source, values.one("query"), span, step, limit, forward, interval))


def _query(asked: Request) -> Answer:
    values = asked.values
    instant = values.instant()
    values.limit()
    values.forward()
    return asked.result(query(asked.source, values.one("query"), instant))


def _names(found: set[str]) -> Answer:
    """What is empty is left out."""
    if found:
        return answers.success(sorted(found))
    return answer(200, encoded({"status": "success"}) + "\n", answers.JSON)


def _labels(asked: Request) -> Answer:
    found = storage.series(asked.source, selection(asked), *checked_span(asked))
    return _names({name for labels in found for name, _ in labels})


def _label_values(asked: Request) -> Answer:
    wanted = unquote(asked.path.split("/")[5])
    found = storage.series(asked.source, selection(asked), *checked_span(asked))
    return _names({value for labels in found for name, value in labels if name == wanted})


def _series(asked: Request) -> Answer:
    form = asked.values.form
    texts = [*form.all("match"), *form.all("match[]")]
    if not texts:
        raise QueryError("0 matcher groups supplied")
    selections = [parse_selector(text) for text in texts]
    return answers.success([dict(labels) for labels in storage.series(asked.source, selections, *checked_span(asked))])


def _stats(asked: Request) -> Answer:
    matchers = parse_selector(asked.values.one("query"))
    found = asked.source.volumes(matchers, *checked_span(asked))
    body = {
        "streams": len(found),
        "chunks": len(found),
        "bytes": sum(one.size_bytes for one in found),  # integers
        "entries": sum(one.lines for one in found),  # integers
    }
    return answer(200, encoded(body) + "\n", answers.JSON)


def _volume(asked: Request) -> Answer:
    values, span = asked.values, checked_span(asked)
    rows = _volumes(asked, span)
    return answers.vector(rows[: values.limit() if values.one("limit") else VOLUME_ROWS], span[1])


def _volume_range(asked: Request) -> Answer:
    """The same step by step; every sample stands at the end of its step."""
    values, span = asked.values, checked_span(asked)
    step, count = values.step(span), values.limit() if values.one("limit") else VOLUME_ROWS
    check_resolution(span, step)
    found: dict[Labels, list[tuple[int, int]]] = {}
    for start in range(span[0], span[1], step):
        end = min(start + step, span[1])
        for labels, size in _volumes(asked, (start, end)):
            found.setdefault(labels, []).append((end, size))
    return answers.matrix(sorted(found.items())[:count])


def _volumes(asked: Request, span: tuple[int, int]) -> list[tuple[Labels, int]]:
    """Bytes by labels, largest first."""
    values = asked.values
    matchers = parse_selector(values.one("query"))
    wanted = [name for name in values.one("targetLabels").split(",") if name] or [one.name for one in matchers]
    found: dict[Labels, int] = {}
    for labels, _, size in asked.source.volumes(matchers, *span):
        shown = [item for item in labels if item[0] in wanted]
        keys = [tuple(shown)]
        if values.one("aggregateBy") == "labels":
            keys = [((name, ""),) for name, _ in (shown if values.one("targetLabels") else labels)]
        for key in keys:
            found[key] = found.get(key, 0) + size
    return sorted(found.items(), key=_largest)


def _largest(row: tuple[Labels, int]) -> tuple[int, Labels]:
    return -row[1], row[0]


def _format_query(asked: Request) -> Answer:
    try:
        tree = parse(asked.values.one("query"))
    except ParseError as error:
        return answer(400, encoded({"status": "invalid-query", "error": str(error)}) + "\n", answers.JSON.lower())
    return answer(200, encoded({"status": "success", "data": pretty(tree)}) + "\n", answers.JSON.lower())


def _tail(asked: Request) -> Answer:
    """What somebody is told who does not ask for a WebSocket."""
    following(asked.values)
    return plain(400, NOT_UPGRADED)


def _no_rules(asked: Request) -> Answer:
    return plain(404, "no rule groups found\n")


def _no_groups(asked: Request) -> Answer:
    name = asked.path.rpartition("/")[2]
    found = {"status": "success", "data": {"groups" if name == "rules" else name: []}, "errorType": "", "error": ""}
    return answer(200, encoded(found), JSON)


def _ready(asked: Request) -> Answer:
    return plain(200, "ready\n")


def _buildinfo(asked: Request) -> Answer:
    facts = {"version": VERSION, "revision": "", "branch": "HEAD", "buildUser": "", "buildDate": "", "goVersion": ""}
    return answer(200, encoded(facts) + "\n", JSON)


def _metrics(asked: Request) -> Answer:
    """What `/metrics` shows of the store itself."""
    lines = [
        "# HELP loki_build_info A metric with a constant '1' value labeled by version.",
        "# TYPE loki_build_info gauge",
        f'loki_build_info{{version="{VERSION}"}} 1',
    ]
    if isinstance(asked.source, LogStore):
        for name, kind, explained, value in (
            ("loki_distributor_bytes_received_total", "counter", "The total number of uncompressed bytes received per"
             " tenant.", asked.source.received_bytes),
            ("loki_distributor_lines_received_total", "counter", "The total number of lines received per tenant.",
             asked.source.received_lines),
            ("loki_ingester_memory_streams", "gauge", "The total number of streams in memory per tenant.",
             len(asked.source)),
        ):  # fmt: skip
            lines += [f"# HELP {name} {explained}", f"# TYPE {name} {kind}", f'{name}{{tenant="fake"}} {value}']
    return answer(200, "\n".join(lines) + "\n", "text/plain; version=0.0.4; charset=utf-8")


#: Path -> who answers.
ROUTES: dict[str, Callable[[Request], Answer]] = {
    "/loki/api/v1/query": _query,
    "/loki/api/v1/query_range": _query_range,
    "/loki/api/v1/labels": _labels,
    "/loki/api/v1/label": _labels,
    "/loki/api/v1/series": _series,
    "/loki/api/v1/index/stats": _stats,
    "/loki/api/v1/index/volume": _volume,
    "/loki/api/v1/index/volume_range": _volume_range,
    "/loki/api/v1/detected_labels": exploring.detected_labels,
    "/loki/api/v1/detected_fields": exploring.detected_fields,
    "/loki/api/v1/patterns": exploring.patterns,
    "/loki/api/v1/format_query": _format_query,
    "/loki/api/v1/tail": _tail,
    "/loki/api/v1/rules": _no_rules,
    "/prometheus/api/v1/rules": _no_groups,
    "/prometheus/api/v1/alerts": _no_groups,
    "/loki/api/v1/status/buildinfo": _buildinfo,
    "/ready": _ready,
    "/metrics": _metrics,
}
#: Paths with a name in them.
_VALUES: tuple[tuple[str, Callable[[Request], Answer]], ...] = (
    (r"/loki/api/v1/label/[^/]+/values", _label_values),
    (r"/loki/api/v1/detected_field/[^/]+/values", exploring.detected_values),
)
