"""Operators between two sides: numbers, a vector and a number, two vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcluster.telemetry.promql import elementary
from simcluster.telemetry.promql.context import (
    Bools,
    Context,
    Floats,
    QueryError,
    Vector,
    get,
    merged,
    nameless,
    without,
)
from simcluster.telemetry.promql.storage import Labels
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
    if node.op not in COMPARISONS:
        values = np.broadcast_to(_ARITHMETIC[node.op](lhs, rhs), vector.values.shape)
        result = Vector(vector.labels, values, vector.present, vector.dropped)
        return result if _keeps_name(ctx, node.op) else nameless(ctx, result)
    holds = _COMPARE[node.op](lhs, rhs)
    if node.returns_bool:
        return nameless(ctx, Vector(vector.labels, holds.astype(np.float64), vector.present, vector.dropped))
    return Vector(vector.labels, vector.values, vector.present & holds, vector.dropped)


def _keeps_name(ctx: Context, op: str) -> bool:
    """Comparisons do; 2.x forgot `atan2` among the operators that make another metric."""
    return op in COMPARISONS or (op == "atan2" and ctx.options.closed)


def _signatures(vector: Vector, matching: Matching) -> list[Labels]:
    if matching.on:
        names = sorted(set(matching.labels))
        return [tuple((name, value) for name in names if (value := get(each, name))) for each in vector.labels]
    return [without(each, "__name__", *matching.labels) for each in vector.labels]


def _by_signature(signatures: list[Labels]) -> dict[Labels, list[int]]:
    found: dict[Labels, list[int]] = {}
    for row, signature in enumerate(signatures):
        found.setdefault(signature, []).append(row)
    return found


def sets(node: Binary, lhs: Vector, rhs: Vector) -> Vector:
    """`and`, `or`, `unless`."""
    left, right = _signatures(lhs, node.matching), _signatures(rhs, node.matching)
    if node.op == "or":
        there = _presence(lhs, left)
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
        return merged(both.filled())
    there = _presence(rhs, right)
    present = lhs.present.copy()
    for row, signature in enumerate(left):
        if signature in there:
            present[row] &= there[signature] if node.op == "and" else ~there[signature]
        elif node.op == "and":
            present[row] = False
    return Vector(lhs.labels, lhs.values, present, lhs.dropped)


def _presence(vector: Vector, signatures: list[Labels]) -> dict[Labels, Bools]:
    return {signature: np.any(vector.present[rows], axis=0) for signature, rows in _by_signature(signatures).items()}


def vectors(ctx: Context, node: Binary, lhs: Vector, rhs: Vector) -> Vector:
    """Arithmetic and comparisons between two vectors, matched by labels.

    Raises:
        QueryError: a series has several partners where one is allowed.
    """
    matching = node.matching
    swapped = matching.card == "one-to-many"
    many, one = (rhs, lhs) if swapped else (lhs, rhs)
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
    return _result(ctx, node, found, swapped)


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
    labels = [_labels(ctx, node, many, one) for many, one in zip(found.many, found.one, strict=True)]
    if node.returns_bool and not ctx.options.delayed_names:
        labels = [without(each, "__name__") for each in labels]
    dropped = [was or node.returns_bool for was in found.dropped] if ctx.options.delayed_names else found.dropped
    if node.op not in COMPARISONS:
        dropped = [False] * len(labels)
    _must_differ(labels, found, matching)
    lhs, rhs = (found.rhs, found.lhs) if swapped else (found.lhs, found.rhs)
    if node.op not in COMPARISONS:
        return merged(Vector(labels, _ARITHMETIC[node.op](lhs, rhs), found.present, dropped).filled())
    holds = _COMPARE[node.op](lhs, rhs)
    if node.returns_bool:
        return merged(Vector(labels, holds.astype(np.float64), found.present, dropped).filled())
    return merged(Vector(labels, lhs, found.present & holds, dropped).filled())


def _labels(ctx: Context, node: Binary, many: Labels, one: Labels) -> Labels:
    matching = node.matching
    kept = many if _keeps_name(ctx, node.op) else without(many, "__name__")
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
            out.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'
