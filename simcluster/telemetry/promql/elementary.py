"""Elementary functions of arrays built on + - x / and sqrt, so that their bits are the same everywhere.

Methods after the Cephes library (S. L. Moshier) and Go's `math`, whose special cases are kept. Arguments of sine and
cosine beyond 2**30 lose accuracy.
"""

from __future__ import annotations

import numpy as np

from simcluster.engine.arithmetic import exp_array, log_array
from simcluster.telemetry.promql.context import Floats

LN2 = 0.6931471805599453
LN10 = 2.302585092994046
PI = 3.141592653589793
#: pi/4 in three parts, the first two with trailing zeros.
_PI4 = (7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15)
_SIN: tuple[float, ...] = (1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6)
_SIN += (-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1)
_COS: tuple[float, ...] = (-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7)
_COS += (2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2)
_ATAN_P: tuple[float, ...] = (-8.750608600031904122785e-01, -1.615753718733365076637e01, -7.500855792314704667340e01)
_ATAN_P += (-1.228866684490136173410e02, -6.485021904942025371773e01)
_ATAN_Q: tuple[float, ...] = (1.0, 2.485846490142306297962e01, 1.650270098316988542046e02, 4.328810604912902668951e02)
_ATAN_Q += (4.853903996359136964868e02, 1.945506571482613964425e02)
_TAN_3PI_8 = 2.41421356237309504880
_MOREBITS = 6.123233995736765886130e-17


def _polynomial(x: Floats, coefficients: tuple[float, ...]) -> Floats:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def exp(x: Floats) -> Floats:
    """e**x."""
    result = exp_array(np.where(np.isnan(x), 0.0, x))
    return np.where(np.isnan(x), np.nan, result)


def ln(x: Floats) -> Floats:
    """Natural logarithm; -Inf of 0, NaN below."""
    plain = (x > 0) & (x < np.inf)
    result = log_array(np.where(plain, x, 1.0))
    return np.where(plain, result, np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan)))


def log2(x: Floats) -> Floats:
    """Logarithm to the base 2, exact for powers of two."""
    mantissa, exponent = np.frexp(np.where((x > 0) & (x < np.inf), x, 1.0))
    exact = mantissa == 0.5
    result = np.where(exact, exponent - 1.0, exponent + ln(mantissa) * (1 / LN2))
    return np.where((x > 0) & (x < np.inf), result, ln(x))


def log10(x: Floats) -> Floats:
    """Logarithm to the base 10."""
    return log2(x) * (LN2 / LN10)


def power(x: Floats, y: Floats) -> Floats:
    """x**y as Go's `math.Pow`: the integer part of the exponent by squaring, the rest by exp and ln."""
    x, y = np.broadcast_arrays(x, y)
    plain = np.isfinite(x) & np.isfinite(y) & (x != 0) & (np.abs(y) < 2.0**63)
    base, exponent = np.where(plain, x, 1.0), np.where(plain, y, 1.0)
    whole = np.floor(np.abs(exponent))
    part = np.abs(exponent) - whole
    high = part > 0.5
    part, whole = np.where(high, part - 1.0, part), np.where(high, whole + 1.0, whole)
    result = np.where(part != 0, exp(part * ln(np.where(base > 0, base, 1.0))), 1.0)
    scale = np.zeros(result.shape, dtype=np.int64)
    mantissa, raised = np.frexp(base)
    raised = raised.astype(np.int64)
    # beyond 2**20 the exponent of any base but 1 overflows anyway
    left = np.minimum(whole, 2.0**62).astype(np.int64)
    while bool((left > 0).any()):
        odd = (left & 1) == 1
        result = np.where(odd, result * mantissa, result)
        scale = np.where(odd, np.clip(scale + raised, -(1 << 40), 1 << 40), scale)
        mantissa = mantissa * mantissa
        raised = np.clip(raised << 1, -(1 << 40), 1 << 40)
        small = np.abs(mantissa) < 0.5
        mantissa = np.where(small, mantissa + mantissa, mantissa)
        raised = np.where(small, raised - 1, raised)
        left = left >> 1
    negative = exponent < 0
    with np.errstate(all="ignore"):
        result, scale = np.where(negative, 1.0 / result, result), np.where(negative, -scale, scale)
        result = np.ldexp(result, np.clip(scale, -2200, 2200))
    result = np.where((base < 0) & (exponent != np.floor(exponent)), np.nan, result)
    return np.where(plain, result, _power_at_the_edge(x, y))


