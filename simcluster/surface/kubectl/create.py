"""`kubectl create -f`: creates what manifests describe."""

from __future__ import annotations

from functools import partial

from simcluster.api.objects import Json
from simcluster.surface.kubectl import raw
from simcluster.surface.kubectl.apply import validation, with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.editing import FORMATS, Editing, Reason
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import (
    DRY_RUN,
    FILES,
    OUTPUT,
    RECORD,
    SELECTOR,
    VALIDATE,
    Arguments,
    Flag,
    manager,
    switch,
)
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.selection import Target, Wanted, check_files, of_files

FLAGS = (
    *FILES,
    SELECTOR,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    VALIDATE,
    manager("kubectl-create"),
    switch("save-config"),
    switch("edit"),
    Flag("raw"),
    switch("windows-line-endings"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl create -f`."""
    if arguments.positional:
        raise usage("create", f"Unexpected args: [{' '.join(arguments.positional)}]")
    check_files(arguments)
    if arguments.text("raw"):
        raw.send(invocation, arguments, "POST")
        return
    if arguments.on("edit"):
        _edited(invocation, arguments)
        return
    failures = Failures()
    change = Change(invocation, arguments)
    wanted = of_files(invocation, arguments, failures)
    if not wanted and not failures.errors:
        raise plain("no objects passed to create")
    failures.each(wanted, partial(create_one, change))


def create_one(change: Change, entry: Wanted) -> None:
    """Create what one manifest says. Raises StatusError."""
    obj = change.recorded(entry.placed())
    if change.arguments.on("save-config"):
        obj = with_annotation(obj)
    try:
        made = change.create(
            object_path(entry.resource, entry.namespace), obj, fieldValidation=validation(change.arguments)
        )
    except StatusError as error:
        raise error.when("creating", entry.source) from None
    change.report(entry.resource, made, "created")


def _edited(invocation: Invocation, arguments: Arguments) -> None:
    """`--edit`: each manifest is edited, then created."""
    change = Change(invocation, arguments, FORMATS)
    failures = Failures()
    wanted = of_files(invocation, arguments, failures)
    failures.each(wanted, partial(_edit_before_create, change))


def _edit_before_create(change: Change, entry: Wanted) -> None:
    manifest = entry.placed()
    target = Target(entry.resource, entry.namespace, entry.name, manifest, entry.source)
    Editing(change, [target], [manifest], partial(_create, change, entry)).run()


def _create(change: Change, entry: Wanted, edited: list[Json]) -> list[Reason]:
    for obj in edited:
        create_one(change, entry._replace(manifest=obj, source=""))
    return []
