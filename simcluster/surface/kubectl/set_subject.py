"""`kubectl set subject`: adds users, groups and service accounts to role bindings."""

from __future__ import annotations

from functools import partial

from simcluster.api.objects import Json, thaw
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.surface.kubectl import strategicdiff
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import DRY_RUN, FILES, OUTPUT, SELECTOR, Arguments, Flag, manager, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch
from simcluster.surface.kubectl.setfields import refuse_local
from simcluster.surface.kubectl.typedforms import typed

FLAGS = (
    *FILES,
    SELECTOR,
    *OUTPUT,
    DRY_RUN,
    manager("kubectl-set"),
    switch("all"),
    switch("local"),
    Flag("group", kind="array"),
    Flag("serviceaccount", kind="array"),
    Flag("user", kind="array"),
)
_RBAC = "rbac.authorization.k8s.io"
_BINDINGS = (f"rolebindings.{_RBAC}", f"clusterrolebindings.{_RBAC}")


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl set subject`."""
    subjects = _subjects(arguments)
    if not subjects:
        raise plain("you must specify at least one value of user, group or serviceaccount")
    refuse_local(arguments, arguments.positional)
    targets, failures = fetch(invocation, arguments, arguments.positional)
    failures.each(targets, partial(_add, Change(invocation, arguments), subjects))


def _subjects(arguments: Arguments) -> list[Json]:
    found: list[Json] = []
    for flag, kind in (("user", "User"), ("group", "Group")):
        found.extend({"apiGroup": _RBAC, "kind": kind, "name": name} for name in arguments.texts(flag))
    for account in arguments.texts("serviceaccount"):
        namespace, colon, name = account.partition(":")
        if not colon or not name:
            raise plain("serviceaccount must be <namespace>:<name>")
        found.append({"kind": "ServiceAccount", "name": name, "namespace": namespace})
    return found


def _add(change: Change, subjects: list[Json], target: Target) -> None:
    """Add the subjects to one binding. Raises KubectlError."""
    if change.local:
        target = typed(target)
    if target.resource.name not in _BINDINGS:
        name = f"{target.resource.plural}/{target.name}"
        raise plain(f"{name} setting subjects is only supported for RoleBinding/ClusterRoleBinding")
    present = list(target.obj.get("subjects") or ())
    added = [subject for subject in subjects if subject not in present]
    if not added:
        return
    after = thaw(target.obj)
    after["subjects"] = [*present, *added]
    patch = strategicdiff.two_way(target.obj, after, target.resource)
    change.report(target.resource, change.patch(target, patch, STRATEGIC_MERGE_PATCH), "subjects updated")
