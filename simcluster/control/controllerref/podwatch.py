"""A watch on pods that lets through only what concerns one kind of controller.

A cluster full of Deployment pods costs the controllers of other kinds a comparison for
each change, no timer and no draw. Source of what concerns whom: the pod handlers of
kubernetes pkg/controller/{statefulset,daemon,job}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer
from simcluster.engine import Simulation


def controlling_reference(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The owner reference with `controller: true`. Do not change it."""
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Mapping[str, Any] = reference
            return found
    return None


class PodWatch(Informer):
    """Changes of pods that a controller of one kind owns, owned or might adopt.

    Args:
        name: of the controller.
        owners: resource of the owners, such as `statefulsets.apps`.
        kind: their kind.

    Attributes:
        orphans: names of the pods without controller, by namespace.
    """

    def __init__(
        self, sim: Simulation, api: Api, name: str, owners: str, kind: str, handler: Callable[[Change], None]
    ) -> None:
        super().__init__(sim, name, "pods", handler)
        self.store = api.store
        self.owners = owners
        self.kind = kind
        self.orphans: dict[str, dict[str, None]] = {}
        for pod in self.store.objects("pods"):
            self.notify(Change("ADDED", "pods", pod, None, int(pod["metadata"]["resourceVersion"])))
        self.store.subscribe("pods", self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        reference = controlling_reference(change.object)
        if reference is None:
            self._index(change)
            concerns = self.store.count(self.owners) > 0
        else:
            concerns = reference["kind"] == self.kind
        if change.previous is not None and change.kind == "MODIFIED":
            before = controlling_reference(change.previous)
            if before is None and reference is not None:
                self._forget(change.object)
            concerns = concerns or (before is not None and before["kind"] == self.kind)
        if concerns:
            super().notify(change)

    def _index(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._forget(change.object)
        else:
            self.orphans.setdefault(namespace_of(change.object), {})[name_of(change.object)] = None

    def _forget(self, pod: ApiObject) -> None:
        names = self.orphans.get(namespace_of(pod))
        if names is not None:
            names.pop(name_of(pod), None)
            if not names:
                del self.orphans[namespace_of(pod)]
