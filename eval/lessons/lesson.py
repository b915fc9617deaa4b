"""A lesson: one YAML file with an idea, a question, runs, figures, a picture and an explanation.

Nothing in it states a result. Which answer is right, and which paragraph of the explanation is
shown, is decided by figures that are taken from the runs; what the texts say in numbers are these
figures too. A lesson on another failure mode is another file; a new kind of run is a class in
`runs` and one line there.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from simcluster.engine.content import Content, Library, Nanoseconds, Piece, nearest, piece_of, read_document
from simcluster.eval.lessons.formula import WrongFormula, names_in
from simcluster.tasks.model import Step

CATALOG = Path(__file__).parent / "catalog"


class RunPlan(Content):
    """One run.

    Attributes:
        title: what is different in it, in a few words.
        changes: of a run of a graph: keys with dots (`load.users.call.retries.attempts`) and their values.
        steps: of a run of a task or room: what the operator does, as in a reference fix.
        watch: of a run of a task: how long it is watched after that; of a room: from the first fault on.
        task: of a run of a room: another task than the lesson's.
        calm: of a run of a room: the faults do not happen.
        after: of a run of a room: so long after the first fault the operator begins.
    """

    title: str
    changes: dict[str, Any] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    watch: Nanoseconds = 0
    task: str = ""
    calm: bool = False
    after: Nanoseconds = 0


class Figure(Content):
    """One number, by name.

    Attributes:
        run: the run it is taken from, by default the first one.
        of: a series (`users.ok`); its mean from `since` to `until` (both of the run's time; by default all).
        per: another series; the figure is then the ratio of the two means.
        know: what the run's graph says: `capacity SERVICE`, `attempts CALLER`, `timeout CALLER` or `rate LOAD`.
        formula: arithmetic on figures above it.
    """

    run: str = ""
    of: str = ""
    per: str = ""
    since: Nanoseconds | None = Field(alias="from", default=None)
    until: Nanoseconds | None = Field(alias="to", default=None)
    know: str = ""
    formula: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Figure:
        if [bool(self.of), bool(self.know), bool(self.formula)].count(True) != 1:
            raise ValueError("a figure has exactly one of 'of', 'know' and 'formula'")
        return self


class Condition(Content):
    """A figure lies above or below something."""

    figure: str
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _compares(self) -> Condition:
        if self.above is None and self.below is None:
            raise ValueError("say above, below or both")
        return self

    def holds(self, figures: dict[str, float]) -> bool:
        """Whether it does."""
        value = figures[self.figure]
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)


class Choice(Content):
    """A possible answer; it is right when all of `when` holds."""

    text: str
    when: tuple[Condition, ...] = Field(min_length=1)


class Paragraph(Content):
    """A part of the explanation, shown when all of `when` holds. `{name}` is a figure, `{name:%}` a share."""

    text: str
    when: tuple[Condition, ...] = ()


class Curve(Content):
    """A series of a run, under a name."""

    name: str
    of: str
    run: str = ""


class PanelPlan(Content):
    """Curves with one vertical scale."""

    title: str
    curves: tuple[Curve, ...] = Field(min_length=1)


class Lesson(Piece):
    """One lesson.

    Attributes:
        title, idea, question: for the reader.
        choices: possible answers.
        graph: a call graph, of which every run is a variant; or
        task: the id of a task, of which every run is an episode; or
        room: the id of a task, of which every run is watched from before its fault on, machines and drives included.
        engine: of a graph: `exact` or `aggregate`, or `cluster`: pods of a sandbox run it.
        seed: of all runs.
        order: place in the list.
        runs: by name; figures without a run are of the first.
        figures: by name, from above to below.
        picture, explanation: what is shown afterwards.
        next: commands to try.
    """

    title: str
    order: int = 100
    idea: str
    question: str
    choices: tuple[Choice, ...] = Field(min_length=2)
    graph: dict[str, Any] = Field(default_factory=dict)
    task: str = ""
    room: str = ""
    engine: str = Field(default="exact", pattern="^(exact|aggregate|cluster)$")
    seed: int = 0
    runs: dict[str, RunPlan] = Field(min_length=1)
    figures: dict[str, Figure] = Field(min_length=1)
    picture: tuple[PanelPlan, ...] = Field(min_length=1)
    explanation: tuple[Paragraph, ...] = Field(min_length=1)
    next: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Lesson:
        if [bool(self.graph), bool(self.task), bool(self.room)].count(True) != 1:
            raise ValueError("a lesson has either a graph or a task or a room")
        self._check_runs()
        known: list[str] = []
        for name, figure in self.figures.items():
            try:
                used = names_in(figure.formula) if figure.formula else []
            except WrongFormula as error:
                raise ValueError(f"figures.{name}: {error}") from None
            _known("figure", used, known)
            known.append(name)
        parts: list[Choice | Paragraph] = [*self.choices, *self.explanation]
        for part in parts:
            _known("figure", [condition.figure for condition in part.when], known)
            _known("figure", marks_of(part.text), known)
        return self

    def _check_runs(self) -> None:
        curves = [curve.run for panel in self.picture for curve in panel.curves]
        _known("run", [name for name in (*curves, *(f.run for f in self.figures.values())) if name], list(self.runs))
        for name, plan in self.runs.items():
            if self.graph and (plan.steps or plan.watch):
                raise ValueError(f"runs.{name}: a run of a graph has changes, not steps")
            if not self.graph and (plan.changes or not plan.watch):
                raise ValueError(f"runs.{name}: a run of a task has steps and a time to watch")
            if not self.room and (plan.task or plan.calm or plan.after):
                raise ValueError(f"runs.{name}: only runs of a room have a task, are calm, or wait before their steps")

    @property
    def first_run(self) -> str:
        """Name of the first run."""
        return next(iter(self.runs))


def marks_of(text: str) -> list[str]:
    """Names in braces."""
    return [field for _, field, _, _ in string.Formatter().parse(text) if field]


def _known(kind: str, names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            offer = ", ".join(nearest(name, known) or known) or "none so far"
            raise ValueError(f"unknown {kind} {name!r}; did you mean {offer}?")


def ids(library: Library | None = None) -> list[str]:
    """Ids of all lessons, in the order in which they are best taken."""
    found = [load(lesson_id, library) for lesson_id in (library or Library()).files("lessons", CATALOG)]
    return [lesson.id for lesson in sorted(found, key=lambda lesson: (lesson.order, lesson.id))]


def load(id_or_path: str, library: Library | None = None) -> Lesson:
    """A lesson by id or by path.

    Raises:
        UnknownName: there is none; the nearest are listed.
        ContentError: its file is wrong.
    """
    path = (library or Library()).path_of("lesson", id_or_path, "lessons", CATALOG)
    return piece_of(read_document(path), Lesson)
