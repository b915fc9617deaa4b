"""Marks of log lines and what they stand for in one request.

`{time}` (RFC 3339 with nanoseconds), `{time_ms}` (with milliseconds), `{epoch_ms}`, `{epoch_s}`, `{pod}`,
`{request_id}`, `{session}`, `{product}`, `{products}`, `{currency}`, `{user}`, `{email}`, `{order}`, `{tracking}`,
`{amount}`, `{whole_amount}`, `{category}`, `{bytes}`, `{latency_ms}`, `{status}`, `{time_clf}` (as nginx prints it),
`{latency_s}`, `{latency_us}`, `{latency_pg}` (milliseconds as PostgreSQL prints them), `{time_mongo}`, `{time_pg}`,
`{request_hex}`, `{time_s}` (RFC 3339), `{hotel}`, `{hotels}`, `{cause}` (why a call failed),
`{grpc_code}` (of that) and `{cause_json}` (the same inside a JSON string).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND, format_rfc3339, parse_rfc3339
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.behaviour import json_text
from simcluster.models.apps.wording import describe
from simcluster.models.traffic.cluster.causes import Cause

_UNIX_EPOCH_NS = -parse_rfc3339("1970-01-01T00:00:00Z")

#: The nine products of Online Boutique's catalogue, its currencies and typical customers.
_PRODUCTS = (
    *("OLJCESPC7Z", "66VCHSJNUP", "1YMWWN1N4O", "L9ECAV7KIM", "2ZYFJ3GM2N"),
    *("0PUK6V6EV0", "LS4PSXUNUM", "9SIQT8TOJO", "6E92ZMYYFZ"),
)
_CURRENCIES = ("EUR", "USD", "JPY", "CAD", "GBP", "TRY")
_CATEGORIES = ("accessories", "clothing, tops", "footwear", "hair, beauty", "decor, home", "kitchen")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FIRST = ("john", "mary", "david", "susan", "kevin", "linda", "jason", "karen", "eric", "amy", "brian", "laura")
_LAST = ("smith", "jones", "brown", "davis", "miller", "wilson", "moore", "taylor", "clark", "lewis", "young", "hall")
_DOMAINS = ("example.com", "example.net", "example.org")


class Spoken(NamedTuple):
    """A moment of one request that is worded.

    Attributes:
        t_ns: when; `took_ns`: how long the request has taken by then.
        key: from which all details follow.
        status: HTTP status of its answer; `cause`: why a call of it failed.
        pod: name of the pod that prints it.
    """

    t_ns: int
    took_ns: int
    key: int
    status: int
    cause: Cause | None
    pod: str


def fill(text: str, value: Callable[[str], str]) -> str:
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


def _pick(spoken: Spoken, counter: int, items: Sequence[str]) -> str:
    return items[int(uniform_at(spoken.key, counter) * len(items))]


def _uuid(key: int, counter: int) -> str:
    """A random UUID (version 4)."""
    digits = f"{mix(key, counter):016x}{mix(key, counter + 1):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def _email(spoken: Spoken) -> str:
    number = str(10 + int(uniform_at(spoken.key, 33) * 90))
    return f"{_pick(spoken, 30, _FIRST)}{_pick(spoken, 31, _LAST)}{number}@{_pick(spoken, 32, _DOMAINS)}"


def _tracking(spoken: Spoken) -> str:
    a, b, c = (int(uniform_at(spoken.key, counter) * n) for counter, n in ((40, 26), (41, 26), (42, 10**8)))
    return f"{chr(65 + a)}{chr(65 + b)}-{c:08d}-{c * 7 % 10**9:09d}"


def _amount(spoken: Spoken) -> str:
    return f"{8 + int(uniform_at(spoken.key, 60) * 120)}.{int(uniform_at(spoken.key, 61) * 100):02d}"


def _reason(spoken: Spoken) -> str:
    """Why the call failed; the answers of programs in between have marks of their own."""
    return fill(describe(spoken.cause), partial(value_of, spoken)) if spoken.cause is not None else ""


def value_of(spoken: Spoken, mark: str) -> str:
    """What a mark stands for in one request."""
    match mark:
        case "time":
            return format_rfc3339(spoken.t_ns, digits=9)
        case "time_ms":
            return format_rfc3339(spoken.t_ns, digits=3)
        case "time_mongo":
            return format_rfc3339(spoken.t_ns, digits=3).replace("Z", "+00:00")
        case "time_pg":
            return format_rfc3339(spoken.t_ns, digits=3).replace("T", " ").replace("Z", " UTC")
        case "latency_us":
            return str(spoken.took_ns // 1000)
        case "latency_pg":
            return f"{spoken.took_ns // MILLISECOND}.{spoken.took_ns // 1000 % 1000:03d}"
        case "time_s":
            return format_rfc3339(spoken.t_ns)
        case "epoch_ms":
            return str((spoken.t_ns + _UNIX_EPOCH_NS) // MILLISECOND)
        case "epoch_s":
            whole, fraction = divmod((spoken.t_ns + _UNIX_EPOCH_NS) // 1000, 1_000_000)
            return f"{whole}.{fraction:06d}"
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
        case "whole_amount":
            return _amount(spoken).partition(".")[0]
        case "bytes":
            return str(2_000 + int(uniform_at(spoken.key, 70) * 9_000)) if spoken.status == 200 else "2354"
        case "category":
            return _pick(spoken, 71, _CATEGORIES)
        case "latency_ms":
            return str(max(1, spoken.took_ns // MILLISECOND))
        case "status":
            return str(spoken.status)
        case "cause":
            return _reason(spoken)
        case "cause_json":
            return json_text(_reason(spoken))
        case "grpc_code":
            return _reason(spoken).partition("code = ")[2].partition(" ")[0] or "Unknown"
        case "hotel":
            return str(1 + int(uniform_at(spoken.key, 72) * 80))
        case "hotels":
            first = 1 + int(uniform_at(spoken.key, 72) * 76)
            return " ".join(str(first + n) for n in range(5))
        case "pod":
            return spoken.pod
        case "time_clf":
            stamp = format_rfc3339(spoken.t_ns)
            return f"{stamp[8:10]}/{_MONTHS[int(stamp[5:7]) - 1]}/{stamp[:4]}:{stamp[11:19]} +0000"
        case "latency_s":
            return f"{spoken.took_ns // SECOND}.{spoken.took_ns // MILLISECOND % 1000:03d}"
        case "request_hex":
            return f"{mix(spoken.key, 90):016x}{mix(spoken.key, 91):016x}"
        case _:
            return "{" + mark + "}"
