"""`kubectl apply`: client-side three-way merge, server-side apply, pruning."""

from __future__ import annotations

import json
from functools import partial

from simcluster.api.objects import Json
from simcluster.api.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Query
from simcluster.api.resources import Resource
from simcluster.surface.kubectl import prune, ssamigration, strategicdiff
from simcluster.surface.kubectl.changing import Change, is_built_in
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain, usage
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
from simcluster.surface.kubectl.printers.jsontext import compact_json
from simcluster.surface.kubectl.selection import Target, Wanted, check_files, of_files
from simcluster.surface.kubectl.waiting import wait_until_gone

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

FLAGS = (
    *FILES,
    SELECTOR,
    switch("all"),
    *OUTPUT,
    DRY_RUN,
    RECORD,
    VALIDATE,
    manager("kubectl-client-side-apply"),
    switch("server-side"),
    switch("force-conflicts"),
    switch("force"),
    switch("overwrite", default="true"),
    switch("openapi-patch", default="true"),
    switch("prune"),
    Flag("prune-allowlist", kind="list"),
    Flag("cascade", default="background", bare="background"),
    Flag("grace-period", kind="int", default="-1"),
    Flag("timeout", kind="duration", default="0s"),
    switch("wait"),
    Flag("subresource"),
)

#: maxPatchRetry (kubectl/pkg/cmd/apply).
_MAX_PATCHES = 5
_CONFLICT_HELP = """Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"""


