"""The tasks there are: those of `catalog/`, of installed packages, and of folders given."""

from __future__ import annotations

import functools
from pathlib import Path

from simcluster.api.resources import BUILT_IN
from simcluster.apps.registry import custom_resources
from simcluster.engine.content import (
    ContentError,
    Document,
    Library,
    UnknownName,
    Where,
    nearest,
    piece_of,
    read_document,
)
from simcluster.faults import registry
from simcluster.faults.steps import Aim, IncidentStep, completed, mechanism_of
from simcluster.faults.target import ObjectRef, resource_of
from simcluster.tasks.beyond import impossible, is_impossible
from simcluster.tasks.calm import is_calm, twins_of, without_fault
from simcluster.tasks.model import Task
from simcluster.tasks.truth import derived, faults_of

CATALOG = Path(__file__).parent / "catalog"

#: The suite to which every task belongs.
ALL = "all"
#: The suite of no-fault twins, and of which suite's tasks they are.
WITHOUT_FAULT, OF_WHICH = "no-fault", "lite"


def ids(library: Library | None = None) -> list[str]:
    """Ids of all tasks, sorted."""
    return sorted((library or Library()).files("tasks", CATALOG))


def path_of(id_or_path: str, library: Library | None = None) -> Path:
    """The file of a task: of this id, of what others call it, or the path itself if it ends in `.yaml`.

    Raises:
        UnknownName: there is no such task; the nearest are listed.
    """
    library = library or Library()
    if is_calm(id_or_path):
        id_or_path = id_or_path.rpartition("@")[0]
    try:
        return library.path_of("task", id_or_path, "tasks", CATALOG)
    except UnknownName:
        called = names(library).get(id_or_path)
        if called is None:
            raise
        return library.path_of("task", called, "tasks", CATALOG)


@functools.cache
def names(library: Library) -> dict[str, str]:
    """What other collections of problems call tasks -> their ids here."""
    found = {}
    for task_id, path in library.files("tasks", CATALOG).items():
        data = read_document(path).data if "\nknown_as:" in path.read_text() else None
        if isinstance(data, dict) and isinstance(data.get("known_as"), dict):
            found.update({str(name): task_id for name in data["known_as"].values()})
    return found


def load(id_or_path: str, library: Library | None = None) -> Task:
    """A task by id or by path, with all its references checked; `ID@outage` and `ID@readonly` are its impossible twins,
    `ID@calm` and `ID@healed` those without a fault.

    Raises:
        UnknownName: there is no such task; the nearest are listed.
        ContentError: the file is wrong: file, line and what would be right.
    """
    if is_calm(id_or_path):
        return without_fault(id_or_path, functools.partial(load, library=library))
    if is_impossible(id_or_path):
        return impossible(id_or_path, functools.partial(load, library=library))
    if library in (None, Library()) and id_or_path in Library().files("tasks", CATALOG):
        return _own(id_or_path)
    return _loaded(id_or_path, library)


@functools.cache
def _own(task_id: str) -> Task:
    """One of the catalogue's or of an installed package's, which do not change while a process runs."""
    return _loaded(task_id, None)


def _loaded(id_or_path: str, library: Library | None) -> Task:
    document = read_document(path_of(id_or_path, library))
    task = piece_of(document, Task)
    _check_faults(task, document, library)
    steps = tuple(_completed(index, step, document, library) for index, step in enumerate(task.incident))
    task = task.model_copy(update={"incident": steps})
    try:
        said = task.stated
        truth = said.model_copy(update={"faults": faults_of(task)}) if said is not None else derived(task, library)
    except ValueError as error:
        raise ContentError(document.path, document.line(("incident",)), str(error)) from None
    check_kind(task, document, ("truth", "component"), truth.ref.kind, library)
    return task.model_copy(update={"stated": truth})


def _completed(index: int, step: IncidentStep, document: Document, library: Library | None) -> IncidentStep:
    try:
        return completed(step, library)
    except ValueError as error:  # an input of what comes with the fault
        raise ContentError(document.path, document.line(("incident", index, "params")), str(error)) from None


def _check_faults(task: Task, document: Document, library: Library | None) -> None:
    """Every fault must exist, take the targets' kinds and the parameters."""
    for index, step in enumerate(task.incident):
        if not step.fault:
            continue
        line = document.line(("incident", index, "fault"))
        known = registry.ids(library)
        if step.fault not in known and step.fault not in registry.aliases(library):
            close = ", ".join(nearest(step.fault, known))
            offer = f"did you mean {close}?" if close else "see simcluster list faults"
            raise ContentError(document.path, line, f"unknown fault {step.fault!r}; {offer}")
        for aim in step.aims:
            _check_aim(task, document, index, aim, library)


def _check_aim(task: Task, document: Document, index: int, aim: Aim, library: Library | None) -> None:
    step = task.incident[index]
    where: Where = ("incident", index, "targets" if step.targets else "target")
    ref = ObjectRef(kind=aim.kind, name=aim.name or "node")
    try:
        mechanism = mechanism_of(step.aimed(ref, step.params), task.namespace, library)
    except ValueError as error:
        raise ContentError(document.path, document.line(("incident", index, "params")), str(error)) from None
    check_kind(task, document, where, ref.kind, library)
    if not mechanism.takes(ref.kind):
        wanted = " or ".join(mechanism.meant_for)
        line = document.line(where)
        raise ContentError(document.path, line, f"fault {step.fault} takes a {wanted}, not a {ref.kind}")


def check_kind(task: Task, document: Document, where: Where, kind: str, library: Library | None = None) -> None:
    """A kind must be one of the API's, or of a custom resource of the task's applications. Raises ContentError."""
    if resource_of(kind, BUILT_IN.all) is not None:
        return
    apps = (task.app, *task.also)
    known = [*BUILT_IN.all, *(resource for app in apps for resource in custom_resources(app, library))]
    if resource_of(kind, known) is None:
        problem = str(UnknownName("kind", kind, sorted({resource.kind for resource in known})))
        raise ContentError(document.path, document.line(where), problem)


def suites(library: Library | None = None) -> dict[str, list[str]]:
    """Suite -> ids of its tasks, sorted.

    `all` has every task, one of another collection those that it knows, and `no-fault` no-fault twins of `lite`.
    """
    found: dict[str, list[str]] = {ALL: []}
    for task_id in ids(library):
        task = load(task_id, library)
        for name in (ALL, *task.suites, *task.known_as):
            members = found.setdefault(name, [])
            if task_id not in members:
                members.append(task_id)
    found[WITHOUT_FAULT] = twins_of(found.get(OF_WHICH, ()))
    return dict(sorted(found.items()))


def suite(name: str, library: Library | None = None) -> list[str]:
    """Ids of the tasks of a suite. Raises UnknownName."""
    found = suites(library)
    if name not in found:
        raise UnknownName("suite", name, sorted(found))
    return found[name]
