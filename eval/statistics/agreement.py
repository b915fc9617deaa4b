"""How far two judges agree beyond chance."""

from __future__ import annotations

from collections.abc import Iterable


def cohen_kappa(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Cohen's kappa of two judges (Cohen 1960): 1 agree always, 0 as by chance; 1 if both say but one thing.

    Raises:
        ValueError: there are no pairs.

    >>> round(cohen_kappa([(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15), 3)
    0.4
    """
    both = list(pairs)
    if not both:
        raise ValueError("no pairs: nobody was judged twice")
    n = len(both)
    one, other = (sum(pair[side] for pair in both) for side in (0, 1))  # integers
    agree = sum(a == b for a, b in both) / n  # integers
    chance = (one * other + (n - one) * (n - other)) / n**2
    return 1.0 if chance == 1.0 else (agree - chance) / (1.0 - chance)
