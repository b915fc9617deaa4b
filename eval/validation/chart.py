"""Line charts and maps as SVG, for series of traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

INK, FAINT = "#1f2328", "#d0d7de"
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989", "#0a7ea4")
WIDTH, LEFT, RIGHT, TOP, PANEL, GAP = 900, 72, 150, 56, 150, 52
_STYLE = "font-family='ui-sans-serif, Helvetica, Arial, sans-serif' font-size='12'"


@dataclass(frozen=True)
class Line:
    """One named curve: (x, y) points in order of x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One diagram of curves with a common vertical scale; marks are (x, word) vertical lines."""

    title: str
    lines: Sequence[Line]
    marks: Sequence[tuple[float, str]] = ()


def chart_svg(title: str, panels: Sequence[Panel], unit: str = "s") -> str:
    """Panels below each other on one horizontal axis."""
    xs = [x for panel in panels for line in panel.lines for x, _ in line.points] or [0.0]
    low, high = min(xs), max(xs)
    height = TOP + len(panels) * (PANEL + GAP)
    parts = [*_head(height), _text(LEFT, 26, title, size=16, weight="600")]
    for number, panel in enumerate(panels):
        parts += _panel(panel, TOP + number * (PANEL + GAP), low, max(high, low + 1e-9), unit)
    return "\n".join([*parts, "</svg>"]) + "\n"


def map_svg(
    title: str, columns: Sequence[str], rows: Sequence[str], shares: Sequence[Sequence[float]], across: str, down: str
) -> str:
    """A map of shares in 0..1: white is 0, red is 1.

    Args:
        columns, rows: labels; `across` and `down` name the axes.
        shares: one list for each row, from the top.
    """
    cell_w, cell_h = (WIDTH - LEFT - 60) / len(columns), 26.0
    height = round(TOP + cell_h * len(rows) + 60)
    parts = [*_head(height), _text(LEFT, 26, title, size=16, weight="600"), _text(LEFT - 60, TOP - 8, down)]
    for y, (label, line) in enumerate(zip(rows, shares, strict=True)):
        top = TOP + y * cell_h
        parts.append(_text(LEFT - 8, top + 17, label, anchor="end"))
        for x, value in enumerate(line):
            parts.append(
                f"<rect x='{LEFT + x * cell_w:.1f}' y='{top:.1f}' width='{cell_w:.1f}' height='{cell_h}' "
                f"fill='{_red(value)}' stroke='{FAINT}'/>"
            )
    bottom = TOP + cell_h * len(rows) + 18
    parts += [_text(LEFT + (x + 0.5) * cell_w, bottom, label, anchor="middle") for x, label in enumerate(columns)]
    parts.append(_text(LEFT, bottom + 22, across))
    for k, share in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        at = WIDTH - 60 - 5 * 62 + k * 62
        parts.append(
            f"<rect x='{at}' y='{bottom + 11:.1f}' width='14' height='14' fill='{_red(share)}' stroke='{FAINT}'/>"
        )
        parts.append(_text(at + 18, bottom + 22, f"{share:.0%}"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _red(share: float) -> str:
    return f"rgb({round(255 - 48 * share)},{round(255 - 221 * share)},{round(255 - 209 * share)})"


def _head(height: int) -> list[str]:
    return [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' {_STYLE}>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
    ]


def _text(x: float, y: float, text: str, *, size: int = 12, weight: str = "400", anchor: str = "start") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' fill='{INK}' font-size='{size}' font-weight='{weight}' "
        f"text-anchor='{anchor}'>{escape(text)}</text>"
    )


def ticks(peak: float, about: int = 4) -> list[float]:
    """Round values from 0 to at least `peak`, about so many steps of 1, 2 or 5 times a power of ten."""
    raw = max(peak, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * 0.999)
    return [step * k for k in range(math.ceil(peak / step - 1e-9) + 1)]


def _panel(panel: Panel, top: float, low: float, high: float, unit: str) -> list[str]:
    scale = (WIDTH - LEFT - RIGHT) / (high - low)
    marks = ticks(max((y for line in panel.lines for _, y in line.points), default=0.0) or 1.0)
    peak = marks[-1]
    parts = [_text(LEFT, top - 8, panel.title, weight="600")]
    for value in marks:
        y = top + PANEL * (1.0 - value / peak)
        parts.append(f"<line x1='{LEFT}' y1='{y:.1f}' x2='{WIDTH - RIGHT}' y2='{y:.1f}' stroke='{FAINT}'/>")
        parts.append(_text(LEFT - 8, y + 4, f"{value:,.10g}", anchor="end"))
    for number, (x, word) in enumerate(panel.marks):
        at = LEFT + (x - low) * scale
        parts.append(
            f"<line x1='{at:.1f}' y1='{top:.1f}' x2='{at:.1f}' y2='{top + PANEL:.1f}' stroke='{INK}' "
            "stroke-dasharray='4 3'/>"
        )
        parts.append(_text(at + 4, top + 12 + 13 * (number % 3), word, size=11))
    for number, line in enumerate(panel.lines):
        colour = COLOURS[number % len(COLOURS)]
        curve = " ".join(f"{LEFT + (x - low) * scale:.1f},{top + PANEL * (1.0 - y / peak):.1f}" for x, y in line.points)
        parts.append(f"<polyline points='{curve}' fill='none' stroke='{colour}' stroke-width='1.6'/>")
        parts.append(
            f"<text x='{WIDTH - RIGHT + 8}' y='{top + 14 + 16 * number:.1f}' fill='{colour}'>{escape(line.name)}</text>"
        )
    for value in ticks(high - low, 6):
        if low + value <= high * 1.0001:
            at = LEFT + value * scale
            parts.append(_text(at, top + PANEL + 16, f"{low + value:,.6g} {unit}", anchor="middle", size=11))
    return parts
