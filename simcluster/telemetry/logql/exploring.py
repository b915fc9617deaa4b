"""What browsers of logs ask Loki for before a query: labels, fields and patterns that lines have.

Sources: pkg/loghttp/params.go, pkg/querier/queryrange/detected_fields.go and pkg/querier/pattern of Loki 3.6.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from simcluster.engine.clock import SECOND
from simcluster.telemetry.logql import answers, storage, syntax
from simcluster.telemetry.logql.asked import Request
from simcluster.telemetry.logql.context import QueryError
from simcluster.telemetry.logql.detection import Field, fields
from simcluster.telemetry.logql.drain import Drain, sampled
from simcluster.telemetry.logql.entry import detected_level
from simcluster.telemetry.logql.evaluation import query_range
from simcluster.telemetry.logql.parameters import MAX_ENTRIES, check_length, check_resolution
from simcluster.telemetry.logql.parsing import parse, parse_selector
from simcluster.telemetry.promql.answers import Answer, answer, encoded
from simcluster.telemetry.promql.storage import Matcher

#: Fields and values that are given when nothing else is asked for (`defaultLimit`), and lines that are looked at.
FIELDS, LINES = 1000, 100
#: Steps in which patterns are counted (`drain.TimeResolution`).
RESOLUTION_NS = 10 * SECOND
#: A label whose values are identities says nothing (`containsAllIDTypes`); these always do.
_STATIC = ("cluster", "namespace", "instance", "pod")
_IDENTITY = re.compile(
    r"[+-]?\d+(?:\.\d+)?|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)


def selection(asked: Request) -> list[tuple[Matcher, ...]]:
    """Of `query`, which need not be there."""
    text = asked.values.one("query")
    return [parse_selector(text)] if text and text != "{}" else []


def checked_span(asked: Request) -> tuple[int, int]:
    """`start` and `end`.

    Raises:
        QueryError: one is no instant, or they are the wrong way round, or too far apart.
    """
    span = asked.values.span()
    if span[1] < span[0]:
        raise QueryError("end timestamp must not be before or equal to start time")
    check_length(span)
    return span


def detected_labels(asked: Request) -> Answer:
    """How many values every label has, but for those whose values are identities."""
    values: dict[str, set[str]] = {}
    for labels in storage.series(asked.source, selection(asked), *checked_span(asked)):
        for name, value in labels:
            values.setdefault(name, set()).add(value)
    rows = [
        {"label": name, "cardinality": len(found)}
        for name, found in sorted(values.items())
        if name in _STATIC or not all(_IDENTITY.fullmatch(value) for value in found)
    ]
    return answer(200, encoded({"detectedLabels": rows} if rows else {}) + "\n", answers.JSON)


def _found(asked: Request, limit: int) -> dict[str, Field]:
    """Fields of the newest lines of a query."""
    values, span = asked.values, checked_span(asked)
    lines = values.limit("line_limit", LINES)
    check_resolution(span, values.step(span))
    tree = parse(values.one("query"))
    if not isinstance(tree, syntax.Selection):
        raise QueryError("only log selector is supported")
    if lines > MAX_ENTRIES:
        raise QueryError(
            f"max entries limit per query exceeded, limit > max_entries_limit_per_query ({lines} > {MAX_ENTRIES})"
        )
    found = query_range(asked.source, values.one("query"), span, SECOND, lines, forward=False)
    asked.read(found)
    known = storage.series(asked.source, [tree.matchers], *span)
    return dict(fields(found.streams, known, limit))


def _limit(asked: Request) -> int:
    """`limit`, which was `field_limit` before."""
    return asked.values.limit("limit" if asked.values.one("limit") else "field_limit", FIELDS)


def detected_fields(asked: Request) -> Answer:
    """Fields of lines, with what their values look like."""
    limit = _limit(asked)
    rows = [
        {
            "label": name,
            "type": found.kind,
            "cardinality": len(found.values),
            "parsers": sorted(found.parsers) or None,
        }
        for name, found in sorted(_found(asked, limit).items())
    ]
    return answer(200, encoded({"fields": rows, "limit": limit} if rows else {"limit": limit}) + "\n", answers.JSON)


def detected_values(asked: Request) -> Answer:
    """Values of one field."""
    limit, wanted = _limit(asked), unquote(asked.path.split("/")[5])
    field = _found(asked, FIELDS).get(wanted)
    values = sorted(field.values)[:limit] if field is not None else []
    return answer(200, encoded({"values": values, "limit": limit} if values else {"limit": limit}) + "\n", answers.JSON)


def patterns(asked: Request) -> Answer:
    """Patterns of the lines of a selector, by level, most frequent first, with how often they came in each step."""
    span = checked_span(asked)
    step = max(asked.values.step(span), RESOLUTION_NS) // RESOLUTION_NS * RESOLUTION_NS
    check_resolution(span, step)
    text = asked.values.one("query")
    parse_selector(text)
    found = query_range(asked.source, text, span, SECOND, MAX_ENTRIES, forward=False)
    asked.read(found)
    by_level: dict[str, Drain] = {}
    lines = [line for stream in found.streams for line in stream.entries]
    for t_ns, line in sorted(lines):
        by_level.setdefault(detected_level(line), Drain()).train(line, t_ns)
    rows = [(len(one.times), level, one) for level, drain in by_level.items() for one in drain.clusters]
    shown = [
        {
            "pattern": one.pattern,
            "level": level,
            "samples": [(at // SECOND, count) for at, count in sampled(one.times, step)],
        }
        for _, level, one in sorted(rows, key=lambda row: (-row[0], row[1], row[2].pattern))
    ]
    return answers.success(shown)
