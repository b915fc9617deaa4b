"""What repetitions of a task say: whether any of k attempts passes, and whether every one does."""

from __future__ import annotations

from math import comb


def pass_any(runs: int, passed: int, k: int) -> float:
    """pass@k: the chance that at least one of k attempts passes, without bias (Chen et al. 2021, section 2.1).

    Raises:
        ValueError: k is not between 1 and the runs there are.

    >>> pass_any(5, 2, 1), round(pass_any(5, 2, 3), 3)
    (0.4, 0.9)
    """
    _check(runs, passed, k)
    return 1.0 - comb(runs - passed, k) / comb(runs, k)


def pass_every(runs: int, passed: int, k: int) -> float:
    """pass^k: the chance that all of k attempts pass, without bias (Yao et al. 2024, section 3).

    Raises:
        ValueError: k is not between 1 and the runs there are.

    >>> pass_every(5, 4, 1), round(pass_every(5, 4, 3), 3)
    (0.8, 0.4)
    """
    _check(runs, passed, k)
    return comb(passed, k) / comb(runs, k)


def _check(runs: int, passed: int, k: int) -> None:
    if not 0 <= passed <= runs or not 1 <= k <= runs:
        raise ValueError(f"k is {k} and {passed} of {runs} runs passed: k lies between 1 and the runs")
