"""`kubectl delete`: by name, label or file, waiting until the objects are gone."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.engine import SECOND
from simcluster.surface.kubectl import raw
from simcluster.surface.kubectl.errors import StatusError, plain
from simcluster.surface.kubectl.flags import (
    ALL_NAMESPACES,
    DRY_RUN,
    FILES,
    SELECTOR,
    Arguments,
    Flag,
    dry_run,
    switch,
)
from simcluster.surface.kubectl.invocation import Failures, Invocation, query_of
from simcluster.surface.kubectl.prune import POLICIES
from simcluster.surface.kubectl.selection import Wanted, check_given, kind_name, of_arguments, of_files
from simcluster.surface.kubectl.waiting import follow

FLAGS = (
    *FILES,
    SELECTOR,
    ALL_NAMESPACES,
    DRY_RUN,
    switch("all"),
    Flag("cascade", default="background", bare="background"),
    Flag("field-selector"),
    switch("force"),
    Flag("grace-period", kind="int", default="-1"),
    switch("ignore-not-found"),
    switch("interactive", "i"),
    switch("now"),
    Flag("output", "o"),
    Flag("raw"),
    Flag("timeout", kind="duration", default="0s"),
    switch("wait", default="true"),
)

#: How long a delete waits without --timeout (the real one: 168 hours).
_FOREVER_NS = 24 * 3600 * SECOND
_FORCED = (
    "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. "
    "The resource may continue to run on the cluster indefinitely."
)


class _Options:
    """What the flags of a delete mean."""

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.mode = dry_run(arguments)
        self.force = arguments.on("force")
        self.wait = arguments.on("wait")
        self.timeout_ns = arguments.duration_ns("timeout") or _FOREVER_NS
        self.short = arguments.text("output") == "name"
        grace = arguments.number("grace-period")
        if arguments.on("now"):
            if grace != -1:
                raise plain("--now and --grace-period cannot be specified together")
            grace = 1
        if self.force and grace > 0:
            raise plain("--force and --grace-period greater than 0 cannot be specified together")
        if self.force and grace < 0:
            grace = 0
        if grace == 0 and not self.force:
            # Without --force, kubectl asks for one second and waits for the end.
            grace = 1
        if self.force:
            invocation.note(_FORCED)
            self.wait = arguments.on("wait") if arguments.given("wait") else False
        self.grace_s = grace
        policy = POLICIES.get(arguments.text("cascade"))
        if policy is None:
            raise plain(
                f'invalid cascade value ({arguments.text("cascade")}). Must be "background", "foreground", or "orphan"'
            )
        if arguments.text("cascade") in ("true", "false"):
            value = arguments.text("cascade")
            wanted = "background" if value == "true" else "orphan"
            invocation.note(
                f"warning: --cascade={value} is deprecated (boolean value) and can be replaced with --cascade={wanted}."
            )
        self.policy = policy

    def body(self) -> Json:
        """The DeleteOptions."""
        options: Json = {"propagationPolicy": self.policy}
        if self.grace_s >= 0:
            options["gracePeriodSeconds"] = self.grace_s
        if self.mode == "server":
            options["dryRun"] = ["All"]
        return options


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl delete`."""
    if arguments.text("raw"):
        raw.send(invocation, arguments, "DELETE")
        return
    if arguments.text("output") not in ("", "name"):
        raise plain(f"unexpected -o output mode: {arguments.text('output')}. We only support '-o name'")
    check_given(arguments, arguments.positional)
    options = _Options(invocation, arguments)
    failures = Failures()
    deleted: list[Wanted] = []
    found = _found(invocation, arguments, failures)
    if arguments.on("interactive") and not _confirmed(invocation, found):
        invocation.line("deletion is cancelled")
        return
    scoped = invocation.explicit_namespace and not arguments.on("all-namespaces")
    if scoped and not all(entry.resource.namespaced for entry in found):
        invocation.note("Warning: deleting cluster-scoped resources, not scoped to the provided namespace")
    if not found and not failures.errors and not arguments.on("ignore-not-found"):
        invocation.line("No resources found")
    failures.each(found, _Deletion(invocation, arguments, options, deleted).run)
    if options.wait and options.mode == "none":
        _wait(invocation, options, deleted)


