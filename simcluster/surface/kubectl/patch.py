"""`kubectl patch`: strategic, merge and JSON patches."""

from __future__ import annotations

import json
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.api.validation.causes import quoted
from simcluster.surface.kubectl import manifests
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, RECORD, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (
    *FILES,
    *OUTPUT,
    DRY_RUN,
    RECORD,
    manager("kubectl-patch"),
    switch("local"),
    Flag("patch", "p"),
    Flag("patch-file"),
    Flag("subresource"),
    Flag("type", default="strategic"),
)

_TYPES = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_MERGE_PATCH}


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl patch`."""
    if bool(arguments.text("patch")) == bool(arguments.text("patch-file")):
        raise plain(
            "must specify --patch or --patch-file containing the contents of the patch"
            if not arguments.text("patch")
            else "cannot specify --patch and --patch-file together"
        )
    content_type = _TYPES.get(arguments.text("type").lower())
    if content_type is None:
        raise plain(f'--type must be one of [json merge strategic], not "{arguments.text("type")}"')
    if arguments.on("local") and arguments.positional:
        raise plain("cannot specify --local and server resources")
    patch = _parsed(invocation, arguments)
    change = Change(invocation, arguments)
    targets, failures = fetch(invocation, arguments, arguments.positional, latest=False)
    if not targets and not failures.errors:
        raise plain("no objects passed to patch")
    failures.each(targets, _Patching(change, patch, content_type).run)


def _parsed(invocation: Invocation, arguments: Arguments) -> Any:
    try:
        text = arguments.text("patch") or manifests.read(invocation, arguments.text("patch-file"))
    except KubectlError as error:
        raise plain(f"unable to read patch file: {error.inner}") from None
    if text.lstrip().startswith("{"):
        # What looks like JSON goes to the server as it is, right or wrong.
        try:
            return json.loads(text)
        except ValueError:
            return text.encode()
    try:
        documents, _ = decode_yaml(text)
    except YamlSyntaxError as error:
        raise plain(f"unable to parse {quoted(text)}: {error}") from None
    patch = documents[0] if documents else None
    # What can be no patch goes to the server as the JSON it is.
    return patch if isinstance(patch, (dict, list)) else json.dumps(patch).encode()


def _explained(error: StatusError, target: Target, content_type: str) -> KubectlError:
    if error.reason != "UnsupportedMediaType":
        return error
    kind = f"{target.resource.api_version}, Kind={target.resource.kind}"
    return plain(f"{content_type} is not supported by {kind}: {error.message}")


class _Patching:
    """Patches objects."""

    def __init__(self, change: Change, patch: Any, content_type: str) -> None:
        self.change = change
        self.patch = patch
        self.content_type = content_type

    def run(self, target: Target) -> None:
        """Patch one object. Raises KubectlError."""
        change = self.change
        if not target.name:
            raise plain("resource name may not be empty")
        subresource = change.arguments.text("subresource")
        try:
            changed: Json = change.patch(target, self.patch, self.content_type, subresource=subresource)
        except StatusError as error:
            raise _explained(error, target, self.content_type) from None
        same = changed == target.obj or (
            changed["metadata"].get("resourceVersion") == target.obj["metadata"].get("resourceVersion")
            and change.mode == "none"
            and not change.local
        )
        changed = change.record(target, changed)
        done = "patched (no change)" if same else "patched"
        if changed.get("kind", target.resource.kind) == target.resource.kind or change.output.format:
            change.report(target.resource, changed, done, plain_text=True)
        else:  # a subresource answers with an object of its own kind
            group = str(changed.get("apiVersion", "")).partition("/")[0]
            change.invocation.line(f"{changed['kind'].lower()}.{group}/{target.name} {done}")
