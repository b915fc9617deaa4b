"""Draws, laws as tables, and the constants of the queues against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.engine.arithmetic import normal_quantile
from simcluster.engine.streams import Streams, uniform_at
from simcluster.models.traffic.aggregate import stationary
from simcluster.models.traffic.aggregate.draws import PodNoise, normals, uniforms
from simcluster.models.traffic.aggregate.durations import Distribution, sum_of, values_of
from simcluster.models.traffic.graph.laws import Law

MS = 1_000_000


def test_draws_have_the_bits_of_their_scalar_twins() -> None:
    keys = np.array([3, 2**63 + 5], dtype=np.uint64)
    counters = np.array([1, 9], dtype=np.uint64)
    assert uniforms(keys, counters).tolist() == [uniform_at(3, 1), uniform_at(2**63 + 5, 9)]
    u = np.array([0.001, 0.02, 0.3, 0.5, 0.9, 0.99])
    assert normals(u).tolist() == [normal_quantile(p) for p in u.tolist()]


def test_noise_is_a_function_of_pod_and_tick() -> None:
    both, drawn = np.ones(2, dtype=bool), np.array([False, True])
    one, other = PodNoise(7, ["a/0", "b/0"], drawn), PodNoise(7, ["b/0"], both[:1])
    for mine, others in zip(one.at(90_000), other.at(90_000), strict=True):
        assert mine[1] == others[0]
    assert one.at(90_000)[3][0] == 0.0
    assert one.at(5)[1].tolist() == PodNoise(7, ["a/0", "b/0"], both).at(5)[1].tolist()


@pytest.mark.parametrize(
    "law",
    [
        Law.model_validate({"law": "deterministic", "mean": "1ms"}),
        Law.model_validate({"law": "exponential", "mean": "1ms"}),
        Law.model_validate({"law": "uniform", "low": "0s", "high": "2ms"}),
        Law.model_validate({"law": "lognormal", "mean": "1ms", "cv": 1.5}),
        Law.model_validate({"law": "gamma", "mean": "1ms", "cv": 2.0}),
        Law.model_validate({"law": "erlang", "mean": "1ms", "stages": 4}),
        Law.model_validate({"law": "hyperexponential", "mean": "1ms", "cv": 2.0}),
        Law.model_validate({"law": "empirical", "values": ("1ms", "2ms", "6ms")}),
    ],
)
def test_values_have_mean_and_variance_of_their_law(law: Law) -> None:
    values = values_of(law)
    mean = math.fsum(values.tolist()) / len(values)
    scv = math.fsum(((values - mean) * (values - mean)).tolist()) / len(values) / mean**2
    assert mean == pytest.approx(law.mean_ns, rel=0.005)
    assert scv == pytest.approx(law.scv, rel=0.06, abs=1e-9)
    assert (np.diff(values) >= 0).all()


def test_distribution_of_a_sum() -> None:
    two = sum_of(
        [
            (values_of(Law.model_validate({"mean": "1ms"})), 1.0),
            (values_of(Law.model_validate({"law": "exponential", "mean": "1ms"})), 0.5),
        ],
        Streams(1),
        "x",
    )
    table = Distribution([two])
    row = np.zeros(3, dtype=np.int64)
    below = table.below(row, np.array([0.98, 1.02, 2.0]) * MS)
    assert below[0] == pytest.approx(0.0, abs=1e-9)
    assert below[1] == pytest.approx(0.5, abs=0.02)
    assert below[2] == pytest.approx(0.5 + 0.5 * (1 - math.exp(-1)), abs=0.02)
    step = Distribution([values_of(Law.model_validate({"mean": "1ms"}))])
    assert step.mean_below(row[:1], np.array([0.5 * MS]), np.array([1.5 * MS]))[0] == pytest.approx(0.5, abs=0.01)


def test_constants_of_exponential_queues_are_exact() -> None:
    for rho in (0.2, 0.5, 0.9):
        gamma, decay = stationary.root(rho, 1.0)
        assert math.exp(-gamma) == pytest.approx(rho)
        assert decay == pytest.approx(1.0 - rho)
    shift, noise, *_ = stationary._constants(0.7, 1, 1.0)
    assert shift == pytest.approx(1.0, abs=1e-9)  # nobody waits exactly if nobody is there
    assert noise == pytest.approx(2 * 0.3 / -math.log(0.7) - 0.7)


def test_mean_wait_is_pollaczek_khinchine_and_erlang() -> None:
    for scv in (0.0, 0.25, 1.0, 4.0):
        gamma, decay = stationary.root(0.8, scv)
        shift, *_ = stationary._constants(0.8, 1, scv)
        assert math.exp(-gamma * shift) / decay == pytest.approx(0.8 * (1 + scv) / 2 / 0.2, rel=1e-6)
    # Erlang-C of 4 servers at 0.8: 0.5964
    assert stationary.erlang_c(4, 0.8) == pytest.approx(0.5964, abs=1e-4)
    assert stationary.erlang_c(16, 0.9) == pytest.approx(0.5913, abs=1e-4)
