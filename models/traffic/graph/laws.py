"""Laws of random durations: of service, of thinking, of the network.

A law is written `{law: exponential, mean: 1ms}`; a bare duration (`1ms`) is a constant.
Which keys a law takes is in `_KEYS`. What is left out: laws whose values depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from simcluster.engine.clock import parse_duration
from simcluster.engine.content import Content
from simcluster.models.traffic.graph.refusal import shown

#: Longer durations are refused: a run is at most 31 days, and sums of longer ones overflow 64 bits.
YEAR_NS = 8784 * 3600 * 1_000_000_000
_LIKE = "written like 90s, 1m30s or 500ms"


class Part(Content):
    """Base of all parts of a graph: as any content, and no number is infinite or undefined."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _is_a_map(cls, data: Any) -> Any:
        if isinstance(data, (Mapping, Part)):
            return data
        keys = ", ".join(field.alias or name for name, field in cls.model_fields.items())
        words = "must be a map with keys of {keys}, not {value}"
        raise PydanticCustomError("not_a_map", words, {"keys": keys, "value": shown(data)})


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {shown(value)}")
    return value


def _duration(value: Any) -> Any:
    if isinstance(value, str):
        try:
            span = parse_duration(value)
        except ValueError:
            raise ValueError(f"must be a duration, {_LIKE}, not {shown(value)}") from None
        if not span and value.strip(" +-0.nuµmsh"):
            raise ValueError(f"must be zero or at least 1ns, not {shown(value)}")
        if span > YEAR_NS:
            raise ValueError(f"must be at most a year (8784h), not {shown(value)}")
        return span
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
        raise ValueError(f"a duration needs a unit: write {shown(value)}s or {shown(value)}ms")
    known = value is None or isinstance(value, (bool, int, float, list, tuple, Mapping))
    if known and (isinstance(value, bool) or value != 0):
        raise ValueError(f"must be a duration, {_LIKE}, not {shown(value)}")
    return value


def _written(value: int) -> str:
    return f"{value}ns"


#: A number; `true` is none.
Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]
#: Counts of threads, places, tokens, bytes: beyond these limits nothing changes but the arithmetic.
THREADS, PLACES, FACTOR = 1_000_000, 1_000_000_000, 1e6
#: A duration in nanoseconds, written as Go writes it, at most a year.
Nanoseconds = Annotated[int, BeforeValidator(_duration), PlainSerializer(_written)]
#: A duration above zero.
Positive = Annotated[Nanoseconds, Field(gt=0)]
#: A duration of zero or more.
NonNegative = Annotated[Nanoseconds, Field(ge=0)]
Probability = Annotated[Number, Field(ge=0.0, le=1.0)]

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

    probability: Annotated[Number, Field(gt=0.0, le=1.0)]
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
    cv: Annotated[Number, Field(gt=0.0, le=100.0)] | None = None
    stages: Annotated[Whole, Field(ge=1, le=1000)] | None = None
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
