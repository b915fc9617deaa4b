"""`kubectl cordon` and `kubectl uncordon`."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl.errors import KubectlError, plain, usage
from simcluster.surface.kubectl.flags import DRY_RUN, SELECTOR, Arguments, dry_run
from simcluster.surface.kubectl.invocation import Failures, Invocation, query_of
from simcluster.surface.kubectl.selection import of_arguments

FLAGS = (DRY_RUN, SELECTOR)


def nodes(invocation: Invocation, arguments: Arguments, failures: Failures) -> list[Json]:
    """The nodes that the arguments of cordon, uncordon and drain name. Raises KubectlError."""
    names, selector = arguments.positional, arguments.text("selector")
    if not names and not selector:
        raise usage(arguments.path, f"USAGE: {arguments.path} NODE [flags]")
    if names and selector:
        raise plain("cannot specify both a node name and a --selector option")
    if selector:
        return invocation.items("/api/v1/nodes", query_of(labelSelector=selector, limit=500))
    found = []
    for name in names:
        try:
            entry = of_arguments(invocation, [name] if "/" in name else ["nodes", name])[0]
            if entry.resource.name != "nodes":
                raise plain(f"{name} is not a node")
            found.append(invocation.get(entry.path))
        except KubectlError as error:
            failures.errors.append(error)
    return found


def mark(invocation: Invocation, node: Json, mode: str, *, unschedulable: bool) -> None:
    """Set or clear `spec.unschedulable` and say so. Raises StatusError."""
    name = node["metadata"]["name"]
    word = "cordoned" if unschedulable else "uncordoned"
    suffix = {"none": "", "client": " (dry run)", "server": " (server dry run)"}[mode]
    if bool((node.get("spec") or {}).get("unschedulable")) == unschedulable:
        invocation.line(f"node/{name} already {word}{suffix}")
        return
    if mode != "client":
        query = query_of(dryRun="All" if mode == "server" else "")
        patch = {"spec": {"unschedulable": True if unschedulable else None}}
        invocation.ask("PATCH", f"/api/v1/nodes/{name}", query, body=patch, content_type=STRATEGIC_MERGE_PATCH)
    invocation.line(f"node/{name} {word}{suffix}")


def _run(invocation: Invocation, arguments: Arguments, *, unschedulable: bool) -> None:
    failures = Failures()
    mode = dry_run(arguments)
    found = nodes(invocation, arguments, failures)
    failures.raise_all()
    for node in found:
        mark(invocation, node, mode, unschedulable=unschedulable)


def cordon(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cordon`."""
    _run(invocation, arguments, unschedulable=True)


def uncordon(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl uncordon`."""
    _run(invocation, arguments, unschedulable=False)
