"""A lesson taken: its runs made, its figures measured, the right answer found, the explanation worded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simcluster.eval.lessons.formula import value_of
from simcluster.eval.lessons.lesson import Figure, Lesson, marks_of
from simcluster.eval.lessons.runs import run_all
from simcluster.eval.lessons.story import Story
from simcluster.eval.validation.chart import Line, Panel, chart_svg

#: Points of a curve in a picture; more only make it large.
POINTS = 400


@dataclass(frozen=True)
class Taught:
    """What came of a lesson.

    Attributes:
        lesson: the lesson.
        stories: its runs by name.
        figures: all numbers by name.
        right: indices of the answers that the figures make right.
        explanation: the paragraphs that hold, with the numbers in them.
    """

    lesson: Lesson
    stories: Mapping[str, Story]
    figures: Mapping[str, float]
    right: tuple[int, ...]
    explanation: tuple[str, ...]

    def panels(self) -> list[Panel]:
        """The picture as curves."""
        found = []
        for panel in self.lesson.picture:
            lines: list[Line] = []
            marks: dict[tuple[float, str], None] = {}
            for curve in panel.curves:
                story = self.stories[curve.run or self.lesson.first_run]
                lines.append(Line(curve.name, story.points(curve.of)))
                marks |= dict.fromkeys(story.marks)
            found.append(Panel(panel.title, lines, list(marks)))
        return found

    def svg(self) -> str:
        """The picture."""
        panels = [
            Panel(p.title, [Line(line.name, _thin(line.points)) for line in p.lines], p.marks) for p in self.panels()
        ]
        return chart_svg(self.lesson.title, panels)

    def to_dict(self) -> dict[str, Any]:
        """The wire form of `simcluster learn --json`."""
        return {
            "id": self.lesson.id,
            "title": self.lesson.title,
            "idea": self.lesson.idea,
            "question": self.lesson.question,
            "choices": [choice.text for choice in self.lesson.choices],
            "right": [index + 1 for index in self.right],
            "figures": dict(self.figures),
            "explanation": list(self.explanation),
            "runs": {
                name: {
                    "title": story.title,
                    "began_s": story.began_s,
                    "window_s": story.window_s,
                    "marks": [{"at_s": at, "what": words} for at, words in story.marks],
                    "series": {key: list(values) for key, values in story.series.items()},
                }
                for name, story in self.stories.items()
            },
            "next": list(self.lesson.next),
        }


def teach(lesson: Lesson, progress: Callable[[str], None] | None = None) -> Taught:
    """Make the runs and measure.

    Args:
        progress: told the title of every run before it is made.

    Raises:
        ContentError, UnknownName: the lesson's graph, task or names are wrong.
    """
    stories: dict[str, Story] = {}
    titles = iter(lesson.runs.values())
    runs = run_all(lesson)
    for plan in titles:
        if progress is not None:
            progress(plan.title)
        name, story = next(runs)
        stories[name] = story
    figures: dict[str, float] = {}
    for name, figure in lesson.figures.items():
        figures[name] = _measure(figure, stories[figure.run or lesson.first_run], figures)
    right = tuple(n for n, choice in enumerate(lesson.choices) if all(c.holds(figures) for c in choice.when))
    shown = [part for part in lesson.explanation if all(c.holds(figures) for c in part.when)]
    return Taught(lesson, stories, figures, right, tuple(worded(part.text, figures) for part in shown))


def worded(text: str, figures: Mapping[str, float]) -> str:
    """A text with its figures: three digits, or whole percent for `{name:%}`."""
    numbers = {name: _Number(figures[name]) for name in marks_of(text)}
    return " ".join(text.split()).format(**numbers)


class _Number(float):
    def __format__(self, how: str) -> str:
        if how == "%":
            return f"{100.0 * self:.0f} %"
        if how:
            return format(float(self), how)
        return f"{float(self):,.0f}" if abs(self) >= 100.0 else f"{float(self):.3g}"


def _measure(figure: Figure, story: Story, figures: Mapping[str, float]) -> float:
    if figure.formula:
        return value_of(figure.formula, figures)
    if figure.know:
        return story.fact(figure.know)
    since = None if figure.since is None else figure.since / 1e9
    until = None if figure.until is None else figure.until / 1e9
    mean = story.mean(figure.of, since, until)
    if not figure.per:
        return mean
    whole = story.mean(figure.per, since, until)
    return mean / whole if whole else 0.0


def _thin(points: Any) -> list[tuple[float, float]]:
    step = max(1, -(-len(points) // POINTS))
    return list(points[::step])
