"""Numbers that may be given as a share of a total (apimachinery util/intstr)."""

from __future__ import annotations


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """An int-or-percent of a total.

    >>> scaled_value("25%", 10, round_up=True), scaled_value("25%", 10, round_up=False)
    (3, 2)
    """
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    if text == value or not text.lstrip("-").isdecimal():
        return 0  # callers of the real one log the error and go on with none
    percent = int(text)
    return -(-total * percent // 100) if round_up else total * percent // 100
