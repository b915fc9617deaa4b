"""Whose the fields of a pod's status are after its kubelet has written it, remembered by what changed.

A thousand pods of one template start alike: their kubelets write the same fields in the same order, with
other values. Which fields a manager owns depends on the fields alone, so the comparison of two statuses
(`managedfields.after_update`) is made once for each way in which a status changes, and the resulting set of
fields is shared. The address of a pod is the one value that appears in such a set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api import managedfields
from simcluster.api.managedfields import Manager
from simcluster.api.objects import ApiObject, Json
from simcluster.api.patch.structure import Shape
from simcluster.api.schema import TypeSchema

_STATUS, _ADDRESSES = "f:status", "f:podIPs"
_BY_ADDRESS = Shape(keys=("ip",))
#: Ways of change that are remembered; all are forgotten when there are more.
_KEPT = 1024

#: What was owned before, and what is owned after.
_Change = tuple[Json | None, Json]


class StatusFields:
    """Remembers for every way in which a status has changed what its writer owns then."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], _Change] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": {}}

    def after_update(
        self, old: ApiObject, new: Json, schema: TypeSchema | None, manager: Manager, time: str
    ) -> list[Json]:
        """`managedFields` of a pod of which nothing but the status is new, as `managedfields.after_update` has it."""
        entries: Sequence[Json] = old["metadata"].get("managedFields") or ()
        before: Json | None = None
        others = []
        for entry in entries:
            if entry.get("manager") == manager.name and managedfields.manager_of(entry) == manager:
                before = entry.get("fieldsV1")
            else:
                others.append(entry)
        if any(_STATUS in (entry.get("fieldsV1") or ()) for entry in others):
            return managedfields.after_update(old, new, schema, manager, time)
        way = (manager, *_way(old.get("status") or {}, new["status"]))
        known = self._known.get(way)
        if known is not None and known[0] is before:
            own = managedfields.entry(manager, _with_address(known[1], new["status"]), time)
            return managedfields.ordered([*others, own])
        made = managedfields.after_update(old, new, schema, manager, time)
        after = next((entry["fieldsV1"] for entry in made if managedfields.manager_of(entry) == manager), None)
        if after is not None and _is_general(before, after, old.get("status") or {}):
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[way] = (before, after)
        return made


def _way(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, ...]:
    """In which way one status differs from another: equal if the same fields have changed, come and gone."""
    fields = [key for key in old if key not in new]
    for key, part in new.items():
        if key not in old:
            fields.append("+" + key)
        elif part is not old[key] and part != old[key]:
            fields.append("~" + key)
    conditions = new.get("conditions") or ()
    before = {entry["type"]: entry for entry in old.get("conditions") or ()}
    kept = [entry["type"] for entry in conditions]
    gone = [kind for kind in before if kind not in kept]
    return (tuple(fields), tuple(gone), len(new.get("podIPs") or ()), *[_of_condition(c, before) for c in conditions])


def _of_condition(new: Json, known: Mapping[str, Json]) -> tuple[str, ...]:
    old = known.get(new["type"])
    if old is None:
        return (new["type"], "+", *new)
    if new is old:
        return (new["type"],)
    changed = [key for key, value in new.items() if key not in old or value != old[key]]
    return (new["type"], "~", *changed, "-", *[key for key in old if key not in new])


def _is_general(before: Json | None, after: Json, old: Mapping[str, Any]) -> bool:
    """Whether a set would be the same for any other pod, but for one new address."""
    if before is not None and _ADDRESSES in before.get(_STATUS, ()):
        return False
    addresses = after.get(_STATUS, {}).get(_ADDRESSES)
    return addresses is None or ("podIPs" not in old and len(addresses) == 2)


def _with_address(fields: Json, status: Json) -> Json:
    """A set with the address of this pod in place of the one it was made of."""
    held = fields[_STATUS].get(_ADDRESSES)
    if held is None:
        return fields
    path = managedfields.item_key(status["podIPs"][0], _BY_ADDRESS)
    addresses = {(path if name.startswith("k:") else name): node for name, node in held.items()}
    return {**fields, _STATUS: {**fields[_STATUS], _ADDRESSES: addresses}}
