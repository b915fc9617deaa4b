"""Values as people write them: in other units, as the last part of an image, as a name of the same sort."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simcluster.eval.judge.vocabulary import cues

_QUANTITY = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s?(m|millicores?|cores?|cpus?|ki|mi|gi|k|kb|mb|gb|kib|mib|gib|bytes?|b|%|ns|us|ms|s|seconds?|"
    r"min|minutes?|h|hours?)?(?![\w.]*\w)"
)
_NUMBERED = re.compile(r"[a-z-]*?([a-z]+)-(\d+)")
_HALF = re.compile(r"\bhalf an? (second|minute|hour|core|cpu)\b")
_SCALE = {
    "m": 1e-3, "millicore": 1e-3, "millicores": 1e-3, "core": 1.0, "cores": 1.0, "cpu": 1.0, "cpus": 1.0,
    "ki": 2.0**10, "kib": 2.0**10, "mi": 2.0**20, "mib": 2.0**20, "gi": 2.0**30, "gib": 2.0**30, "k": 1e3, "kb": 1e3,
    "mb": 1e6, "gb": 1e9, "b": 1.0, "byte": 1.0, "bytes": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
    "second": 1.0, "seconds": 1.0, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0,
    "hours": 3600.0, "%": 1e-2, "": 1.0,
}  # fmt: skip
#: From so many letters on a name is told by its letters alone, however its words are joined.
_NAME_MIN = 8
#: Names of one sort: who names one and not the right one means another place.
_SORTS = {
    "variable": re.compile(
        r"(?<![\w])[a-z][a-z0-9]*(?:_[a-z0-9]+)*_(?:addr|host|url|port|attempts|timeout|limit)(?![\w])"
    ),
    "disk": re.compile(r"(?<![\w])(?:sd[a-z]|nvme\d+n\d+|vd[a-z])(?![\w])"),
    "interface": re.compile(r"(?<![\w])(?:eth|ens|eno)\d+(?![\w])"),
    "fan": re.compile(r"(?<![\w])fan\d+(?![\w])"),
}


def says_value(text: str, key: str, value: str) -> bool:
    """Whether a changed value stands in a normalised text: whole, its distinguishing last part, or in another unit.

    A switch is said by its name.

    >>> says_value("limited to 0.012 cores", "cpu", "12m"), says_value("cart:v2", "image", "repo/app/cart:v2")
    (True, True)
    """
    value = value.lower()
    if value in ("true", "false") and re.search(rf"(?<!\w){re.escape(key.lower())}(?!\w)", text):
        return True
    if any(re.search(rf"(?<![\w.]){re.escape(form)}(?!\w)", text) for form in _forms(value)):
        return True
    number = _NUMBERED.fullmatch(value)
    if number and re.search(rf"(?<!\w)(?:{number[1][0]}|{number[1]}|flag|feature|fault)[ -]?{number[2]}(?!\w)", text):
        return True  # `tt-feat-17`, "F17"
    bare = _letters(value)
    if len(bare) >= _NAME_MIN and bare.isalpha() and bare in _letters(text):
        return True  # `paymentFailure`, "payment failure"
    wanted = _amount(value)
    return wanted is not None and any(same(wanted, found) for found in amounts(text))


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())


#: What a setting is for, by the last word of its name, and what people say of it.
_ROLES = {
    "port": ("port", "ports"),
    "password": ("password", "passwords", "credential", "credentials", "login"),
    "host": ("host", "hostname", "address"),
    "user": ("user", "username", "account"),
}


def _role(details: Mapping[str, str], text: str) -> str:
    """What else a setting would be for of which a text speaks, where it does not speak of what the right one is for."""
    meant = [role for value in details.values() for role in _ROLES if re.search(rf"_{role}$", value.lower())]
    found = [role for role, said in _ROLES.items() if re.search(rf"(?<![a-z])(?:{'|'.join(said)})(?![a-z])", text)]
    return found[0] if meant and found and not {*meant} & {*found} else ""


def contradicts(text: str, details: Mapping[str, str]) -> str:
    """A place of the same sort as a changed one that a text names instead of it; empty if there is none.

    >>> contradicts("sdb is slow", {"device": "sda"})
    'sdb'
    """
    right = " ".join(f"{key} {value}" for key, value in details.items()).lower()
    for form in _SORTS.values():
        meant = form.findall(right)
        named = form.findall(text)
        if meant and named and not set(meant) & set(named):
            return str(named[0])
    return _role(details, text)


def _forms(value: str) -> list[str]:
    """A value as people quote it: an image without its registry, a tag or a port alone, whose an image is.

    >>> _forms("repo/app/cart:v2"), _forms("busybox:latest"), _forms("12m")
    (['repo/app/cart:v2', 'cart:v2', 'v2', 'app/cart'], ['busybox:latest', 'latest', 'busybox'], ['12m'])
    """
    rest, _, last = value.rpartition("/")
    name, _, tag = last.rpartition(":")
    own = [f"{rest.rpartition('/')[2]}/{name}"] if rest and name else []  # whose it is
    return list(dict.fromkeys([value, last, tag, *own, *([name] if tag == "latest" else [])]))


def _amount(value: str) -> float | None:
    found = _QUANTITY.fullmatch(value)
    return float(found[1]) * _SCALE[found[2] or ""] if found else None


def amounts(text: str) -> list[float]:
    """Numbers of a normalised text, in base units."""
    found = [float(m[1]) * _SCALE[m[2] or ""] for m in _QUANTITY.finditer(text)]
    named = cues().words["numbers"]
    found += [0.5 * _SCALE[m[1]] for m in _HALF.finditer(text)]
    return found + [float(number) for number, word in enumerate(named) if re.search(rf"\b{word}\b", text)]


def amount_at(text: str, at: int) -> float | None:
    """The number that begins at a place of a normalised text, in base units.

    >>> amount_at("lost 85 % of them", 5), amount_at("850ms", 0)
    (0.85, 0.85)
    """
    found = _QUANTITY.match(text, at)
    return float(found[1]) * _SCALE[found[2] or ""] if found else None


def same(one: float, other: float) -> bool:
    """Whether two amounts are one, but for how floats are rounded."""
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
