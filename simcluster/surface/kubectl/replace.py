"""`kubectl replace -f`: puts manifests in place of existing objects."""

from __future__ import annotations

from simcluster.api.objects import Json, thaw
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
    change = Change(invocation, arguments)
    failures = Failures()
    wanted = of_files(invocation, arguments, failures)
    if not wanted and not failures.errors:
        raise plain("no objects passed to replace")
    for entry in wanted:
        failures.attempt(_Replacement(change, entry).run)
    failures.raise_all()


class _Replacement:
    """Replaces one object."""

    def __init__(self, change: Change, entry: Wanted) -> None:
        self.change = change
        self.entry = entry

    def run(self) -> None:
        entry, change = self.entry, self.change
        obj = thaw(entry.manifest or {})
        if entry.resource.namespaced:
            obj["metadata"] = {**(obj.get("metadata") or {}), "namespace": entry.namespace}
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        if change.arguments.on("save-config") or LAST_APPLIED in annotations:
            obj = with_annotation(obj)
        if change.arguments.on("force"):
            self._force(obj)
            return
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

    def _force(self, obj: Json) -> None:
        entry, change = self.entry, self.change
        invocation = change.invocation
        try:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
            invocation.ask("DELETE", entry.path, body=options)
            invocation.line(f'{kind_name(entry.resource)} "{entry.name}" deleted')
        except StatusError as error:
            if error.reason != "NotFound":
                raise
        wait_until_gone(invocation, entry.path, change.arguments.duration_ns("timeout"))
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key not in _OF_THE_OLD}
        try:
            created = change.create(object_path(entry.resource, entry.namespace), obj)
        except StatusError as error:
            raise error.when("creating", entry.source) from None
        change.report(entry.resource, created, "replaced")