def _power_at_the_edge(x: Floats, y: Floats) -> Floats:
    """Where a side is zero, infinite or no number."""
    odd = (np.abs(y) < 2.0**53) & (np.floor(y) == y) & (np.fmod(np.where(np.isfinite(y), y, 0.0), 2.0) != 0)
    sign = np.where(odd & np.signbit(x), -1.0, 1.0)
    size = np.abs(x)
    grows = ((size > 1) & (y > 0)) | ((size < 1) & (y < 0))
    result = np.where(size == 1, 1.0, np.where(grows, np.inf, 0.0)) * sign
    result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
    return np.where((y == 0) | (x == 1), 1.0, result)


def _reduced(x: Floats) -> tuple[Floats, Floats]:
    """|x| without multiples of pi/4, and the octant, even."""
    octant = np.floor(x * (4 / PI))
    octant = octant + np.fmod(octant, 2.0)
    return ((x - octant * _PI4[0]) - octant * _PI4[1]) - octant * _PI4[2], np.fmod(octant, 8.0)


def _waves(z: Floats) -> tuple[Floats, Floats]:
    zz = z * z
    return z + z * zz * _polynomial(zz, _SIN), 1.0 - 0.5 * zz + zz * zz * _polynomial(zz, _COS)


def sin(x: Floats) -> Floats:
    """Sine."""
    known = np.isfinite(x)
    z, octant = _reduced(np.where(known, np.abs(x), 0.0))
    sine, cosine = _waves(z)
    sign = np.where(np.signbit(x), -1.0, 1.0) * np.where(octant > 3, -1.0, 1.0)
    folded = np.fmod(octant, 4.0)
    return np.where(known, sign * np.where(folded == 2, cosine, sine), np.nan)


def cos(x: Floats) -> Floats:
    """Cosine."""
    known = np.isfinite(x)
    z, octant = _reduced(np.where(known, np.abs(x), 0.0))
    sine, cosine = _waves(z)
    sign = np.where(octant > 3, -1.0, 1.0)
    folded = np.fmod(octant, 4.0)
    sign = np.where(folded > 1, -sign, sign)
    return np.where(known, sign * np.where(folded == 2, sine, cosine), np.nan)


def tan(x: Floats) -> Floats:
    """Tangent."""
    return sin(x) / cos(x)


def atan(x: Floats) -> Floats:
    """Arc tangent."""
    size = np.abs(x)
    large, middle = size > _TAN_3PI_8, size > 0.66
    with np.errstate(all="ignore"):
        z = np.where(large, -1.0 / size, np.where(middle, (size - 1.0) / (size + 1.0), size))
    zz = z * z
    y = zz * _polynomial(zz, _ATAN_P) / _polynomial(zz, _ATAN_Q)
    y = z * y + z
    y = np.where(large, PI / 2 + y + _MOREBITS, np.where(middle, PI / 4 + y + 0.5 * _MOREBITS, y))
    return np.where(np.isnan(x), np.nan, np.copysign(y, x))


