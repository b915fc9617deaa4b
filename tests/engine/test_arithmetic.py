"""Own exp, log and quantiles: close to the library's, and the same bits scalar and array."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.engine import arithmetic

finite = st.floats(-740.0, 709.0)
positive = st.floats(1e-300, 1e300)


@given(finite)
def test_exp_is_close_to_the_library(x: float) -> None:
    assert arithmetic.exp(x) == pytest.approx(math.exp(x), rel=1e-14, abs=5e-324)


@given(positive)
def test_log_is_close_to_the_library(x: float) -> None:
    assert arithmetic.log(x) == pytest.approx(math.log(x), rel=1e-14, abs=1e-16)


@given(st.lists(st.floats(-800.0, 800.0), min_size=1, max_size=20))
def test_exp_array_has_the_bits_of_exp(values: list[float]) -> None:
    assert arithmetic.exp_array(np.array(values)).tolist() == [arithmetic.exp(v) for v in values]


@given(st.lists(positive, min_size=1, max_size=20))
def test_log_array_has_the_bits_of_log(values: list[float]) -> None:
    assert arithmetic.log_array(np.array(values)).tolist() == [arithmetic.log(v) for v in values]


@given(st.floats(1e-6, 1e6), st.floats(-20.0, 20.0))
def test_power(base: float, exponent: float) -> None:
    assert arithmetic.power(base, exponent) == pytest.approx(base**exponent, rel=1e-11)


@given(st.floats(1e-9, 1 - 1e-9))
def test_normal_quantile_inverts_the_distribution(p: float) -> None:
    z = arithmetic.normal_quantile(p)
    assert 0.5 * math.erfc(-z / math.sqrt(2.0)) == pytest.approx(p, rel=2e-8)


def test_borders() -> None:
    assert (arithmetic.exp(0.0), arithmetic.log(1.0), arithmetic.exp(-1e9)) == (1.0, 0.0, 0.0)
    assert arithmetic.exp(1e9) == math.inf
    assert (arithmetic.power(0.0, 2.0), arithmetic.power(0.0, 0.0)) == (0.0, 1.0)
    for wrong in (0.0, -1.0):
        with pytest.raises(ValueError, match="log of"):
            arithmetic.log(wrong)
    for wrong in (0.0, 1.0):
        with pytest.raises(ValueError, match="quantile"):
            arithmetic.normal_quantile(wrong)
