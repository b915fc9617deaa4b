"""Marks of log lines and what they stand for in one request.

`{time}` (RFC 3339 with nanoseconds), `{time_ms}` (with milliseconds), `{epoch_ms}`, `{epoch_s}`, `{pod}`,
`{request_id}`, `{session}`, `{product}`, `{products}`, `{currency}`, `{user}`, `{email}`, `{order}`, `{tracking}`,
`{amount}`, `{whole_amount}`, `{category}`, `{bytes}`, `{latency_ms}`, `{status}`, `{time_clf}` (as nginx prints it),
`{time_nginx}` (in its error log), `{time_boost}` (as Boost.Log prints it), `{time_log4j}` (date and time of day),
`{time_py}` (as Python's logging), `{time_spdlog}` (as Envoy) and `{time_elixir}` (the time of day) with milliseconds,
`{latency_s}`, `{latency_us}`, `{latency_micro}` (seconds with six digits), `{latency_pg}` (milliseconds as PostgreSQL
prints them), `{time_mongo}`, `{time_pg}`, `{time_us}` (RFC 3339 with microseconds), `{epoch}` (whole seconds),
`{request_hex}`, `{span_hex}`, `{time_s}` (RFC 3339), `{hotel}`, `{hotels}`, `{cause}` (why a call failed),
`{grpc_code}` (of that) and `{cause_json}` (the same inside a JSON string).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
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


@functools.lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[str, ...]:
    """Texts, and between every two of them the name of a mark."""
    pieces, rest = [""], text
    while True:
        before, opening, after = rest.partition("{")
        pieces[-1] += before
        if not opening:
            return tuple(pieces)
        mark, closing, tail = after.partition("}")
        if closing and mark.isidentifier():
            pieces += [mark, ""]
            rest = tail
        else:
            pieces[-1] += "{"
            rest = after


def fill(text: str, value: Callable[[str], str]) -> str:
    """Replace every `{mark}` by `value(mark)`.

    >>> fill('{"at":{t}, "x":{}}', {"t": "9"}.__getitem__)
    '{"at":9, "x":{}}'
    """
    found = list(_pieces(text))
    found[1::2] = map(value, found[1::2])
    return "".join(found)


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


def _clf(t_ns: int) -> str:
    stamp = format_rfc3339(t_ns)
    return f"{stamp[8:10]}/{_MONTHS[int(stamp[5:7]) - 1]}/{stamp[:4]}:{stamp[11:19]} +0000"


def boost_time(t_ns: int) -> str:
    """As Boost.Log prints it.

    >>> boost_time(0)[4:5], len(boost_time(0))
    ('-', 27)
    """
    stamp = format_rfc3339(t_ns, digits=6)
    return f"{stamp[:5]}{_MONTHS[int(stamp[5:7]) - 1]}{stamp[7:10]} {stamp[11:26]}"


def day_time(t_ns: int, point: str = "") -> str:
    """Date and time of day, with milliseconds behind a `point` of one's own.

    >>> day_time(0)[10:11], len(day_time(0, ",")), len(day_time(0))
    (' ', 23, 19)
    """
    text = format_rfc3339(t_ns, digits=3).replace("T", " ")
    return text[:19] + (point + text[20:23] if point else "")


def _of_day(t_ns: int) -> str:
    return format_rfc3339(t_ns, digits=3)[11:23]


def nginx_time(t_ns: int) -> str:
    """As nginx's error log has it."""
    stamp = format_rfc3339(t_ns)
    return f"{stamp[:10].replace('-', '/')} {stamp[11:19]}"