def atan2(y: Floats, x: Floats) -> Floats:
    """Angle of the point (x, y)."""
    y, x = np.broadcast_arrays(y, x)
    with np.errstate(all="ignore"):
        angle = atan(y / x)
    angle = np.where(x < 0, np.where(np.signbit(y), angle - PI, angle + PI), angle)
    angle = np.where(x == 0, np.copysign(PI / 2, y), angle)
    angle = np.where(y == 0, np.where(np.signbit(x), np.copysign(PI, y), np.copysign(0.0, y)), angle)
    both = np.isinf(x) & np.isinf(y)
    angle = np.where(both, np.copysign(np.where(x > 0, PI / 4, 3 * PI / 4), y), angle)
    angle = np.where(np.isinf(x) & ~np.isinf(y) & (y != 0), np.copysign(np.where(x > 0, 0.0, PI), y), angle)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, angle)


def asin(x: Floats) -> Floats:
    """Arc sine."""
    with np.errstate(all="ignore"):
        root = np.sqrt(1.0 - x * x)
        size = np.abs(x)
        angle = np.where(size > 0.7, PI / 2 - atan(root / size), atan(size / root))
    return np.where(size <= 1, np.copysign(angle, x), np.nan)


def acos(x: Floats) -> Floats:
    """Arc cosine."""
    return PI / 2 - asin(x)


def sinh(x: Floats) -> Floats:
    """Hyperbolic sine."""
    size = np.abs(x)
    small = np.where(size <= 0.5, size, 0.0)
    square = small * small
    term, total = small, small
    for k in range(1, 12):
        term = term * square / (2.0 * k * (2.0 * k + 1.0))
        total = total + term
    with np.errstate(all="ignore"):
        grown = exp(np.minimum(size, 1e4))
        grown = np.where(size > 709, exp(size / 2) * 0.5 * exp(size / 2), (grown - 1.0 / grown) * 0.5)
    return np.where(np.isnan(x), np.nan, np.copysign(np.where(size <= 0.5, total, grown), x))


def cosh(x: Floats) -> Floats:
    """Hyperbolic cosine."""
    size = np.abs(x)
    with np.errstate(all="ignore"):
        grown = exp(size)
        return np.where(size > 709, exp(size / 2) * 0.5 * exp(size / 2), (grown + 1.0 / grown) * 0.5)


def tanh(x: Floats) -> Floats:
    """Hyperbolic tangent."""
    size = np.minimum(np.abs(x), 40.0)
    with np.errstate(all="ignore"):
        small = sinh(size) / cosh(size)
        large = 1.0 - 2.0 / (exp(2.0 * size) + 1.0)
    return np.where(np.isnan(x), np.nan, np.copysign(np.where(size < 0.625, small, large), x))


def _ln1p(x: Floats) -> Floats:
    """ln(1+x), exact for small x too (W. Kahan's correction)."""
    with np.errstate(all="ignore"):
        u = 1.0 + x
        return np.where(u == 1.0, x, np.where(np.isinf(u), np.inf, ln(u) * (x / np.where(u == 1.0, 1.0, u - 1.0))))


def asinh(x: Floats) -> Floats:
    """Inverse hyperbolic sine."""
    size = np.abs(x)
    with np.errstate(all="ignore"):
        near = _ln1p(size + size * size / (1.0 + np.sqrt(1.0 + size * size)))
        result = np.where(size > 2.0**28, ln(size) + LN2, near)
    return np.where(np.isnan(x), np.nan, np.copysign(result, x))


def acosh(x: Floats) -> Floats:
    """Inverse hyperbolic cosine; NaN below 1."""
    with np.errstate(all="ignore"):
        t = x - 1.0
        result = np.where(x > 2.0**28, ln(x) + LN2, _ln1p(t + np.sqrt(2.0 * t + t * t)))
    return np.where(x >= 1, result, np.nan)


def atanh(x: Floats) -> Floats:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    size = np.abs(x)
    with np.errstate(all="ignore"):
        result = 0.5 * _ln1p(2.0 * size / (1.0 - size))
    result = np.where(size == 1, np.inf, result)
    return np.where(size <= 1, np.copysign(result, x), np.nan)
