"""The picture of one incident: users, pods, and what the operator did, on one time line, as SVG.

Drawn from a recorded trajectory alone, so that any recorded run can be drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

Record = Mapping[str, Any]
Point = tuple[float, float]  # seconds since the first record, share in 0..1

WIDTH, HEIGHT = 900, 420
LEFT, RIGHT, TOP = 64, 24, 64
PANEL, GAP = 120, 44
INK, FAINT, USERS, PODS = "#1f2328", "#d0d7de", "#0969da", "#1a7f37"
MARKS = {"incident": ("#9a6700", "incident begins"), "paged": ("#cf222e", "page"), "finished": ("#57606a", "done")}
_STYLE = "font-family='ui-sans-serif, Helvetica, Arial, sans-serif'"


def incident_svg(header: Mapping[str, Any], records: Sequence[Record], title: str) -> str:
    """An SVG document of a recorded run.

    Args:
        header, records: as `trajectory.recorder.read_jsonl` gives them; at least one record.
        title: the line above.

    Raises:
        ValueError: there is no record.
    """
    if not records:
        raise ValueError("nothing was recorded: there is no picture to draw")
    begin_ns, end_ns = int(header["marks"]["start"]), int(records[-1]["t_ns"])
    scale = (WIDTH - LEFT - RIGHT) / max(1, end_ns - begin_ns)
    axis = _Axis(begin_ns, scale)
    users = [(axis.x(r["t_ns"]), _ratio(r["users"])) for r in records if r["users"]["sent"]]
    pods = [(axis.x(r["t_ns"]), float(r["d1"]["availability"])) for r in records]
    second = TOP + PANEL + GAP
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {_STYLE} font-size='12'>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        _text(LEFT, 26, title, size=16, weight="600"),
        *_panel(TOP, "requests of users that succeed", users, USERS),
        *_panel(second, "pods ready", pods, PODS),
        *_marks(header["marks"], axis, second + PANEL),
        *_commands(records, axis, second + PANEL + 34),
        *_seconds(axis, begin_ns, end_ns, second + PANEL + 16),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Axis:
    def __init__(self, begin_ns: int, scale: float) -> None:
        self.begin_ns = begin_ns
        self.scale = scale

    def x(self, t_ns: int) -> float:
        """Horizontal place of an instant."""
        return LEFT + (t_ns - self.begin_ns) * self.scale


def _ratio(users: Mapping[str, Any]) -> float:
    return float(users["ok"]) / float(users["sent"])


def _text(x: float, y: float, text: str, *, size: int = 12, weight: str = "400", anchor: str = "start") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' fill='{INK}' font-size='{size}' font-weight='{weight}' "
        f"text-anchor='{anchor}'>{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, extra: str = "") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' {extra}/>"


def _panel(top: float, name: str, points: Sequence[Point], colour: str) -> list[str]:
    """A frame from 0 to 100 % with one curve, filled below."""
    y: Callable[[float], float] = _Height(top).y
    parts = [_text(LEFT, top - 8, name, weight="600")]
    for share in (0.0, 0.5, 1.0):
        parts.append(_line(LEFT, y(share), WIDTH - RIGHT, y(share), FAINT))
        parts.append(_text(LEFT - 8, y(share) + 4, f"{share * 100:.0f} %", anchor="end"))
    if points:
        curve = " ".join(f"{x:.1f},{y(share):.1f}" for x, share in points)
        area = f"{points[0][0]:.1f},{y(0.0):.1f} {curve} {points[-1][0]:.1f},{y(0.0):.1f}"
        parts.append(f"<polygon points='{area}' fill='{colour}' fill-opacity='0.12'/>")
        parts.append(f"<polyline points='{curve}' fill='none' stroke='{colour}' stroke-width='2'/>")
    return parts


class _Height:
    def __init__(self, top: float) -> None:
        self.top = top

    def y(self, share: float) -> float:
        """Vertical place of a share."""
        return self.top + (1.0 - share) * PANEL


def _marks(marks: Mapping[str, int], axis: _Axis, bottom: float) -> list[str]:
    parts = []
    for name, (colour, words) in MARKS.items():
        if name in marks:
            x = axis.x(marks[name])
            parts.append(_line(x, TOP - 4, x, bottom, colour, "stroke-dasharray='4 3' stroke-width='1.5'"))
            parts.append(f"<text x='{x + 4:.1f}' y='{TOP - 22}' fill='{colour}' font-size='12'>{words}</text>")
    return parts


def _commands(records: Sequence[Record], axis: _Axis, y: float) -> list[str]:
    """A dot for every command: hollow when it only looked, full when it changed something."""
    parts = [_text(LEFT - 8, y + 4, "operator", anchor="end")]
    for record in records:
        for number, (_, write, *_at) in enumerate(record["commands"]):
            fill = INK if write else "white"
            x = axis.x(record["t_ns"]) + number * 3.0
            parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{fill}' stroke='{INK}'/>")
    parts.append(_text(LEFT, y + 24, "○ looked   ● changed something", size=11))
    return parts


def _seconds(axis: _Axis, begin_ns: int, end_ns: int, y: float) -> list[str]:
    total_s = (end_ns - begin_ns) // 10**9
    step_s = next((s for s in (30, 60, 120, 300, 600, 1800) if total_s / s <= 10), 3600)
    ticks = range(0, total_s + 1, step_s)
    return [_text(axis.x(begin_ns + s * 10**9), y, f"{s // 60}:{s % 60:02d}", anchor="middle", size=11) for s in ticks]
