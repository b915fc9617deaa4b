"""Custom resources and their definitions: what their writes mean.

Sources: k8s.io/apiextensions-apiserver/pkg/registry/{customresource,customresourcedefinition}.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.strategy import Strategy

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class CustomResourceStrategy(Strategy):
    """Objects of kinds that a definition made known."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Generation 1; the status is not the creator's if it is a subresource."""
        custom = attributes.resource.custom
        if custom is not None and custom.is_terminating:
            message = "create not allowed while custom resource definition is terminating"
            raise ApiError(405, "MethodNotAllowed", message, {})
        obj = attributes.new
        obj["metadata"]["generation"] = 1
        if self.has_status(attributes):
            obj.pop("status", None)

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Keep the status; anything but metadata counts in the generation."""
        obj, old = attributes.new, attributes.current
        if self.has_status(attributes):
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        before = old["metadata"].get("generation", 1)
        changed = self.is_spec_changed(obj, old)
        obj["metadata"]["generation"] = before + 1 if changed else before

    def is_spec_changed(self, obj: Json, old: ApiObject) -> bool:
        """Whether anything but metadata differs."""
        left = {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion")}
        return left != {key: value for key, value in old.items() if key not in ("metadata", "apiVersion")}


class DefinitionStrategy(Strategy):
    """CustomResourceDefinitions."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Nothing is accepted yet; the storage version is noted."""
        super().prepare_for_create(attributes, state)
        attributes.new["status"] = {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storage_versions(attributes.new),
        }

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """A new storage version is noted beside those that objects may still be stored in."""
        super().prepare_for_update(attributes, state)
        status: Json = attributes.new.get("status") or {}
        stored = status.get("storedVersions") or []
        added = [name for name in _storage_versions(attributes.new) if name not in stored]
        if added:
            attributes.new["status"] = {**status, "storedVersions": [*stored, *added]}

    def finalizers_at_deletion(self, finalizers: list[str]) -> list[str]:
        """The objects of the kind are deleted before the definition goes."""
        return finalizers if CLEANUP_FINALIZER in finalizers else [*finalizers, CLEANUP_FINALIZER]


def _storage_versions(definition: Json) -> list[str]:
    return [str(v.get("name", "")) for v in (definition.get("spec") or {}).get("versions") or () if v.get("storage")]
