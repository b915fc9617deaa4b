"""The picture of one incident: users, pods, and what the operator did, on one time line, as SVG.

Drawn from a recorded trajectory alone, so that any recorded run can be drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.eval.report.markup import Markup, tag
from simcluster.eval.validation.chart import ticks

Record = Mapping[str, Any]
Point = tuple[float, float]  # x in the picture, value

WIDTH = 900
LEFT, RIGHT, TITLE = 72, 24, 44
PANEL, GAP, ROW, FOOT = 120, 44, 16, 78
#: A letter is at most so wide, as a share of its size.
LETTER = 0.62
INK, FAINT, USERS, PODS, OTHER = "#1f2328", "#d0d7de", "#0969da", "#1a7f37", "#8250df"
MARKS = {"incident": ("#9a6700", "incident begins"), "paged": ("#cf222e", "page"), "finished": ("#57606a", "done")}
_FONT = "ui-sans-serif, Helvetica, Arial, sans-serif"


class Panel(NamedTuple):
    """One curve over time, from 0 up.

    Attributes:
        peak: the top of its axis; 0: as the values ask for.
        unit: of the labels, after numbers that are multiplied by `factor`.
    """

    name: str
    colour: str
    points: list[Point]
    peak: float = 1.0
    unit: str = " %"
    factor: float = 100.0


def incident_svg(header: Mapping[str, Any], records: Sequence[Record], title: str, *, every_depth: bool = False) -> str:
    """An SVG document of a recorded run.

    Args:
        header, records: as `trajectory.recorder.read_jsonl` gives them; at least one record.
        title: the line above.
        every_depth: answers to the verifier's requests and what fails of the control plane as well.

    Raises:
        ValueError: there is no record.
    """
    if not records:
        raise ValueError("nothing was recorded: there is no picture to draw")
    begin_ns, end_ns = int(header["marks"]["start"]), int(records[-1]["t_ns"])
    axis = _Axis(begin_ns, (WIDTH - LEFT - RIGHT) / max(1, end_ns - begin_ns))
    panels = _panels(records, axis, every_depth)
    labels, rows = _labels(header["marks"], axis)
    top = TITLE + ROW * rows + 24
    bottom = top + len(panels) * (PANEL + GAP) - GAP
    height = bottom + FOOT
    parts = [tag("rect", width=WIDTH, height=height, fill="white"), _text(LEFT, 26, title, size=16, weight="600")]
    for number, panel in enumerate(panels):
        parts += _panel(top + number * (PANEL + GAP), panel)
    for x, at, row, anchor, (colour, words) in labels:
        parts.append(_line(x, TITLE + ROW * row - 10, x, bottom, colour, stroke_dasharray="4 3", stroke_width=1.5))
        parts.append(_text(at, TITLE + ROW * row, words, colour=colour, anchor=anchor))
    parts += [*_commands(records, axis, bottom + 34), *_seconds(axis, begin_ns, end_ns, bottom + 16)]
    view = f"0 0 {WIDTH} {height}"
    document = tag(
        "svg",
        Markup("\n".join(parts)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=view,
        font_family=_FONT,
        font_size=12,
    )
    return f"{document}\n"


def _panels(records: Sequence[Record], axis: _Axis, every_depth: bool) -> list[Panel]:
    users = [(axis.x(r["t_ns"]), _ratio(r["users"])) for r in records if r["users"]["sent"]]
    pods = [(axis.x(r["t_ns"]), float(r["d1"]["availability"])) for r in records]
    found = [Panel("requests of users that succeed", USERS, users), Panel("pods ready", PODS, pods)]
    if every_depth:
        answers = [
            (axis.x(r["t_ns"]), max(float(one["latency_ms"] or 0.0) for one in r["d3"].values()))
            for r in records
            if r["d3"]
        ]
        found.append(Panel("slowest answer to a request of the verifier", OTHER, answers, 0.0, " ms", 1.0))
        failing = [(axis.x(r["t_ns"]), float(len(r["d4"]["critical_failing"]))) for r in records]
        found.append(Panel("critical pods that do not run", MARKS["paged"][0], failing, 0.0, "", 1.0))
    return found


class _Axis:
    def __init__(self, begin_ns: int, scale: float) -> None:
        self.begin_ns = begin_ns
        self.scale = scale

    def x(self, t_ns: int) -> float:
        """Horizontal place of an instant."""
        return LEFT + (t_ns - self.begin_ns) * self.scale


def _ratio(users: Mapping[str, Any]) -> float:
    return float(users["ok"]) / float(users["sent"])


def _text(
    x: float, y: float, text: str, *, size: int = 12, weight: str = "400", anchor: str = "start", colour: str = INK
) -> Markup:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "fill": colour}
    return tag("text", text, **place, font_size=size, font_weight=weight, text_anchor=anchor)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, **more: str | float) -> Markup:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=colour, **more)


def _panel(top: float, panel: Panel) -> list[Markup]:
    """A frame from 0 to its peak with one curve, filled below."""
    highest = max((value for _, value in panel.points), default=0.0) or 1.0
    marks = [0.0, panel.peak / 2, panel.peak] if panel.peak else ticks(highest, 2)
    y: Callable[[float], float] = _Height(top, marks[-1]).y
    parts = [_text(LEFT, top - 8, panel.name, weight="600")]
    for value in marks:
        parts.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), FAINT))
        parts.append(_text(LEFT - 8, y(value) + 4, f"{value * panel.factor:g}{panel.unit}", anchor="end"))
    if panel.points:
        curve = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in panel.points)
        area = f"{panel.points[0][0]:.1f},{y(0.0):.1f} {curve} {panel.points[-1][0]:.1f},{y(0.0):.1f}"
        parts.append(tag("polygon", points=area, fill=panel.colour, fill_opacity=0.12))
        parts.append(tag("polyline", points=curve, fill="none", stroke=panel.colour, stroke_width=2))
    return parts


class _Height:
    def __init__(self, top: float, peak: float) -> None:
        self.top = top
        self.peak = peak

    def y(self, value: float) -> float:
        """Vertical place of a value."""
        return self.top + (1.0 - value / self.peak) * PANEL


#: Where a mark's line stands, where its label begins or ends (`anchor`), in which row, and its colour and words.
_Label = tuple[float, float, int, str, tuple[str, str]]


def _labels(marks: Mapping[str, int], axis: _Axis) -> tuple[list[_Label], int]:
    """Labels of the marks, each in the first row in which it meets no other; and how many rows there are."""
    found: list[_Label] = []
    ends: list[list[tuple[float, float]]] = []
    for name, (colour, words) in MARKS.items():
        if name not in marks:
            continue
        x, width = axis.x(marks[name]), LETTER * 12 * len(words)
        anchor = "start" if x + 4 + width <= WIDTH - RIGHT else "end"
        low, high = (x + 4, x + 4 + width) if anchor == "start" else (x - 4 - width, x - 4)
        row = next((n for n, taken in enumerate(ends) if all(high < a or b < low for a, b in taken)), len(ends))
        if row == len(ends):
            ends.append([])
        ends[row].append((low - 4, high + 8))
        found.append((x, low if anchor == "start" else high, row, anchor, (colour, words)))
    return found, len(ends)


def _commands(records: Sequence[Record], axis: _Axis, y: float) -> list[Markup]:
    """A dot for every command: hollow when it only looked, full when it changed something."""
    parts = [_text(LEFT - 8, y + 4, "operator", anchor="end")]
    for record in records:
        for number, (_, write, *_at) in enumerate(record["commands"]):
            x = f"{axis.x(record['t_ns']) + number * 3.0:.1f}"
            parts.append(tag("circle", cx=x, cy=f"{y:.1f}", r=4, fill=INK if write else "white", stroke=INK))
    parts.append(_text(LEFT, y + 24, "○ looked   ● changed something", size=11))
    return parts


def _seconds(axis: _Axis, begin_ns: int, end_ns: int, y: float) -> list[Markup]:
    total_s = (end_ns - begin_ns) // 10**9
    hours = max(1, -(-total_s // 36_000))  # ten labels at most
    step_s = next((s for s in (30, 60, 120, 300, 600, 1800) if total_s / s <= 10), hours * 3600)
    marks = range(0, total_s + 1, step_s)
    return [_text(axis.x(begin_ns + s * 10**9), y, f"{s // 60}:{s % 60:02d}", anchor="middle", size=11) for s in marks]
