"""What a backtracking matcher spends on a text: steps of Perl's engine, from the tree of a pattern.

A matcher tries one way after the other until a way reaches the end of the pattern, and all of them if none does. Here
nothing is tried: how many steps each part costs from each place of the text follows from what comes after it, from the
text's end to its begin. As in Perl a repeated group is explored only once from each place (the super-linear cache), so
that `^([a-z]+)*$` costs the square of the text's length and not two to its power; repeats one after the other, such as
`a*a*a*b`, cost its powers. A text without a letter that the pattern needs is not looked at. Source: regexec.c and
perlreguts; measured against Perl 5.36 (`tests/models/programs/test_backtracking.py`).

Left out: back references (they match nothing), what is in front of a look-behind, counts above `COUNTED`, substrings
that are searched for before the match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

#: CPU time of a step (measured with Perl 5.36: 25 million steps in 0.13 s).
STEP_NS = 5
#: Repeats of a part that are told apart; what may come more often may come any number of times.
COUNTED = 40
#: More steps than anybody waits for.
NEVER = 1 << 60
_CHAR, _SPLIT, _STAR, _LOOP, _TEST, _LOOK, _END = range(7)
_MIN, _MAX, _HELD = "MIN_REPEAT", "MAX_REPEAT", "POSSESSIVE_REPEAT"
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


class PatternError(ValueError):
    """A text that is no pattern; what is wrong with it."""


class _Node(NamedTuple):
    """A part of a pattern: what it is, which letters it takes, and what comes after it (in order of preference)."""

    kind: int
    letters: frozenset[str] = frozenset()
    after: tuple[int, ...] = ()
    test: str = ""
    held: bool = False


class Spent(NamedTuple):
    """Whether a text matches, and how many steps it took to know."""

    matches: bool
    steps: int

    @property
    def cpu_ns(self) -> int:
        """In CPU time."""
        return self.steps * STEP_NS


@lru_cache(maxsize=64)
def spent(pattern: str, text: str) -> Spent:
    """What a matcher spends on a text.

    Raises:
        PatternError: that is no pattern.

    >>> spent("^[A-Za-z]+$", "abc").matches, spent("^[A-Za-z]+$", "a" * 5000 + "!").steps
    (True, 10002)
    >>> [spent("^([a-zA-Z]+)*$", "a" * n + "!").steps // n for n in (100, 1000)]
    [104, 1004]
    """
    try:
        tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(str(error)) from None
    items = list(tree)
    needed = [chr(value) for op, value in items if str(op) == "LITERAL"] if not tree.state.flags & re.I else []
    if any(letter not in text for letter in needed):
        return Spent(False, len(text))
    compiler = _Compiler(text, bool(tree.state.flags & re.I))
    first = compiler.sequence(items, compiler.end)
    anchored = bool(items) and ((str(items[0][0]) == "AT" and "BEGINNING" in str(items[0][1])) or _takes_all(items[0]))
    return _Count(compiler.nodes, compiler.order(), text).total(first, anchored)


def _takes_all(item: tuple[Any, Any]) -> bool:
    """`.*` in front: whoever fails at the begin fails everywhere."""
    op, value = item
    return str(op) == _MAX and value[0] == 0 and value[1] > COUNTED and str(value[2][0][0]) == "ANY"


class _Compiler:
    """Makes nodes of the tree of a pattern; what comes after a part is made before it."""

    def __init__(self, text: str, folded: bool) -> None:
        self.nodes = [_Node(_END)]
        self.end = 0
        self._alphabet = sorted(set(text))
        self._folded = folded

    def order(self) -> list[int]:
        """Nodes with those that they ask at the same place before them; who takes a letter asks nobody there."""
        found: dict[int, None] = {}
        loops = [index for index, node in enumerate(self.nodes) if node.kind == _LOOP]
        stack, seen = [(index, False) for index in [*reversed(range(len(self.nodes))), *reversed(loops)]], set[int]()
        while stack:
            index, done = stack.pop()
            node = self.nodes[index]
            if done:
                found[index] = None
            elif index not in seen:
                seen.add(index)
                stack += [(index, True), *((one, False) for one in node.after if node.kind != _CHAR)]
        return list(found)

    def sequence(self, items: list[tuple[Any, Any]], after: int) -> int:
        """Parts one after the other."""
        for op, value in reversed(items):
            after = self._part(str(op), value, after)
        return after

    def _add(self, node: _Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _part(self, op: str, value: Any, after: int) -> int:
        letters = self._letters(op, value)
        if letters is not None:
            return self._add(_Node(_CHAR, letters, (after,)))
        if op == "AT":
            return self._add(_Node(_TEST, after=(after,), test=str(value)))
        if op == "SUBPATTERN":
            return self.sequence(list(value[-1]), after)
        if op == "ATOMIC_GROUP":
            return self.sequence(list(value), after)
        if op == "BRANCH":
            return self._add(_Node(_SPLIT, after=tuple(self.sequence(list(one), after) for one in value[1])))
        if op in ("ASSERT", "ASSERT_NOT"):
            inside = self.sequence(list(value[1]), self.end) if value[0] > 0 else after
            return self._add(_Node(_LOOK, after=(inside, after), test=op)) if value[0] > 0 else after
        if op in (_MIN, _MAX, _HELD):
            return self._repeat(op, value, after)
        return self._add(_Node(_CHAR, frozenset(), (after,)))

    def _repeat(self, op: str, value: Any, after: int) -> int:
        low, high, items = value[0], value[1], list(value[2])
        low, lazy, held = min(low, COUNTED), op == _MIN, op == _HELD
        inner = items
        while len(inner) == 1 and str(inner[0][0]) == "SUBPATTERN":  # a group of one letter is repeated as a letter
            inner = list(inner[0][1][-1])
        letters = self._letters(str(inner[0][0]), inner[0][1]) if len(inner) == 1 else None
        if high > COUNTED:
            if letters is not None:
                after = self._add(_Node(_STAR, letters, (after,), "lazy" if lazy else "", held))
            else:
                loop = self._add(_Node(_LOOP))
                body = self.sequence(items, loop)
                self.nodes[loop] = _Node(_LOOP, after=(after, body) if lazy else (body, after))
                after = loop
        else:
            rest = after
            for _ in range(high - low):
                body = self.sequence(items, after)
                after = self._add(_Node(_SPLIT, after=(rest, body) if lazy else (body, rest)))
        for _ in range(low):
            after = self.sequence(items, after)
        return after

    def _letters(self, op: str, value: Any) -> frozenset[str] | None:
        """Which letters of the text a part takes that takes one; None: it is another one."""
        if op == "ANY":
            return frozenset(letter for letter in self._alphabet if letter != "\n")
        if op not in ("LITERAL", "NOT_LITERAL", "IN"):
            return None
        entries = [(op.removeprefix("NOT_"), value)] if op != "IN" else [(str(one), each) for one, each in value]
        negated = op == "NOT_LITERAL" or entries[0][0] == "NEGATE"
        return frozenset(letter for letter in self._alphabet if self._is_in(letter, entries) != negated)

    def _is_in(self, letter: str, entries: list[tuple[str, Any]]) -> bool:
        forms = {letter, letter.lower(), letter.upper()} if self._folded else {letter}
        return any(_names(form, op, value) for form in forms for op, value in entries)


def _names(letter: str, op: str, value: Any) -> bool:
    if op == "LITERAL":
        return ord(letter) == int(value)
    if op == "RANGE":
        return int(value[0]) <= ord(letter) <= int(value[1])
    if op == "CATEGORY":
        name = str(value).removeprefix("CATEGORY_")
        found = re.match(_CATEGORIES.get(name.removeprefix("NOT_"), "$^"), letter) is not None
        return found != name.startswith("NOT_")
    return False


class _At(NamedTuple):
    """What a node meets at a place: whether the rest matches, steps with the cache and without, how far it goes."""

    ok: bool
    steps: int
    naive: int
    far: int


_NOTHING = _At(False, 1, 1, 0)


class _Count:
    """Counts the steps of a pattern on a text, from the end to the begin."""

    def __init__(self, nodes: list[_Node], order: list[int], text: str) -> None:
        self._nodes = nodes
        self._order = order
        self._text = text
        self._loops = [0] * (len(text) + 1)  # steps of all repeated groups, entered at a place
        self._cut = False  # whether a group would have been repeated that has taken nothing

    def total(self, first: int, anchored: bool) -> Spent:
        """From every place at which a match may begin, until one is found."""
        length = len(self._text)
        here: dict[int, _At] = {}
        starts: list[_At] = []
        for place in range(length, -1, -1):
            here = self._at(place, here)
            starts.append(here[first])
        starts.reverse()
        sums = [0]
        for steps in self._loops:
            sums.append(sums[-1] + steps)
        steps = 0
        for place, one in enumerate(starts[:1] if anchored else starts):
            cached = one.steps + sums[min(length, one.far) + 1] - sums[place]
            steps = min(NEVER, steps + min(one.naive, cached))
            if one.ok:
                return Spent(True, steps)
        return Spent(False, steps)

    def _at(self, place: int, later: dict[int, _At]) -> dict[int, _At]:
        """All nodes at a place; those at the next place are `later`.

        A group that has taken nothing is not repeated; who goes on with it from an earlier place has taken something.
        """
        here: dict[int, _At] = {}
        self._cut = False
        for index in self._order:
            here[index] = self._node(index, place, here, later)
        for index in self._order if self._cut else ():
            if self._nodes[index].kind != _LOOP:
                here[index] = self._node(index, place, here, later)
        return here

    def _node(self, index: int, place: int, here: dict[int, _At], later: dict[int, _At]) -> _At:
        node = self._nodes[index]
        letter = self._text[place] if place < len(self._text) else ""
        if node.kind == _END:
            return _At(True, 1, 1, place)
        if node.kind == _CHAR:
            taken = bool(letter) and letter in node.letters
            return _onwards(self._seen(node.after[0], later)) if taken else _At(False, 1, 1, place)
        if node.kind == _STAR:
            return self._star(node, letter in node.letters, self._seen(node.after[0], here), later.get(index))
        if node.kind == _TEST:
            holds = self._holds(node.test, place)
            return _onwards(self._seen(node.after[0], here)) if holds else _At(False, 1, 1, place)
        if node.kind == _LOOK:
            inside, after = (self._seen(one, here) for one in node.after)
            return _looked(inside, after, node.test == "ASSERT")
        found = _one_of([self._seen(one, here) for one in node.after])
        if node.kind == _LOOP:
            self._loops[place] = min(NEVER, self._loops[place] + found.steps)
        return found

    def _seen(self, index: int, at: dict[int, _At]) -> _At:
        """A node as it is met on a way: a repeated group costs a look, for it is explored only once."""
        if index not in at:
            self._cut = True
            return _NOTHING
        found = at[index]
        return found._replace(steps=1) if self._nodes[index].kind == _LOOP else found

    def _star(self, node: _Node, takes: bool, behind: _At, further: _At | None) -> _At:
        """One letter any number of times: as many as there are, then fewer; or the other way round."""
        if not takes or further is None:
            return _onwards(behind)
        if node.held:
            return _onwards(further)
        return _one_of((behind, further) if node.test else (further, behind))

    def _holds(self, test: str, place: int) -> bool:
        text, length = self._text, len(self._text)
        if "BEGINNING" in test:
            return place == 0
        if "END" in test:
            return place == length or ("STRING" not in test and place == length - 1 and text[place] == "\n")
        beside = [0 <= at < length and (text[at].isalnum() or text[at] == "_") for at in (place - 1, place)]
        return (beside[0] != beside[1]) == ("NON" not in test)


def _onwards(after: _At) -> _At:
    return _At(after.ok, after.steps + 1, min(NEVER, after.naive + 1), after.far)


def _looked(inside: _At, after: _At, wanted: bool) -> _At:
    """What is looked at ahead, and then what comes."""
    steps, naive, far = 1 + inside.steps, 1 + inside.naive, max(inside.far, after.far)
    if inside.ok != wanted:
        return _At(False, steps, min(NEVER, naive), inside.far)
    return _At(after.ok, steps + after.steps, min(NEVER, naive + after.naive), far)


def _one_of(ways: Sequence[_At]) -> _At:
    """One way after the other, until one leads to the end."""
    steps, naive, far, ok = 1, 1, 0, False
    for way in ways:
        steps, naive, far, ok = steps + way.steps, naive + way.naive, max(far, way.far), way.ok
        if ok:
            break
    return _At(ok, min(NEVER, steps), min(NEVER, naive), far)
