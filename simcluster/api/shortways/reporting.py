"""The report of a status by the component that keeps it: the most frequent updates.

Who writes the status of an object over and over (a kubelet of its pods, the controllers of Deployments and
ReplicaSets) makes it anew in the form in which it is stored, and changes nothing else. Such a write needs no
decoding, merging or copying; what is left is to bring `managedFields` up to date.
"""

from __future__ import annotations

from typing import Any

from simcluster.api import managedfields
from simcluster.api.authorization.question import Question
from simcluster.api.customresources.types import type_of_resource
from simcluster.api.handlers import vetting
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible

#: What may be reported so: group and plural.
REPORTED = {
    "pods": ("", "pods"),
    "deployments.apps": ("apps", "deployments"),
    "replicasets.apps": ("apps", "replicasets"),
}
_KEPT_ZERO = ("replicasets.apps", "replicas")


def replaced(api: Serving, user: User, manager: str, resource: str, obj: Json) -> ApiObject | None:
    """Store the status of a whole object that is otherwise as it is stored, as `report` does."""
    metadata = obj["metadata"]
    old = api.store.get(resource, metadata.get("namespace", ""), metadata["name"])
    if old is None or any(obj.get(key) is not part for key, part in old.items() if key != "status"):
        return None
    if "status" not in obj or len(obj) != len(old) + ("status" not in old):
        return None
    return report(api, user, manager, resource, old, obj["status"])


def merged(
    api: Serving, user: User, manager: str, resource: str, key: tuple[str, str], patch: Json
) -> ApiObject | None:
    """Store a status after a merge patch, as `report` does; `key` is the object's namespace and name."""
    old = api.store.get(resource, *key)
    if old is None:
        return None
    status = {**(old.get("status") or {}), **patch}
    if None in status.values():
        status = {name: part for name, part in status.items() if part is not None}
    return report(api, user, manager, resource, old, status, verb="patch")


def report(
    api: Serving, user: User, manager: str, resource: str, old: ApiObject, status: Json, *, verb: str = "update"
) -> ApiObject | None:
    """Store a new status as the user's request would, if nothing speaks against it; None if the request must be made.

    Args:
        resource: one of `REPORTED`.
        old: the object as it is stored.
        status: complete; it is the server's from here on.
        verb: of the request, update or patch.
    """
    metadata = old["metadata"]
    space, name = metadata.get("namespace", ""), metadata["name"]
    group, plural = REPORTED[resource]
    question = Question(verb, group, plural, "status", space, name, "v1")
    if api.store.get(resource, space, name) is not old or not is_eligible(api, user, question, old):
        return None
    if status == old.get("status") or not all(_is_stored_so(resource, *field) for field in status.items()):
        return None
    kind = api.resources.by_name[resource]
    fresh = dict(metadata)
    new = {**old, "metadata": fresh, "status": status}
    if vetting.refuse_status_update(kind, new, old):
        return None
    writer = managedfields.Manager(manager, "Update", kind.api_version, "status")
    after_update = api.status_fields.after_update if resource == "pods" else managedfields.after_update
    fresh["managedFields"] = after_update(old, new, type_of_resource(kind), writer, api.registry.now_text())
    return commit(api, question, new)


def _is_stored_so(resource: str, name: str, value: Any) -> bool:
    """Whether decoding would leave a field as it is: what is empty is not stored, but for one number."""
    return type(value) is not dict and (bool(value) or (value == 0 and (resource, name) == _KEPT_ZERO))
