"""Revisions of stateful sets and daemon sets: their ControllerRevisions, for `rollout history` and `undo`.

Source of texts: k8s.io/kubectl/pkg/polymorphichelpers (history.go, rollback.go).
"""

from __future__ import annotations

from simcluster.api.objects import Json, controller_of
from simcluster.api.request import STRATEGIC_MERGE_PATCH
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.changing import Change, patched
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.invocation import Invocation, query_of
from simcluster.surface.kubectl.revisions import without_hash
from simcluster.surface.kubectl.selection import Target

KINDS = ("daemonsets.apps", "statefulsets.apps")


def revisions_of(invocation: Invocation, target: Target) -> dict[int, Json]:
    """The ControllerRevisions a set controls, by number. Raises StatusError."""
    path = f"/apis/apps/v1/namespaces/{target.namespace}/controllerrevisions"
    selector = format_selector(target.obj["spec"].get("selector"))
    found: dict[int, Json] = {}
    for revision in invocation.items(path, query_of(labelSelector=selector)):
        owner = controller_of(revision)
        if owner is not None and owner["uid"] == target.obj["metadata"]["uid"]:
            found[int(revision["revision"])] = revision
    return found


def template_of(target: Target, revision: Json) -> Json:
    """The pod template of a revision."""
    template: Json = patched(target, revision["data"], STRATEGIC_MERGE_PATCH)["spec"]["template"]
    return template


def undo(change: Change, target: Target, to_revision: int) -> None:
    """Roll a set back to an earlier revision. Raises KubectlError."""
    found = revisions_of(change.invocation, target)
    if to_revision == 0 and len(found) <= 1:
        raise plain("no last revision to roll back to")
    number = sorted(found)[-2] if to_revision == 0 else to_revision
    if number not in found:
        raise plain(f"unable to find specified revision {to_revision} in history")
    wanted = without_hash(template_of(target, found[number]))
    if wanted == without_hash(target.obj["spec"]["template"]):
        text = f"skipped rollback (current template already matches revision {to_revision})"
        change.report(target.resource, target.obj, text)
        return
    changed = change.patch(target, found[number]["data"], STRATEGIC_MERGE_PATCH)
    change.report(target.resource, changed, "rolled back")
