"""Counter-based random streams.

A draw is a pure function of (seed, identity of the stream, counter). There is nothing to
store but the counter, and one more stream, or more draws from one, moves no other: two
runs that differ only in a fault can be compared draw by draw.

Identities are stable names ("kubelet", node name, pod uid), never creation order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.fork import Sown

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment: Steele, Lea, Flood, OOPSLA 2014
_TO_UNIT = 2.0**-53


def mix(key: int, counter: int) -> int:
    """64 random bits: the `counter`-th output of a SplitMix64 generator seeded with `key`."""
    z = (key + counter * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def uniform_at(key: int, counter: int) -> float:
    """A uniform draw in (0, 1), 53 bits."""
    # As `mix`, in place: every other function here ends up in this one.
    z = (key + counter * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (((z ^ (z >> 31)) >> 11) + 0.5) * _TO_UNIT


def uniforms_at(keys: NDArray[np.uint64], counter: int) -> NDArray[np.float64]:
    """`uniform_at(key, counter)` for every key of a one-dimensional array, same bits."""
    return _units(keys + np.uint64((counter * _GAMMA) & _MASK))


def uniform_rows(keys: NDArray[np.uint64], counters: Sequence[int]) -> NDArray[np.float64]:
    """`uniforms_at` for several counters, one row each, same bits."""
    steps = np.array([(counter * _GAMMA) & _MASK for counter in counters], dtype=np.uint64)
    return _units(keys + steps[:, None])


def uniform_run(key: int, count: int) -> NDArray[np.float64]:
    """`uniform_at(key, n)` of every n from 0 to below `count`, same bits."""
    return _units(np.arange(count, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(key & _MASK))


def _units(z: NDArray[np.uint64]) -> NDArray[np.float64]:
    """SplitMix64's last steps, and what they give in (0, 1)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    result: NDArray[np.float64] = ((z >> np.uint64(11)).astype(np.float64) + 0.5) * _TO_UNIT
    return result


def poisson_from_uniform(mean: float, u: float) -> int:
    """A Poisson count by inversion of one uniform (normal with skewness correction above 64)."""
    if mean <= 0.0:
        return 0
    if mean > 64.0:
        z = arithmetic.normal_quantile(u)
        return max(0, math.floor(mean + math.sqrt(mean) * z + (z * z - 1.0) / 6.0 + 0.5))
    probability = arithmetic.exp(-mean)
    total, count = probability, 0
    while u > total and count < 1000:
        count += 1
        probability = probability * mean / count
        total = total + probability
    return count


def binomial_from_uniform(n: int, p: float, u: float) -> int:
    """A binomial count by inversion of one uniform (normal where n p (1-p) > 64)."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if p > 0.5:
        return n - binomial_from_uniform(n, 1.0 - p, 1.0 - u)
    variance = n * p * (1.0 - p)
    if variance > 64.0:
        z = arithmetic.normal_quantile(u)
        skew = (1.0 - 2.0 * p) * (z * z - 1.0) / 6.0
        return min(n, max(0, math.floor(n * p + math.sqrt(variance) * z + skew + 0.5)))
    probability = arithmetic.exp(n * arithmetic.log(1.0 - p))
    ratio = p / (1.0 - p)
    total, count = probability, 0
    while u > total and count < n:
        probability = probability * ratio * (n - count) / (count + 1)
        count += 1
        total = total + probability
    return count


class Stream(Sown):
    """One named sequence of draws; its only state is how many were taken."""

    __slots__ = ("counter", "key")

    def __init__(self, key: int, counter: int = 0) -> None:
        self.key = key
        self.counter = counter

    def __reduce__(self) -> tuple[type[Stream], tuple[int, int]]:
        return (Stream, (self.key, self.counter))

    def copy(self) -> Stream:
        """Another one that goes on where this one stands."""
        return Stream(self.key, self.counter)

    def resown(self, salt: int) -> Stream:
        """Another one that stands as far and draws otherwise."""
        return Stream(mix(self.key, salt), self.counter)

    def bits(self) -> int:
        """64 random bits."""
        self.counter += 1
        return mix(self.key, self.counter)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Uniform in (low, high)."""
        self.counter += 1
        return low + (high - low) * uniform_at(self.key, self.counter)

    def integer(self, low: int, high: int) -> int:
        """Uniform integer in [low, high], both ends included."""
        self.counter += 1
        return low + (mix(self.key, self.counter) * (high - low + 1) >> 64)

    def uniform_ns(self, low_ns: int, high_ns: int) -> int:
        """Uniform whole nanoseconds in [low_ns, high_ns]."""
        return self.integer(low_ns, high_ns)

    def exponential(self, mean: float) -> float:
        """Exponential with the given mean."""
        return -mean * arithmetic.log(self.uniform())

    def normal(self, mean: float = 0.0, deviation: float = 1.0) -> float:
        """Normal with the given mean and standard deviation."""
        return mean + deviation * arithmetic.normal_quantile(self.uniform())

    def lognormal(self, median: float, sigma: float) -> float:
        """Log-normal: median * exp(sigma * N(0, 1))."""
        self.counter += 1
        return median * arithmetic.exp(sigma * arithmetic.normal_quantile(uniform_at(self.key, self.counter)))

    def lognormal_ns(self, median_ns: int, sigma: float) -> int:
        """Log-normal duration rounded to whole nanoseconds."""
        # As `lognormal` and `uniform_at`, in place: every watch and every step of a pod's start draws here.
        self.counter = counter = self.counter + 1
        z = (self.key + counter * _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        normal = arithmetic.normal_quantile((((z ^ (z >> 31)) >> 11) + 0.5) * _TO_UNIT)
        return math.floor(median_ns * arithmetic.exp(sigma * normal) + 0.5)

    def poisson(self, mean: float) -> int:
        """Poisson count."""
        return poisson_from_uniform(mean, self.uniform())

    def binomial(self, n: int, p: float) -> int:
        """Binomial count."""
        return binomial_from_uniform(n, p, self.uniform())

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.uniform() < p

    def choice(self, items: Sequence[T]) -> T:
        """One item, all equally likely. `items` must not be empty."""
        return items[self.integer(0, len(items) - 1)]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Fisher-Yates shuffle in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.integer(0, i)
            items[i], items[j] = items[j], items[i]

    def text(self, alphabet: str, length: int) -> str:
        """`length` characters of `alphabet`."""
        key, first, size = self.key, self.counter + 1, len(alphabet)
        self.counter += length
        return "".join([alphabet[mix(key, n) * size >> 64] for n in range(first, first + length)])


class Streams:
    """The source of all streams of one seed.

    Worlds that were one up to some instant differ from there on in `luck`, also a seed: what they draw now depends on
    it (`fresh_key`), what was so before (numbers of machines, digests of images) on `seed` alone.
    """

    __slots__ = ("luck", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.luck = seed

    def key(self, *identity: str | int) -> int:
        """The 64-bit key of an identity. Equal identities give equal keys."""
        return _key(self.seed, identity)

    def fresh_key(self, *identity: str | int) -> int:
        """The key of an identity of which the past knows nothing, such as an object that is made now."""
        return _key(self.luck, identity)

    def stream(self, *identity: str | int) -> Stream:
        """A fresh stream of the identity, at its first draw."""
        return Stream(self.key(*identity))

    def fresh(self, *identity: str | int) -> Stream:
        """The stream of a `fresh_key`."""
        return Stream(self.fresh_key(*identity))


def _key(seed: int, identity: tuple[str | int, ...]) -> int:
    text = "\0".join([str(seed), *[part if part.__class__ is str else str(part) for part in identity]])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
