"""Delete: grace periods, finalizers, propagation, preconditions.

Source: k8s.io/apiserver/pkg/registry/rest/delete.go and generic/registry/store.go.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.namespaces import terminating
from simcluster.api.registry.registry import Registry
from simcluster.api.registry.strategies import strategy_of
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
#: Resources whose dependents stay when the request names no policy, for compatibility with the
#: time before garbage collection (DefaultGarbageCollectionPolicy of their strategies).
ORPHANING = ("replicationcontrollers", "jobs.batch")


class Deletion(NamedTuple):
    """What became of a deletion: the object (its last state), and whether it is gone."""

    object: Json
    gone: bool


def delete(registry: Registry, attributes: Attributes) -> Deletion:
    """Delete the object of `attributes.old` under `attributes.options`. Raises ApiError."""
    old, resource = attributes.current, attributes.resource
    options: Json = attributes.options or {}
    _check_preconditions(attributes, options)
    registry.admission.mutate(attributes)
    registry.admission.validate(attributes)
    if resource.storage == "namespaces":
        return _delete_namespace(registry, attributes, options)
    metadata = dict(old["metadata"])
    pending = "deletionTimestamp" in metadata
    grace = strategy_of(resource).grace_period_s(old, options)
    if pending and grace is not None and not _shorten(metadata, options, grace):
        return Deletion(old, False)
    finalizers = strategy_of(resource).finalizers_at_deletion(_finalizers(metadata, options, resource.storage))
    if finalizers != list(metadata.get("finalizers") or ()):
        metadata["finalizers"] = finalizers
    if not pending:
        metadata["deletionTimestamp"] = format_rfc3339(registry.sim.now + (grace or 0) * SECOND)
        metadata["deletionGracePeriodSeconds"] = grace or 0
        if metadata.get("generation"):
            metadata["generation"] += 1
    if not metadata.get("finalizers"):
        metadata.pop("finalizers", None)
        if not metadata["deletionGracePeriodSeconds"]:
            return _remove(registry, attributes)
    changed: Json = {**old, "metadata": metadata}
    if attributes.dry_run or metadata == old["metadata"]:
        return Deletion(changed, False)
    return Deletion(registry.stored(resource, changed), False)


def _remove(registry: Registry, attributes: Attributes) -> Deletion:
    if attributes.dry_run:
        return Deletion(attributes.current, True)
    resource = attributes.resource
    removed = registry.store.remove(resource.storage, attributes.namespace, attributes.name)
    strategy_of(resource).after_delete(removed, registry)
    return Deletion(removed, True)


def _shorten(metadata: Json, options: Json, grace: int) -> bool:
    """Apply a shorter grace period to an object that is being deleted; whether it is shorter."""
    asked, before = options.get("gracePeriodSeconds"), metadata.get("deletionGracePeriodSeconds", 0)
    if before == 0:
        return True  # waits for finalizers only, or is about to vanish
    if asked is None or grace >= before:
        return False
    at_ns = parse_rfc3339(metadata["deletionTimestamp"]) + (grace - before) * SECOND
    metadata["deletionTimestamp"] = format_rfc3339(at_ns)
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def _finalizers(metadata: Json, options: Json, storage: str) -> list[str]:
    """The finalizers with those that the propagation policy asks for."""
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents") is not None:
        policy = "Orphan" if options["orphanDependents"] else "Background"
    current = list(metadata.get("finalizers") or ())
    if policy is None and storage in ORPHANING and not {FOREGROUND, ORPHAN} & {*current}:
        policy = "Orphan"
    if policy is None:
        return current
    kept = [f for f in current if f not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept


def _delete_namespace(registry: Registry, attributes: Attributes, options: Json) -> Deletion:
    old = attributes.current
    if not (old.get("spec") or {}).get("finalizers") and not old["metadata"].get("finalizers"):
        return _remove(registry, attributes)
    changed = terminating(old, registry.now_text())
    finalizers = _finalizers(changed["metadata"], options, "namespaces")
    if finalizers:
        changed["metadata"]["finalizers"] = finalizers
    if attributes.dry_run or changed == old:
        return Deletion(changed, False)
    return Deletion(registry.store.put("namespaces", changed), False)


def _check_preconditions(attributes: Attributes, options: Json) -> None:
    wanted = options.get("preconditions") or {}
    metadata = attributes.current["metadata"]
    uid, version = wanted.get("uid"), wanted.get("resourceVersion")
    name, resource = attributes.name, attributes.resource
    # The real server names the kind here where a resource belongs (rest/delete.go).
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    if uid and uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind, name, why)
    if version and version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(kind, name, why)
