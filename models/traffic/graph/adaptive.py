"""Concurrency limits that adapt to response times: what a replica lets in at once.

Sources: Envoy, adaptive concurrency filter (gradient controller: limit x (minRTT + buffer)/sampleRTT + sqrt(limit),
every 100 ms, minRTT of at least 50 requests, buffer 25 %, the gradient between 0.5 and 2); Netflix concurrency-limits
(`AIMDLimit`: x 0.9 after a timeout, + 1 while half of it is used; `VegasLimit`: the queue limit x (1 - minRTT/RTT) is
kept between 3 and 6 log10(limit), in steps of log10(limit)). Netflix's constants are from memory.

What is left out: that Envoy lets in only 3 requests while it measures minRTT again (here it is the shortest mean of a
window so far, or given), and samples of single requests (here: the mean of a window).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.engine import arithmetic
from simcluster.models.traffic.graph.laws import PLACES, Number, Part, Positive, Whole

#: Requests of which the shortest response time is the mean at least (Envoy's `request_count`).
_KNOWN = 50.0
_LN10 = 2.302585092994046


class Adaptive(Part):
    """A limit on the requests of a replica, waiting or being served, that follows their response time.

    Attributes:
        kind: `gradient`, `aimd` or `vegas`.
        initial, least, most: the limit at the beginning, and its bounds.
        every: length of a window, after which the limit is set.
        fastest: response time without load, if it is not to be measured (`gradient`, `vegas`).
        buffer: of `gradient`: by what share a response may take longer before the limit falls.
        timeout: of `aimd`: a longer mean response time lowers the limit.
        backoff: of `aimd`: factor by which.
    """

    kind: Literal["gradient", "aimd", "vegas"]
    initial: Annotated[Whole, Field(ge=1, le=PLACES)] = 20
    least: Annotated[Whole, Field(ge=1, le=PLACES)] = 3
    most: Annotated[Whole, Field(ge=1, le=PLACES)] = 1000
    every: Positive = 100_000_000
    fastest: Positive | None = None
    buffer: Annotated[Number, Field(ge=0.0, le=10.0)] = 0.25
    timeout: Positive | None = None
    backoff: Annotated[Number, Field(ge=0.5, lt=1.0)] = 0.9

    @model_validator(mode="after")
    def _makes_sense(self) -> Adaptive:
        if not self.least <= self.initial <= self.most:
            raise ValueError(f"initial ({self.initial}) is not between least ({self.least}) and most ({self.most})")
        if (self.kind == "aimd") != (self.timeout is not None):
            raise ValueError("aimd needs the timeout above which it backs off; the other kinds take none")
        return self


class Limiter:
    """The limit of one replica."""

    __slots__ = ("fastest", "limit", "spec")

    def __init__(self, spec: Adaptive) -> None:
        self.spec = spec
        self.limit = float(spec.initial)
        self.fastest = float(spec.fastest) if spec.fastest is not None else math.inf

    def update(self, mean_ns: float, count: float, peak: float) -> None:
        """The end of a window.

        Args:
            mean_ns: mean response time of its answers; count: how many.
            peak: most requests that were inside.
        """
        spec = self.spec
        if spec.fastest is None and count >= _KNOWN:
            self.fastest = min(self.fastest, mean_ns)
        if spec.kind == "aimd":
            limit = self._by_timeout(mean_ns, peak)
        elif self.fastest == math.inf:
            return
        elif spec.kind == "gradient":
            gradient = min(max(self.fastest * (1.0 + spec.buffer) / max(mean_ns, 1.0), 0.5), 2.0)
            limit = self.limit * gradient + math.sqrt(self.limit)
        else:
            limit = self._by_queue(mean_ns, peak)
        self.limit = min(max(limit, float(spec.least)), float(spec.most))

    def _by_timeout(self, mean_ns: float, peak: float) -> float:
        assert self.spec.timeout is not None
        if mean_ns > self.spec.timeout:
            return self.limit * self.spec.backoff
        return self.limit + 1.0 if 2.0 * peak >= self.limit else self.limit

    def _by_queue(self, mean_ns: float, peak: float) -> float:
        step = max(1.0, arithmetic.log(max(self.limit, 1.0)) / _LN10)
        queue = self.limit * (1.0 - min(self.fastest / max(mean_ns, 1.0), 1.0))
        if queue > 6.0 * step:
            return self.limit - step
        return self.limit + step if queue < 3.0 * step and 2.0 * peak >= self.limit else self.limit
