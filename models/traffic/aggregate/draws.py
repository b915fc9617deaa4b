"""Random numbers of the aggregate engine: arrays drawn by identity and tick.

Every number is a pure function of (seed, identity, tick), so nothing but the tick is stored and
a fork draws what its origin would have drawn. Arrays for many ticks are made at once because
the array functions cost the same for 1 and for 1000 numbers; such a block is a cache and is
left out of a pickle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import Streams

Array = NDArray[np.float64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
#: Numbers in one block: enough to hide the cost of a call, little enough for the cache.
_BLOCK_NUMBERS = 16384
#: Ticks of a block that does not follow the one before: after a leap or a wide tick often only a few come.
_FEW = 4


def uniforms(keys: NDArray[np.uint64], counters: NDArray[np.uint64]) -> Array:
    """`streams.uniform_at(key, counter)` with the usual broadcasting, same bits."""
    return _unit(_bits(keys, counters))


def stratified(keys: NDArray[np.uint64], counters: NDArray[np.uint64]) -> Array:
    """Uniforms of which one lies in each of as many equal parts as there are, in random order."""
    bits = _bits(keys, counters)
    order = np.argsort((bits & np.uint64(0xFFFF)).astype(np.uint16), kind="stable")  # the uniform itself hardly knows
    result: Array = (order + _unit(bits)) / len(bits)
    return result


def _bits(keys: NDArray[np.uint64], counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = keys + counters * _GAMMA
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return result


def _unit(z: NDArray[np.uint64]) -> Array:
    result: Array = ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return result


def exponentials(u: Array) -> Array:
    """Exponentials of mean 1 from uniforms."""
    return -arithmetic.log_array(u)


def normals(u: Array) -> Array:
    """Standard normals from uniforms: the array twin of `arithmetic.normal_quantile`."""
    a, b, c, d = arithmetic._A, arithmetic._B, arithmetic._C, arithmetic._D
    q = u - 0.5
    r = q * q
    num = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q
    den = ((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1.0
    z: Array = num / den
    low, high = arithmetic._P_LOW, 1.0 - arithmetic._P_LOW
    tail = (u < low) | (u > high)
    if tail.any():
        p = np.minimum(u[tail], 1.0 - u[tail])
        s = np.sqrt(-2.0 * arithmetic.log_array(p))
        num = ((((c[0] * s + c[1]) * s + c[2]) * s + c[3]) * s + c[4]) * s + c[5]
        den = (((d[0] * s + d[1]) * s + d[2]) * s + d[3]) * s + 1.0
        z[tail] = np.where(u[tail] < 0.5, num / den, -num / den)
    return z


class PodNoise:
    """For every pod and tick: one standard normal and one exponential of mean 1 (two for bounded queues).

    Args:
        seed: of the run.
        names: stable identities of the pods.
        drawn: whether a balancer draws a pod: one standard normal more; 0 of others.
    """

    def __init__(self, seed: int, names: list[str], drawn: NDArray[np.bool_]) -> None:
        streams = Streams(seed)
        self._keys = np.array([streams.key("traffic", "pod", name) for name in names], dtype=np.uint64)
        self._drawn = np.nonzero(drawn)[0]
        splits = [streams.key("traffic", "split", names[pod]) for pod in self._drawn.tolist()]
        self._split_keys = np.array(splits, dtype=np.uint64)
        self._rows = max(8, _BLOCK_NUMBERS // max(1, len(names)))
        self._first = 0  # tick of the first row
        self._normals: Array = np.zeros((0, 0))
        self._lows: Array = np.zeros((0, 0))
        self._highs: Array = np.zeros((0, 0))
        self._splits: Array = np.zeros((0, 0))

    def __getstate__(self) -> dict[str, Any]:
        empty: Array = np.zeros((0, 0))
        blocks = dict.fromkeys(("_normals", "_lows", "_highs", "_splits"), empty)
        return {**self.__dict__, "_first": 0, **blocks}

    def uniform(self, tick: int) -> Array:
        """A uniform for every pod, apart from those of `at`."""
        return uniforms(self._keys, np.array([tick + (1 << 50)], dtype=np.uint64))

    def at(self, tick: int) -> tuple[Array, Array, Array, Array]:
        """Normals, exponentials for the lower and for the upper boundary, normals of how arrivals are split."""
        normals, lows, highs, splits = self.rows(tick, 1)
        return normals[0], lows[0], highs[0], splits[0]

    def rows(self, tick: int, most: int) -> tuple[Array, Array, Array, Array]:
        """The same for up to so many ticks, a row for each."""
        row = tick - self._first
        if not 0 <= row < len(self._normals):
            self._fill(tick, self._rows if row == len(self._normals) else _FEW)
            row = 0
        here = slice(row, row + most)
        return self._normals[here], self._lows[here], self._highs[here], self._splits[here]

    def _fill(self, tick: int, rows: int) -> None:
        ticks = np.arange(tick, tick + rows, dtype=np.uint64)[:, None]
        keys = self._keys[None, :]
        three = np.uint64(3)
        self._normals = normals(uniforms(keys, ticks * three + np.uint64(1)))
        self._lows = exponentials(uniforms(keys, ticks * three + np.uint64(2)))
        self._highs = exponentials(uniforms(keys, ticks * three + three))
        self._splits = np.zeros(self._normals.shape)
        if len(self._drawn):
            self._splits[:, self._drawn] = normals(uniforms(self._split_keys[None, :], ticks + np.uint64(1)))
        self._first = tick
