"""Log lines of a server's requests, worded when somebody reads them.

One small object per container and tick holds counts and a key; its lines are a pure
function of it. Marks a template may use: `{time}` (RFC 3339 with nanoseconds),
`{time_ms}` (with milliseconds), `{epoch_ms}`, `{request_id}`, `{session}`, `{product}`,
`{products}`, `{currency}`, `{user}`, `{email}`, `{order}`, `{tracking}`, `{amount}`,
`{latency_ms}`, `{status}`, `{cause}` (why a call failed) and `{cause_json}` (the same
inside a JSON string).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from simcluster.engine import MILLISECOND, format_rfc3339, parse_rfc3339
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.wording import describe
from simcluster.models.machine.logfile import LazyLines, LogLine
from simcluster.models.traffic.causes import Cause
from simcluster.models.traffic.distribution import Latency, quantile
from simcluster.models.traffic.operations import CallSpec, LogTemplate, OperationSpec
from simcluster.models.traffic.server import Failed, Served

#: Requests worded per operation and tick. A reader looks at some tens of lines; at thousands
#: of requests a second, wording them all would cost him seconds and tell him nothing more.
SPOKEN_PER_OPERATION = 8
_UNIX_EPOCH_NS = -parse_rfc3339("1970-01-01T00:00:00Z")

#: The ten products of Online Boutique's catalogue, its currencies and typical customers.
_PRODUCTS = (
    "OLJCESPC7Z 66VCHSJNUP 1YMWWN1N4O L9ECAV7KIM 2ZYFJ3GM2N 0PUK6V6EV0 LS4PSXUNUM 9SIQT8TOJO 6E92ZMYYFZ".split()
)
_CURRENCIES = ("EUR", "USD", "JPY", "CAD", "GBP", "TRY")
_FIRST = ("john", "mary", "david", "susan", "kevin", "linda", "jason", "karen", "eric", "amy", "brian", "laura")
_LAST = ("smith", "jones", "brown", "davis", "miller", "wilson", "moore", "taylor", "clark", "lewis", "young", "hall")
_DOMAINS = ("example.com", "example.net", "example.org")


class _Spoken(NamedTuple):
    """One request that is worded."""

    t_ns: int
    key: int
    templates: tuple[LogTemplate, ...]
    latency: Latency
    status: int
    cause: Cause | None


class RequestLines(LazyLines):
    """What one server's log says about one tick.

    Args:
        t_ns: end of the tick; `span_ns` its length.
        key: from which all details follow.
        served, failed: what happened.
    """

    __slots__ = ("_failed", "_key", "_served", "_span_ns", "_t_ns")

    def __init__(
        self, t_ns: int, span_ns: int, key: int, served: Sequence[Served], failed: Sequence[Failed]
    ) -> None:
        self._t_ns = t_ns
        self._span_ns = span_ns
        self._key = key
        self._served = tuple(served)
        self._failed = tuple(failed)

    def __reduce__(self) -> tuple[type[RequestLines], tuple[int, int, int, tuple[Served, ...], tuple[Failed, ...]]]:
        return (RequestLines, (self._t_ns, self._span_ns, self._key, self._served, self._failed))

    @property
    def count(self) -> int:
        """How many lines there are."""
        served = sum(min(s.count, SPOKEN_PER_OPERATION) * len(s.operation.log) for s in self._served)
        return served + sum(min(f.count, SPOKEN_PER_OPERATION) * len(f.call.log) for f in self._failed)

    def lines(self) -> list[LogLine]:
        """The lines, in order of time."""
        spoken = sorted(self._spoken(), key=_instant)
        found = [LogLine(s.t_ns, t.stream, text) for s in spoken for t in s.templates for text in _worded(s, t)]
        return found

    def _spoken(self) -> Iterator[_Spoken]:
        position = 0
        happened: list[tuple[int, tuple[LogTemplate, ...], OperationSpec, CallSpec | None, Latency, Cause | None]] = [
            (s.count, s.operation.log, s.operation, None, s.latency, None) for s in self._served
        ]
        happened += [(f.count, f.call.log, f.operation, f.call, Latency(0.0, 0.0), f.cause) for f in self._failed]
        for count, templates, operation, call, latency, cause in happened:
            status = operation.status if call is None or not call.required else call.status
            for _ in range(min(count, SPOKEN_PER_OPERATION)):
                position += 1
                key = mix(self._key, position)
                offset = int(uniform_at(key, 0) * self._span_ns)
                yield _Spoken(self._t_ns - self._span_ns + offset, key, templates, latency, status, cause)


def _instant(spoken: _Spoken) -> int:
    return spoken.t_ns


def _worded(spoken: _Spoken, template: LogTemplate) -> list[str]:
    return fill(template.text, partial(_value, spoken)).split("\n")


def fill(text: str, value: partial[str]) -> str:
    """Replace every `{mark}` for which `value(mark)` gives something."""
    if "{" not in text:
        return text
    parts, rest = [], text
    while True:
        before, opening, after = rest.partition("{")
        parts.append(before)
        if not opening:
            return "".join(parts)
        mark, closing, tail = after.partition("}")
        if closing and mark.isidentifier():
            parts.append(value(mark))
            rest = tail
        else:
            parts.append("{")
            rest = after


def _pick(spoken: _Spoken, counter: int, items: Sequence[str]) -> str:
    return items[int(uniform_at(spoken.key, counter) * len(items))]


def _uuid(key: int, counter: int) -> str:
    """A random UUID (version 4)."""
    digits = f"{mix(key, counter):016x}{mix(key, counter + 1):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _email(spoken: _Spoken) -> str:
    number = str(10 + int(uniform_at(spoken.key, 33) * 90))
    return f"{_pick(spoken, 30, _FIRST)}{_pick(spoken, 31, _LAST)}{number}@{_pick(spoken, 32, _DOMAINS)}"


def _tracking(spoken: _Spoken) -> str:
    a, b, c = (int(uniform_at(spoken.key, counter) * n) for counter, n in ((40, 26), (41, 26), (42, 10**8)))
    return f"{chr(65 + a)}{chr(65 + b)}-{c:08d}-{c * 7 % 10**9:09d}"


def _latency_ms(spoken: _Spoken) -> str:
    return str(round(quantile(spoken.latency, uniform_at(spoken.key, 50)) / MILLISECOND)) if spoken.latency.mean else "1"


def _amount(spoken: _Spoken) -> str:
    return f"{8 + int(uniform_at(spoken.key, 60) * 120)}.{int(uniform_at(spoken.key, 61) * 100):02d}"


def _value(spoken: _Spoken, mark: str) -> str:
    """What a mark stands for in one request."""
    match mark:
        case "time":
            return format_rfc3339(spoken.t_ns, digits=9)
        case "time_ms":
            return format_rfc3339(spoken.t_ns, digits=3)
        case "epoch_ms":
            return str((spoken.t_ns + _UNIX_EPOCH_NS) // MILLISECOND)
        case "request_id":
            return _uuid(spoken.key, 10)
        case "session" | "user":
            return _uuid(spoken.key, 14)
        case "order":
            return _uuid(spoken.key, 18)
        case "product":
            return _pick(spoken, 22, _PRODUCTS)
        case "products":
            return ", ".join(f"'{_PRODUCTS[(mix(spoken.key, 23) + 2 * i) % len(_PRODUCTS)]}'" for i in range(5))
        case "currency":
            return _pick(spoken, 29, _CURRENCIES)
        case "email":
            return _email(spoken)
        case "tracking":
            return _tracking(spoken)
        case "amount":
            return _amount(spoken)
        case "latency_ms":
            return _latency_ms(spoken)
        case "status":
            return str(spoken.status)
        case "cause":
            return describe(spoken.cause) if spoken.cause is not None else ""
        case "cause_json":
            return json_text(describe(spoken.cause)) if spoken.cause is not None else ""
        case _:
            return "{" + mark + "}"


def json_text(text: str) -> str:
    """The inside of a JSON string, with Go's escapes of <, > and &."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return quoted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
