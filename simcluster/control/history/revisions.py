"""ControllerRevisions as objects: what they hold, how they are named, kept and dropped.

Source: kubernetes pkg/controller/history/controller_history.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    Json,
    controller_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.control.history.hashing import safe_encode
from simcluster.control.labelselector import selector_matches

CONTROLLER_REVISIONS = "controllerrevisions.apps"
#: Label of a StatefulSet's revision (history.ControllerRevisionHashLabel).
HASH = "controller.kubernetes.io/hash"
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
#: A revision's name keeps so many characters of its owner's.
_MAX_PREFIX = 223
#: What encoding/json escapes besides JSON's own.
_GO_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def revision_data(template: Mapping[str, Any]) -> Json:
    """The `data` of a revision: a patch that puts the template back (getPatch)."""
    patch: Json = _sorted(revision_patch(template))
    return patch


def revision_patch(template: Mapping[str, Any]) -> Json:
    """As much as the `data` of a revision says, in no order: to be compared, not to be kept."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: Mapping[str, Any]) -> Json:
    """The pod template that a revision holds."""
    template = thaw((revision.get("data") or {}).get("spec", {}).get("template") or {})
    template.pop("$patch", None)
    return template


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def data_hash(data: Mapping[str, Any], collision_count: int | None) -> str:
    """The hash that names a revision: FNV-1, 32 bits, over the data as Go prints it.

    Checked against recorded revisions of kube-controller-manager 1.32.
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _GO_ESCAPES.items():
        text = text.replace(character, escape)
    if collision_count is not None:
        text += str(collision_count)
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value * _FNV_PRIME) & 0xFFFFFFFF) ^ byte
    return safe_encode(str(value))


def revision_object(owner: ApiObject, labels: Mapping[str, str], data: Json, revision: int, digest: str) -> Json:
    """A ControllerRevision to create."""
    metadata: Json = {
        "name": f"{name_of(owner)[:_MAX_PREFIX]}-{digest}",
        "namespace": namespace_of(owner),
        "labels": dict(labels),
        "ownerReferences": [owner_reference(owner)],
    }
    annotations = owner["metadata"].get("annotations")
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": data,
        "revision": revision,
    }


class RevisionHistory:
    """The revisions of one controller's objects."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def of(self, owner: ApiObject) -> list[ApiObject]:
        """The owner's revisions, oldest number first, orphans of its selector adopted."""
        found = []
        for revision in self.client.cache.objects(CONTROLLER_REVISIONS, namespace_of(owner)):
            reference = controller_of(revision)
            if reference is None:
                if not is_terminating(owner) and self._may_adopt(owner, revision):
                    found.append(self._adopt(owner, revision))
            elif reference["uid"] == uid_of(owner):
                found.append(revision)
        return sorted(
            found, key=lambda entry: (entry["revision"], entry["metadata"]["creationTimestamp"], name_of(entry))
        )

    def create(self, owner: ApiObject, candidate: Json) -> ApiObject | None:
        """Store a new revision; None if the name stands for other data (a hash collision).

        Raises:
            ApiError: the server refused.
        """
        namespace = namespace_of(owner)
        try:
            return self.client.create(CONTROLLER_REVISIONS, namespace, candidate)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        existing = self.client.cache.get(CONTROLLER_REVISIONS, namespace, candidate["metadata"]["name"])
        return existing if existing is not None and existing.get("data") == candidate["data"] else None

    def renumber(self, revision: ApiObject, number: int) -> ApiObject:
        """Make an old revision the newest one."""
        if revision["revision"] == number:
            return revision
        return self.client.update(CONTROLLER_REVISIONS, {**thaw(revision), "revision": number})

    def truncate(self, revisions: list[ApiObject], live: Mapping[str, Any], limit: int) -> None:
        """Delete the oldest revisions that nothing uses, beyond `revisionHistoryLimit`.

        Args:
            revisions: oldest first.
            live: names in use.
        """
        idle = [entry for entry in revisions if name_of(entry) not in live]
        for revision in idle[: max(0, len(idle) - limit)]:
            try:
                self.client.delete(CONTROLLER_REVISIONS, namespace_of(revision), name_of(revision))
            except ApiError as error:
                if error.code != 404:
                    raise

    def _may_adopt(self, owner: ApiObject, revision: ApiObject) -> bool:
        return not is_terminating(revision) and selector_matches(owner["spec"].get("selector"), labels_of(revision))

    def _adopt(self, owner: ApiObject, revision: ApiObject) -> ApiObject:
        kept = [thaw(entry) for entry in revision["metadata"].get("ownerReferences") or ()]
        patch = {"metadata": {"uid": uid_of(revision), "ownerReferences": [*kept, owner_reference(owner)]}}
        return self.client.patch(CONTROLLER_REVISIONS, namespace_of(owner), name_of(revision), patch, kind="merge")
