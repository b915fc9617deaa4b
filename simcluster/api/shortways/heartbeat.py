"""The heartbeat of a Node: its status as it was, with newer times in its conditions, on a short way.

A kubelet writes it every five minutes even if nothing has changed. Whoever owns the times of these conditions
and changes nothing else can break no rule; everything else goes the long way (`writing.patch`), to the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.api import managedfields
from simcluster.api.authorization.node import node_of
from simcluster.api.authorization.question import Question
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.shortways.renewal import is_observed

if TYPE_CHECKING:
    from simcluster.api.server import Api

_TIME, _OWNED = "lastHeartbeatTime", "f:lastHeartbeatTime"
#: Verb, group, version, resource, subresource, scope and code, as such a request is counted.
_COUNTED = ("PATCH", "", "v1", "nodes", "status", "resource", 200)


def beat(api: Api, user: User, manager: str, name: str, conditions: Sequence[Json]) -> bool:
    """Store newer heartbeats of a Node's conditions, as its kubelet's patch of `status.conditions` would; False if
    the request must be made.
    """
    store = api.store
    old = store.get("nodes", "", name)
    if old is None or not api.available or "deletionTimestamp" in old["metadata"] or is_observed(store):
        return False
    status = old.get("status") or {}
    known: Sequence[Json] = status.get("conditions") or ()
    fresh = _newer(known, conditions)
    entries: list[Json] = old["metadata"].get("managedFields") or []
    own = _owner(entries, manager, [entry["type"] for entry in known])
    if fresh is None or own is None or node_of(user) != name:
        return False
    authorizer, question = api.authorizer, Question("patch", "", "nodes", "status", "", name, "v1")
    if authorizer is not None and not authorizer.decide(user, question).allowed:
        return False
    rest = [entry for entry in entries if entry is not own]
    managed = managedfields.ordered([*rest, {**own, "time": api.registry.now_text()}])
    metadata = {**old["metadata"], "managedFields": managed}
    store.put("nodes", {**old, "metadata": metadata, "status": {**status, "conditions": fresh}})
    counts = api.served.counts
    counts[_COUNTED] = counts.get(_COUNTED, 0) + 1
    return True


def _newer(known: Sequence[Json], wanted: Sequence[Json]) -> list[Json] | None:
    """The conditions with the times of `wanted`; None if more than every time differs."""
    if len(known) != len(wanted):
        return None
    fresh = []
    for before, after in zip(known, wanted, strict=True):
        if before.get(_TIME) == after.get(_TIME) or _TIME not in before:
            return None
        entry = {**before, _TIME: after.get(_TIME)}
        if entry != after:
            return None
        fresh.append(entry)
    return fresh


def _owner(entries: Sequence[Json], manager: str, kinds: Sequence[str]) -> Json | None:
    """The manager's entry for the status, if it alone owns the times of these conditions."""
    found = None
    for entry in entries:
        owned = ((entry.get("fieldsV1") or {}).get("f:status") or {}).get("f:conditions") or {}
        times = [_OWNED in (owned.get(f'k:{{"type":"{kind}"}}') or {}) for kind in kinds]
        is_own = entry["manager"] == manager and entry["operation"] == "Update" and entry["apiVersion"] == "v1"
        if is_own and entry.get("subresource") == "status":
            if not all(times):
                return None
            found = entry
        elif any(times):
            return None
    return found
