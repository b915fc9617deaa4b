"""`simcluster learn`: failure modes, with a prediction, a run, a picture and an explanation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from simcluster.cli import completing
from simcluster.cli.output import console, print_json
from simcluster.engine.content import Library


@click.command("learn", short_help="Learn failure modes: predict, run, see, understand.")
@click.argument("lesson", required=False, shell_complete=completing.lessons)
@click.option("--answer", default=None, type=click.IntRange(1), help="Your prediction, by number, without being asked.")
@click.option("--yes", is_flag=True, help="Do not ask for a prediction.")
@click.option("--out", default=None, type=click.Path(path_type=Path, file_okay=False), help="Write LESSON.svg there.")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def command(
    lesson: str | None, answer: int | None, yes: bool, out: Path | None, folders: tuple[str, ...], as_json: bool
) -> None:
    """Take a LESSON (an id or a file), or list them."""
    from simcluster.eval.lessons import load

    library = Library(tuple(Path(folder) for folder in folders))
    if lesson is None:
        _list(library, as_json)
        return
    found = load(lesson, library)
    if answer is not None and answer > len(found.choices):
        raise click.BadParameter(f"the lesson has answers 1 to {len(found.choices)}", param_hint="--answer")
    if not as_json:
        _introduce(found)
        answer = answer or _ask(found, yes)
    taught = _teach(found)
    files = []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        files.append(out / f"{found.id}.svg")
        files[0].write_text(taught.svg())
    if as_json:
        right = None if answer is None else answer - 1 in taught.right
        print_json({**taught.to_dict(), "answer": answer, "answer_is_right": right, "files": [str(f) for f in files]})
        return
    _show(taught, answer)
    for file in files:
        console().print(f"The picture is in {file}.")


def rows_of(library: Library) -> list[dict[str, Any]]:
    """All lessons, for `list`."""
    from simcluster.eval.lessons import ids, load

    lessons = [load(lesson_id, library) for lesson_id in ids(library)]
    return [{"id": lesson.id, "title": lesson.title, "idea": lesson.idea} for lesson in lessons]


def _list(library: Library, as_json: bool) -> None:
    rows = rows_of(library)
    if as_json:
        print_json(rows)
        return
    table = Table("lesson", "title")
    for row in rows:
        table.add_row(row["id"], row["title"])
    out = console()
    out.print(table)
    if rows:
        out.print(f"Take one: simcluster learn {rows[0]['id']}")


def _introduce(lesson: Any) -> None:
    out = console()
    out.print(lesson.title, style="bold")
    out.print(lesson.idea)
    out.print()
    out.print(lesson.question, style="bold")
    for number, choice in enumerate(lesson.choices, 1):
        out.print(f"  {number}. {choice.text}")
    out.print()


def _ask(lesson: Any, yes: bool) -> int | None:
    """The reader's prediction; None if there is nobody to ask."""
    if yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        why = "--yes" if yes else "no terminal"
        console().print(f"({why}: the question is skipped; --answer N gives a prediction)", style="dim")
        return None
    given: int = click.prompt("Your prediction", type=click.IntRange(1, len(lesson.choices)))
    return given


def _teach(lesson: Any) -> Any:
    from simcluster.eval.lessons import teach

    with console(stderr=True).status("running") as status:
        return teach(lesson, lambda title: status.update(f"running: {title}"))


def _show(taught: Any, answer: int | None) -> None:
    from simcluster.eval.lessons.terminal import drawn

    out = console()
    out.print(drawn(taught.panels()), soft_wrap=True)
    out.print()
    right = " and ".join(f"{index + 1}. {taught.lesson.choices[index].text}" for index in taught.right) or "none"
    if answer is not None:
        said = "Right." if answer - 1 in taught.right else f"You said {answer}; it is not so."
        out.print(said, style="bold")
    out.print(f"What happened: {right}")
    for paragraph in taught.explanation:
        out.print()
        out.print(paragraph)
    if taught.lesson.next:
        out.print()
        out.print("Next:")
        for line in taught.lesson.next:
            out.print(f"  {line}")
