"""How a store was told to run: its arguments, its variables, its configuration files.

Arguments are `--name value`, `--name=value` or `-c name=value`; files are `name = value`
(PostgreSQL, MySQL), `name value` (Redis) or YAML (mongod). Later ones win, as each program says.
"""

from __future__ import annotations

import re

from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_UNITS |= {"8kb": 8 << 10, "tb": 1 << 40, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
_TIME = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def size_of(text: str, unit: int = 1) -> int | None:
    """Bytes of `128MB`, `1.5gb` or a plain number of `unit` bytes; None if it is no size.

    >>> size_of("128MB"), size_of("16384", 8192), size_of("much")
    (134217728, 134217728, None)
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    if not match[2]:
        return int(float(match[1]) * unit)
    factor = _UNITS.get(match[2].lower())
    return None if factor is None else int(float(match[1]) * factor)


def seconds_of(text: str, unit: float = 1.0) -> float | None:
    """Seconds of `5min`, `30s` or a plain number of `unit` seconds; None if it is no time."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    factor = _TIME.get(match[2]) if match[2] else unit
    return None if factor is None else float(match[1]) * factor


def number_of(text: str, default: int) -> int:
    """A whole number, or the default if it is none."""
    return int(text) if text.strip().isdigit() else default


def is_on(text: str) -> bool:
    """Whether a switch is on."""
    return text.strip().lower() in ("on", "true", "yes", "1", "enabled")


def options_of(words: tuple[str, ...], flags: tuple[str, ...] = ()) -> dict[str, str]:
    """Arguments by name without dashes; a `-c name=value` counts as name; `flags` take no value."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-c", "-o") and rest:
            name, _, value = rest.pop(0).partition("=")
            found[name.strip()] = value.strip()
            continue
        if not word.startswith("-"):
            found.setdefault("", word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and name not in flags and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        found[name] = value if equals or value else "true"
    return found


def file_text(container: Container, path: str) -> str | None:
    """Text of a file as the container sees it; None if it is not there."""
    try:
        return FileTree(container).read(path)
    except FileError:
        return None


def assignments(text: str) -> dict[str, str]:
    """`name = value` lines; sections (`[mysqld]`), comments and quotes are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        name, equals, value = line.partition("=")
        if not line or line.startswith("["):
            continue
        if not equals:
            name, _, value = line.partition(" ")
        found[name.strip().lower()] = value.strip().strip("'\"")
    return found


def directives(text: str) -> list[tuple[str, str]]:
    """Redis' `name value` lines, in order."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition(" ")
            found.append((name.lower(), value.strip().strip("\"'")))
    return found
