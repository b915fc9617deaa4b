"""Patterns of lines by Drain, as Loki's pattern ingester finds them (pkg/pattern/drain).

He, Zhu, Zheng, Lyu: Drain: An Online Log Parsing Approach with Fixed Depth Tree (ICWS 2017). Loki splits lines into
words and punctuation, keeps lines of as many words and with the same beginning together, and puts `<_>` where those
differ. Left out: that clusters are evicted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: `DefaultConfig` of Loki: depth of the tree, share of equal words, children of a node; and bytes of a line.
DEPTH, SIMILAR, CHILDREN, MOST_BYTES = 30, 0.3, 15, 3000
PARAMETER = "<_>"
_DIGITS = re.compile(r"\d")
#: Words (with the punctuation that stays in them) and other marks, with the space before.
_WORD = re.compile(r"(\s*)([\w.\-/]+|[^\w\s])")


class Cluster:
    """Lines of one pattern: its words, the space before each, and instants of the lines."""

    __slots__ = ("gaps", "times", "words")

    def __init__(self, words: Sequence[str], gaps: Sequence[str]) -> None:
        self.words, self.gaps = list(words), gaps
        self.times: list[int] = []

    @property
    def pattern(self) -> str:
        """Its text; placeholders beside each other are one."""
        whole = "".join(gap + word for gap, word in zip(self.gaps, self.words, strict=True))
        return re.sub(r"(?:<_>){2,}", PARAMETER, whole)

    def similarity(self, words: Sequence[str]) -> float:
        """Share of words that are the same."""
        return sum(own == other for own, other in zip(self.words, words, strict=True)) / len(words)  # integers

    def take(self, words: Sequence[str], t_ns: int) -> None:
        """One more line."""
        self.words = [own if own == other else PARAMETER for own, other in zip(self.words, words, strict=True)]
        self.times.append(t_ns)


class _Node:
    """A node of the tree: ways on by word, and clusters that end here."""

    __slots__ = ("clusters", "ways")

    def __init__(self) -> None:
        self.ways: dict[str, _Node] = {}
        self.clusters: list[Cluster] = []


class Drain:
    """Patterns of lines that are handed in one after the other.

    >>> drain = Drain()
    >>> for at, line in enumerate(("GET /a1 200 in 5ms", "GET /b2 200 in 7ms", "connection refused")):
    ...     drain.train(line, at)
    >>> [one.pattern for one in drain.clusters]
    ['GET <_> 200 in <_>', 'connection refused']
    """

    def __init__(self) -> None:
        self.clusters: list[Cluster] = []
        self._roots: dict[int, _Node] = {}

    def train(self, line: str, t_ns: int) -> None:
        """Learn from a line; what is empty or too long is passed over."""
        found = _WORD.findall(line.strip()) if len(line) <= MOST_BYTES else []
        if not found:
            return
        gaps, words = zip(*found, strict=True)
        leaf = self._leaf(words)
        best = max(leaf.clusters, key=lambda one: one.similarity(words), default=None)
        if best is None or best.similarity(words) < SIMILAR:
            best = Cluster(words, gaps)
            leaf.clusters.append(best)
            self.clusters.append(best)
        best.take(words, t_ns)

    def _leaf(self, words: Sequence[str]) -> _Node:
        node = self._roots.setdefault(len(words), _Node())
        for word in words[: min(DEPTH - 2, len(words)) - 1]:
            key = PARAMETER if _DIGITS.search(word) else word
            if key not in node.ways and len(node.ways) >= CHILDREN:
                key = PARAMETER
            node = node.ways.setdefault(key, _Node())
        return node


def sampled(times: Iterable[int], step_ns: int) -> list[tuple[int, int]]:
    """How many instants lie in each step, by the step's beginning; ascending.

    >>> sampled([3, 12, 14], 10)
    [(0, 1), (10, 2)]
    """
    counts: dict[int, int] = {}
    for t_ns in times:
        at = t_ns - t_ns % step_ns
        counts[at] = counts.get(at, 0) + 1
    return sorted(counts.items())
