"""Numbers that may be given as a share of a total (apimachinery util/intstr)."""

from __future__ import annotations


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """An int-or-percent of a total.

    >>> scaled_value("25%", 10, round_up=True), scaled_value("25%", 10, round_up=False)
    (3, 2)
    """
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%"))
    return -(-total * percent // 100) if round_up else total * percent // 100
