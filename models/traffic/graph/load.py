"""Load: who asks, how often, in which rhythm.

Open load arrives whether or not earlier requests were answered; closed load comes from a
number of users who wait for an answer and think before they ask again; replayed load
arrives at given instants.

The rate of an open load is rate (or its stages) x diurnal curve x events; `rate_at` gives
the deterministic part. A burst (two-state Markov-modulated Poisson process) is drawn by the engine.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.models.traffic.graph.laws import (
    FACTOR,
    PLACES,
    Law,
    Nanoseconds,
    NonNegative,
    Number,
    Part,
    Positive,
    Whole,
)
from simcluster.models.traffic.graph.policy import Policy

#: Requests a second.
Rate = Annotated[Number, Field(ge=0.0, le=1e9)]
#: Curves (ramps, the day) are followed in steps of this length.
CURVE_STEP_NS = 100_000_000
#: A trace with more arrivals than this is refused: every instant is kept in memory.
ARRIVALS_MAX = 10_000_000
_TWO_PI = 6.283185307179586
#: (-1)**k/(2k)!: Taylor series of the cosine, exact to 1e-15 on |x| <= pi/2.
_COS = (
    1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200, 1 / 20922789888000,
    -1 / 6402373705728000, 1 / 2432902008176640000,
)  # fmt: skip


def cosine_of_turns(turns: float) -> float:
    """cos(2 pi turns), from + and x only."""
    fraction = turns - float(int(turns))
    fraction = fraction + 1.0 if fraction < 0.0 else fraction
    fraction = min(fraction, 1.0 - fraction)  # in 0..1/2
    sign = 1.0
    if fraction > 0.25:
        fraction, sign = 0.5 - fraction, -1.0
    x = fraction * _TWO_PI
    squared, total = x * x, 0.0
    for coefficient in reversed(_COS):
        total = total * squared + coefficient
    return sign * total


class Stage(Part):
    """A stretch of the load's time line.

    Attributes:
        lasts: how long; written `for`.
        rate: requests a second during it, or at its beginning when `to` is given.
        to: rate at its end, reached in a straight line.
    """

    lasts: Positive = Field(alias="for")
    rate: Rate
    to: Rate | None = None


class Diurnal(Part):
    """The day: factor 1 + amplitude * cos(2 pi (t - peak)/period)."""

    period: Annotated[Nanoseconds, Field(ge=10 * CURVE_STEP_NS)] = 86_400_000_000_000
    amplitude: Annotated[Number, Field(ge=0.0, le=1.0)]
    peak: NonNegative = 0


class Burst(Part):
    """Bursts: for exponential times of mean `on` the rate is `factor` times as high, then normal for mean `off`."""

    factor: Annotated[Number, Field(gt=0.0, le=FACTOR)]
    on: Positive
    off: Positive


class Open(Part):
    """Arrivals that do not wait for anybody.

    Attributes:
        rate: requests a second; after the last stage, the last stage's.
        arrivals: `poisson`, or `even`: equal distances.
    """

    rate: Rate | None = None
    arrivals: Literal["poisson", "even"] = "poisson"
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)] | None = None
    diurnal: Diurnal | None = None
    burst: Burst | None = None

    @model_validator(mode="after")
    def _has_a_rate(self) -> Open:
        if (self.rate is None) == (self.stages is None):
            raise ValueError("say either rate or stages")
        return self


class Closed(Part):
    """Users who ask, wait for the answer (or the failure) and think.

    Attributes:
        users: how many; they begin spread over one mean time of thinking.
        think: time between an answer and the next request.
    """

    users: Annotated[Whole, Field(ge=1, le=2_000_000)]
    think: Law


class Replay(Part):
    """A recorded trace: instants of arrivals, or counts of equal windows (spread evenly inside each)."""

    times: Annotated[tuple[NonNegative, ...], Field(min_length=1)] | None = None
    counts: Annotated[tuple[Annotated[Whole, Field(ge=0, le=ARRIVALS_MAX)], ...], Field(min_length=1)] | None = None
    per: Positive = 1_000_000_000

    @model_validator(mode="after")
    def _is_one_thing(self) -> Replay:
        if (self.times is None) == (self.counts is None):
            raise ValueError("say either times or counts")
        if self.times is not None and list(self.times) != sorted(self.times):
            raise ValueError("the times of a trace do not go backwards")
        if sum(self.counts or ()) > ARRIVALS_MAX:  # integers
            raise ValueError(f"more than {ARRIVALS_MAX} arrivals: take a shorter trace, or an open load with stages")
        return self

    def instants(self) -> list[int]:
        """Nanoseconds of all arrivals, in order."""
        if self.times is not None:
            return list(self.times)
        found = []
        for window, count in enumerate(self.counts or ()):
            found += [window * self.per + (2 * k + 1) * self.per // (2 * count) for k in range(count)]
        return found


class Load(Part):
    """One source of requests; exactly one of `open`, `closed`, `replay`.

    Attributes:
        target: `service` or `service/operation`.
        mix: instead of a target: `service/operation` -> weight; a request keeps its operation through its retries.
        clients: callers among which the requests are spread in turn; each has its own budget, breaker,
            throttle, pool and balancer.
        call: how it calls.
    """

    target: str | None = None
    mix: Annotated[dict[str, Annotated[Number, Field(gt=0.0, le=PLACES)]], Field(min_length=1)] | None = None
    open: Open | None = None
    closed: Closed | None = None
    replay: Replay | None = None
    clients: Annotated[Whole, Field(ge=1, le=100_000)] = 1
    call: Policy = Field(default_factory=Policy)

    @model_validator(mode="after")
    def _is_one_thing(self) -> Load:
        kinds = [name for name in ("open", "closed", "replay") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError(f"say exactly one of open, closed, replay; here: {', '.join(kinds) or 'none'}")
        if (self.target is None) == (self.mix is None):
            raise ValueError("say either target or mix")
        return self

    def targets(self) -> dict[str, float]:
        """`service/operation` (or `service`) -> weight."""
        return {self.target: 1.0} if self.target is not None else dict(self.mix or {})

    def rate_at(self, t_ns: int) -> float:
        """Requests a second of an open load at an instant, without bursts and events."""
        if self.open is None:
            return 0.0
        rate = self.open.rate if self.open.rate is not None else self._staged(t_ns)
        day = self.open.diurnal
        if day is None:
            return rate
        return rate * (1.0 + day.amplitude * cosine_of_turns((t_ns - day.peak) / day.period))

    def _staged(self, t_ns: int) -> float:
        assert self.open is not None
        assert self.open.stages is not None
        for stage in self.open.stages:
            if t_ns < stage.lasts:
                return stage.rate + (
                    ((stage.to or 0.0) - stage.rate) * t_ns / stage.lasts if stage.to is not None else 0.0
                )
            t_ns -= stage.lasts
        last = self.open.stages[-1]
        return last.rate if last.to is None else last.to

    def is_curved(self) -> bool:
        """Whether the rate changes otherwise than by steps."""
        return self.open is not None and (
            self.open.diurnal is not None or any(stage.to is not None for stage in self.open.stages or ())
        )

    def change_points(self) -> list[int]:
        """Instants at which the rate steps (ends of stages)."""
        found, t_ns = [], 0
        for stage in (self.open.stages if self.open is not None else None) or ():
            t_ns += stage.lasts
            found.append(t_ns)
        return found
