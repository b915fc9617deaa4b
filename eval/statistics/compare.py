"""Two sets of runs on the same tasks and seeds, compared run by run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

from simcluster.eval.statistics.intervals import Interval, bootstrap, wilson

#: A difference is one if chance alone would make as large a one less often.
SIGNIFICANT = 0.05
Record = Mapping[str, Any]


class Comparison(NamedTuple):
    """How two sets of paired runs differ.

    Attributes:
        group: what the runs have in common; empty for all.
        pairs: runs on the same task and seed.
        first, second: share that passed, with Wilson's interval.
        only_first, only_second: pairs that one of the two passed.
        difference: second less first, with its bootstrap interval over tasks.
        p: of McNemar's exact test.
    """

    group: str
    pairs: int
    first: Interval
    second: Interval
    only_first: int
    only_second: int
    difference: Interval
    p: float

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance."""
        return self.p < SIGNIFICANT

    def verdict(self) -> str:
        """One line in words."""
        if not self.significant:
            return (
                f"no difference (p = {self.p:.2g}, {self.only_first} against {self.only_second} of {self.pairs} pairs)"
            )
        better = "second" if self.only_second > self.only_first else "first"
        return f"the {better} is better by {abs(self.difference.value):.0%} (p = {self.p:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        found = self._asdict() | {"significant": self.significant, "verdict": self.verdict()}
        return {key: value._asdict() if isinstance(value, Interval) else value for key, value in found.items()}


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided p of McNemar's exact test: how often a fair coin splits the discordant pairs so unevenly.

    >>> mcnemar(0, 5), round(mcnemar(1, 9), 4), mcnemar(3, 3), mcnemar(0, 0)
    (0.0625, 0.0215, 1.0, 1.0)
    """
    n, few = only_first + only_second, min(only_first, only_second)
    return min(1.0, sum(comb(n, i) for i in range(few + 1)) / 2.0 ** (n - 1))  # integers


def compare(
    first: Sequence[Record],
    second: Sequence[Record],
    passed: Callable[[Record], bool],
    group: Callable[[Record], Sequence[str]] = lambda record: (),
) -> list[Comparison]:
    """Compare runs on the same task and seed: all of them first, then group by group.

    Args:
        first, second: run records of one agent each; runs that only one of them has are left out.
        passed: whether a run counts as passed.
        group: names of the groups that a run belongs to.

    Raises:
        ValueError: no run has its pair, or a task and seed stand twice in one of the sets.
    """
    one, other = _by_run(first), _by_run(second)
    both = [key for key in one if key in other]
    if not both:
        raise ValueError("no task and seed is in both: nothing can be compared pair by pair")
    groups: dict[str, list[tuple[str, int]]] = {"": both}
    for key in both:
        for name in group(one[key]):
            groups.setdefault(name, []).append(key)
    return [_compared(name, keys, one, other, passed) for name, keys in sorted(groups.items())]


def _by_run(records: Sequence[Record]) -> dict[tuple[str, int], Record]:
    found: dict[tuple[str, int], Record] = {}
    for record in records:
        key = (record["task"], record["seed"])
        if key in found:
            raise ValueError(f"{key[0]} with seed {key[1]} stands twice: choose one agent and one noise")
        found[key] = record
    return found


def _compared(
    name: str,
    keys: Sequence[tuple[str, int]],
    one: Mapping[tuple[str, int], Record],
    other: Mapping[tuple[str, int], Record],
    passed: Callable[[Record], bool],
) -> Comparison:
    pairs = [(passed(one[key]), passed(other[key])) for key in keys]
    by_task: dict[str, list[float]] = {}
    for key, (a, b) in zip(keys, pairs, strict=True):
        by_task.setdefault(key[0], []).append(float(b) - float(a))
    only_first = sum(a and not b for a, b in pairs)  # integers
    only_second = sum(b and not a for a, b in pairs)  # integers
    return Comparison(
        name,
        len(pairs),
        wilson(sum(a for a, _ in pairs), len(pairs)),  # integers
        wilson(sum(b for _, b in pairs), len(pairs)),  # integers
        only_first,
        only_second,
        bootstrap(list(by_task.values())),
        mcnemar(only_first, only_second),
    )
