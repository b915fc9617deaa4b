"""API objects: plain dictionaries in Kubernetes' wire form, frozen once they are stored.

A stored object is an `ApiObject`. Its top level refuses writes; its inside is shared by
every reader, every watch and every fork, and must not be changed by anybody: a writer
makes a new object (`thaw`) and sends it to the API. A test proves that nobody cheats.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn

from simcluster.engine import Shared

Json = dict[str, Any]


class ApiObject(dict[str, Any], Shared):
    """One version of one object, as the API store holds it.

    Attributes:
        printed: what the printer of its kind remembers of it, or unset; no part of a copy.
    """

    __slots__ = ("printed",)

    printed: Any

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a stored API object is frozen; change a thaw() of it")

    __setitem__ = _refuse
    __delitem__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __reduce__(self) -> tuple[type[ApiObject], tuple[Json]]:
        return (ApiObject, (dict(self),))

    def __deepcopy__(self, memo: dict[int, Any]) -> Json:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}


def thaw(obj: Mapping[str, Any]) -> Json:
    """A private deep copy that may be changed and sent back to the API."""
    return {key: _copy(value) for key, value in obj.items()}


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copy(item) for key, item in value.items()}
    if kind is list:
        return [_copy(item) for item in value]
    return value


def name_of(obj: Mapping[str, Any]) -> str:
    """`metadata.name`."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Mapping[str, Any]) -> str:
    """`metadata.namespace`, or an empty text for cluster-scoped objects."""
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Mapping[str, Any]) -> str:
    """`metadata.uid`."""
    return str(obj["metadata"]["uid"])


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """`metadata.labels`, empty when there are none. Do not change it."""
    return obj["metadata"].get("labels") or {}


def controller_of(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The owner reference with `controller: true`, if there is one."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def is_terminating(obj: Mapping[str, Any]) -> bool:
    """Whether deletion was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def condition(obj: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """The entry of `status.conditions` with this type. Do not change it."""
    for entry in (obj.get("status") or {}).get("conditions") or ():
        if entry.get("type") == kind:
            found: dict[str, Any] = entry
            return found
    return None


def condition_status(obj: Mapping[str, Any], kind: str) -> str:
    """`True`, `False` or `Unknown` as the condition of this type says it; an empty text without one."""
    entry = condition(obj, kind)
    return "" if entry is None else str(entry.get("status") or "")


def transition_time(before: Mapping[str, Any] | None, status: str, now: str) -> str:
    """`lastTransitionTime` of a condition: as in the one before it while the status is the same, else now."""
    same = before is not None and before.get("status") == status
    return str((before or {}).get("lastTransitionTime") or now) if same else now


def is_pod_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the reported condition Ready is True."""
    return condition_status(pod, "Ready") == "True"


def owner_reference(owner: Mapping[str, Any], *, controller: bool = True) -> Json:
    """An owner reference to `owner`, as controllers write it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": controller,
        "blockOwnerDeletion": True,
    }
