"""`kubectl apply`: client-side three-way merge and server-side apply; view-last-applied.

Left out: pruning, --force (delete and create again on conflict).
"""

from __future__ import annotations

import json

from simcluster.api.objects import Json, thaw
from simcluster.api.request import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.changing import Change, is_built_in
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
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
from simcluster.surface.kubectl.printers.jsontext import compact_json, to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.surface.kubectl.selection import Target, Wanted, fetch, of_files

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

FLAGS = (
    *FILES,
    SELECTOR,
    switch("all"),
    *OUTPUT,
    DRY_RUN,
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
VIEW_FLAGS = (*FILES, SELECTOR, switch("all"), Flag("output", "o", default="yaml"))

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
    if not arguments.texts("filename") and not arguments.text("kustomize"):
        raise plain("must specify one of -f and -k")
    if arguments.positional:
        raise KubectlError(
            f"error: Unexpected args: [{' '.join(arguments.positional)}]\nSee 'kubectl apply -h' for help and examples"
        )
    if arguments.on("force-conflicts") and not arguments.on("server-side"):
        raise plain("--force-conflicts only works with --server-side")
    if arguments.on("prune"):
        raise plain("--prune is not available in this kubectl; delete what is no longer wanted by name or label")
    _Apply(invocation, arguments).run()


class _Apply:
    """One run of `apply`."""

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.change = Change(invocation, arguments)
        self.validation = validation(arguments)
        if arguments.on("server-side") and self.change.mode == "client":
            raise plain("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")

    def run(self) -> None:
        failures = Failures()
        wanted = of_files(self.invocation, self.arguments, failures)
        selector = self.arguments.text("selector")
        chosen = [entry for entry in wanted if not selector or matches(selector, entry.manifest or {})]
        if not chosen and not failures.errors:
            raise plain("no objects passed to apply")
        for entry in chosen:
            failures.attempt(_Item(self, entry).apply)
        failures.raise_all()

    def one(self, entry: Wanted) -> None:
        """Apply one document."""
        manifest = _placed(entry)
        if self.arguments.on("server-side"):
            self._server_side(entry, manifest)
            return
        modified = with_annotation(manifest)
        try:
            live = self.invocation.get(entry.path) if entry.name else None
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
        self.change.report(entry.resource, created, "created")

    def _patch(self, entry: Wanted, live: Json, manifest: Json, modified: Json) -> None:
        last = last_applied(live)
        if last is None:
            name = f"{entry.resource.plural}/{entry.name}"
            self.invocation.note(
                f"Warning: resource {name} is missing the {LAST_APPLIED} annotation which is required by kubectl "
                "apply. kubectl apply should only be used on resources created declaratively by either kubectl create "
                "--save-config or kubectl apply. The missing annotation will be patched automatically."
            )
        base = last or {}
        if is_built_in(entry.resource):
            patch = strategicdiff.three_way(base, modified, live, entry.resource)
            content_type = STRATEGIC_MERGE_PATCH
        else:
            patch = strategicdiff.merge_three_way(base, modified, live)
            content_type = MERGE_PATCH
        target = Target(entry.resource, entry.namespace, entry.name, live, entry.source)
        if not patch and self.change.mode != "client":
            self.change.report(entry.resource, live, "unchanged")
            return
        changed = self._send(target, patch, content_type)
        self.change.report(entry.resource, changed, "configured")

    def _send(self, target: Target, patch: Json, content_type: str) -> Json:
        change = self.change
        if change.mode == "client":
            return change.patch(target, patch, content_type)
        query = change.query(fieldValidation=self.validation)
        try:
            answer: Json = self.invocation.ask("PATCH", target.path, query, body=patch, content_type=content_type).body
        except StatusError as error:
            resource = target.resource
            group = f"{resource.group}/{resource.version}" if resource.group else f"/{resource.version}"
            what = (
                f"applying patch:\n{compact_json(patch)}\nto:\n"
                f'Resource: "{group}, Resource={resource.plural}", GroupVersionKind: "{group}, Kind={resource.kind}"\n'
                f'Name: "{target.name}", Namespace: "{target.namespace}"\nfor:'
            )
            raise error.when(what, target.source) from None
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
        self.change.report(entry.resource, applied, "serverside-applied")


class _Item:
    """One document of a run."""

    def __init__(self, run_: _Apply, entry: Wanted) -> None:
        self.run = run_
        self.entry = entry

    def apply(self) -> None:
        self.run.one(self.entry)


def _placed(entry: Wanted) -> Json:
    """The manifest with the namespace it goes to."""
    manifest = thaw(entry.manifest or {})
    if entry.resource.namespaced:
        manifest["metadata"] = {**(manifest.get("metadata") or {}), "namespace": entry.namespace}
    return manifest


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


def view_last_applied(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl apply view-last-applied`."""
    if arguments.text("output") not in ("yaml", "json"):
        raise plain(
            f"Unexpected -o output mode: {arguments.text('output')}, the flag 'output' must be one of yaml|json"
        )
    targets, failures = fetch(invocation, arguments, arguments.positional)
    for target in targets:
        found = last_applied(target.obj)
        if found is None:
            raise plain(f"no last-applied-configuration annotation found on resource: {target.name}\n")
        invocation.write(to_yaml(found) if arguments.text("output") == "yaml" else to_json(found))
    failures.raise_all()
