"""Plots of an evaluation as inline SVG: bars with intervals, and a grid of tasks and agents. Axes begin at 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcluster.eval.report.markup import Markup, tag
from simcluster.eval.validation.chart import ticks

INK, FAINT, BAR = "#1f2328", "#d0d7de", "#0969da"
WIDTH, ROW, LEFT, RIGHT, BOTTOM, TOP = 900, 26, 260, 70, 30, 8
#: A letter of the labels is at most so wide.
LETTER = 7.2


class Bar(NamedTuple):
    """One bar: its label, value, and the ends of its interval (both the value where there is none)."""

    label: str
    value: float
    low: float
    high: float


def bars(found: Sequence[Bar], unit: str = "", most: float = 0.0) -> Markup:
    """Horizontal bars from 0, one a line, so that no label meets another.

    Args:
        unit: after the numbers.
        most: the axis reaches at least so far.
    """
    top = max([most, *(bar.high for bar in found)]) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / top
    height = TOP + ROW * len(found) + BOTTOM
    parts = []
    for tick in ticks(top):
        if tick <= top:
            x = LEFT + tick * scale
            parts.append(tag("line", x1=x, x2=x, y1=TOP, y2=height - BOTTOM, stroke=FAINT))
            parts.append(_text(x, height - BOTTOM + 16, f"{tick:g}{unit}", "middle"))
    for number, bar in enumerate(found):
        y = TOP + ROW * number
        middle = y + ROW / 2
        parts.append(_text(LEFT - 8, middle + 4, _fitting(bar.label), "end", bar.label))
        parts.append(tag("rect", x=LEFT, y=y + 5, width=bar.value * scale, height=ROW - 10, fill=BAR, fill_opacity=0.6))
        if bar.high > bar.low:
            ends = (LEFT + bar.low * scale, LEFT + bar.high * scale)
            parts.append(tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, stroke=INK, stroke_width=1.5))
            parts += [tag("line", x1=x, x2=x, y1=middle - 4, y2=middle + 4, stroke=INK, stroke_width=1.5) for x in ends]
        end = LEFT + max(bar.value, bar.high) * scale
        parts.append(_text(end + 6, middle + 4, f"{bar.value:.3g}{unit}"))
    view = f"0 0 {WIDTH} {height}"
    return tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=view, width=WIDTH, font_size=12)


def _fitting(label: str) -> str:
    most = int((LEFT - 16) / LETTER)
    return label if len(label) <= most else label[: most - 1] + "…"


def _text(x: float, y: float, text: str, anchor: str = "start", whole: str = "") -> Markup:
    title = tag("title", whole) if whole and whole != text else ""
    return tag("text", text, title, x=round(x, 1), y=round(y, 1), text_anchor=anchor, fill=INK)
