"""What is said of one object: families by name, gathered into groups of one label set each."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

from simcluster.engine import SECOND
from simcluster.engine.clock import parse_rfc3339, unix_seconds
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Metric, Row, labels

_PACKAGE = "simcluster.control.kubestatemetrics"


@functools.cache
def families() -> Mapping[str, tuple[str, str]]:
    """Kind and help text of every family that is shown, by name: lines of `families.txt`."""
    text = resources.files(_PACKAGE).joinpath("families.txt").read_text()
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, kind, words = line.split(maxsplit=2)
            found[name] = (kind, words)
    return found


@functools.lru_cache(maxsize=4096)
def _form(names: tuple[tuple[str, Labels], ...]) -> Columns:
    by_name: dict[str, list[tuple[str, Labels]]] = {}
    for name, own in names:
        by_name.setdefault(name, []).append(("", own))
    return Columns(Metric(name, *families()[name], tuple(series)) for name, series in by_name.items())


class Sheet:
    """One object's metrics.

    Args:
        base: labels that all of them have.
    """

    def __init__(self, **base: str) -> None:
        self.base = base
        self._rows: dict[Labels, dict[tuple[str, Labels], float]] = {}

    def put(self, name: str, value: float | None, **own: str) -> None:
        """A number; `own`: labels with few values, such as a phase. None is not shown."""
        self.apart(name, value, {}, **own)

    def apart(self, name: str, value: float | None, free: Mapping[str, str], **own: str) -> None:
        """The same with labels of which every object has others."""
        if value is not None:
            key = labels(**{**self.base, **free})
            self._rows.setdefault(key, {})[name, labels(**own)] = value

    def one_of(self, name: str, chosen: str, among: tuple[str, ...], label: str) -> None:
        """1 for what it is, and 0 for the other things that it could be."""
        for each in among:
            self.put(name, float(each == chosen), **{label: each})

    def groups(self) -> dict[Group, Row]:
        """All of it."""
        found = {}
        for key, row in self._rows.items():
            ordered = sorted(row.items(), key=_by_name)
            form = _form(tuple(name for name, _ in ordered))
            found[Group(form, key)] = form.row([value for _, value in ordered])
        return found


def _by_name(item: tuple[tuple[str, Labels], float]) -> tuple[str, Labels]:
    return item[0]


def stamp(text: object) -> float | None:
    """An instant of an object as Unix seconds."""
    if not text:
        return None
    t_ns = parse_rfc3339(str(text))
    return float(unix_seconds(t_ns) + (t_ns % SECOND) // SECOND)
