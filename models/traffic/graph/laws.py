"""Laws of random durations: of service, of thinking, of the network.

A law is written `{law: exponential, mean: 1ms}`; a bare duration (`1ms`) is a constant.
Which keys a law takes is in `_KEYS`. What is left out: laws whose values depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from simcluster.engine.content import Content, Nanoseconds


class Part(Content):
    """Base of all parts of a graph: as any content, and no number is infinite or undefined."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


#: A duration above zero.
Positive = Annotated[Nanoseconds, Field(gt=0)]
#: A duration of zero or more.
NonNegative = Annotated[Nanoseconds, Field(ge=0)]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]

_KEYS: dict[str, tuple[str, ...]] = {
    "deterministic": ("mean",),
    "exponential": ("mean",),
    "uniform": ("low", "high"),
    "lognormal": ("mean", "cv"),
    "gamma": ("mean", "cv"),
    "erlang": ("mean", "stages"),
    "hyperexponential": ("mean", "cv"),
    "empirical": ("values",),
}
#: The other way to write a hyperexponential: by its branches.
_BRANCHES = ("branches",)


class Branch(Part):
    """One exponential of a hyperexponential law."""

    probability: Annotated[float, Field(gt=0.0, le=1.0)]
    mean: Positive


class Law(Part):
    """A law of random durations.

    Attributes:
        law: its name.
        mean, low, high: durations in nanoseconds.
        cv: standard deviation divided by the mean; of a hyperexponential at least 1. With `mean` and
            `cv` a hyperexponential has two branches of balanced means.
        stages: of an Erlang law: it is the sum of so many equal exponentials.
        branches: of a hyperexponential law, instead of `mean` and `cv`.
        values: of an empirical law: measured durations, all equally likely.
    """

    law: Literal[
        "deterministic", "exponential", "uniform", "lognormal", "gamma", "erlang", "hyperexponential", "empirical"
    ] = "deterministic"
    mean: Positive | None = None
    low: NonNegative | None = None
    high: Positive | None = None
    cv: Annotated[float, Field(gt=0.0, le=100.0)] | None = None
    stages: Annotated[int, Field(ge=1, le=1000)] | None = None
    branches: Annotated[tuple[Branch, ...], Field(min_length=1)] | None = None
    values: Annotated[tuple[NonNegative, ...], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _constant(cls, data: Any) -> Any:
        return data if isinstance(data, (Mapping, Law)) else {"law": "deterministic", "mean": data}

    @model_validator(mode="after")
    def _takes_its_keys(self) -> Law:
        given = {name for name in type(self).model_fields if name != "law" and getattr(self, name) is not None}
        wanted = _BRANCHES if self.law == "hyperexponential" and self.branches is not None else _KEYS[self.law]
        if given != {*wanted}:
            raise ValueError(
                f"a law {self.law!r} takes {' and '.join(wanted)}, not {', '.join(sorted(given)) or 'nothing'}"
            )
        if self.law == "uniform" and self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low ({self.low}ns) is above high ({self.high}ns)")
        if self.law == "hyperexponential" and self.cv is not None and self.cv < 1.0:
            raise ValueError("a hyperexponential law has a cv of at least 1; below 1 use gamma or erlang")
        if self.branches is not None:
            total = sum(round(b.probability * 1e9) for b in self.branches)  # integers
            if abs(total - 1_000_000_000) > 1000:
                raise ValueError(f"the probabilities of the branches add up to {total / 1e9:g}, not to 1")
        return self

    @property
    def mean_ns(self) -> float:
        """Mean in nanoseconds."""
        if self.law == "uniform":
            return (float(self.low or 0) + float(self.high or 0)) / 2.0
        return self._moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: variance divided by the squared mean."""
        mean = self.mean_ns
        if mean <= 0.0 or self.law == "deterministic":
            return 0.0
        if self.law == "exponential":
            return 1.0
        if self.law == "erlang":
            return 1.0 / float(self.stages or 1)
        if self.law == "uniform":
            width = float((self.high or 0) - (self.low or 0))
            return width * width / (12.0 * mean * mean)
        if self.cv is not None:
            return self.cv * self.cv
        return self._moment(2) / (mean * mean) - 1.0

    def _moment(self, order: int) -> float:
        if self.values is not None:
            return math.fsum(float(v) * (float(v) if order == 2 else 1.0) for v in self.values) / len(self.values)
        if self.branches is not None:
            if order == 1:
                return math.fsum(b.probability * b.mean for b in self.branches)
            return math.fsum(2.0 * b.probability * b.mean * b.mean for b in self.branches)
        return float(self.mean or 0)

    def two_branches(self) -> tuple[tuple[float, float], ...]:
        """(probability, mean in nanoseconds) of the exponentials of a hyperexponential law.

        Balanced means: each branch carries half of the mean. Source: Tijms, Stochastic Models,
        appendix B: p1 = (1 + sqrt((c2 - 1)/(c2 + 1)))/2, mean_i = mean/(2 p_i).
        """
        if self.branches is not None:
            return tuple((b.probability, float(b.mean)) for b in self.branches)
        assert self.mean is not None
        assert self.cv is not None
        squared = self.cv * self.cv
        first = (1.0 + math.sqrt((squared - 1.0) / (squared + 1.0))) / 2.0
        return ((first, self.mean / (2.0 * first)), (1.0 - first, self.mean / (2.0 * (1.0 - first))))
