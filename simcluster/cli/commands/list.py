"""`simcluster list`: what there is."""

from __future__ import annotations

import os
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from simcluster.cli import completing
from simcluster.cli.output import console, print_json, table_of
from simcluster.engine.content import Library, UnknownName

if TYPE_CHECKING:
    from simcluster.tasks.model import Task

KINDS = ("agents", "apps", "checks", "families", "faults", "lessons", "noises", "suites", "tasks")
Row = dict[str, Any]


@click.command("list", short_help="List apps, faults, causes, noises, tasks, checks, suites, agents or lessons.")
@click.argument("kind", shell_complete=completing.kinds)
@click.option("--targets", "app", default="", help="Of faults: which components of an application each fits.")
@click.option("--suite", default="", help="Of tasks: those of a suite, fresh:SEED:N, cloudopsbench[:N], srezero[:25].")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(kind: str, app: str, suite: str, folders: tuple[str, ...], as_json: bool) -> None:
    """List what there is of a KIND: agents, apps, checks, families, faults, lessons, noises, suites or tasks.

    Families are the kinds of causes that a diagnosis may name. With --json faults have the data sheets of their
    mechanisms, and tasks their difficulty: the share of runs in which reference agents fail, 0 to 1.
    """
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    if app and kind != "faults":
        raise click.UsageError("--targets is for faults")
    if suite and kind != "tasks":
        raise click.UsageError("--suite is for tasks")
    library = Library(tuple(Path(folder) for folder in folders))
    if suite:
        rows = _members(suite, library)
    else:
        rows = _targets(app, library, counted=not as_json) if app else rows_of(kind, library)
    if as_json:
        rows = [*map(_with_sheet, rows)] if kind == "faults" and not app else rows
        rows = [*map(_with_difficulty, rows)] if kind == "tasks" else rows
        print_json(rows)
        return
    console().print(table_of(rows))


def rows_of(kind: str, library: Library) -> list[Row]:
    """What there is, one dictionary each; the first key is always `id`."""
    return {
        "agents": _agents,
        "apps": _apps,
        "checks": _checks,
        "families": _families,
        "faults": _faults,
        "lessons": _lessons,
        "noises": _noises,
        "suites": _suites,
        "tasks": _tasks,
    }[kind](library)


def _agents(library: Library) -> list[Row]:
    from simcluster.agents import registry

    return [{"id": name, "description": registry.describe(name)} for name in registry.names()]


def _apps(library: Library) -> list[Row]:
    from simcluster.apps.registry import applications

    found = (folder.behaviour for folder in applications(library) if folder.text("manifests.yaml"))
    return sorted(({"id": one.application, "description": one.description} for one in found), key=itemgetter("id"))


def _checks(library: Library) -> list[Row]:
    from simcluster.eval.oracles.registry import checks

    return [{"id": name, "description": (kind.__doc__ or "").partition("\n")[0]} for name, kind in checks().items()]


def _faults(library: Library) -> list[Row]:
    from simcluster.faults import registry

    specs = [registry.load(fault_id, library) for fault_id in registry.ids(library)]
    return [
        {"id": one.id, "family": one.cause, "mechanism": one.mechanism, "description": one.description} for one in specs
    ]


def _targets(app: str, library: Library, *, counted: bool) -> list[Row]:
    """Which components of an application each fault fits, or how many of how many."""
    from simcluster.eval.proof.pairs import fits

    rows: list[Row] = []
    for one in fits(app, 0, library):
        names = [str(pair.ref) for pair in one.pairs]
        shown: Row = {"fits": f"{len(names)} of {one.tried}"} if counted else {"targets": names, "tried": one.tried}
        rows.append({"id": one.fault, **shown, "why not": one.why_not.partition("\n")[0]})
    total = sum(len(one["targets"]) if not counted else int(one["fits"].partition(" ")[0]) for one in rows)  # integers
    return [*rows, {"id": "all", "fits": str(total), "why not": ""}] if counted else rows


def _with_sheet(row: Row) -> Row:
    """A fault with the data sheet of its mechanism."""
    from simcluster.faults import registry

    mechanism = registry.mechanisms()[row["mechanism"]]
    return {**mechanism.sheet.to_dict(mechanism.Params), "lasting": mechanism.lasting, **row}


def _with_difficulty(row: Row) -> Row:
    """A task with how hard it is for reference agents, 0 to 1; None: not measured."""
    from simcluster.eval.report.scores import difficulty

    return {**row, "difficulty": difficulty(row["id"])}


def _families(library: Library) -> list[Row]:
    from simcluster.eval.judge.vocabulary import vocabulary
    from simcluster.faults.families import CauseFamily, cause_families

    found = {one.id: one for one in cause_families(library)}
    found |= {
        name: CauseFamily(name, family.means, (), ())
        for name, family in vocabulary().families.items()
        if name not in found
    }
    return [
        {"id": one.id, "means": one.means, "layers": list(one.layers), "faults": list(one.faults)}
        for _, one in sorted(found.items())
    ]


def _lessons(library: Library) -> list[Row]:
    from simcluster.cli.commands.learn import rows_of as lessons_of

    return lessons_of(library)


def _noises(library: Library) -> list[Row]:
    from simcluster.noise import plan

    profiles = [plan.load(noise_id, library) for noise_id in plan.ids(library)]
    return [{"id": one.id, "kinds": _kinds(one), "description": one.description} for one in profiles]


def _kinds(profile: Any) -> list[str]:
    return sorted({str(kind.mechanism) for kind in profile.disturbances})


def _suites(library: Library) -> list[Row]:
    from simcluster import tasks

    return [{"id": name, "tasks": members} for name, members in tasks.suites(library).items()]


def _tasks(library: Library) -> list[Row]:
    from simcluster import tasks

    return [_task(tasks.load(task_id, library)) for task_id in tasks.ids(library)]


def _members(suite: str, library: Library) -> list[Row]:
    """The tasks of a suite, or of a set of generated incidents."""
    from simcluster import tasks
    from simcluster.cli.suites import members

    with TemporaryDirectory(prefix="simcluster-") as made:
        ids = members(suite, Path(made), os.cpu_count() or 1, library)
        return [_task(tasks.load(task_id, library)) for task_id in ids]


def _task(task: Task) -> Row:
    return {"id": task.id, "app": task.app, "suites": list(task.suites), "title": task.title}
