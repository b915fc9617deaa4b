"""Matching of patterns with back references, which no automaton can do: backtracking in a bounded number of steps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: Steps of one search; a pattern that needs more is given up, as PCRE does (its default is ten million).
STEPS_MAX = 60_000

Node = tuple[Any, ...]
_Next = Callable[[int], bool]


class TooHard(Exception):
    """The search was given up."""


class Backtracker:
    """A pattern with back references."""

    def __init__(self, tree: Node, count: int, *, ignore_case: bool) -> None:
        self._tree = tree
        self._count = count
        self._fold = str.lower if ignore_case else str

    def search(self, text: str, at: int) -> list[tuple[int, int]] | None:
        """Spans of the whole and of each group, or None. Raises TooHard."""
        walk = _Walk(self._fold(text), self._count, self._fold)
        try:
            for start in range(at, len(text) + 1):
                walk.best = -1
                walk.spans = [(-1, -1)] * (self._count + 1)
                walk.match(self._tree, start, walk.arrived)
                if walk.best >= 0:
                    return [(start, walk.best), *walk.found[1:]]
        except RecursionError:
            raise TooHard from None
        return None


class _Walk:
    def __init__(self, text: str, count: int, fold: Callable[[str], str]) -> None:
        self.text = text
        self.fold = fold
        self.steps = 0
        self.best = -1
        self.spans = [(-1, -1)] * (count + 1)
        self.found = self.spans

    def arrived(self, at: int) -> bool:
        """A way to the end: the longest one is kept, so that others are tried as well."""
        if at > self.best:
            self.best, self.found = at, list(self.spans)
        return at == len(self.text)

    def match(self, node: Node, at: int, then: _Next) -> bool:
        """Whether the node matches at a place such that what follows does too."""
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise TooHard
        kind, text = node[0], self.text
        if kind == "char":
            return text.startswith(self.fold(node[1]), at) and then(at + 1)
        if kind == "any":
            return at < len(text) and then(at + 1)
        if kind == "set":
            return at < len(text) and re.fullmatch(node[1], text[at]) is not None and then(at + 1)
        if kind == "seq":
            return self._sequence(node[1], 0, at, then)
        if kind == "alt":
            return any(self.match(each, at, then) for each in node[1])
        if kind == "group":
            return self._group(node, at, then)
        if kind == "rep":
            return self._repeat(node, 0, at, then)
        if kind == "back":
            start, stop = self.spans[node[1]]
            part = text[start:stop]
            return start >= 0 and text.startswith(part, at) and then(at + len(part))
        return self._assertion(node, at) and then(at)

    def _assertion(self, node: Node, at: int) -> bool:
        if node[0] in ("bol", "eol"):
            return at == (0 if node[0] == "bol" else len(self.text))
        before = at > 0 and (self.text[at - 1].isalnum() or self.text[at - 1] == "_")
        after = at < len(self.text) and (self.text[at].isalnum() or self.text[at] == "_")
        return {"<": after and not before, ">": before and not after, "b": before != after, "B": before == after}[
            node[1]
        ]

    def _sequence(self, nodes: list[Node], number: int, at: int, then: _Next) -> bool:
        if number == len(nodes):
            return then(at)
        return self.match(nodes[number], at, lambda end: self._sequence(nodes, number + 1, end, then))

    def _group(self, node: Node, at: int, then: _Next) -> bool:
        before = self.spans[node[1]]

        def closed(end: int) -> bool:
            inner = self.spans[node[1]]
            self.spans[node[1]] = (at, end)
            if then(end):
                return True
            self.spans[node[1]] = inner
            return False

        if self.match(node[2], at, closed):
            return True
        self.spans[node[1]] = before
        return False

    def _repeat(self, node: Node, count: int, at: int, then: _Next) -> bool:
        _, inner, least, most = node
        if most is None or count < most:

            def again(end: int) -> bool:
                return (end > at or count < least) and self._repeat(node, count + 1, end, then)

            if self.match(inner, at, again):
                return True
        return count >= least and then(at)
