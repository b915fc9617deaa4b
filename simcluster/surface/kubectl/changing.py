"""What every command that changes objects shares: sending a patch and saying what happened."""

from __future__ import annotations

from typing import Any

from simcluster.api.encoding.ordering import ordered
from simcluster.api.objects import Json
from simcluster.api.patch import jsonpatch, merge, strategic
from simcluster.api.request import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Query
from simcluster.api.resources import Resource
from simcluster.api.schema import type_of
from simcluster.engine import format_rfc3339
from simcluster.surface.kubectl.flags import Arguments, dry_run
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.output import Output
from simcluster.surface.kubectl.selection import Target, kind_name

_SUFFIX = {"none": "", "client": " (dry run)", "server": " (server dry run)"}

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
    """

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.mode = dry_run(arguments) if arguments.has("dry-run") else "none"
        if arguments.has("dry-run") and arguments.text("dry-run") == "unchanged":
            text = "--dry-run is deprecated and can be replaced with --dry-run=client."
            invocation.note(klog_warning(invocation.clock.now, "helpers.go:702", text))
        self._documents = 0
        self.output = Output(arguments, invocation.files)

    def query(self, **more: Any) -> Query:
        """The parameters of a write."""
        manager = self.arguments.text("field-manager") if self.arguments.has("field-manager") else ""
        return query_of(dryRun="All" if self.mode == "server" else "", fieldManager=manager, **more)

    def patch(self, target: Target, patch: Any, content_type: str, *, subresource: str = "") -> Json:
        """Send a patch (or apply it here in a client dry run); the new object. Raises StatusError."""
        if self.mode == "client":
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

    def report(
        self, resource: Resource, obj: Json, done: str, *, typed: bool = False, plain_text: bool = False
    ) -> None:
        """`deployment.apps/geo scaled`, or the object as `-o` asks.

        Args:
            typed: its JSON has Go's order.
            plain_text: a dry run is not told.
        """
        name = f"{kind_name(resource)}/{obj['metadata'].get('name', '')}"
        if self.output.format in ("", "name"):
            told = "" if plain_text else _SUFFIX[self.mode]
            text = name if self.output.format == "name" else f"{name} {done}{told}"
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


def klog_warning(now_ns: int, place: str, text: str) -> str:
    """A warning as klog writes it: `W1121 20:41:43.191385   28827 prune.go:71] ...`."""
    stamp = format_rfc3339(now_ns)
    day, time = stamp[5:10].replace("-", ""), stamp[11:19]
    return f"W{day} {time}.{now_ns // 1000 % 1_000_000:06d}   28827 {place}] {text}"


def patched(target: Target, patch: Any, content_type: str) -> Json:
    """The object with a patch applied on this side."""
    if content_type == JSON_PATCH:
        result: Json = jsonpatch.apply(target.obj, patch)
    elif content_type == STRATEGIC_MERGE_PATCH:
        resource = target.resource
        result = strategic.merge(target.obj, patch, type_of(resource.group, resource.version, resource.kind))
    else:
        assert content_type == MERGE_PATCH, content_type
        result = merge.merge(target.obj, patch)
    return result
