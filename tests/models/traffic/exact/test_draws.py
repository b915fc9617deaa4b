"""Draws in blocks are the draws of `engine.streams`, and laws have their moments."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.engine import Streams
from simcluster.models.traffic.exact.draws import Durations, Exponentials, Uniforms
from simcluster.models.traffic.graph.laws import Law


def test_uniforms_are_those_of_the_stream() -> None:
    key = Streams(5).key("a")
    stream, blocks = Streams(5).stream("a"), Uniforms(key)
    assert [blocks.draw() for _ in range(200)] == [stream.uniform() for _ in range(200)]


def test_exponentials_are_those_of_the_stream() -> None:
    stream, blocks = Streams(5).stream("b"), Exponentials(Streams(5).key("b"))
    assert [blocks.draw() for _ in range(100)] == [stream.exponential(1.0) for _ in range(100)]


@pytest.mark.parametrize(
    "law",
    [
        {"law": "deterministic", "mean": "3ms"},
        {"law": "exponential", "mean": "3ms"},
        {"law": "uniform", "low": "1ms", "high": "5ms"},
        {"law": "lognormal", "mean": "3ms", "cv": 0.7},
        {"law": "gamma", "mean": "3ms", "cv": 0.5},
        {"law": "gamma", "mean": "3ms", "cv": 1.6},
        {"law": "erlang", "mean": "3ms", "stages": 3},
        {"law": "hyperexponential", "mean": "3ms", "cv": 2.0},
        {"law": "empirical", "values": ["1ms", "2ms", "6ms"]},
    ],
    ids=lambda law: law["law"],
)
def test_moments(law: dict[str, Any]) -> None:
    spec = Law.model_validate(law)
    draws = Durations(spec, Streams(1).key("x"))
    values = [draws.draw() for _ in range(12_000)]
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    assert mean == pytest.approx(spec.mean_ns, rel=0.06)
    assert variance / mean**2 == pytest.approx(spec.scv, rel=0.2, abs=0.001)
    assert min(values) >= 0