def _epoch_s(t_ns: int) -> str:
    whole, fraction = divmod((t_ns + _UNIX_EPOCH_NS) // 1000, 1_000_000)
    return f"{whole}.{fraction:06d}"


def _hotels(spoken: Spoken) -> str:
    first = 1 + int(uniform_at(spoken.key, 72) * 76)
    return " ".join(str(first + n) for n in range(5))


def _products(spoken: Spoken) -> str:
    return ", ".join(f"'{_PRODUCTS[(mix(spoken.key, 23) + 2 * i) % len(_PRODUCTS)]}'" for i in range(5))


def _bytes(spoken: Spoken) -> str:
    return str(2_000 + int(uniform_at(spoken.key, 70) * 9_000)) if spoken.status == 200 else "2354"


def _mongo(t_ns: int) -> str:
    return format_rfc3339(t_ns, digits=3)[:-1] + "+00:00"


def _pg(t_ns: int) -> str:
    return format_rfc3339(t_ns, digits=3).replace("T", " ")[:-1] + " UTC"


def _epoch(t_ns: int) -> str:
    return str((t_ns + _UNIX_EPOCH_NS) // SECOND)


def _epoch_ms(t_ns: int) -> str:
    return str((t_ns + _UNIX_EPOCH_NS) // MILLISECOND)


def _took(spoken: Spoken, whole_ns: int, thousandth_ns: int) -> str:
    """A duration with three digits of a unit's fraction."""
    return f"{spoken.took_ns // whole_ns}.{spoken.took_ns // thousandth_ns % 1000:03d}"


def _took_micro(spoken: Spoken) -> str:
    return f"{spoken.took_ns // SECOND}.{spoken.took_ns // 1000 % 1_000_000:06d}"


def _took_us(spoken: Spoken) -> str:
    return str(spoken.took_ns // 1000)


def _took_ms(spoken: Spoken) -> str:
    return str(max(1, spoken.took_ns // MILLISECOND))


def _random_id(spoken: Spoken, counter: int) -> str:
    return _uuid(spoken.key, counter)


def _hex_id(spoken: Spoken, counter: int) -> str:
    return f"{mix(spoken.key, counter):016x}{mix(spoken.key, counter + 1):016x}"


def _span_id(spoken: Spoken) -> str:
    return f"{mix(spoken.key, 92):016x}"


def _whole_amount(spoken: Spoken) -> str:
    return _amount(spoken).partition(".")[0]


def _reason_json(spoken: Spoken) -> str:
    return json_text(_reason(spoken))


def _grpc_code(spoken: Spoken) -> str:
    return _reason(spoken).partition("code = ")[2].partition(" ")[0] or "Unknown"


def _hotel(spoken: Spoken) -> str:
    return str(1 + int(uniform_at(spoken.key, 72) * 80))


def _status(spoken: Spoken) -> str:
    return str(spoken.status)


#: Marks of instants; programs that start print them, too.
STAMPS: dict[str, Callable[[int], str]] = {
    "time": partial(format_rfc3339, digits=9),
    "time_ms": partial(format_rfc3339, digits=3),
    "time_us": partial(format_rfc3339, digits=6),
    "time_mongo": _mongo,
    "time_pg": _pg,
    "time_s": format_rfc3339,
    "epoch": _epoch,
    "epoch_ms": _epoch_ms,
    "epoch_s": _epoch_s,
    "time_clf": _clf,
    "time_boost": boost_time,
    "time_nginx": nginx_time,
    "time_log4j": day_time,
    "time_py": partial(day_time, point=","),
    "time_spdlog": partial(day_time, point="."),
    "time_elixir": _of_day,
}
_VALUES: dict[str, Callable[[Spoken], str]] = {
    "latency_us": _took_us,
    "latency_micro": _took_micro,
    "latency_pg": partial(_took, whole_ns=MILLISECOND, thousandth_ns=1000),
    "latency_ms": _took_ms,
    "latency_s": partial(_took, whole_ns=SECOND, thousandth_ns=MILLISECOND),
    "request_id": partial(_random_id, counter=10),
    "session": partial(_random_id, counter=14),
    "user": partial(_random_id, counter=14),
    "order": partial(_random_id, counter=18),
    "request_hex": partial(_hex_id, counter=90),
    "span_hex": _span_id,
    "product": partial(_pick, counter=22, items=_PRODUCTS),
    "products": _products,
    "currency": partial(_pick, counter=29, items=_CURRENCIES),
    "category": partial(_pick, counter=71, items=_CATEGORIES),
    "email": _email,
    "tracking": _tracking,
    "amount": _amount,
    "whole_amount": _whole_amount,
    "bytes": _bytes,
    "status": _status,
    "cause": _reason,
    "cause_json": _reason_json,
    "grpc_code": _grpc_code,
    "hotel": _hotel,
    "hotels": _hotels,
    "pod": attrgetter("pod"),
}


_DIGITS, _HEX = frozenset("0123456789"), frozenset("0123456789abcdef-")
_INSTANT = frozenset("0123456789-:.,+/ TZUC")
#: Of which characters values are made, where that is known.
_ALPHABETS: dict[str, frozenset[str]] = {
    **dict.fromkeys(STAMPS, _INSTANT),
    "time_clf": _INSTANT | frozenset("".join(_MONTHS)),
    "time_boost": _INSTANT | frozenset("".join(_MONTHS)),
    **dict.fromkeys(("request_id", "session", "user", "order", "request_hex", "span_hex"), _HEX),
    **dict.fromkeys(("latency_us", "latency_ms", "bytes", "status", "hotel", "whole_amount"), _DIGITS),
    **dict.fromkeys(("latency_pg", "latency_s", "latency_micro", "amount"), _DIGITS | {"."}),
    "hotels": _DIGITS | {" "},
    "currency": frozenset("".join(_CURRENCIES)),
    "category": frozenset("".join(_CATEGORIES)),
    "product": frozenset("".join(_PRODUCTS)),
    "products": frozenset("".join(_PRODUCTS)) | {"'", ",", " "},
    "email": frozenset("".join((*_FIRST, *_LAST, *_DOMAINS))) | _DIGITS | {"@"},
}


@functools.lru_cache(maxsize=4096)
def may_contain(text: str, needle: str) -> bool:
    """Whether a template's lines can contain a text at all, by the characters of which its values are made.

    >>> may_contain("{time} GET /cart {status}", "error"), may_contain("{time} {cause}", "error")
    (False, True)
    """
    if not needle:
        return True
    tokens: list[str | frozenset[str] | None] = []  # a character, or any number of some, or of whatever
    for place, piece in enumerate(_pieces(text)):
        tokens += [_ALPHABETS.get(piece)] if place % 2 else list(piece)
    here = set(range(len(tokens)))
    for character in needle:
        there: set[int] = set()
        for at in here:
            token = tokens[at] if at < len(tokens) else ""
            while token is None or isinstance(token, frozenset):
                if token is None or character in token:
                    there.add(at)
                at += 1
                token = tokens[at] if at < len(tokens) else ""
            if token == character:
                there.add(at + 1)
        here = there
    return bool(here)


def value_of(spoken: Spoken, mark: str) -> str:
    """What a mark stands for in one request."""
    value = _VALUES.get(mark)
    if value is not None:
        return value(spoken)
    stamp = STAMPS.get(mark)
    return "{" + mark + "}" if stamp is None else stamp(spoken.t_ns)
