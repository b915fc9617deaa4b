"""Which series of a form match: decided for the form first, then for what the labels of a group say.

Scraped labels meet those of the target as Prometheus's `honor_labels` says: they win, or become `exported_…`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from simcluster.telemetry.metrics.columns import Columns, Labels
from simcluster.telemetry.promql.regex import compiled
from simcluster.telemetry.promql.storage import Matcher

_EXPORTED = "exported_"


def accepts(matcher: Matcher, value: str) -> bool:
    """Whether a value ("" for a label that is not there) passes."""
    if matcher.op == "=":
        return value == matcher.value
    if matcher.op == "!=":
        return value != matcher.value
    return (compiled(matcher.value).match(value) is not None) == (matcher.op == "=~")


class Honour(NamedTuple):
    """How labels of a target and scraped ones become those of a series.

    Attributes:
        target: labels of the target; scraped: whether scraped labels win over them.
    """

    target: tuple[tuple[str, str], ...]
    scraped: bool

    def source(self, name: str) -> tuple[str, str]:
        """Under which name a label was scraped, and what it is if it was not."""
        fixed = dict(self.target)
        if self.scraped:
            return name, fixed.get(name, "")
        if name in fixed:
            return "", fixed[name]
        bare = name.removeprefix(_EXPORTED)
        return (bare if bare != name and bare in fixed else name), ""

    def compose(self, name: str, *scraped: Labels) -> Labels:
        """The labels of a series, with its name, sorted."""
        return _composed(self, name, scraped)

    @property
    def target_names(self) -> frozenset[str]:
        """Labels that the target has."""
        return frozenset(name for name, _ in self.target)


@functools.lru_cache(maxsize=1 << 16)
def _composed(honour: Honour, name: str, scraped: tuple[Labels, ...]) -> Labels:
    found, fixed = dict(honour.target), honour.target_names
    for labels in scraped:
        for label, value in labels:
            found[label if honour.scraped or label not in fixed else _EXPORTED + label] = value
    found["__name__"] = name
    return tuple(sorted([item for item in found.items() if item[1]]))


#: A matcher, the name under which its label was scraped, and what the label is otherwise.
Asked = tuple[Matcher, str, str]
#: Columns that may match by names and labels of their own, and what is to be asked of a group for them.
Plan = tuple[tuple[tuple[int, ...], tuple[Asked, ...]], ...]


class Selection:
    """Matchers, made ready for the series of one target."""

    def __init__(self, honour: Honour, matchers: Sequence[Matcher]) -> None:
        self._names = [one for one in matchers if one.name == "__name__"]
        self._others: list[Asked] = []
        self._exact = next((one for one in self._names if one.op == "="), None)
        self._plans: dict[Columns, Plan] = {}
        self.possible = True
        for matcher in matchers:
            if matcher.name == "__name__":
                continue
            name, fixed = honour.source(matcher.name)
            if name:
                self._others.append((matcher, name, fixed))
            elif not accepts(matcher, fixed):
                self.possible = False

    def plan(self, form: Columns) -> Plan:
        """Columns that may match by names and labels of their own, and what is to be asked of a group for them."""
        exact = self._exact
        if exact is not None and exact.value not in form.by_name:
            return ()
        known = self._plans.get(form)
        if known is None:
            known = self._plans[form] = self._planned(form)
        return known

    def _planned(self, form: Columns) -> Plan:
        exact = self._exact
        names = [exact.value] if exact is not None else list(form.by_name)
        found: dict[tuple[int, ...], list[int]] = {}
        for name in names:
            if name in form.by_name and all(accepts(one, name) for one in self._names):
                for column in form.by_name[name]:
                    open_questions = self._open(form, column)
                    if open_questions is not None:
                        found.setdefault(open_questions, []).append(column)
        return tuple((tuple(columns), tuple(self._others[one] for one in asked)) for asked, columns in found.items())

    def _open(self, form: Columns, column: int) -> tuple[int, ...] | None:
        """Which matchers ask for labels that a column has not of its own; None if it does not match."""
        own = dict(form.series[column][1]) if form.label_names else {}
        asked = []
        for place, (matcher, label, _) in enumerate(self._others):
            if label not in own:
                asked.append(place)
            elif not accepts(matcher, own[label]):
                return None
        return tuple(asked)


@functools.lru_cache(maxsize=8192)
def selection_of(honour: Honour, matchers: tuple[Matcher, ...]) -> Selection:
    """Matchers for one target, made ready once."""
    return Selection(honour, matchers)


def group_passes(asked: Sequence[Asked], labels: Labels) -> bool:
    """Whether the labels of a group pass."""
    for matcher, name, fixed in asked:
        value = next((value for label, value in labels if label == name), fixed)
        if not accepts(matcher, value):
            return False
    return True
