"""Create and update: the generic rules of every kind.

Order of a create, as in the real server: mutating admission, metadata, strategy,
validation, validating admission, storage. A write that changes nothing is not stored.

Source: k8s.io/apiserver/pkg/registry/{rest,generic/registry}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api import conversion, errors, managedfields
from simcluster.api.customresources.types import type_of_resource
from simcluster.api.errors import Cause
from simcluster.api.handlers import vetting
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.addresses import ServiceAddresses
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.identity import Identities
from simcluster.api.registry.strategies import strategy_of
from simcluster.api.registry.strategy import Strategy, needs_version
from simcluster.api.resources import Resource
from simcluster.api.store import Store
from simcluster.engine import SECOND, Simulation, format_rfc3339

if TYPE_CHECKING:
    from simcluster.api.admission.chain import AdmissionChain
    from simcluster.api.authorization.authorizer import Authorizer

#: Metadata that only the server writes.
_SERVER_FIELDS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "generation")
#: What a create may not say of it, and what an update leaves as it is.
_NEVER_SENT = frozenset({*_SERVER_FIELDS, "resourceVersion", "managedFields", "selfLink"})
_KEPT_FIELDS = (*_SERVER_FIELDS, "generateName", "namespace")


class Registry:
    """Writes objects of all kinds into the store.

    Attributes:
        addresses: what Services have been given.
        authorizer: decides who may write what; None allows everything.
    """

    def __init__(self, sim: Simulation, store: Store, admission: AdmissionChain, identities: Identities) -> None:
        self.sim = sim
        self.store = store
        self.admission = admission
        self.identities = identities
        self.addresses = ServiceAddresses(sim)
        self.authorizer: Authorizer | None = None
        self._now = (-1, "")  # a second and its text

    def now_text(self) -> str:
        """The present instant as objects carry it."""
        second = self.sim.now // SECOND
        if second != self._now[0]:
            self._now = (second, format_rfc3339(self.sim.now))
        return self._now[1]

    # Create.

    def create(self, attributes: Attributes) -> Json:
        """Store a new object; returns it. Raises ApiError."""
        resource, obj = attributes.resource, attributes.new
        strategy = strategy_of(resource)
        obj["metadata"] = _fresh_metadata(obj["metadata"], attributes)
        # Fields are owned as the writer sent them, not as admission and strategies complete them.
        entries = self._entries(attributes) if attributes.manager_operation == "Update" else list(attributes.entries)
        self.admission.mutate(attributes)
        obj, metadata = attributes.new, attributes.new["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = self.identities.name(
                resource.storage, attributes.namespace, metadata["generateName"], dry_run=attributes.dry_run
            )
        name = metadata.get("name", "")
        strategy.prepare_for_create(attributes, self)
        obj = attributes.new
        self._refuse(attributes, _name_causes(obj) or vetting.refuse_create(resource, obj))
        exists = self.store.get(resource.storage, attributes.namespace, name) is not None
        if exists:
            raise errors.already_exists(resource.name, name)
        self.admission.validate(attributes)
        if "uid" not in metadata:  # a strategy may have needed it
            metadata["uid"] = self.identities.uid(resource.storage, attributes.namespace, name)
        metadata["creationTimestamp"] = self.now_text()
        if attributes.dry_run:
            return obj
        if entries:
            metadata["managedFields"] = entries
        stored = self.stored(resource, obj)
        strategy.after_create(stored, self)
        return stored

    # Update.

    def update(self, attributes: Attributes) -> Json:
        """Store a new version of an object; returns what is stored. Raises ApiError.

        An object that is being deleted and has lost its last finalizer is removed.
        """
        resource, old = attributes.resource, attributes.current
        strategy = strategy_of(resource)
        self._check_preconditions(attributes)
        is_status = attributes.subresource == "status"
        if not is_status:  # a status write keeps more than that
            _keep_server_metadata(attributes.new, old)
        self._prepare_update(strategy, attributes)
        self.admission.mutate(attributes)
        if attributes.is_changed_by_webhooks:
            _keep_server_metadata(attributes.new, old)
            self._prepare_update(strategy, attributes)
        obj = attributes.new
        if _is_same(obj, old) and not self._is_stored_otherwise(attributes):
            return old
        if is_status:
            self._refuse(attributes, vetting.refuse_status_update(resource, obj, old))
        elif not attributes.subresource:
            self._refuse(attributes, vetting.refuse_update(resource, obj, old))
        self.admission.validate(attributes)
        if attributes.manager_operation == "Update":
            self._own(attributes)
        if attributes.dry_run:
            return obj
        if _is_finally_deleted(obj, resource.storage):
            removed = self.store.remove(resource.storage, attributes.namespace, attributes.name)
            strategy.after_delete(removed, self)
            return removed
        stored = self.stored(resource, obj)
        strategy.after_update(stored, old, self)
        return stored

    # Inside.

    def stored(self, resource: Resource, obj: Json) -> ApiObject:
        """Store what a write has made. Raises ApiError 500 if it cannot be converted."""
        return self.store.put(resource.storage, conversion.encoded(resource, obj, self.admission.cluster))

    def _is_stored_otherwise(self, attributes: Attributes) -> bool:
        """Whether a custom resource lies there in a version that is not the storage version any more."""
        custom = attributes.resource.custom
        if custom is None:
            return False
        found = self.store.get(attributes.resource.storage, attributes.namespace, attributes.name)
        return found is not None and found["apiVersion"] != f"{attributes.resource.group}/{custom.storage_version}"

    def _prepare_update(self, strategy: Strategy, attributes: Attributes) -> None:
        if attributes.subresource == "status":
            strategy.prepare_for_status_update(attributes, self)
        elif attributes.subresource:
            strategy.prepare_for_part_update(attributes)
        else:
            strategy.prepare_for_update(attributes, self)

    def _refuse(self, attributes: Attributes, causes: list[Cause]) -> None:
        if causes:
            resource = attributes.resource
            raise errors.invalid(resource.kind, resource.group, attributes.new["metadata"].get("name", ""), causes)

    def _check_preconditions(self, attributes: Attributes) -> None:
        resource, old, metadata = attributes.resource, attributes.current, attributes.new["metadata"]
        version, uid = metadata.get("resourceVersion"), metadata.get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise errors.conflict(resource.name, attributes.name, _uid_mismatch(attributes, uid))
        if version and version != "0" and version != old["metadata"]["resourceVersion"]:
            raise errors.stale(resource.name, attributes.name)
        if not version and (resource.custom is not None or needs_version(resource.storage)):
            cause = Cause("FieldValueInvalid", "Invalid value: 0x0: must be specified for an update", _VERSION_FIELD)
            raise errors.invalid(resource.kind, resource.group, attributes.name, [cause])

    def _entries(self, attributes: Attributes) -> list[Json]:
        """`managedFields` after this update."""
        resource = attributes.resource
        schema = type_of_resource(resource)
        manager = managedfields.Manager(attributes.manager, "Update", resource.api_version, attributes.subresource)
        return managedfields.after_update(attributes.old, attributes.new, schema, manager, self.now_text())

    def _own(self, attributes: Attributes) -> None:
        """Bring `managedFields` of an update up to date."""
        entries = self._entries(attributes)
        if entries:
            attributes.new["metadata"]["managedFields"] = entries
        else:
            attributes.new["metadata"].pop("managedFields", None)


_VERSION_FIELD = "metadata.resourceVersion"


def _fresh_metadata(metadata: Json, attributes: Attributes) -> Json:
    """The metadata of a create: nothing that only the server decides."""
    fresh = {key: value for key, value in metadata.items() if key not in _NEVER_SENT}
    if attributes.resource.namespaced:
        fresh["namespace"] = attributes.namespace
    return fresh


def _keep_server_metadata(obj: Json, old: ApiObject) -> None:
    metadata, before = dict(obj["metadata"]), old["metadata"]
    for name in _KEPT_FIELDS:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    metadata.pop("selfLink", None)
    obj["metadata"] = metadata


def _name_causes(obj: Json) -> list[Cause]:
    if obj["metadata"].get("name"):
        return []
    return [Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")]


def _is_same(obj: Json, old: ApiObject) -> bool:
    """Whether a write leaves everything but versions as it was."""
    for key, left in obj.items():
        if key != "metadata":
            right = old.get(key)
            if left is not right and left != right:
                return False
    for key, right in old.items():
        if key not in obj and right is not None:
            return False
    ignored: tuple[str, ...] = ("resourceVersion",)
    new, before = obj["metadata"], old["metadata"]
    if not new.get("managedFields"):
        ignored = ("resourceVersion", "managedFields")
    for key, left in new.items():
        if key not in ignored and (key not in before or (left is not before[key] and left != before[key])):
            return False
    return all(key in new or key in ignored for key in before)


def _is_finally_deleted(obj: Json, resource: str) -> bool:
    metadata = obj["metadata"]
    if resource == "namespaces" and (obj.get("spec") or {}).get("finalizers"):
        return False
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


def _uid_mismatch(attributes: Attributes, uid: str) -> str:
    key = "/".join(p for p in (attributes.resource.plural, attributes.namespace, attributes.name) if p)
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {uid}, UID in object meta: {attributes.current['metadata']['uid']}"
    )
