"""What a family's cells come to: how many differ, and whether all lean to one side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simcluster.testing.agreement.families import FAMILIES
from simcluster.testing.agreement.measure import FEW, MANY, Runner, Share, Stationary, compare, run_of
from simcluster.testing.agreement.statistics import mantel_haenszel

#: Share of all cells that may differ, and the probability below which a family leans to one side.
MOST_DIFFER, LEAST_P = 0.01, 0.01


@dataclass(frozen=True)
class Family:
    """The cells of one family, measured."""

    name: str
    cells: tuple[Share | Stationary, ...]

    @property
    def shares(self) -> list[Share]:
        """Its collapse cells."""
        return [cell for cell in self.cells if isinstance(cell, Share)]

    @property
    def p(self) -> float:
        """Mantel and Haenszel's probability over all collapse cells."""
        return mantel_haenszel([(c.exact, c.exact_runs, c.aggregate, c.aggregate_runs) for c in self.shares])

    @property
    def differ(self) -> list[Share | Stationary]:
        """Cells that do."""
        return [cell for cell in self.cells if cell.differs]

    def worst(self, figure: str) -> float:
        """The largest error of a figure over the stationary cells, with its sign."""
        found = [cell.errors[figure] for cell in self.cells if isinstance(cell, Stationary) and figure in cell.errors]
        return max(found, key=abs, default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "family": self.name,
            "cells": len(self.cells),
            "differ": [cell.described() for cell in self.differ],
            "pooled_p": self.p if self.shares else None,
            "worst": {figure: self.worst(figure) for figure in ("mean", "p50", "p90", "p99", "attempts", "failed")},
            "all": [cell.described() for cell in self.cells],
        }

    def described(self) -> str:
        """A row of a table."""
        pooled = f"{self.p:.2g}" if self.shares else "–"
        worst = "  ".join(f"{name} {self.worst(name):+.1%}" for name in ("mean", "p50", "p90", "p99"))
        return f"{self.name}: {len(self.differ)} of {len(self.cells)} cells differ, pooled p {pooled}; {worst}"


def measured(
    name: str, seeds: int = FEW, many: int = MANY, tell: Callable[[str], object] = str, run: Runner = run_of
) -> Family:
    """All cells of a family; each is told when it is done."""
    found = []
    for cell in FAMILIES[name]():
        one = compare(cell, seeds, many, run)
        tell(f"{'DIFFERS ' if one.differs else ''}{name}: {one.described()}")
        found.append(one)
    return Family(name, tuple(found))


def is_agreement(families: Sequence[Family]) -> bool:
    """Whether the engines differ by no more than sampling: at most 1 % of all cells, and no family to one side."""
    cells = sum(len(family.cells) for family in families)  # integers
    differ = sum(len(family.differ) for family in families)  # integers
    return differ <= MOST_DIFFER * cells and all(family.p >= LEAST_P for family in families)
