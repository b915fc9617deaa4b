"""The heartbeat of a Node: its status as it was, with newer times in its conditions.

A kubelet writes it every five minutes even if nothing has changed. Who owns the times of these conditions and
changes nothing else can break no rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import managedfields
from simcluster.api.authorization.question import Question
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible
from simcluster.engine import format_rfc3339, parse_rfc3339

_TIME, _OWNED = "lastHeartbeatTime", "f:lastHeartbeatTime"


def beat(api: Serving, user: User, manager: str, name: str, conditions: Sequence[Json]) -> bool:
    """Store newer heartbeats of a Node's conditions, as its kubelet's patch of `status.conditions` would; False if
    the request must be made.
    """
    old = api.store.get("nodes", "", name)
    question = Question("patch", "", "nodes", "status", "", name, "v1")
    if old is None or not is_eligible(api, user, question, old):
        return False
    status = old.get("status") or {}
    known: Sequence[Json] = status.get("conditions") or ()
    fresh = _newer(known, conditions)
    entries: list[Json] = old["metadata"].get("managedFields") or []
    own = _owner(entries, manager, [entry.get("type", "") for entry in known])
    if fresh is None or own is None:
        return False
    rest = [entry for entry in entries if entry is not own]
    managed = managedfields.ordered([*rest, {**own, "time": api.registry.now_text()}])
    metadata = {**old["metadata"], "managedFields": managed}
    commit(api, question, {**old, "metadata": metadata, "status": {**status, "conditions": fresh}})
    return True


def _newer(known: Sequence[Json], wanted: Sequence[Json]) -> list[Json] | None:
    """The conditions with the times of `wanted`; None if more than every time differs."""
    if len(known) != len(wanted):
        return None
    fresh = []
    for before, after in zip(known, wanted, strict=True):
        text = after.get(_TIME)
        if _TIME not in before or before[_TIME] == text or not _is_stored_so(text):
            return None
        entry = {**before, _TIME: text}
        if entry != after:
            return None
        fresh.append(entry)
    return fresh


def _is_stored_so(text: object) -> bool:
    """Whether a time has the form in which it is stored."""
    try:
        return isinstance(text, str) and format_rfc3339(parse_rfc3339(text)) == text
    except ValueError:
        return False


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
