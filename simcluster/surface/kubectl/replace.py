"""`kubectl replace -f`: puts manifests in place of existing objects."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl import prune, raw
from simcluster.surface.kubectl.apply import LAST_APPLIED, validation, with_annotation
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, VALIDATE, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.selection import Wanted, check_files, kind_name, of_files
from simcluster.surface.kubectl.waiting import wait_until_gone

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    VALIDATE,
    manager("kubectl-replace"),
    switch("save-config"),
    switch("force"),
    Flag("cascade", default="background", bare="background"),
    Flag("grace-period", kind="int", default="-1"),
    Flag("timeout", kind="duration", default="0s"),
    switch("wait"),
    Flag("subresource"),
    Flag("raw"),
)


#: Metadata of an object that its successor cannot have.
_OF_THE_OLD = ("resourceVersion", "uid", "creationTimestamp", "generation")


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl replace`."""
    check_files(arguments)
    if arguments.number("grace-period") >= 0 and not arguments.on("force"):
        raise plain("--grace-period must have --force specified")
    if arguments.duration_ns("timeout") and not arguments.on("force"):
        raise plain("--timeout must have --force specified")
    if arguments.text("raw"):
        raw.send(invocation, arguments, "PUT")
        return
    change = Change(invocation, arguments)
    if change.mode != "none" and arguments.on("force"):
        raise plain("--dry-run can not be used when --force is set")
    failures = Failures()
    wanted = of_files(invocation, arguments, failures)
    failures.each(wanted, _Replacement(change).run)


class _Replacement:
    """Replaces objects."""

    def __init__(self, change: Change) -> None:
        self.change = change

    def run(self, entry: Wanted) -> None:
        """Replace one object. Raises StatusError."""
        change = self.change
        obj = entry.placed()
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        if change.arguments.on("save-config") or LAST_APPLIED in annotations:
            obj = with_annotation(obj)
        if change.arguments.on("force"):
            self._force(entry, obj)
            return
        if not entry.name and change.mode != "client":
            raise plain(f'error when replacing "{entry.source}": resource name may not be empty')
        try:
            if change.mode != "client":
                live = change.invocation.get(entry.path)
                query = change.query(fieldValidation=validation(change.arguments))
                if not obj["metadata"].get("resourceVersion"):
                    obj["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
                obj = change.invocation.ask("PUT", entry.path, query, body=obj).body
        except StatusError as error:
            raise error.when("replacing", entry.source) from None
        change.report(entry.resource, obj, "replaced")

    def _force(self, entry: Wanted, obj: Json) -> None:
        change = self.change
        invocation = change.invocation
        try:
            invocation.ask("DELETE", entry.path, body=prune.delete_options(change.arguments))
            invocation.line(f'{kind_name(entry.resource)} "{entry.name}" deleted')
        except StatusError as error:
            if error.reason != "NotFound":
                raise
        wait_until_gone(invocation, entry.path, change.arguments.duration_ns("timeout"))
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _OF_THE_OLD}
        query = {"fieldValidation": validation(change.arguments)}
        try:
            created = change.create(object_path(entry.resource, entry.namespace), obj, **query)
        except StatusError as error:
            raise error.when("creating", entry.source) from None
        change.report(entry.resource, created, "replaced")
