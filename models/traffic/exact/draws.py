"""Random durations in blocks: the draws of `engine.streams`, hundreds at a time.

The k-th uniform of a stream is the one `Stream.uniform()` would give; a block only computes
them together, in NumPy, because a draw in plain Python costs as much as the event it is for.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import Stream, arithmetic
from simcluster.engine.streams import uniforms_at
from simcluster.models.traffic.graph.laws import Law

_GAMMA = 0x9E3779B97F4A7C15  # of SplitMix64, see engine.streams
_MASK = (1 << 64) - 1
FIRST_BLOCK, LARGEST_BLOCK = 32, 4096


class Uniforms:
    """Uniform draws in (0, 1) of one stream."""

    __slots__ = ("block", "counter", "key", "size")

    def __init__(self, key: int) -> None:
        self.key = key
        self.counter = 0
        self.size = FIRST_BLOCK
        self.block: list[float] = []

    def array(self, count: int) -> NDArray[np.float64]:
        """The next `count` draws."""
        start = (self.key + self.counter * _GAMMA) & _MASK
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GAMMA)
        self.counter += count
        return uniforms_at(steps + np.uint64(start), 0)

    def draw(self) -> float:
        """The next draw."""
        if not self.block:
            self.block.extend(self.array(self.size)[::-1].tolist())
            self.size = min(2 * self.size, LARGEST_BLOCK)
        return self.block.pop()


class Durations:
    """Draws of a law, in whole nanoseconds."""

    __slots__ = ("block", "law", "size", "source")

    def __init__(self, law: Law, key: int) -> None:
        self.law = law
        self.source = Uniforms(key)
        self.size = FIRST_BLOCK
        self.block: list[int] = []

    def draw(self) -> int:
        """The next duration."""
        if not self.block:
            self.block.extend(self._durations(self.size)[::-1])
            self.size = min(2 * self.size, LARGEST_BLOCK)
        return self.block.pop()

    def _durations(self, count: int) -> list[int]:
        values = np.floor(_LAWS[self.law.law](self.law, self.source, count) + 0.5)
        found: list[int] = values.astype(np.int64).tolist()
        return found


class Exponentials:
    """Exponential draws of mean 1."""

    __slots__ = ("block", "size", "source")

    def __init__(self, key: int) -> None:
        self.source = Uniforms(key)
        self.size = FIRST_BLOCK
        self.block: list[float] = []

    def draw(self) -> float:
        """The next draw."""
        if not self.block:
            self.block.extend((-arithmetic.log_array(self.source.array(self.size)))[::-1].tolist())
            self.size = min(2 * self.size, LARGEST_BLOCK)
        return self.block.pop()


Floats = NDArray[np.float64]


def _deterministic(law: Law, source: Uniforms, count: int) -> Floats:
    return np.full(count, law.mean_ns)


def _exponential(law: Law, source: Uniforms, count: int) -> Floats:
    return -law.mean_ns * arithmetic.log_array(source.array(count))


def _uniform(law: Law, source: Uniforms, count: int) -> Floats:
    low = float(law.low or 0)
    return low + (float(law.high or 0) - low) * source.array(count)


def _erlang(law: Law, source: Uniforms, count: int) -> Floats:
    stages = law.stages or 1
    total = np.zeros(count)
    for _ in range(stages):
        total = total - arithmetic.log_array(source.array(count))
    return total * (law.mean_ns / stages)


def _hyperexponential(law: Law, source: Uniforms, count: int) -> Floats:
    choice, size = source.array(count), -arithmetic.log_array(source.array(count))
    found, below = np.zeros(count), 0.0
    for probability, mean in law.two_branches():
        found = np.where((choice >= below) & (choice < below + probability), mean * size, found)
        below += probability
    last = law.two_branches()[-1]
    return np.where(choice >= below, last[1] * size, found)  # rounding of the probabilities


def _lognormal(law: Law, source: Uniforms, count: int) -> Floats:
    squared = arithmetic.log(1.0 + law.scv)
    sigma = math.sqrt(squared)
    middle = arithmetic.log(law.mean_ns) - 0.5 * squared
    normals = np.array([arithmetic.normal_quantile(u) for u in source.array(count).tolist()])
    return arithmetic.exp_array(middle + sigma * normals)


def _gamma(law: Law, source: Uniforms, count: int) -> Floats:
    shape = 1.0 / law.scv
    stream = Stream(source.key)
    stream.counter = source.counter
    unit = [_unit_gamma(shape, stream) for _ in range(count)]
    source.counter = stream.counter
    return np.array(unit) * (law.mean_ns / shape)


def _unit_gamma(shape: float, stream: Stream) -> float:
    """Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26 (2000)."""
    if shape < 1.0:
        return _unit_gamma(shape + 1.0, stream) * arithmetic.power(stream.uniform(), 1.0 / shape)
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = stream.normal()
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if arithmetic.log(stream.uniform()) < 0.5 * x * x + d - d * v + d * arithmetic.log(v):
            return d * v


def _empirical(law: Law, source: Uniforms, count: int) -> Floats:
    values = np.array(law.values or (0,), dtype=np.float64)
    found: Floats = values[np.floor(source.array(count) * len(values)).astype(np.int64)]
    return found


_LAWS = {
    "deterministic": _deterministic,
    "exponential": _exponential,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "gamma": _gamma,
    "erlang": _erlang,
    "hyperexponential": _hyperexponential,
    "empirical": _empirical,
}
