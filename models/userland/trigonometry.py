"""Sine, cosine and arc tangent by series, with the arithmetic that is the same everywhere."""

from __future__ import annotations

import math

_TURN = 6.283185307179586


def sine(x: float) -> float:
    """The sine, to about 12 digits for moderate arguments.

    >>> abs(sine(1.5707963267948966) - 1) < 1e-12
    True
    """
    x = math.fmod(x, _TURN)
    term, total, n = x, x, 1
    while abs(term) > 1e-18 and n < 60:
        term *= -x * x / ((2 * n) * (2 * n + 1))
        total += term
        n += 1
    return total


def cosine(x: float) -> float:
    """The cosine."""
    return sine(x + _TURN / 4)


def atan2(y: float, x: float) -> float:
    """The angle of a point.

    >>> round(atan2(0.0, -1.0), 12), round(4 * atan2(1.0, 1.0), 12)
    (3.14159265359, 3.14159265359)
    """
    if x == 0 and y == 0:
        return 0.0
    if abs(y) > abs(x):
        return (_TURN / 4 if y > 0 else -_TURN / 4) - _arctangent(x / y)
    angle = _arctangent(y / x)
    return angle if x > 0 else angle + (_TURN / 2 if y >= 0 else -_TURN / 2)


def _arctangent(t: float) -> float:
    for _ in range(3):  # halve the angle, so that the series is short
        t = t / (1 + math.sqrt(1 + t * t))
    term, total, n = t, t, 1
    while abs(term) > 1e-18 and n < 60:
        term *= -t * t
        total += term / (2 * n + 1)
        n += 1
    return total * 8
