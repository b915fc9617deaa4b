"""Operators between two sides: numbers, a vector and a number, two vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simcluster.telemetry.promql import elementary, nativerows
from simcluster.telemetry.promql.context import (
    Bools,
    Context,
    Floats,
    Ints,
    NativeRow,
    QueryError,
    Vector,
    get,
    merged,
    nameless,
    without,
)
from simcluster.telemetry.promql.native import Native
from simcluster.telemetry.promql.storage import Labels, LabelSets
from simcluster.telemetry.promql.syntax import COMPARISONS, Binary, Matching

_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod,
    "^": elementary.power, "atan2": elementary.atan2,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Floats, Floats], Bools]] = {
    "==": np.equal, "!=": np.not_equal, ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal,
}  # fmt: skip


def scalars(op: str, lhs: Floats, rhs: Floats) -> Floats:
    """Between two numbers of every step."""
    return _COMPARE[op](lhs, rhs).astype(np.float64) if op in COMPARISONS else _ARITHMETIC[op](lhs, rhs)


def with_scalar(ctx: Context, node: Binary, vector: Vector, scalar: Floats, swapped: bool) -> Vector:
    """Between every sample and the number of its step; `swapped` when the number stands on the left."""
    lhs, rhs = (scalar, vector.values) if swapped else (vector.values, scalar)
    natives = nativerows.with_scalar(ctx, node, vector.natives, scalar, swapped)
    if node.op not in COMPARISONS:
        values = np.broadcast_to(_ARITHMETIC[node.op](lhs, rhs), vector.values.shape)
        result = Vector(vector.labels, values, vector.present, vector.dropped, natives)
        return result if _keeps_name(ctx, node.op) else nameless(ctx, result)
    holds = _COMPARE[node.op](lhs, rhs)
    if node.returns_bool:
        return nameless(ctx, Vector(vector.labels, holds.astype(np.float64), vector.present, vector.dropped))
    return Vector(vector.labels, vector.values, vector.present & holds, vector.dropped)


def _keeps_name(ctx: Context, op: str) -> bool:
    """Comparisons do; 2.x forgot `atan2` among the operators that make another metric."""
    return op in COMPARISONS or (op == "atan2" and ctx.options.closed)


def _signatures(vector: Vector, matching: Matching) -> list[Labels]:
    return [_signature(each, matching) for each in vector.labels]


def _signature(labels: Labels, matching: Matching) -> Labels:
    if matching.on:
        return tuple((name, value) for name in sorted(set(matching.labels)) if (value := get(labels, name)))
    return without(labels, "__name__", *matching.labels)


def _by_signature(signatures: list[Labels]) -> dict[Labels, list[int]]:
    found: dict[Labels, list[int]] = {}
    for row, signature in enumerate(signatures):
        found.setdefault(signature, []).append(row)
    return found


@lru_cache(maxsize=512)
def _common(lhs: LabelSets, rhs: LabelSets, matching: Matching) -> tuple[Ints, Ints, int]:
    """Match groups of series on the right and on the left, and how many there are; the last has none on the right."""
    groups: dict[Labels, int] = {}
    right = [groups.setdefault(_signature(each, matching), len(groups)) for each in rhs]
    left = [groups.get(_signature(each, matching), len(groups)) for each in lhs]
    return np.array(right, dtype=np.int64), np.array(left, dtype=np.int64), len(groups) + 1


def _set_of_known(node: Binary, lhs: Vector, rhs: Vector, groups: tuple[Ints, Ints, int]) -> Vector:
    theirs, ours, count = groups
    there = np.zeros((count, rhs.present.shape[1]), dtype=bool)
    np.logical_or.at(there, theirs, rhs.present)
    mask = there[ours] if node.op == "and" else ~there[ours]
    return Vector(lhs.labels, lhs.values, lhs.present & mask, lhs.dropped)


def sets(node: Binary, lhs: Vector, rhs: Vector) -> Vector:
    """`and`, `or`, `unless`."""
    if node.op != "or" and not lhs.labels and not lhs.natives:
        return lhs
    plain = node.op != "or" and not lhs.natives and not rhs.natives
    if plain and isinstance(lhs.labels, LabelSets) and isinstance(rhs.labels, LabelSets):
        return _set_of_known(node, lhs, rhs, _common(lhs.labels, rhs.labels, node.matching))
    left, right = _signatures(lhs, node.matching), _signatures(rhs, node.matching)
    if node.op == "or":
        there = _presence(lhs, left, node.matching)
        present = rhs.present.copy()
        for row, signature in enumerate(right):
            if signature in there:
                present[row] &= ~there[signature]
        both = Vector(
            lhs.labels + rhs.labels,
            np.concatenate([lhs.values, rhs.values]),
            np.concatenate([lhs.present, present]),
            lhs.dropped + rhs.dropped,
        )
        both.natives = lhs.natives + _natives_where(rhs, node.matching, there, False)
        return merged(both.filled())
    there = _presence(rhs, right, node.matching)
    present = lhs.present.copy()
    for row, signature in enumerate(left):
        if signature in there:
            present[row] &= there[signature] if node.op == "and" else ~there[signature]
        elif node.op == "and":
            present[row] = False
    natives = _natives_where(lhs, node.matching, there, node.op == "and")
    return Vector(lhs.labels, lhs.values, present, lhs.dropped, natives)


def _natives_where(vector: Vector, matching: Matching, there: dict[Labels, Bools], wanted: bool) -> list[NativeRow]:
    """Native histograms where the other side has a partner, or has none."""
    found = []
    for row in vector.natives:
        mask = there.get(_signature(row.labels, matching))
        samples = {step: one for step, one in row.samples.items() if (mask is not None and bool(mask[step])) == wanted}
        if samples:
            found.append(NativeRow(row.labels, row.dropped, samples))
    return found


def _presence(vector: Vector, signatures: list[Labels], matching: Matching) -> dict[Labels, Bools]:
    found = _presence_of_numbers(vector, signatures)
    for row in vector.natives:
        mask = found.setdefault(_signature(row.labels, matching), np.zeros(vector.present.shape[1], dtype=bool))
        mask[list(row.samples)] = True
    return found


def _presence_of_numbers(vector: Vector, signatures: list[Labels]) -> dict[Labels, Bools]:
    return {signature: np.any(vector.present[rows], axis=0) for signature, rows in _by_signature(signatures).items()}


def vectors(ctx: Context, node: Binary, lhs: Vector, rhs: Vector) -> Vector:
    """Arithmetic and comparisons between two vectors, matched by labels.

    Raises:
        QueryError: a series has several partners where one is allowed.
    """
    matching = node.matching
    swapped = matching.card == "one-to-many"
    many, one = (rhs, lhs) if swapped else (lhs, rhs)
    quick = _between_known(ctx, node, many, one)
    if quick is not None:
        return quick
    many_keys, one_keys = _signatures(many, matching), _by_signature(_signatures(one, matching))
    fill_many, fill_one = matching.fill_left, matching.fill_right
    if swapped:
        fill_many, fill_one = fill_one, fill_many
    looked_at = np.any(many.present, axis=0) if fill_many is None else np.ones(ctx.steps, dtype=bool)
    for rows in one_keys.values():
        if len(rows) > 1:
            _must_be_one(one, rows, looked_at, matching, "left" if swapped else "right")
    pairs = [(i, j) for i, signature in enumerate(many_keys) for j in one_keys.get(signature, ())]
    ctx.spent.hold(len(pairs), ctx.steps)
    left, right = [i for i, _ in pairs], [j for _, j in pairs]
    found = _Found(
        [many.labels[i] for i in left],
        [one.labels[j] for j in right],
        many.values[left],
        one.values[right],
        many.present[left] & one.present[right],
        [many.dropped[i] for i in left],
    )
    if fill_one is not None:
        found.lonely(many, many_keys, one, one_keys, fill_one, True)
    if fill_many is not None:
        keys = [key for key, rows in sorted(_rows_of(one_keys), key=lambda each: each[1]) for _ in (rows,)]
        found.lonely(one, keys, many, _by_signature(many_keys), fill_many, False)
    result = _result(ctx, node, found, swapped)
    if not lhs.natives and not rhs.natives:
        return result
    return _with_natives(ctx, node, (lhs, rhs), result)


class _Partners(NamedTuple):
    """Rows of both sides that are partners, and the labels of what comes of them."""

    many: Ints
    one: Ints
    labels: LabelSets


@lru_cache(maxsize=512)
def _partners(many: LabelSets, one: LabelSets, matching: Matching, keeps_name: bool) -> _Partners | None:
    """Partners among series; None if one has several, or two results might be the same."""
    theirs = {_signature(each, matching): row for row, each in enumerate(one)}
    ours = [_signature(each, matching) for each in many]
    if len(theirs) != len(one) or (matching.card == "one-to-one" and len(dict.fromkeys(ours)) != len(ours)):
        return None
    pairs = [(row, theirs[key]) for row, key in enumerate(ours) if key in theirs]
    labels = LabelSets(_labels(matching, keeps_name, many[row], one[other]) for row, other in pairs)
    if len(dict.fromkeys(labels)) != len(labels):
        return None
    left, right = [row for row, _ in pairs], [other for _, other in pairs]
    return _Partners(np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), labels)


def _between_known(ctx: Context, node: Binary, many: Vector, one: Vector) -> Vector | None:
    """The same as `vectors` of series whose partners are remembered; None if these are not as they should be."""
    if not isinstance(many.labels, LabelSets) or not isinstance(one.labels, LabelSets):
        return None
    matching, options = node.matching, ctx.options
    filled = matching.fill_left is not None or matching.fill_right is not None
    if filled or node.returns_bool or options.closed or options.delayed_names or many.natives or one.natives:
        return None
    known = _partners(many.labels, one.labels, matching, node.op in COMPARISONS)
    if known is None:
        return None
    ctx.spent.hold(len(known.labels), ctx.steps)
    lhs, rhs = many.values[known.many], one.values[known.one]
    if matching.card == "one-to-many":
        lhs, rhs = rhs, lhs
    present = many.present[known.many] & one.present[known.one]
    if node.op in COMPARISONS:
        present, values = present & _COMPARE[node.op](lhs, rhs), lhs
    else:
        values = _ARITHMETIC[node.op](lhs, rhs)
    return Vector(known.labels, values, present, [False] * len(known.labels)).filled()


def _with_natives(ctx: Context, node: Binary, sides: tuple[Vector, Vector], result: Vector) -> Vector:
    """Add what comes of partners at least one of which is a native histogram."""
    swapped = node.matching.card == "one-to-many"
    many, one = reversed(sides) if swapped else sides
    partners: dict[Labels, list[tuple[Labels, dict[int, Native | float]]]] = {}
    for labels, samples, _ in _samples(one):
        partners.setdefault(_signature(labels, node.matching), []).append((labels, samples))
    numbers: list[tuple[Labels, bool, dict[int, float]]] = []
    for labels, samples, dropped in _samples(many):
        for other, theirs in partners.get(_signature(labels, node.matching), ()):
            natives: dict[int, Native] = {}
            floats: dict[int, float] = {}
            for step in sorted(samples.keys() & theirs.keys()):
                a, b = (theirs[step], samples[step]) if swapped else (samples[step], theirs[step])
                if not isinstance(a, Native) and not isinstance(b, Native):
                    continue
                value = nativerows.between(ctx, node, a, b)
                if isinstance(value, Native):
                    natives[step] = value
                elif value is not None:
                    floats[step] = value
            named = _labels(node.matching, _keeps_name(ctx, node.op), labels, other)
            if node.returns_bool and not ctx.options.delayed_names:
                named = without(named, "__name__")
            drops = (dropped and node.op in COMPARISONS) or (node.returns_bool and ctx.options.delayed_names)
            if natives:
                result.natives.append(NativeRow(named, drops, natives))
            if floats:
                numbers.append((named, drops, floats))
    return merged(with_numbers(result, numbers))


def _samples(vector: Vector) -> list[tuple[Labels, dict[int, Native | float], bool]]:
    found: list[tuple[Labels, dict[int, Native | float], bool]] = []
    for row, labels in enumerate(vector.labels):
        steps = np.flatnonzero(vector.present[row]).tolist()
        found.append((labels, {step: float(vector.values[row, step]) for step in steps}, vector.dropped[row]))
    return found + [(row.labels, dict(row.samples), row.dropped) for row in vector.natives]


def with_numbers(vector: Vector, rows: Sequence[tuple[Labels, bool, Mapping[int, float]]]) -> Vector:
    """A vector with more rows of numbers, by step."""
    steps = vector.values.shape[1]
    values, present = np.zeros((len(rows), steps)), np.zeros((len(rows), steps), dtype=bool)
    for index, (_, _, samples) in enumerate(rows):
        for step, value in samples.items():
            values[index, step], present[index, step] = value, True
    return Vector(
        vector.labels + [labels for labels, _, _ in rows],
        np.concatenate([vector.values, values]),
        np.concatenate([vector.present, present]),
        vector.dropped + [drops for _, drops, _ in rows],
        vector.natives,
    )


def _rows_of(keys: dict[Labels, list[int]]) -> list[tuple[Labels, int]]:
    return [(key, row) for key, rows in keys.items() for row in rows]


class _Found:
    """Pairs of partners: labels and values of both sides, and where both are."""

    def __init__(
        self,
        many: list[Labels],
        one: list[Labels],
        lhs: Floats,
        rhs: Floats,
        present: Bools,
        dropped: list[bool],
    ) -> None:
        self.many, self.one, self.lhs, self.rhs, self.present, self.dropped = many, one, lhs, rhs, present, dropped

    def lonely(
        self,
        side: Vector,
        keys: list[Labels],
        other: Vector,
        other_keys: dict[Labels, list[int]],
        fill: float,
        many: bool,
    ) -> None:
        """Add series of one side where they have no partner, with a value in its place."""
        missing = side.present.copy()
        for row, key in enumerate(keys):
            rows = other_keys.get(key)
            if rows:
                missing[row] &= ~other.present[rows].any(axis=0)
        filled = np.full(side.values.shape, fill)
        self.many += side.labels if many else keys
        self.one += keys if many else side.labels
        self.lhs = np.concatenate([self.lhs, side.values if many else filled])
        self.rhs = np.concatenate([self.rhs, filled if many else side.values])
        self.present = np.concatenate([self.present, missing])
        self.dropped += side.dropped


def _result(ctx: Context, node: Binary, found: _Found, swapped: bool) -> Vector:
    matching = node.matching
    keeps_name = _keeps_name(ctx, node.op)
    labels = [_labels(matching, keeps_name, many, one) for many, one in zip(found.many, found.one, strict=True)]
    if node.returns_bool and not ctx.options.delayed_names:
        labels = [without(each, "__name__") for each in labels]
    dropped = [was or node.returns_bool for was in found.dropped] if ctx.options.delayed_names else found.dropped
    if node.op not in COMPARISONS:
        dropped = [False] * len(labels)
    lhs, rhs = (found.rhs, found.lhs) if swapped else (found.lhs, found.rhs)
    filters = node.op in COMPARISONS and not node.returns_bool
    if ctx.options.closed and filters:  # 2.x looks at what is left only
        found.present = found.present & _COMPARE[node.op](lhs, rhs)
    _must_differ(labels, found, matching)
    if node.op not in COMPARISONS:
        return merged(Vector(labels, _ARITHMETIC[node.op](lhs, rhs), found.present, dropped).filled())
    holds = _COMPARE[node.op](lhs, rhs)
    if node.returns_bool:
        return merged(Vector(labels, holds.astype(np.float64), found.present, dropped).filled())
    return merged(Vector(labels, lhs, found.present & holds, dropped).filled())


def _labels(matching: Matching, keeps_name: bool, many: Labels, one: Labels) -> Labels:
    kept = many if keeps_name else without(many, "__name__")
    if matching.card == "one-to-one":
        if matching.on:
            return tuple(pair for pair in kept if pair[0] in matching.labels)
        return without(kept, *matching.labels)
    if not matching.include:
        return kept
    changed = dict(kept)
    for name in matching.include:
        value = get(one, name)
        if value:
            changed[name] = value
        else:
            changed.pop(name, None)
    return tuple(sorted(changed.items()))


def _must_be_one(one: Vector, rows: list[int], looked_at: Bools, matching: Matching, side: str) -> None:
    there = one.present[rows] & looked_at
    crowded = np.flatnonzero(there.sum(axis=0) > 1)  # integers
    if len(crowded):
        first, second = sorted(
            (rows[i] for i in np.flatnonzero(there[:, crowded[0]])[:2]), key=lambda row: one.labels[row]
        )
        group = [
            pair
            for pair in one.labels[first]
            if (pair[0] in matching.labels) == matching.on and (matching.on or pair[0] != "__name__")
        ]
        raise QueryError(
            f"found duplicate series for the match group {shown(tuple(group))}"
            f" on the {side} hand-side of the operation: "
            f"[{shown(one.labels[first])}, {shown(one.labels[second])}]"
            ";many-to-many matching not allowed: matching labels must be unique on one side"
        )


def _must_differ(labels: list[Labels], found: _Found, matching: Matching) -> None:
    """No two results of a match group may be the same series at one step."""
    seen: dict[Labels, Bools] = {}
    explicit = matching.card != "one-to-one"
    for row, each in enumerate(labels):
        if explicit:
            key = each
        elif matching.on:
            key = tuple(pair for pair in found.many[row] if pair[0] in matching.labels)
        else:
            key = without(found.many[row], "__name__", *matching.labels)
        before = seen.get(key)
        if before is None:
            seen[key] = found.present[row]
            continue
        if bool((before & found.present[row]).any()):
            why = (
                "grouping labels must ensure unique matches"
                if explicit
                else ("many-to-one matching must be explicit (group_left/group_right)")
            )
            raise QueryError(f"multiple matches for labels: {why}")
        seen[key] = before | found.present[row]


def shown(labels: Labels) -> str:
    """Labels as Go's `Labels.String` prints them, a name among them.

    >>> shown((("__name__", "up"), ("job", "a")))
    '{__name__="up", job="a"}'
    """
    inside = ", ".join(f"{name}={quoted(value)}" for name, value in labels)
    return "{" + inside + "}"


def quoted(value: str) -> str:
    r"""A text in double quotes as Go's `strconv.Quote`.

    >>> print(quoted('a"b\n'))
    "a\"b\n"
    """
    special = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    out = []
    for character in value:
        if character in special:
            out.append(special[character])
        elif character.isprintable():
            out.append(character)
        else:
            code = ord(character)
            if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
                code -= 0xDC00
                out.append(f"\\x{code:02x}")
                continue
            out.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'
