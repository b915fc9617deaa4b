"""`kubectl events`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.engine import format_age, parse_rfc3339
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, OUTPUT, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.printers.output import CHANGE_FORMATS, Output
from simcluster.surface.kubectl.printers.tabwriter import ColumnWriter

FLAGS = (
    ALL_NAMESPACES,
    Flag("chunk-size", kind="int", default="500"),
    Flag("for"),
    switch("no-headers"),
    *OUTPUT,
    Flag("types", kind="list"),
    switch("watch", "w"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl events`; words that are no flags mean nothing."""
    everywhere = arguments.on("all-namespaces")
    types = [word.lower() for word in arguments.texts("types")]
    for word in types:
        if word not in ("normal", "warning"):
            raise plain("valid --types are Normal or Warning")
    output = Output(arguments, invocation.files, formats=CHANGE_FORMATS)
    path = "/api/v1/events" if everywhere else f"/api/v1/namespaces/{invocation.namespace}/events"
    query = query_of(fieldSelector=_field_selector(invocation, arguments), limit=arguments.number("chunk-size"))
    events = invocation.items(path, query)
    events = [event for event in events if not types or str(event.get("type", "")).lower() in types]
    if not events:
        where = "" if everywhere else f" in {invocation.namespace} namespace."
        invocation.note("No events found" + (where or "."))
        return
    events.sort(key=_last_seen)
    if output.format:
        names = [f"event/{event['metadata']['name']}" for event in events]
        invocation.write(output.text(events, as_list=True, names=names))
        return
    _print(invocation, arguments, events, everywhere)


def _field_selector(invocation: Invocation, arguments: Arguments) -> str:
    text = arguments.text("for")
    if not text:
        return ""
    kind, slash, name = text.partition("/")
    if not slash or not name:
        raise plain("--for must be in resource/name form")
    resource = invocation.find_bare(kind)
    group = f"{resource.group}/{resource.version}" if resource.group else resource.version
    return f"involvedObject.apiVersion={group},involvedObject.kind={resource.kind},involvedObject.name={name}"


def _last_seen(event: Json) -> str:
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp")
        or ""
    )


def _print(invocation: Invocation, arguments: Arguments, events: list[Json], everywhere: bool) -> None:
    writer = ColumnWriter()
    if not arguments.on("no-headers"):
        head = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        writer.row(["NAMESPACE", *head] if everywhere else head)
    for event in events:
        about = event.get("involvedObject") or {}
        row = [
            _interval(invocation.clock.now, event),
            event.get("type", ""),
            event.get("reason", ""),
            f"{about.get('kind', '')}/{about.get('name', '')}",
            str(event.get("message", "")).strip(),
        ]
        writer.row([event["metadata"].get("namespace", ""), *row] if everywhere else row)
    invocation.write(writer.flush())


def _age(now_ns: int, timestamp: str | None) -> str:
    return format_age(now_ns - parse_rfc3339(timestamp)) if timestamp else "<unknown>"


def _interval(now_ns: int, event: Json) -> str:
    first = _age(now_ns, event.get("eventTime") or event.get("firstTimestamp"))
    series = event.get("series")
    if series:
        return f"{_age(now_ns, series.get('lastObservedTime'))} (x{series.get('count', 0)} over {first})"
    if event.get("count", 0) > 1:
        return f"{_age(now_ns, event.get('lastTimestamp'))} (x{event['count']} over {first})"
    return first