def validation(arguments: Arguments) -> str:
    """The `fieldValidation` parameter that `--validate` means. Raises KubectlError."""
    value = arguments.text("validate")
    found = {"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}.get(value)
    if found is None:
        raise plain(f'invalid - validate option "{value}"; must be one of: strict (or true), warn, ignore (or false)')
    return found


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl apply`."""
    if arguments.positional:
        raise usage("apply", f"Unexpected args: [{' '.join(arguments.positional)}]")
    if arguments.on("server-side") and arguments.on("force"):
        raise plain("--force cannot be used with --server-side")
    check_files(arguments)
    if arguments.on("force-conflicts") and not arguments.on("server-side"):
        raise plain("--force-conflicts only works with --server-side")
    prune.check(arguments)
    _Apply(invocation, arguments).run()


class _Apply:
    """One run of `apply`."""

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.change = Change(invocation, arguments)
        self.validation = validation(arguments)
        self.kept: list[str] = []
        self.objects: list[Json] = []
        self.namespaces: dict[str, None] = {}
        if arguments.on("server-side") and self.change.mode == "client":
            raise plain("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")

    def run(self) -> None:
        failures = Failures()
        wanted = of_files(self.invocation, self.arguments, failures)
        if not wanted and not failures.errors:
            raise plain("no objects passed to apply")
        for entry in wanted:
            failures.attempt(partial(self.one, entry))
        self._print_list()
        failures.raise_all()
        if self.arguments.on("prune"):
            prune.Pruning(self.change, self.kept, list(self.namespaces)).run()

    def _done(self, entry: Wanted, obj: Json, done: str) -> None:
        """Remember for pruning what was applied, and say so."""
        self.kept.append(str(obj["metadata"].get("uid", "")))
        if entry.namespace:
            self.namespaces[entry.namespace] = None
        if self.change.output.format in ("", "name"):
            self.change.report(entry.resource, obj, done)
        else:
            self.objects.append(obj)

    def _print_list(self) -> None:
        """Whole objects are printed at the end, several of them as one list."""
        if not self.objects:
            return
        as_list = len(self.objects) > 1
        self.invocation.write(self.change.output.text(self.objects, as_list=as_list, bare=True))

    def one(self, entry: Wanted) -> None:
        """Apply one document."""
        manifest = self.change.recorded(entry.placed())
        generated = (manifest.get("metadata") or {}).get("generateName")
        if generated and not entry.name:
            raise plain(f"from {generated}: cannot use generate name with apply")
        if self.arguments.on("server-side"):
            self._server_side(entry, manifest)
            return
        modified = with_annotation(manifest)
        try:
            if not entry.name:
                raise _nameless(entry)
            live: Json | None = self.invocation.get(entry.path)
        except StatusError as error:
            if error.reason != "NotFound":
                raise error.when("retrieving current configuration of", entry.source) from None
            live = None
        if live is None:
            self._create(entry, modified)
        else:
            self._patch(entry, live, manifest, modified)

    def _create(self, entry: Wanted, modified: Json) -> None:
        path = object_path(entry.resource, entry.namespace)
        try:
            created = self.change.create(path, modified, fieldValidation=self.validation)
        except StatusError as error:
            raise error.when("creating", entry.source) from None
        self._done(entry, created, "created")

    def _patch(self, entry: Wanted, live: Json, manifest: Json, modified: Json) -> None:
        last = last_applied(live)
        if last is None and self.change.mode != "client":
            name = f"{entry.resource.plural}/{entry.name}"
            self.invocation.note(
                f"Warning: resource {name} is missing the {LAST_APPLIED} annotation which is required by kubectl "
                "apply. kubectl apply should only be used on resources created declaratively by either kubectl create "
                "--save-config or kubectl apply. The missing annotation will be patched automatically."
            )
        patch, content_type = three_way(entry.resource, last or {}, modified, live)
        target = Target(entry.resource, entry.namespace, entry.name, live, entry.source)
        if not patch or self.change.mode == "client":
            self._done(entry, live, "unchanged" if self.change.mode != "client" else "configured")
            return
        try:
            changed = self._send(target, patch, content_type)
        except StatusError as error:
            if not self.arguments.on("force") or error.reason not in ("Conflict", "Invalid"):
                raise _about_patch(error, target, patch) from None
            changed = self._recreate(target, modified)
        self._done(entry, changed, "configured")

    def _recreate(self, target: Target, modified: Json) -> Json:
        """Delete the object and create it anew; if that fails, as it was. Raises StatusError."""
        invocation, path = self.invocation, object_path(target.resource, target.namespace)
        invocation.ask("DELETE", target.path, body=prune.delete_options(self.arguments))
        wait_until_gone(invocation, target.path, self.arguments.duration_ns("timeout"))
        try:
            return self.change.create(path, modified, fieldValidation=self.validation)
        except StatusError as error:
            metadata = {key: value for key, value in target.obj["metadata"].items() if key != "resourceVersion"}
            try:
                self.change.create(path, {**target.obj, "metadata": metadata}, fieldValidation=self.validation)
            except StatusError as second:
                raise plain(
                    "An error occurred force-replacing the existing object with the newly provided one:\n\n"
                    f"{error.message}.\n\nAdditionally, an error occurred attempting to restore the original object:"
                    f"\n\n{second.message}"
                ) from None
            raise _about_patch(error, target, modified) from None

    def _send(self, target: Target, patch: Json, content_type: str) -> Json:
        query = self.change.query(fieldValidation=self.validation)
        answer: Json = self.invocation.ask("PATCH", target.path, query, body=patch, content_type=content_type).body
        return answer

    def _server_side(self, entry: Wanted, manifest: Json) -> None:
        manager_name = self.arguments.text("field-manager")
        if not self.arguments.given("field-manager"):
            manager_name = "kubectl"
        query = (
            *((("dryRun", "All"),) if self.change.mode == "server" else ()),
            ("fieldManager", manager_name),
            ("fieldValidation", self.validation),
            *((("force", "true"),) if self.arguments.on("force-conflicts") else (("force", "false"),)),
        )
        try:
            applied: Json = self.invocation.ask(
                "PATCH", entry.path, query, body=manifest, content_type=APPLY_PATCH
            ).body
        except StatusError as error:
            if error.reason == "Conflict" and error.message.startswith("Apply failed"):
                raise plain(f"{error.message}\n{_CONFLICT_HELP}") from None
            raise
        if self.change.mode == "none":
            applied = self._migrate(entry, manifest, applied, manager_name, query)
        self._done(entry, applied, "serverside-applied")

    def _migrate(self, entry: Wanted, manifest: Json, applied: Json, manager_name: str, query: Query) -> Json:
        """Hand the fields of an earlier client-side apply to the server-side manager."""
        metadata = applied["metadata"]
        if manager_name == "kubectl" and LAST_APPLIED in (metadata.get("annotations") or {}):
            # As it is: the server keeps it up to date for this manager.
            remembered: Json = {"annotations": {LAST_APPLIED: metadata["annotations"][LAST_APPLIED]}}
            remembered["name"] = entry.name
            if entry.resource.namespaced:
                remembered["namespace"] = entry.namespace
            body = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": remembered}
            kept: Query = (("fieldManager", ssamigration.LAST_APPLIED_MANAGER), ("force", "true"))
            applied = self.invocation.ask("PATCH", entry.path, kept, body=body, content_type=APPLY_PATCH).body
        if not self._hand_over(entry, applied, manager_name):
            return applied
        again: Json = self.invocation.ask("PATCH", entry.path, query, body=manifest, content_type=APPLY_PATCH).body
        return again

    def _hand_over(self, entry: Wanted, applied: Json, manager_name: str) -> bool:
        """Whether there was something to hand over. Tries five times against others who write meanwhile."""
        manager: Query = (("fieldManager", manager_name),)
        for attempt in range(_MAX_PATCHES):
            patch = ssamigration.migration_patch(applied, manager_name)
            if patch is None:
                return False
            try:
                self.invocation.ask("PATCH", entry.path, manager, body=patch, content_type=JSON_PATCH)
            except StatusError as error:
                if error.reason != "Conflict" or attempt == _MAX_PATCHES - 1:
                    raise
                applied = self.invocation.get(entry.path)
            else:
                return True
        return False


def _about_patch(error: StatusError, target: Target, patch: Json) -> StatusError:
    """The error of a patch with what it was about."""
    return error.when(f"applying patch:\n{compact_json(patch)}\nto:\n{_info(target)}\nfor:", target.source)


def _nameless(entry: Wanted) -> KubectlError:
    """What looking for an object without a name comes to."""
    what = f"error when retrieving current configuration of:\n{_info(entry)}"
    return plain(f'{what}\nfrom server for: "{entry.source}": resource name may not be empty')


def _info(what: Target | Wanted) -> str:
    """An object as the builder's Info prints itself."""
    resource = what.resource
    group = f"{resource.group}/{resource.version}" if resource.group else f"/{resource.version}"
    return (
        f'Resource: "{group}, Resource={resource.plural}", GroupVersionKind: "{group}, Kind={resource.kind}"\n'
        f'Name: "{what.name}", Namespace: "{what.namespace}"'
    )


def three_way(resource: Resource, last: Json, modified: Json, live: Json) -> tuple[Json, str]:
    """The patch from what was applied last, what is wanted and what is, and its content type."""
    if is_built_in(resource):
        return strategicdiff.three_way(last, modified, live, resource), STRATEGIC_MERGE_PATCH
    return strategicdiff.merge_three_way(last, modified, live), MERGE_PATCH


def with_annotation(manifest: Json) -> Json:
    """The manifest with the annotation that remembers it."""
    metadata = dict(manifest.get("metadata") or {})
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    plain_manifest = {**manifest, "metadata": {**metadata, "annotations": annotations}}
    annotations = {**annotations, LAST_APPLIED: compact_json(plain_manifest) + "\n"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def last_applied(live: Json) -> Json | None:
    """What was applied last, or None."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
