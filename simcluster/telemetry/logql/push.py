"""`/loki/api/v1/push`: lines from a client, checked as Loki's distributor does."""

from __future__ import annotations

import json
from typing import Any

from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.logql.context import braces
from simcluster.telemetry.logql.store import LogStore, labelled
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.promql.answers import Answer, plain
from simcluster.telemetry.promql.storage import Labels

#: `reject_old_samples_max_age`, `creation_grace_period`, `max_line_size` and `max_label_names_per_series`.
MAX_AGE_NS, GRACE_NS, MAX_LINE_BYTES, MAX_LABELS = 168 * 3600 * SECOND, 600 * SECOND, 256_000, 15


class PushError(ValueError):
    """Lines that are not taken."""


def push(store: LogStore, body: bytes, now_ns: int) -> Answer:
    """204, or 400 with what was wrong; entries before it are kept, as a batch is no transaction."""
    try:
        wrong = ""
        for labels, t_ns, line in _entries(body.decode(errors="replace")):
            reason = _refusal(labels, t_ns, line, now_ns)
            if reason:
                wrong = wrong or reason
            else:
                store.append(labels, t_ns, line)
    except PushError as error:
        return plain(400, f"{error}\n")
    return plain(400, f"{wrong}\n") if wrong else Answer(204, {}, b"")


def _entries(text: str) -> list[tuple[Labels, int, str]]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise PushError(_syntax(text, error)) from None
    except RecursionError:
        raise PushError("exceeded max depth") from None
    streams = found.get("streams") if isinstance(found, dict) else None
    if not isinstance(streams, list):
        raise PushError(_value(text))
    entries = []
    for one in streams:
        labels = one.get("stream") if isinstance(one, dict) else None
        values = one.get("values") if isinstance(one, dict) else None
        if not isinstance(labels, dict) or not isinstance(values, list):
            raise PushError(_value(text))
        known = labelled({str(name): str(value) for name, value in labels.items()})
        entries += [(known, *_line(value, text)) for value in values]
    return entries


def _line(value: Any, text: str) -> tuple[int, str]:
    if not isinstance(value, list) or len(value) not in (2, 3) or not all(isinstance(one, str) for one in value[:2]):
        raise PushError(_value(text))
    try:
        return int(value[0]), value[1]
    except ValueError:
        raise PushError(f'strconv.ParseInt: parsing "{value[0]}": invalid syntax') from None


def _value(text: str) -> str:
    return f"loghttp.PushRequest.ReadObject: Value is not as expected{_context(text, 1)}"


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    """What Loki's decoder says where JSON ends to be some."""
    if error.pos >= len(text):
        return f"readObjectStart: expect {{ or n, but found \x00{_context(text, len(text))}"
    found = text[error.pos]
    if error.msg.startswith("Expecting property name"):
        where = f'loghttp.PushRequest.readFieldHash: expect ", but found {found}'
    else:
        where = f"loghttp.PushRequest.ReadObject: expect a value, but found {found}"
    return where + _context(text, error.pos + 1)


def _context(text: str, head: int) -> str:
    start = max(0, head - 10)
    wide = text[max(0, head - 50) : head + 50]
    return f", error found in #{head - start} byte of ...|{text[start : head + 10]}|..., bigger context ...|{wide}|..."


def _refusal(labels: Labels, t_ns: int, line: str, now_ns: int) -> str:
    stream = braces(labels)
    if len(labels) > MAX_LABELS:
        return f"entry for stream '{stream}' has {len(labels)} label names; limit {MAX_LABELS}"
    if t_ns < now_ns - MAX_AGE_NS:
        return (
            f"entry for stream '{stream}' has timestamp too old: {_date(t_ns)}, "
            f"oldest acceptable timestamp is: {_date(now_ns - MAX_AGE_NS)}"
        )
    if t_ns > now_ns + GRACE_NS:
        return f"entry for stream '{stream}' has timestamp too new: {_date(t_ns)}"
    size = len(line.encode())
    if size > MAX_LINE_BYTES:
        return (
            f"max entry size '{MAX_LINE_BYTES}' bytes exceeded for stream '{stream}' "
            f"while adding an entry with length '{size}' bytes"
        )
    return ""


def _date(t_ns: int) -> str:
    return format_rfc3339(t_ns - EPOCH_NS)
