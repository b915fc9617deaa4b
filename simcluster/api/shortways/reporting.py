"""The report of a status by the component that keeps it: the most frequent updates, on a short way.

Whoever writes the status of an object over and over (a kubelet of its pods, the controllers of
Deployments and ReplicaSets) makes it anew in the form in which it is stored, and changes nothing
else. Such a write needs no decoding, merging or copying; what is left is to ask whether it is
allowed, and to bring `managedFields` up to date. Every other write, one that webhooks or policies
may see, and one of an object that is being deleted goes the long way (`writing.update` and
`writing.patch`), to the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api import managedfields
from simcluster.api.authorization.node import node_of
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.customresources.types import type_of_resource
from simcluster.api.handlers import vetting
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.shortways.renewal import is_observed

if TYPE_CHECKING:
    from simcluster.api.server import Api

#: What may be reported so: group and plural.
REPORTED = {
    "pods": ("", "pods"),
    "deployments.apps": ("apps", "deployments"),
    "replicasets.apps": ("apps", "replicasets"),
}


def replaced(api: Api, user: User, manager: str, resource: str, obj: Json) -> ApiObject | None:
    """Store the status of a whole object that is otherwise as it is stored, as `report` does."""
    metadata = obj["metadata"]
    old = api.store.get(resource, metadata.get("namespace", ""), metadata["name"])
    if old is None or any(obj.get(key) is not part for key, part in old.items() if key != "status"):
        return None
    if "status" not in obj or len(obj) != len(old) + ("status" not in old):
        return None
    return report(api, user, manager, resource, old, obj["status"])


def merged(api: Api, user: User, manager: str, resource: str, key: tuple[str, str], patch: Json) -> ApiObject | None:
    """Store a status after a merge patch, as `report` does; `key` is the object's namespace and name."""
    old = api.store.get(resource, *key)
    if old is None:
        return None
    status = {**(old.get("status") or {}), **patch}
    if None in status.values():
        status = {name: part for name, part in status.items() if part is not None}
    return report(api, user, manager, resource, old, status, method="PATCH")


def report(
    api: Api, user: User, manager: str, resource: str, old: ApiObject, status: Json, *, method: str = "PUT"
) -> ApiObject | None:
    """Store a new status as the user's request would, if nothing speaks against it; None if the request must be made.

    Args:
        resource: one of `REPORTED`.
        old: the object as it is stored.
        status: complete; it is the server's from here on.
        method: of the request, PUT or PATCH.
    """
    store, metadata = api.store, old["metadata"]
    space, name = metadata.get("namespace", ""), metadata["name"]
    if store.get(resource, space, name) is not old or "deletionTimestamp" in metadata or not api.available:
        return None
    if is_observed(store) or store.get("namespaces", "", space) is None or not _may(api, user, resource, old, method):
        return None
    before = old.get("status")
    if status == before or dict in map(type, status.values()):
        return None
    kind = api.resources.by_name[resource]
    fresh = dict(metadata)
    new = {**old, "metadata": fresh, "status": status}
    if vetting.refuse_status_update(kind, new, old):
        return None
    writer = managedfields.Manager(manager, "Update", kind.api_version, "status")
    now = api.registry.now_text()
    after_update = api.status_fields.after_update if resource == "pods" else managedfields.after_update
    fresh["managedFields"] = after_update(old, new, type_of_resource(kind), writer, now)
    stored = store.put(resource, new)
    group, plural = REPORTED[resource]
    counted = (method, group, "v1", plural, "status", "resource", 200)
    counts = api.served.counts
    counts[counted] = counts.get(counted, 0) + 1
    return stored


def _may(api: Api, user: User, resource: str, old: ApiObject, method: str) -> bool:
    """Whether the user may write the status: by the authorizer, and by NodeRestriction."""
    node = node_of(user)
    if node and (resource != "pods" or old["spec"].get("nodeName") != node):
        return False
    authorizer = api.authorizer
    if authorizer is None or MASTERS in user.groups:
        return True
    group, plural = REPORTED[resource]
    verb = "patch" if method == "PATCH" else "update"
    metadata = old["metadata"]
    question = Question(verb, group, plural, "status", metadata.get("namespace", ""), metadata["name"], "v1")
    return authorizer.decide(user, question).allowed