def _confirmed(invocation: Invocation, found: list[Wanted]) -> bool:
    """Ask whether to go on; standard input has the answer."""
    invocation.line(f"You are about to delete the following {len(found)} resource(s):")
    for entry in found:
        group = f".{entry.resource.group}" if entry.resource.group else ""
        invocation.line(f"{entry.resource.kind}{group}/{entry.name}")
    invocation.write("Do you want to continue? (y/N): ")
    return invocation.stdin.split()[:1] in (["y"], ["Y"])


def _found(invocation: Invocation, arguments: Arguments, failures: Failures) -> list[Wanted]:
    if arguments.texts("filename") or arguments.text("kustomize"):
        return of_files(invocation, arguments, failures)
    everywhere = arguments.on("all-namespaces")
    wanted = of_arguments(invocation, arguments.positional, all_namespaces=everywhere)
    selector, fields = arguments.text("selector"), arguments.text("field-selector")
    found: list[Wanted] = []
    for entry in wanted:
        if entry.name:
            found.append(entry)
            continue
        if not (selector or fields or arguments.on("all")):
            raise plain("resource(s) were provided, but no name was specified")
        for obj in invocation.items(entry.path, query_of(labelSelector=selector, fieldSelector=fields)):
            metadata = obj["metadata"]
            found.append(Wanted(entry.resource, metadata.get("namespace", ""), metadata["name"], manifest=obj))
    return found


class _Deletion:
    """Deletes objects; those that are on their way stand in `deleted`."""

    def __init__(self, invocation: Invocation, arguments: Arguments, options: _Options, deleted: list[Wanted]) -> None:
        self.invocation = invocation
        self.ignore_missing = arguments.on("ignore-not-found") or arguments.on("all")
        self.options = options
        self.deleted = deleted

    def run(self, entry: Wanted) -> None:
        """Delete one object and say so. Raises StatusError."""
        options = self.options
        if not entry.name:
            raise plain(f'error when deleting "{entry.source}": resource name may not be empty')
        try:
            if options.mode != "client":
                answer = self.invocation.ask("DELETE", entry.path, body=options.body()).body
            else:
                answer = self.invocation.get(entry.path)
        except StatusError as error:
            if error.reason == "NotFound" and self.ignore_missing:
                return
            raise error.when("deleting", entry.source) from None
        uid = (answer.get("metadata") or {}).get("uid") or (answer.get("details") or {}).get("uid", "")
        self.deleted.append(entry._replace(manifest={"uid": uid}))
        self._say(entry)

    def _say(self, entry: Wanted) -> None:
        options = self.options
        if options.short:
            self.invocation.line(f"{kind_name(entry.resource)}/{entry.name}")
            return
        done = "force deleted" if options.grace_s == 0 else "deleted"
        suffix = {"none": "", "client": " (dry run)", "server": " (server dry run)"}[options.mode]
        self.invocation.line(f'{kind_name(entry.resource)} "{entry.name}" {done}{suffix}')


def _wait(invocation: Invocation, options: _Options, deleted: list[Wanted]) -> None:
    deadline = invocation.clock.now + options.timeout_ns
    failures = Failures()
    for entry in deleted:
        failures.attempt(_Ending(invocation, entry, deadline).run)
    failures.raise_all()


class _Ending:
    """Waits until one object is gone, or is another one of the same name."""

    def __init__(self, invocation: Invocation, entry: Wanted, deadline: int) -> None:
        self.invocation = invocation
        self.entry = entry
        self.deadline = deadline

    def run(self) -> None:
        invocation, entry = self.invocation, self.entry
        uid = (entry.manifest or {}).get("uid")
        try:
            present = invocation.get(entry.path)
        except StatusError as error:
            if error.reason == "NotFound":
                return
            raise
        if uid and present["metadata"].get("uid") != uid:
            return
        left = max(0, self.deadline - invocation.clock.now)
        for obj in follow(invocation, entry.resource, entry.namespace, entry.name, left):
            if obj is None or (uid and obj["metadata"].get("uid") != uid):
                return
        raise plain(f"timed out waiting for the condition on {entry.resource.plural}/{entry.name}")
