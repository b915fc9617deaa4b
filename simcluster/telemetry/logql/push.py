"""`/loki/api/v1/push`: lines from a client, checked as Loki's distributor and ingester do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.logql.context import braces
from simcluster.telemetry.logql.files import Piece, last_of
from simcluster.telemetry.logql.limits import MAX_STREAMS, stream_refusal, too_many_streams
from simcluster.telemetry.logql.store import LogStore, labelled
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.promql.answers import Answer, plain
from simcluster.telemetry.promql.storage import Labels

#: `reject_old_samples_max_age`, `creation_grace_period`, `max_line_size` and `max_label_names_per_series`.
MAX_AGE_NS, GRACE_NS, MAX_LINE_BYTES, MAX_LABELS = 168 * 3600 * SECOND, 600 * SECOND, 256_000, 15
#: Labels, instant and text.
Pushed = tuple[Labels, int, str]


class PushError(ValueError):
    """Lines that are not taken."""


def push(store: LogStore, body: bytes, now_ns: int) -> Answer:
    """204, or why not; entries that were taken are kept, as a batch is no transaction."""
    try:
        entries = _entries(body.decode(errors="replace"))
        wrong, kept = "", []
        for labels, t_ns, line in entries:
            reason = _refusal(labels, t_ns, line, now_ns)
            wrong = wrong or reason
            if not reason:
                kept.append((labels, t_ns, line))
    except PushError as error:
        return plain(400, f"{error}\n")
    refused = store.limits.refusal(len(kept), sum(len(line) for _, _, line in kept), now_ns)  # integers
    if refused:
        return plain(429, f"{refused}\n")
    status, text = _append(store, kept, now_ns)
    if text or wrong:
        return plain(status if text else 400, f"{text or wrong}\n")
    return Answer(204, {}, b"")


def _append(store: LogStore, entries: Sequence[Pushed], now_ns: int) -> tuple[int, str]:
    """Add lines as the limits of their streams allow; of the first that does not, what is said of its stream."""
    counts: dict[Labels, int] = {}
    ignored: dict[Labels, list[tuple[int, int]]] = {}
    for labels, t_ns, line in entries:
        counts[labels] = counts.get(labels, 0) + 1
        if not store.knows(labels) and len(store) >= MAX_STREAMS:
            return 429, too_many_streams(labels)
        if store.limits.admits(labels, len(line), now_ns):
            store.append(labels, t_ns, line)
        else:
            ignored.setdefault(labels, []).append((t_ns, len(line)))
    for labels, lost in ignored.items():
        return 429, stream_refusal(labels, *lost[0], len(lost), counts[labels])
    return 204, ""


def take(store: LogStore, pieces: Sequence[Piece], lines: Sequence[Pushed], now_ns: int) -> tuple[int, str]:
    """What an agent read of files, and other lines of its, checked in the same way: status and text."""
    count = sum(len(piece.entries) for piece in pieces) + len(lines)  # integers
    size = sum(piece.size_bytes for piece in pieces) + sum(len(text) for _, _, text in lines)  # integers
    refused = store.limits.refusal(count, size, now_ns, parts=True)
    if refused:
        return 429, refused
    status, text = 204, ""
    for piece in pieces:
        last, whole = last_of(piece.entries[-1]) + piece.clock_ns, len(piece.entries)
        untimely = _untimely(piece.labels, last, now_ns)
        if untimely:
            status, text = (status, text) if text else (400, untimely)
        elif not store.knows(piece.labels) and len(store) >= MAX_STREAMS:
            status, text = 429, too_many_streams(piece.labels)
        elif not store.limits.admits(piece.labels, piece.size_bytes, now_ns):
            status, text = 429, stream_refusal(piece.labels, last, piece.size_bytes, whole, whole)
        else:
            store.take(piece)
    if status == 429:
        return status, text  # the agent comes again with all of it
    later, reason = _append(store, lines, now_ns)
    return (later, reason) if reason and not text else (status, text)


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
    untimely = _untimely(labels, t_ns, now_ns)
    if untimely:
        return untimely
    size = len(line.encode())
    if size > MAX_LINE_BYTES:
        return (
            f"max entry size '{MAX_LINE_BYTES}' bytes exceeded for stream '{stream}' "
            f"while adding an entry with length '{size}' bytes"
        )
    return ""


def _untimely(labels: Labels, t_ns: int, now_ns: int) -> str:
    if t_ns < now_ns - MAX_AGE_NS:
        return (
            f"entry for stream '{braces(labels)}' has timestamp too old: {_date(t_ns)}, "
            f"oldest acceptable timestamp is: {_date(now_ns - MAX_AGE_NS)}"
        )
    if t_ns > now_ns + GRACE_NS:
        return f"entry for stream '{braces(labels)}' has timestamp too new: {_date(t_ns)}"
    return ""


def _date(t_ns: int) -> str:
    return format_rfc3339(t_ns - EPOCH_NS)
