"""Own elementary functions against the library's, which may differ in last bits only."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcluster.telemetry.promql import elementary

POINTS = np.concatenate(
    [np.linspace(-30.0, 30.0, 4001), np.linspace(-1.0, 1.0, 1001), np.array([0.0, -0.0, 1e-9, 1e8, 700.0, 1e300])]
)
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, math.inf, -math.inf, math.nan, 1e300, -1e300])
LIBRARY = {
    "exp": np.exp, "ln": np.log, "log2": np.log2, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_functions_of_one_number(name: str) -> None:
    points = np.concatenate([POINTS, EDGES])
    if name in ("sin", "cos", "tan"):
        points = points[(np.abs(points) < 1e9) | ~np.isfinite(points)]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(getattr(elementary, name)(points), LIBRARY[name](points), rtol=2e-13, atol=1e-15)


def test_powers_and_angles() -> None:
    x, y = np.meshgrid(np.concatenate([EDGES, np.linspace(-9.5, 9.5, 77)]), np.concatenate([EDGES, POINTS[::97]]))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(elementary.power(x, y), np.power(x, y), rtol=1e-12)
        np.testing.assert_allclose(elementary.atan2(x, y), np.arctan2(x, y), rtol=1e-13)


def test_whole_powers_are_exact() -> None:
    bases, exponents = np.meshgrid(np.arange(1.0, 11.0), np.arange(0.0, 15.0))
    expected = [
        [float(int(b) ** int(e)) for b, e in zip(*row, strict=True)] for row in zip(bases, exponents, strict=True)
    ]
    assert elementary.power(bases, exponents).tolist() == expected
    assert elementary.log2(np.array([8.0, 0.25, 1024.0])).tolist() == [3.0, -2.0, 10.0]
