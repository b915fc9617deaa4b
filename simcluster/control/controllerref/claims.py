"""Adopting pods that match a selector, releasing owned pods that no longer do.

Source: kubernetes pkg/controller/controller_ref_manager.go (PodControllerRefManager).
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    Json,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.control.controllerref.podwatch import PodWatch, controlling_reference
from simcluster.control.labelselector import selector_matches, selector_of


class PodClaims:
    """The pods of the owners of one controller.

    Args:
        client: of the controller.
        watch: its watch on pods, which knows the orphans.
        adopted: labels and such that an adopted pod gets besides the owner reference, as
            `metadata` of a merge patch (the Job controller adds its finalizer).
    """

    def __init__(self, client: Client, watch: PodWatch, adopted: Callable[[ApiObject], Json] | None = None) -> None:
        self.client = client
        self.watch = watch
        self.adopted = adopted

    def owner_of(self, pod: ApiObject) -> ApiObject | None:
        """The existing owner of this watch's kind, or None."""
        reference = controlling_reference(pod)
        if reference is None or reference["kind"] != self.watch.kind:
            return None
        owner = self.client.cache.get(self.watch.owners, namespace_of(pod), reference["name"])
        return owner if owner is not None and uid_of(owner) == reference["uid"] else None

    def owners_matching(self, pod: ApiObject) -> list[ApiObject]:
        """The owners whose selector an orphan matches."""
        owners = self.client.cache.objects(self.watch.owners, namespace_of(pod))
        return [owner for owner in owners if selector_matches(selector_of(owner), labels_of(pod))]

    def owned(self, owner: ApiObject) -> list[ApiObject]:
        """All pods that the owner controls, as they are, in order of name."""
        cache, found = self.client.cache, []
        for resource, namespace, name in cache.owned_by(uid_of(owner)):
            pod = cache.get("pods", namespace, name) if resource == "pods" else None
            if pod is not None and (controlling_reference(pod) or {}).get("uid") == uid_of(owner):
                found.append(pod)
        return found

    def claim(self, owner: ApiObject, accepts: Callable[[ApiObject], bool] | None = None) -> list[ApiObject]:
        """The owner's pods after adopting and releasing.

        Args:
            accepts: what a pod must satisfy besides the selector.

        Raises:
            ApiError: an adoption or a release failed.
        """
        selector = selector_of(owner)
        claimed = []
        for pod in self.owned(owner):
            if selector_matches(selector, labels_of(pod)) and (accepts is None or accepts(pod)):
                claimed.append(pod)
            elif not is_terminating(owner):
                self.release(owner, pod)
        if not is_terminating(owner):
            claimed += [
                self.adopt(owner, orphan) for orphan in self.adoptable(owner) if accepts is None or accepts(orphan)
            ]
        return claimed

    def adoptable(self, owner: ApiObject) -> list[ApiObject]:
        """Orphans of the owner's namespace that its selector matches, in order of name."""
        selector, found = selector_of(owner), []
        for name in sorted(self.watch.orphans.get(namespace_of(owner), ())):
            orphan = self.client.cache.get("pods", namespace_of(owner), name)
            if orphan is None or is_terminating(orphan) or controlling_reference(orphan) is not None:
                continue
            if selector_matches(selector, labels_of(orphan)):
                found.append(orphan)
        return found

    def adopt(self, owner: ApiObject, pod: ApiObject) -> ApiObject:
        """Make an orphan the owner's. Raises ApiError."""
        kept = [thaw(entry) for entry in pod["metadata"].get("ownerReferences") or ()]
        metadata: Json = {"uid": uid_of(pod), "ownerReferences": [*kept, owner_reference(owner)]}
        if self.adopted is not None:
            metadata.update(self.adopted(pod))
        return self.client.patch("pods", namespace_of(pod), name_of(pod), {"metadata": metadata}, kind="merge")

    def release(self, owner: ApiObject, pod: ApiObject) -> None:
        """Give up a pod that no longer matches. Raises ApiError."""
        kept = [thaw(entry) for entry in pod["metadata"]["ownerReferences"] if entry["uid"] != uid_of(owner)]
        patch = {"metadata": {"uid": uid_of(pod), "ownerReferences": kept or None}}
        try:
            self.client.patch("pods", namespace_of(pod), name_of(pod), patch, kind="merge")
        except ApiError as error:
            if error.code != 404:
                raise
