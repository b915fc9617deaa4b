"""A picture as text: every curve a row of bars, all of a panel on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.eval.validation.chart import Panel

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 72


def drawn(panels: Sequence[Panel], width: int = WIDTH) -> str:
    """All panels, one below the other."""
    return "\n\n".join(_panel(panel, width) for panel in panels)


def _panel(panel: Panel, width: int) -> str:
    xs = [x for line in panel.lines for x, _ in line.points]
    low, high = (min(xs), max(xs)) if xs else (0.0, 1.0)
    span = max(high - low, 1e-9)
    peak = max((y for line in panel.lines for _, y in line.points), default=0.0) or 1.0
    column = max(len(line.name) for line in panel.lines) + 1
    rows = [f"{panel.title} (full bar: {peak:,.3g})"]
    for line in panel.lines:
        tallest: list[float | None] = [None] * width
        for x, y in line.points:
            place = min(width - 1, int((x - low) / span * width))
            before = tallest[place]
            tallest[place] = y if before is None else max(before, y)
        rows.append(f"{line.name:<{column}}{_bars(tallest, peak)}")
    marks = [" "] * width
    for x, _ in panel.marks:
        if low <= x <= high:
            marks[min(width - 1, int((x - low) / span * width))] = "^"
    labels = ", ".join(f"{x:g} s {word}" for x, word in sorted(panel.marks))
    rows.append(" " * column + "".join(marks))
    rows.append(f"{'':<{column}}{low:g} s to {high:g} s" + (f"; ^ {labels}" if labels else ""))
    return "\n".join(rows)


def _bars(values: Sequence[float | None], peak: float) -> str:
    """Bars; a column without a value repeats the one before."""
    text, last = [], 0.0
    for value in values:
        last = last if value is None else value
        text.append(BARS[min(8, max(1 if last > 0 else 0, int(8 * last / peak + 0.5)))])
    return "".join(text)
