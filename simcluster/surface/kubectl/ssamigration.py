"""What `apply --server-side` does to objects that were applied on the client's side before.

The fields that client-side apply owned are handed to the server-side manager, and a second
apply then drops what the manifest does not name. Source: apply.go
(migrateToSSAIfNecessary, saveLastApplyAnnotationIfNecessary) and csaupgrade of client-go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.api.objects import Json, thaw

LAST_APPLIED_MANAGER = "kubectl-last-applied"
_ANNOTATION = ("f:metadata", "f:annotations", "f:kubectl.kubernetes.io/last-applied-configuration")


def migration_patch(obj: Json, ssa_manager: str) -> list[Json] | None:
    """The JSON patch that hands over the ownership; None if there is nothing to hand over."""
    entries: list[Json] = thaw({"list": obj["metadata"].get("managedFields") or []})["list"]
    managers = dict.fromkeys(
        entry["manager"] for entry in entries if _updates(entry) and _owns(entry.get("fieldsV1") or {}, _ANNOTATION)
    )
    if not managers:
        return None
    for manager in sorted(managers):
        entries = _handed_over(entries, manager, ssa_manager)
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": obj["metadata"]["resourceVersion"]},
    ]


def _updates(entry: Json) -> bool:
    return entry.get("operation") == "Update" and not entry.get("subresource")


def _owns(fields: Json, path: Sequence[str]) -> bool:
    found: Any = fields
    for part in path:
        if not isinstance(found, dict) or part not in found:
            return False
        found = found[part]
    return True


def _handed_over(entries: list[Json], csa_manager: str, ssa_manager: str) -> list[Json]:
    heir: Json | None = None
    for entry in entries:
        if entry["manager"] == ssa_manager and entry["operation"] == "Apply" and not entry.get("subresource"):
            heir = entry
            break
    old = [entry for entry in entries if _updates(entry) and entry["manager"] == csa_manager]
    if heir is None:
        heir, old = old[0], old[1:]
        heir["operation"], heir["manager"] = "Apply", ssa_manager
    for entry in old:
        heir["fieldsV1"] = _union(heir.get("fieldsV1") or {}, entry.get("fieldsV1") or {})
    return [entry for entry in entries if not any(entry is other for other in old)]


def _union(a: Json, b: Json) -> Json:
    merged = dict(a)
    for key, value in b.items():
        merged[key] = _union(merged[key], value) if key in merged else value
    return merged
