"""Functions that look at labels: `label_replace`, `label_join`, sorting, and what `absent` can say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cmp_to_key, lru_cache

import numpy as np

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.context import Bools, NativeRow, QueryError, Vector, get, merged
from simcluster.telemetry.promql.storage import Labels, LabelSets, Matcher

_CHUNKS = re.compile(r"\d+|\D+")


def is_label(name: str) -> bool:
    """Whether it can be the name of a label: any text of UTF-8."""
    return bool(name) and not any("\ud800" <= character <= "\udfff" for character in name)


def _must_be_label(name: str, what: str, function: str) -> None:
    if not is_label(name):
        raise QueryError(f"invalid {what} label name in {function}(): {name}")


def _with(labels: Labels, name: str, value: str) -> Labels:
    changed = {key: each for key, each in labels if key != name}
    if value:
        changed[name] = value
    return tuple(sorted(changed.items()))


def _relabelled(vector: Vector, name: str, change: Callable[[Labels], Labels | None]) -> Vector:
    """Labels changed, of numbers and histograms; None where they stay. A name that is set does not go."""
    made = [change(each) for each in vector.labels]
    labels = [old if new is None else new for new, old in zip(made, vector.labels, strict=True)]
    changed = [new is not None for new in made]
    natives = []
    for row in vector.natives:
        new = change(row.labels)
        drops = row.dropped and not (new is not None and name == "__name__")
        natives.append(NativeRow(row.labels if new is None else new, drops, row.samples))
    dropped = vector.dropped
    if name == "__name__":
        dropped = [was and not new for was, new in zip(dropped, changed, strict=True)]
    return merged(Vector(labels, vector.values, vector.present, dropped, natives))


def label_replace(vector: Vector, target: str, replacement: str, source: str, pattern: str) -> Vector:
    """A label from what an expression finds in another."""
    try:
        regex.compiled(pattern)
    except regex.RegexError:
        raise QueryError(f"invalid regular expression in label_replace(): {pattern}") from None
    _must_be_label(target, "destination", "label_replace")

    if isinstance(vector.labels, LabelSets) and not vector.natives and not any(vector.dropped):
        known = _replaced(vector.labels, target, replacement, source, pattern)
        if known is not None:
            return Vector(known, vector.values, vector.present, vector.dropped)

    def change(each: Labels) -> Labels | None:
        return _changed(each, target, replacement, source, pattern)

    return _relabelled(vector, target, change)


def _changed(labels: Labels, target: str, replacement: str, source: str, pattern: str) -> Labels | None:
    match = regex.compiled(pattern).match(get(labels, source))
    return None if match is None else _with(labels, target, regex.expand(replacement, match))


@lru_cache(maxsize=256)
def _replaced(given: LabelSets, target: str, replacement: str, source: str, pattern: str) -> LabelSets | None:
    """Labels after `label_replace`; None if some are the same then."""
    found = LabelSets(_changed(each, target, replacement, source, pattern) or each for each in given)
    return found if len(dict.fromkeys(found)) == len(found) else None


def label_join(vector: Vector, target: str, separator: str, sources: Sequence[str]) -> Vector:
    """A label from others, joined."""
    for source in sources:
        _must_be_label(source, "source", "label_join")
    _must_be_label(target, "destination", "label_join")

    def change(each: Labels) -> Labels:
        return _with(each, target, separator.join(get(each, name) for name in sources))

    return _relabelled(vector, target, change)


def by_value(vector: Vector, descending: bool) -> Vector:
    """Of an instant, samples in order of their values, NaN last."""

    def key(row: int) -> tuple[bool, float]:
        value = float(vector.values[row, 0])
        return (value != value, 0.0 if value != value else (-value if descending else value))

    return vector.rows(sorted(range(len(vector.labels)), key=key))


def by_labels(vector: Vector, names: Sequence[str], descending: bool) -> Vector:
    """Of an instant, samples in the natural order of some labels, then of all."""

    def compared(a: int, b: int) -> int:
        for name in names:
            left, right = get(vector.labels[a], name), get(vector.labels[b], name)
            if left != right:
                return -1 if _natural(left) < _natural(right) else 1
        return (vector.labels[a] > vector.labels[b]) - (vector.labels[a] < vector.labels[b])

    order = sorted(range(len(vector.labels)), key=cmp_to_key(compared))
    return vector.rows(order[::-1] if descending else order)


def _natural(value: str) -> list[tuple[int, int, str]]:
    """Digits by their number, before other characters."""
    return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in _CHUNKS.findall(value)]


def absent(matchers: Sequence[Matcher], present: Bools) -> Vector:
    """1 where nothing is, with the labels that the selector says for certain."""
    sure: dict[str, str] = {}
    several = {one.name for one in matchers if sum(each.name == one.name for each in matchers) > 1}  # integers
    for one in matchers:
        if one.op == "=" and one.name not in several and one.name != "__name__" and one.value:
            sure[one.name] = one.value
    return Vector.of([tuple(sorted(sure.items()))], np.ones((1, len(present))), ~present[None, :])
