"""How bad a fault can be: numbers of its parameters, from the mildest to the worst."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field

from simcluster.engine.content import Content

#: How many magnitudes there are between the mildest and the worst, both included.
LEVELS = 5


class Draw(Content):
    """Numbers of one parameter or input, at equal ratios from the mildest to the worst.

    Attributes:
        unit: what stands after the number, such as `m`; without it the value is a number.
        whole: whether it is an integer.
    """

    mild: float = Field(gt=0.0)
    worst: float = Field(gt=0.0)
    unit: str = ""
    whole: bool = False

    def at(self, level: int) -> float | int | str:
        """The value of a magnitude: 0 is the mildest, `LEVELS` - 1 the worst.

        >>> [Draw(mild=10, worst=1000).at(level) for level in range(5)], Draw(mild=120, worst=4, unit="m").at(2)
        ([10.0, 32.0, 100.0, 320.0, 1000.0], '22m')
        """
        middle = math.sqrt(self.mild * self.worst)
        steps = (self.mild, math.sqrt(self.mild * middle), middle, math.sqrt(middle * self.worst), self.worst)
        value = float(f"{steps[level]:.2g}")
        if self.unit:
            return f"{value:g}{self.unit}"
        return round(value) if self.whole else value


def magnitudes(draws: Mapping[str, Draw], level: int) -> dict[str, float | int | str]:
    """The parameters of a fault that say how bad it is, at a magnitude."""
    return {name: draw.at(level) for name, draw in draws.items()}
