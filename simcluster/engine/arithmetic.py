"""Elementary functions built on + - x / and exact scaling only.

Library `exp`, `log` and `pow` differ in their last bits between CPUs, NumPy and Python
versions, and a last bit forks a simulation. These give the same bits everywhere: IEEE 754
requires +, -, x, / and sqrt to be correctly rounded, and `frexp`/`ldexp` are exact.
The scalar functions and their array twins evaluate the same operations in the same order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LN2_HI = 6.93147180369123816490e-01  # 33 leading bits: k * _LN2_HI is exact for |k| < 2**20
_LN2_LO = 1.90821492927058770002e-10
_LN2 = 0.6931471805599453
_SQRT_HALF = 0.7071067811865476
#: 1/(2k+1): series of artanh, enough terms for |z| <= 0.0295 to fall below 1e-17.
_ARTANH = tuple(1.0 / (2 * k + 1) for k in range(11))
#: 1/k!: Taylor series of exp on |r| <= ln(2)/2.
_EXP = tuple(1.0 / math.factorial(k) for k in range(14))

# P. J. Acklam's rational approximation of the normal quantile, relative error < 1.15e-9.
_A = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
_B = (-5.447609879822406e01, 1.615858368580409e02, -1.556989798598866e02, 6.680131188771972e01, -1.328068155288572e01)
_C = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
_D = (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00)
_P_LOW = 0.02425


def exp(x: float) -> float:
    """e**x; 0.0 below the range of a double, inf above it."""
    if x < -745.0:
        return 0.0
    if x > 709.7:
        return math.inf
    k = math.floor(x / _LN2 + 0.5)
    r = (x - k * _LN2_HI) - k * _LN2_LO
    # Horner's scheme of `_EXP`, written out: a loop takes three times as long.
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13 = _EXP
    total = ((((c13 * r + c12) * r + c11) * r + c10) * r + c9) * r + c8
    total = ((((total * r + c7) * r + c6) * r + c5) * r + c4) * r + c3
    return math.ldexp(((total * r + c2) * r + c1) * r + c0, k)


def log(x: float) -> float:
    """Natural logarithm of x > 0.

    Raises:
        ValueError: x <= 0.
    """
    if x <= 0.0:
        raise ValueError(f"log of {x}")
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = _ARTANH
    total = ((((c10 * z + c9) * z + c8) * z + c7) * z + c6) * z + c5
    total = ((((total * z + c4) * z + c3) * z + c2) * z + c1) * z + c0
    return exponent * _LN2_HI + (2.0 * s * total + exponent * _LN2_LO)


def power(base: float, exponent: float) -> float:
    """base**exponent for base >= 0."""
    if base == 0.0:
        return 1.0 if exponent == 0.0 else 0.0
    return exp(exponent * log(base))


def normal_quantile(p: float) -> float:
    """The z with P(N(0,1) <= z) = p, for 0 < p < 1.

    Raises:
        ValueError: p is not inside (0, 1).
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"normal quantile of {p}")
    if p < _P_LOW or p > 1.0 - _P_LOW:
        q = math.sqrt(-2.0 * log(min(p, 1.0 - p)))
        num = ((((_C[0] * q + _C[1]) * q + _C[2]) * q + _C[3]) * q + _C[4]) * q + _C[5]
        den = (((_D[0] * q + _D[1]) * q + _D[2]) * q + _D[3]) * q + 1.0
        return num / den if p < 0.5 else -num / den
    q = p - 0.5
    r = q * q
    a0, a1, a2, a3, a4, a5 = _A
    b0, b1, b2, b3, b4 = _B
    num = (((((a0 * r + a1) * r + a2) * r + a3) * r + a4) * r + a5) * q
    den = ((((b0 * r + b1) * r + b2) * r + b3) * r + b4) * r + 1.0
    return num / den


def exp_array(x: Array) -> Array:
    """`exp` of every element, with the same bits."""
    clipped = np.minimum(np.maximum(x, -745.0), 709.7)
    k = np.floor(clipped / _LN2 + 0.5)
    r = (clipped - k * _LN2_HI) - k * _LN2_LO
    total = np.full_like(r, _EXP[13])
    for i in range(12, -1, -1):
        total = total * r + _EXP[i]
    scaled: Array = np.ldexp(total, k.astype(np.int64))
    scaled[x < -745.0] = 0.0
    scaled[x > 709.7] = np.inf
    return scaled


def log_array(x: Array) -> Array:
    """`log` of every element (all > 0), with the same bits."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _SQRT_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    e = exponent.astype(np.float64) - small
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    total = np.full_like(z, _ARTANH[10])
    for i in range(9, -1, -1):
        total = total * z + _ARTANH[i]
    result: Array = e * _LN2_HI + (2.0 * s * total + e * _LN2_LO)
    return result


def normal_quantile_array(p: Array) -> Array:
    """`normal_quantile` of every element (all inside (0, 1)), with the same bits."""
    low = np.minimum(p, 1.0 - p)
    q = np.sqrt(-2.0 * log_array(low))
    num = ((((_C[0] * q + _C[1]) * q + _C[2]) * q + _C[3]) * q + _C[4]) * q + _C[5]
    den = (((_D[0] * q + _D[1]) * q + _D[2]) * q + _D[3]) * q + 1.0
    tail = np.where(p < 0.5, num / den, -num / den)
    q = p - 0.5
    r = q * q
    num = (((((_A[0] * r + _A[1]) * r + _A[2]) * r + _A[3]) * r + _A[4]) * r + _A[5]) * q
    den = ((((_B[0] * r + _B[1]) * r + _B[2]) * r + _B[3]) * r + _B[4]) * r + 1.0
    middle = num / den
    result: Array = np.where((p < _P_LOW) | (p > 1.0 - _P_LOW), tail, middle)
    return result
