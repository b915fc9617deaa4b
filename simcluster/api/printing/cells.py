"""Pieces of cells that many kinds share: ages, label selectors, containers, lists cut short."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.engine import format_age, parse_rfc3339

Obj = Mapping[str, Any]
NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"


class Column(NamedTuple):
    """One column definition; priority 1 is shown with `-o wide` only."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0


class Printer(NamedTuple):
    """How a kind is printed: its columns, and a function (object, now_ns) -> cells."""

    columns: tuple[Column, ...]
    cells: Callable[[Obj, int], list[Any]]


NAME = Column("Name", format="name")
AGE = Column("Age")


def columns(*names: str, wide: Sequence[str] = ()) -> tuple[Column, ...]:
    """Column `Name`, then text columns, then wide ones. `Desired:integer` sets the type."""
    out = [NAME]
    for priority, group in ((0, names), (1, wide)):
        for entry in group:
            name, _, kind = entry.partition(":")
            out.append(Column(name, kind or "string", "", priority))
    return tuple(out)


@functools.lru_cache(maxsize=16_384)
def instant(text: str) -> int:
    """Nanoseconds of an RFC 3339 text."""
    return parse_rfc3339(text)


def since(text: str | None, now_ns: int) -> str:
    """Age of an instant, `<unknown>` without one."""
    return format_age(now_ns - instant(text)) if text else UNKNOWN


def age(obj: Obj, now_ns: int) -> str:
    """Age of an object."""
    return since(obj["metadata"].get("creationTimestamp"), now_ns)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=b,c=d` sorted, or `<none>`. Source: labels.FormatLabels."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) if labels else NONE


def containers(spec: Obj) -> list[str]:
    """Names and images of a pod spec's containers, two cells."""
    found = spec.get("containers") or ()
    return [",".join(c["name"] for c in found), ",".join(c.get("image", "") for c in found)]


def cut(items: Sequence[str], total: int, limit: int, empty: str, separator: str = ",") -> str:
    """The first `limit` items and ` + N more...`, or `empty`."""
    text = separator.join(items[:limit])
    if total > limit:
        return f"{text} + {total - limit} more..."
    return text or empty


_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def access_modes(modes: Sequence[str] | None) -> str:
    """`RWO,ROX` in the fixed order of GetAccessModesAsString."""
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def condition_status(obj: Obj, kind: str) -> str:
    """Status of a condition, or empty."""
    for entry in (obj.get("status") or {}).get("conditions") or ():
        if entry.get("type") == kind:
            return str(entry.get("status", ""))
    return ""
