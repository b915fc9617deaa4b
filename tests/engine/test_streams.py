"""Random streams: independence, portability of array and scalar draws, moments."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import Streams
from simcluster.engine.streams import (
    binomial_from_uniform,
    mix,
    poisson_from_uniform,
    uniform_at,
    uniforms_at,
)

DRAWS = 4000


def moments(values: list[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) * (v - mean) for v in values) / (len(values) - 1)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_array_draws_have_the_bits_of_scalar_draws(key: int, counter: int) -> None:
    keys = [key, key ^ 1, (key * 7 + 3) % 2**64]
    assert uniforms_at(np.array(keys, dtype=np.uint64), counter).tolist() == [uniform_at(k, counter) for k in keys]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_uniforms_lie_strictly_inside(key: int, counter: int) -> None:
    assert 0.0 < uniform_at(key, counter) < 1.0


def test_splitmix64_is_the_published_generator() -> None:
    # First outputs of SplitMix64 with seed 1234567, as published with the reference implementation.
    assert [mix(1234567, n) for n in (1, 2, 3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_one_more_stream_or_draw_moves_no_other() -> None:
    quiet, busy = Streams(7), Streams(7)
    for name in range(100):
        other = busy.stream("other", name)
        other.uniform()
    first, second = quiet.stream("kubelet", "worker-1"), busy.stream("kubelet", "worker-1")
    assert [first.bits() for _ in range(10)] == [second.bits() for _ in range(10)]


def test_seeds_and_identities_tell_streams_apart() -> None:
    keys = {
        Streams(seed).key(*identity)
        for seed in (0, 1)
        for identity in (("a", "b"), ("ab",), ("a",), ("a", 1), ("a", 2))
    }
    assert len(keys) == 10


def test_neighbouring_streams_are_uncorrelated() -> None:
    streams = Streams(3)
    a, b = streams.stream("pod", 1), streams.stream("pod", 2)
    pairs = [(a.uniform() - 0.5, b.uniform() - 0.5) for _ in range(DRAWS)]
    correlation = 12 * math.fsum(x * y for x, y in pairs) / DRAWS
    assert abs(correlation) < 4 / math.sqrt(DRAWS)


@pytest.mark.parametrize("mean", [0.05, 0.9, 7.5, 63.0, 65.0, 900.0])
def test_poisson_moments(mean: float) -> None:
    stream = Streams(11).stream("poisson", str(mean))
    found, variance = moments([stream.poisson(mean) for _ in range(DRAWS)])
    assert abs(found - mean) < 4 * math.sqrt(mean / DRAWS) + 0.01
    assert variance == pytest.approx(mean, rel=0.15)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.02), (40, 0.5), (100, 0.97), (1000, 0.4), (5000, 0.001)])
def test_binomial_moments(n: int, p: float) -> None:
    stream = Streams(12).stream("binomial", n, str(p))
    values = [stream.binomial(n, p) for _ in range(DRAWS)]
    found, variance = moments([float(v) for v in values])
    expected = n * p * (1 - p)
    assert abs(found - n * p) < 4 * math.sqrt(expected / DRAWS) + 0.01
    assert variance == pytest.approx(expected, rel=0.15)
    assert min(values) >= 0
    assert max(values) <= n


@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(1e-12, 1 - 1e-12))
def test_binomial_stays_in_range(n: int, p: float, u: float) -> None:
    assert 0 <= binomial_from_uniform(n, p, u) <= n


@given(st.floats(0, 1e6), st.floats(1e-12, 1 - 1e-12))
def test_poisson_is_never_negative_and_rises_with_u(mean: float, u: float) -> None:
    assert 0 <= poisson_from_uniform(mean, u / 2) <= poisson_from_uniform(mean, u)


def test_other_draws_have_their_moments() -> None:
    stream = Streams(5).stream("others")
    assert moments([stream.exponential(3.0) for _ in range(DRAWS)])[0] == pytest.approx(3.0, rel=0.1)
    mean, variance = moments([stream.normal(2.0, 0.5) for _ in range(DRAWS)])
    assert (mean, variance) == (pytest.approx(2.0, abs=0.05), pytest.approx(0.25, rel=0.15))
    draws = sorted(stream.lognormal(10.0, 0.8) for _ in range(DRAWS))
    assert draws[DRAWS // 2] == pytest.approx(10.0, rel=0.1)
    integers = [stream.integer(3, 5) for _ in range(DRAWS)]
    assert {n: abs(integers.count(n) - DRAWS / 3) < 150 for n in (3, 4, 5)} == {3: True, 4: True, 5: True}


def test_shuffle_and_text_are_repeatable() -> None:
    items, again = list(range(20)), list(range(20))
    Streams(1).stream("s").shuffle(items)
    Streams(1).stream("s").shuffle(again)
    assert items == again != list(range(20))
    assert sorted(items) == list(range(20))
    assert len(Streams(1).stream("t").text("abc", 7)) == 7


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_other_processes_draw_the_same(hash_seed: str) -> None:
    code = (
        "from simcluster.engine import Streams; s = Streams(9).stream('x', 3); print(s.bits(), s.lognormal(2.0, 1.0))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    here = Streams(9).stream("x", 3)
    assert result.stdout.split() == [str(here.bits()), repr(here.lognormal(2.0, 1.0))]
