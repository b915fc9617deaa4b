"""`kubectl create -f`: creates what manifests describe."""

from __future__ import annotations

from simcluster.api.encoding.wire import encode
from simcluster.api.objects import thaw
from simcluster.api.request import Request
from simcluster.surface.kubectl import manifests
from simcluster.surface.kubectl.apply import validation, with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import (
    DRY_RUN,
    FILES,
    OUTPUT,
    SELECTOR,
    VALIDATE,
    Arguments,
    Flag,
    manager,
    switch,
)
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.labelselector import matches
from simcluster.surface.kubectl.selection import Wanted, check_files, of_files

FLAGS = (
    *FILES,
    SELECTOR,
    *OUTPUT,
    DRY_RUN,
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
        _raw(invocation, arguments)
        return
    failures = Failures()
    change = Change(invocation, arguments)
    wanted = of_files(invocation, arguments, failures)
    selector = arguments.text("selector")
    chosen = [entry for entry in wanted if not selector or matches(selector, entry.manifest or {})]
    if not chosen and not failures.errors:
        raise plain("no objects passed to create")
    for entry in chosen:
        failures.attempt(_Creation(change, entry).run)
    failures.raise_all()


def _raw(invocation: Invocation, arguments: Arguments) -> None:
    """`--raw PATH -f FILE`: the file's text is sent as it is."""
    files = arguments.texts("filename")
    if len(files) != 1:
        raise plain("--raw can only use a single local file or stdin")
    body = manifests.read(invocation, files[0]).encode()
    request = Request("POST", arguments.text("raw"), body=body)
    response = invocation.ask("POST", request.path, body=body)
    invocation.write(encode(request, response).body.decode())


class _Creation:
    """Creates one manifest."""

    def __init__(self, change: Change, entry: Wanted) -> None:
        self.change = change
        self.entry = entry

    def run(self) -> None:
        entry, arguments = self.entry, self.change.arguments
        obj = thaw(entry.manifest or {})
        if entry.resource.namespaced:
            obj["metadata"] = {**(obj.get("metadata") or {}), "namespace": entry.namespace}
        if arguments.on("save-config"):
            obj = with_annotation(obj)
        path = object_path(entry.resource, entry.namespace)
        try:
            created = self.change.create(path, obj, fieldValidation=validation(arguments))
        except StatusError as error:
            raise error.when("creating", entry.source) from None
        self.change.report(entry.resource, created, "created")
