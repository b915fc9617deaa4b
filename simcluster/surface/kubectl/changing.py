"""What every command that changes objects shares: sending a patch and saying what happened."""

from __future__ import annotations

from typing import Any

from simcluster.api.encoding.ordering import ordered
from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.request import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Query
from simcluster.api.resources import Resource
from simcluster.api.schema import type_of
from simcluster.surface.kubectl import klog
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import Arguments, dry_run
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.output import CHANGE_FORMATS, Output
from simcluster.surface.kubectl.selection import Target, kind_name

_SUFFIX = {"none": "", "client": " (dry run)", "server": " (server dry run)"}

CHANGE_CAUSE = "kubernetes.io/change-cause"
#: Flags whose values are secrets.
_CLASSIFIED = ("password", "token", "username")

#: Groups whose kinds the client knows, so that strategic merge patches work on them.
_BUILT_IN_GROUPS = (
    "",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
)


def is_built_in(resource: Resource) -> bool:
    """Whether the client has the kind's Go type (custom resources are patched by merge patch)."""
    return resource.group in _BUILT_IN_GROUPS


class Change:
    """One run of a changing command: its dry-run mode, field manager and output.

    Attributes:
        mode: none, client or server.
        local: whether files are changed and no server is asked (`--local`).
        cause: what `--record` notes down on the objects, or empty.
    """

    def __init__(self, invocation: Invocation, arguments: Arguments, formats: str = CHANGE_FORMATS) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.mode = dry_run(arguments) if arguments.has("dry-run") else "none"
        if arguments.has("dry-run") and arguments.text("dry-run") == "unchanged":
            text = "--dry-run is deprecated and can be replaced with --dry-run=client."
            invocation.note(klog.line(invocation.clock.now, "W", "helpers.go:702", text))
        self.local = arguments.has("local") and arguments.on("local")
        self.cause = _command_line(arguments) if arguments.has("record") and arguments.on("record") else ""
        self._documents = 0
        self.output = Output(arguments, invocation.files, formats=formats)

    def query(self, **more: Any) -> Query:
        """The parameters of a write."""
        manager = self.arguments.text("field-manager") if self.arguments.has("field-manager") else ""
        return query_of(dryRun="All" if self.mode == "server" else "", fieldManager=manager, **more)

    def patch(self, target: Target, patch: Any, content_type: str, *, subresource: str = "") -> Json:
        """Send a patch (or apply it here in a client dry run); the new object. Raises StatusError."""
        if self.mode == "client" or self.local:
            return patched(target, patch, content_type)
        path = target.path + (f"/{subresource}" if subresource else "")
        answer: Json = self.invocation.ask(
            "PATCH", path, self.query(), body=patch, content_type=content_type, accept=JSON
        ).body
        return answer

    def create(self, path: str, obj: Json, **more: Any) -> Json:
        """Create an object (or return it in a client dry run). Raises StatusError."""
        if self.mode == "client":
            return obj
        answer: Json = self.invocation.ask("POST", path, self.query(**more), body=obj).body
        return answer

    def recorded(self, obj: Json) -> Json:
        """The object with the command as its change-cause, if `--record` asks for it."""
        if not self.cause:
            return obj
        metadata = obj.get("metadata") or {}
        annotations = {**(metadata.get("annotations") or {}), CHANGE_CAUSE: self.cause}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}

    def record(self, target: Target, changed: Json) -> Json:
        """Note the change-cause on an object that was changed already; the object as it is then."""
        if not self.cause or self.mode == "client" or self.local:
            return changed
        return self.patch(target, {"metadata": {"annotations": {CHANGE_CAUSE: self.cause}}}, MERGE_PATCH)

    def report(
        self, resource: Resource, obj: Json, done: str, *, typed: bool = False, plain_text: bool = False
    ) -> None:
        """`deployment.apps/geo scaled`, or the object as `-o` asks.

        Args:
            typed: its JSON has Go's order.
            plain_text: nothing is said of a dry run.
        """
        name = f"{kind_name(resource)}/{obj['metadata'].get('name') or '<unknown>'}"
        if self.output.format in ("", "name"):
            suffix = "" if plain_text else _SUFFIX[self.mode]
            text = name if self.output.format == "name" else f"{name} {done}{suffix}"
            self.invocation.line(text)
        elif typed and self.output.format == "json":
            self.show(to_json(ordered(self.output.clean(obj)), sort=False))
        else:
            self.show(self.output.text([obj], as_list=False, names=[name]))

    def show(self, text: str) -> None:
        """Print an object; the YAML of several is set apart."""
        if self._documents and self.output.format == "yaml":
            self.invocation.write("---\n")
        self._documents += 1
        self.invocation.write(text)


def _command_line(arguments: Arguments) -> str:
    """The command as `--record` writes it down: words first, then the flags as they were given."""
    words = ["kubectl", arguments.path, *arguments.positional]
    flags = [f"--{name}={'CLASSIFIED' if name in _CLASSIFIED else value}" for name, value in arguments.order]
    return " ".join([*words, *flags])


def patched(target: Target, patch: Any, content_type: str) -> Json:
    """The object with a patch applied on this side. Raises KubectlError."""
    resource = target.resource
    schema = type_of(resource.group, resource.version, resource.kind)
    try:
        if content_type == JSON_PATCH:
            result: Json = jsonpatch.apply(target.obj, patch)
        elif not isinstance(patch, dict):
            raise plain("invalid JSON document")
        elif content_type == STRATEGIC_MERGE_PATCH:
            if schema is None:
                kind = f"{resource.api_version}, Kind={resource.kind}"
                why = "strategic merge patch is not supported for"
                raise plain(f"{why} {kind} locally, try --type merge")
            result = strategic.merge(target.obj, patch, schema)
        else:
            assert content_type == MERGE_PATCH, content_type
            result = merge.merge(target.obj, patch)
    except (jsonpatch.MalformedPatchError, jsonpatch.JsonPatchError, strategic.StrategicPatchError) as error:
        raise plain(str(error)) from None
    return result
