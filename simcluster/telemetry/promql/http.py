"""The HTTP API of Prometheus as a pure function of a request, the samples and the instant.

Left out: remote read and write, exemplars, what an admin API would do, the pages of the browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.telemetry.metrics.matching import accepts
from simcluster.telemetry.promql import answers, federation, printing, storage, syntaxjson, tsdb
from simcluster.telemetry.promql.answers import Answer, failure, plain, success
from simcluster.telemetry.promql.context import Options, QueryError, Spent
from simcluster.telemetry.promql.diagnosis import selection
from simcluster.telemetry.promql.evaluation import DEFAULT, Result, query, query_range
from simcluster.telemetry.promql.parameters import EARLIEST_MS, LATEST_MS, Parameters
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.regex import RegexError
from simcluster.telemetry.promql.storage import Matcher, Queryable
from simcluster.telemetry.promql.tokens import ParseError

#: What a server without flags of its own says of those that matter to who asks (`prometheus --help` of 3.5).
FLAGS = {
    "config.file": "/etc/prometheus/prometheus.yml",
    "enable-feature": "",
    "log.level": "info",
    "query.lookback-delta": "5m",
    "query.max-concurrency": "20",
    "query.max-samples": "50000000",
    "query.timeout": "2m",
    "rules.alert.for-grace-period": "10m",
    "rules.alert.resend-delay": "1m",
    "storage.tsdb.path": "/prometheus",
    "storage.tsdb.retention.time": "15d",
    "web.listen-address": "0.0.0.0:9090",
    "web.route-prefix": "/",
}
#: The release whose answers were recorded, and what its `buildinfo` says.
VERSION = "3.5.3"
PAGE = "<!doctype html><title>Prometheus Time Series Collection and Processing Server</title>"
#: Where the browser's application is (`reactAppPaths` of web/web.go).
PAGES = (
    "/alerts",
    "/config",
    "/flags",
    "/query",
    "/rules",
    "/service-discovery",
    "/status",
    "/targets",
    "/tsdb-status",
)
TRUNCATED = "results truncated due to limit"


@dataclass
class Status:
    """What a server knows besides samples, each as the `data` of its endpoint.

    Attributes:
        metadata: of a metric: `type`, `unit` and `help` of those who expose it.
        rules: of `/rules`, from kind, names of rules, groups and files, and whether with alerts.
        alerts: of `/alerts`.
    """

    targets: Callable[[str], Any] | None = None
    metadata: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    rules: Callable[[str, Sequence[Sequence[str]], bool], Any] | None = None
    alerts: Callable[[], Any] | None = None
    alertmanagers: Sequence[str] = ()
    config: str = "global: {}\n"
    flags: Mapping[str, str] = field(default_factory=FLAGS.copy)
    runtime: Mapping[str, Any] = field(default_factory=dict)
    ready: bool = True


@dataclass
class Request:
    """One request, and what answers it.

    Attributes:
        now_ms: the instant, in milliseconds since the Unix epoch.
    """

    path: str
    values: Parameters
    store: Queryable
    status: Status
    options: Options
    now_ms: int
    spent: Spent


def handle(
    request: tuple[str, str, str, bytes],
    store: Queryable,
    now_ms: int,
    status: Status | None = None,
    options: Options = DEFAULT,
    spent: Spent | None = None,
) -> Answer:
    """The answer to `(method, path, query string, body)`; forms may stand in the body of a POST.

    Args:
        spent: counts what queries read.
    """
    method, path, text, body = request
    if path in ("/", "/graph"):
        return Answer(302, {"Location": f"/query?{text}" if path == "/graph" else "/query"}, b"")
    if path in PAGES:
        return answers.answer(200, PAGE, "text/html; charset=utf-8")
    if path in ("/-/healthy", "/-/ready"):
        return _health(method, path, (status or Status()).ready)
    route = _DELETE.get(path) if method == "DELETE" else None
    route = route or ROUTES.get(path)
    label = re.fullmatch(r"/api/v1/label/([^/]+)/values", path)
    if route is None and label is None:
        return plain(404, "404 page not found\n")
    methods, function = route if route is not None else (("GET",), _label_values)
    if method == "OPTIONS":
        return Answer(204, {"Access-Control-Allow-Methods": "GET, POST, OPTIONS"}, b"")
    if method not in methods and method != "HEAD":
        return plain(405, "Method Not Allowed\n")
    values = Parameters(text, body if method == "POST" else b"")
    asked = Request(path, values, store, status or Status(), options, now_ms, spent or Spent())
    try:
        return function(asked)
    except QueryError as error:
        return failure(error.kind, str(error))
    except (ParseError, RegexError) as error:
        return failure("bad_data", f'invalid parameter "query": {error}')
    except RecursionError:
        return failure("execution", "expression is nested too deeply")


def _health(method: str, path: str, ready: bool) -> Answer:
    if path == "/-/ready" and not ready:
        return plain(503, "Service Unavailable")
    word = "Healthy" if path == "/-/healthy" else "Ready"
    return plain(200, "" if method == "HEAD" else f"Prometheus Server is {word}.\n")


def _federate(asked: Request) -> Answer:
    try:
        selections = asked.values.selections()
    except QueryError as error:
        return plain(400, f"{error}\n")
    shown = federation.text(asked.store, selections, asked.now_ms, _options(asked).lookback_ms)
    return answers.answer(200, shown, federation.CONTENT_TYPE)


def _admin(asked: Request) -> Answer:
    return failure("unavailable", "admin APIs disabled")


def _options(asked: Request) -> Options:
    if not asked.values.one("lookback_delta"):
        return asked.options
    lookback = asked.values.duration("lookback_delta")
    own = asked.options
    return Options(own.closed, own.delayed_names, lookback, own.default_step_ms, own.experimental)


def _query(asked: Request) -> Answer:
    limit = asked.values.limit()
    time = asked.values.instant("time", asked.now_ms)
    _timeout(asked)
    return _answered(query(asked.store, asked.values.one("query"), time, _options(asked), asked.spent), limit)


def _timeout(asked: Request) -> None:
    text = asked.values.one("timeout")
    if text and asked.values.duration("timeout") <= 0 and float(text.strip("+-ywdhms") or 0) <= 0.0:
        raise QueryError("query timed out in query queue", "timeout")


def _answered(found: Result, limit: int) -> Answer:
    warnings = list(found.warnings)
    if limit and found.kind in ("vector", "matrix") and len(found.series) > limit:
        found = found._replace(series=found.series[:limit])
        warnings.append(TRUNCATED)
    return success(answers.result(found), _first(warnings), _first(found.infos))


def _first(notes: list[str]) -> list[str]:
    """Ten of them, and how many more there were."""
    kind = "warning" if notes and notes[0].startswith("PromQL warning") else "info"
    return notes if len(notes) <= 10 else [*notes[:10], f"{len(notes) - 10} more {kind} annotations omitted"]


def _query_range(asked: Request) -> Answer:
    values = asked.values
    limit = values.limit()
    start, end = values.instant("start"), values.instant("end")
    if end < start:
        raise QueryError('invalid parameter "end": end timestamp must not be before start time', "bad_data")
    step = values.duration("step")
    if step <= 0:
        raise QueryError(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted.'
            " Try a positive integer",
            "bad_data",
        )
    _timeout(asked)
    found = query_range(asked.store, values.one("query"), start, end, step, _options(asked), asked.spent)
    return _answered(found, limit)


def _limited(asked: Request, found: list[Any]) -> Answer:
    limit = asked.values.limit()
    if limit and len(found) > limit:
        return success(found[:limit], [TRUNCATED])
    return success(found)


def _span(asked: Request) -> tuple[int, int]:
    return asked.values.instant("start", EARLIEST_MS), asked.values.instant("end", LATEST_MS)


def _labels(asked: Request) -> Answer:
    return _limited(asked, storage.label_names(asked.store, asked.values.selections(), *_span(asked)))


def _label_values(asked: Request) -> Answer:
    name = asked.path.split("/")[4]
    if name.startswith("U__"):
        name = re.sub(r"_([0-9a-fA-F]+)_", lambda match: chr(int(match[1], 16)), name[3:]).replace("__", "_")
    if asked.options.closed and not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name):
        raise QueryError(f'invalid label name: "{name}"', "bad_data")
    return _limited(asked, storage.label_values(asked.store, name, asked.values.selections(), *_span(asked)))


def _series(asked: Request) -> Answer:
    if not asked.values.all("match[]"):
        raise QueryError("no match[] parameter provided", "bad_data")
    selections = asked.values.selections('invalid parameter "match[]": ')
    found = storage.series(asked.store, selections, *_span(asked))
    return _limited(asked, [dict(labels) for labels in found])


def _metadata(asked: Request) -> Answer:
    values, wanted = asked.values, asked.values.one("metric")
    limit, each = values.count("limit", -1), values.count("limit_per_metric", -1)
    found = {
        name: list(entries)[: each if each > 0 else None]
        for name, entries in sorted(asked.status.metadata.items())
        if not wanted or name == wanted
    }
    return success(dict(list(found.items())[:limit] if limit >= 0 else found))


def _targets(asked: Request) -> Answer:
    state = asked.values.one("state").lower()
    none: dict[str, Any] = {"activeTargets": [], "droppedTargets": [], "droppedTargetCounts": {}}
    return success(none if asked.status.targets is None else asked.status.targets(state))


def _scrape_pools(asked: Request) -> Answer:
    active = [] if asked.status.targets is None else asked.status.targets("active")["activeTargets"]
    return success({"scrapePools": sorted({one["scrapePool"] for one in active})})


def _targets_metadata(asked: Request) -> Answer:
    """What every target exposes, as far as it has been scraped lately."""
    values, limit = asked.values, asked.values.count("limit", -1)
    wanted, metric = values.one("match_target"), values.one("metric")
    try:
        matchers = selection(wanted) if wanted else ()
    except ParseError as error:
        raise QueryError(f'invalid parameter "match_target": {error}', "bad_data") from None
    since, known = asked.now_ms - asked.options.lookback_ms, asked.status.metadata
    found: list[dict[str, Any]] = []
    for one in [] if asked.status.targets is None else asked.status.targets("active")["activeTargets"]:
        labels = one["labels"]
        if not all(accepts(each, labels.get(each.name, "")) for each in matchers):
            continue
        own = [Matcher(name, "=", labels[name]) for name in ("job", "instance") if name in labels]
        own += [Matcher("__name__", "=", metric)] if metric else []
        exposed = storage.label_values(asked.store, "__name__", [own], since, asked.now_ms)
        rows = [(name, entry) for name in _families(exposed, known) for entry in known[name]]
        shown = {"target": labels}
        found += [shown | ({} if metric else {"metric": name}) | dict(entry) for name, entry in rows]
        if len(found) >= limit >= 0:
            break
    if not found:
        return failure("not_found", "specified metadata not found")
    return success(found[:limit] if limit >= 0 else found)


def _families(names: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    """Of series' names the families: a histogram's are those with a suffix."""
    found = dict[str, None]()
    for name in names:
        bare = re.sub("_(bucket|sum|count)$", "", name)
        found |= {each: None for each in (name, bare) if each in known}
    return list(found)


def _notifications(asked: Request) -> Answer:
    return success([])


def _walreplay(asked: Request) -> Answer:
    return success({"min": 0, "max": 0, "current": 0, "state": "done"})


def _rules(asked: Request) -> Answer:
    values = asked.values
    kind = values.one("type").lower()
    if kind not in ("", "alert", "record"):
        raise QueryError(f'invalid parameter "type": not supported value "{kind}"', "bad_data")
    names = (values.all("rule_name[]"), values.all("rule_group[]"), values.all("file[]"))
    with_alerts = values.one("exclude_alerts").lower() not in ("true", "1")
    return success({"groups": []} if asked.status.rules is None else asked.status.rules(kind, names, with_alerts))


def _alerts(asked: Request) -> Answer:
    return success({"alerts": []} if asked.status.alerts is None else asked.status.alerts())


def _alertmanagers(asked: Request) -> Answer:
    active = [{"url": url} for url in asked.status.alertmanagers]
    return success({"activeAlertmanagers": active, "droppedAlertmanagers": []})


def _format_query(asked: Request) -> Answer:
    return success(printing.pretty(parse(asked.values.one("query"), asked.options.closed)))


def _parse_query(asked: Request) -> Answer:
    return success(syntaxjson.described(parse(asked.values.one("query"), asked.options.closed)))


def _exemplars(asked: Request) -> Answer:
    start, end = _span(asked)
    if end < start:
        raise QueryError("end timestamp must not be before start timestamp", "bad_data")
    try:
        parse(asked.values.one("query"), asked.options.closed)
    except ParseError as error:
        return failure("bad_data", str(error))
    return success([])


def _config(asked: Request) -> Answer:
    return success({"yaml": asked.status.config})


def _flags(asked: Request) -> Answer:
    return success(dict(asked.status.flags))


def _buildinfo(asked: Request) -> Answer:
    return success(
        {
            "version": "2.42.0" if asked.options.closed else VERSION,
            "revision": "",
            "branch": "HEAD",
            "buildUser": "",
            "buildDate": "",
            "goVersion": "go1.24.1",
        }
    )


def _runtimeinfo(asked: Request) -> Answer:
    return success(dict(asked.status.runtime))


def _tsdb(asked: Request) -> Answer:
    return success(tsdb.statistics(asked.store, asked.values.count("limit", 10, least=1)))


def _drop_series(asked: Request) -> Answer:
    return failure("internal", "not implemented")


def _no_receiver(asked: Request) -> Answer:
    return plain(404, "remote write receiver needs to be enabled with --web.enable-remote-write-receiver\n")


_BOTH, _GET, _WRITE = ("GET", "POST"), ("GET",), ("POST", "PUT")
#: Path -> methods, and who answers.
ROUTES: dict[str, tuple[tuple[str, ...], Callable[[Request], Answer]]] = {
    "/api/v1/query": (_BOTH, _query),
    "/api/v1/query_range": (_BOTH, _query_range),
    "/api/v1/query_exemplars": (_BOTH, _exemplars),
    "/api/v1/format_query": (_BOTH, _format_query),
    "/api/v1/parse_query": (_BOTH, _parse_query),
    "/api/v1/labels": (_BOTH, _labels),
    "/api/v1/series": (_BOTH, _series),
    "/api/v1/metadata": (_GET, _metadata),
    "/api/v1/targets": (_GET, _targets),
    "/api/v1/targets/metadata": (_GET, _targets_metadata),
    "/api/v1/scrape_pools": (_GET, _scrape_pools),
    "/api/v1/notifications": (_GET, _notifications),
    "/api/v1/status/walreplay": (_GET, _walreplay),
    "/api/v1/rules": (_GET, _rules),
    "/api/v1/alerts": (_GET, _alerts),
    "/api/v1/alertmanagers": (_GET, _alertmanagers),
    "/api/v1/status/config": (_GET, _config),
    "/api/v1/status/flags": (_GET, _flags),
    "/api/v1/status/buildinfo": (_GET, _buildinfo),
    "/api/v1/status/runtimeinfo": (_GET, _runtimeinfo),
    "/api/v1/status/tsdb": (_GET, _tsdb),
    "/api/v1/admin/tsdb/delete_series": (_WRITE, _admin),
    "/api/v1/admin/tsdb/clean_tombstones": (_WRITE, _admin),
    "/api/v1/admin/tsdb/snapshot": (_WRITE, _admin),
    "/api/v1/write": (("POST",), _no_receiver),
    "/federate": (_GET, _federate),
}
_DELETE: dict[str, tuple[tuple[str, ...], Callable[[Request], Answer]]] = {
    "/api/v1/series": (("DELETE",), _drop_series),
}
