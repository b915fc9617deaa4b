"""`kubectl diff`: what an apply would change, as `diff -u -N` of two folders shows it.

Source: k8s.io/kubectl/pkg/cmd/diff/diff.go. The objects are those of a dry run at the
server. Left out: KUBECTL_EXTERNAL_DIFF and pruning.
"""

from __future__ import annotations

import hashlib
from typing import Any

from simcluster.api.objects import Json, thaw
from simcluster.api.request import APPLY_PATCH, Query
from simcluster.engine import SECOND, format_rfc3339
from simcluster.surface.kubectl.apply import LAST_APPLIED, last_applied, three_way
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import FILES, SELECTOR, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation, object_path
from simcluster.surface.kubectl.linediff import unified
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.surface.kubectl.selection import Wanted, of_files

FLAGS = (
    *FILES,
    SELECTOR,
    Flag("concurrency", kind="int", default="1"),
    manager("kubectl-client-side-apply"),
    switch("force-conflicts"),
    switch("prune"),
    Flag("prune-allowlist", kind="list"),
    switch("server-side"),
    switch("show-managed-fields"),
)

_DRY: Query = (("dryRun", "All"),)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl diff`: exit code 1 if there are differences, more if it fails."""
    try:
        _diff(invocation, arguments)
    except KubectlError as error:
        error.code = max(error.code, 1) + 1
        raise


def _diff(invocation: Invocation, arguments: Arguments) -> None:
    if arguments.positional:
        raise KubectlError(
            f"error: Unexpected args: [{' '.join(arguments.positional)}]\nSee 'kubectl diff -h' for help and examples"
        )
    if not arguments.texts("filename") and not arguments.text("kustomize"):
        raise plain("must specify one of -f and -k")
    if arguments.on("prune"):
        raise plain("--prune is not available in this kubectl's diff; use apply --prune --dry-run=server")
    failures = Failures()
    wanted = of_files(invocation, arguments, failures)
    failures.raise_all()
    pairs: dict[str, tuple[str, str]] = {}
    for entry in wanted:
        name, before, after = _Comparison(invocation, arguments, entry).texts()
        pairs[name] = (before, after)
    if _print(invocation, pairs):
        invocation.exit_code = 1


def _print(invocation: Invocation, pairs: dict[str, tuple[str, str]]) -> bool:
    now = invocation.clock.now
    stamp = format_rfc3339(now).replace("T", " ").removesuffix("Z") + f".{now % SECOND:09d} +0000"
    live, merged = (f"/tmp/{word}-{_number(word, now)}" for word in ("LIVE", "MERGED"))
    different = False
    for name in sorted(pairs):
        hunks = unified(*pairs[name])
        if hunks:
            different = True
            invocation.line(f"diff -u -N {live}/{name} {merged}/{name}")
            invocation.line(f"--- {live}/{name}\t{stamp}\n+++ {merged}/{name}\t{stamp}")
            invocation.write(hunks)
    return different


def _number(word: str, now_ns: int) -> int:
    """The number of a temporary folder."""
    return int.from_bytes(hashlib.blake2b(f"{word}{now_ns}".encode(), digest_size=4).digest(), "big")


class _Comparison:
    """One manifest against what is there."""

    def __init__(self, invocation: Invocation, arguments: Arguments, entry: Wanted) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.entry = entry

    def texts(self) -> tuple[str, str, str]:
        """File name, text of the live object and text of the merged one."""
        entry = self.entry
        resource = entry.resource
        try:
            live: Json | None = self.invocation.get(entry.path) if entry.name else None
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            live = None
        merged = self._merged(live)
        group = f"{resource.group}." if resource.group else ""
        name = f"{group}{resource.version}.{resource.kind}.{entry.namespace}.{merged['metadata'].get('name', '')}"
        before, after = self._cleaned(live), self._cleaned(merged)
        if resource.name == "secrets":
            before, after = _masked(before, after)
            # A masked secret that does not exist is printed as `null`.
            return name, to_yaml(before) if before else "null\n", to_yaml(after)
        return name, to_yaml(before) if before else "", to_yaml(after)

    def _cleaned(self, obj: Json | None) -> Any:
        if obj is None:
            return None
        copy = thaw(obj)
        if not self.arguments.on("show-managed-fields"):
            copy["metadata"].pop("managedFields", None)
        return copy

    def _merged(self, live: Json | None) -> Json:
        entry, manifest = self.entry, self.entry.placed()
        name = self.arguments.text("field-manager")
        query: Query
        if self.arguments.on("server-side"):
            name = name if self.arguments.given("field-manager") else "kubectl"
            force = "true" if self.arguments.on("force-conflicts") else "false"
            query = (*_DRY, ("fieldManager", name), ("force", force))
            return self._ask("PATCH", entry.path, query, manifest, APPLY_PATCH)
        query = (*_DRY, ("fieldManager", name))
        if live is None:
            return self._ask("POST", object_path(entry.resource, entry.namespace), query, manifest)
        metadata = manifest["metadata"]
        annotations = metadata.get("annotations") or {}
        # As what was remembered: with annotations, though there be none, and without itself.
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
        patch, content_type = three_way(entry.resource, last_applied(live) or {}, manifest, live)
        return self._ask("PATCH", entry.path, query, patch, content_type) if patch else live

    def _ask(self, method: str, path: str, query: Query, body: Any, content_type: str = "application/json") -> Json:
        answer: Json = self.invocation.ask(method, path, query, body=body, content_type=content_type).body
        return answer


def _masked(before: Json | None, after: Json) -> tuple[Any, Json]:
    """Both with stars for values; a changed value shows that it changed."""
    old: Json = (before or {}).get("data") or {}
    new: Json = after.get("data") or {}
    for key in old:
        if key in new and old[key] != new[key]:
            old[key], new[key] = "*** (before)", "*** (after)"
            continue
        if key in new:
            new[key] = "***"
        old[key] = "***"
    for key in new:
        if key not in old:
            new[key] = "***"
    return before, after
