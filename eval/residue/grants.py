"""Who may do what since: rules of built-in roles, and bindings to roles that allow much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcluster.eval.residue.objects import Judgement, Object, wide
from simcluster.faults.survey import Survey

#: Roles that come with Kubernetes ("Using RBAC Authorization: Default roles and role bindings").
_BUILT_IN = ("system:", "view", "edit", "admin", "cluster-admin")
_ROLES = {"Role": "roles.rbac.authorization.k8s.io", "ClusterRole": "clusterroles.rbac.authorization.k8s.io"}


def granted(ours: Survey, before: Object | None, now: Object | None) -> Iterator[Judgement]:
    """What is to be said of a role or binding that differs, beside what stands in it alone."""
    if now is None or not str(now.get("apiVersion", "")).startswith("rbac.authorization.k8s.io/"):
        return
    if str(now["kind"]).endswith("Role"):
        yield from _rules(before, now)
    elif str(now["kind"]).endswith("Binding"):
        yield from _subjects(ours, before, now)


def _rules(before: Object | None, now: Object) -> Iterator[Judgement]:
    if before is None or not _is_built_in(now):
        return
    old, new = before.get("rules") or [], now.get("rules") or []
    if [rule for rule in new if rule not in old]:
        yield "security", "allows more than a built-in role does"
    if [rule for rule in old if rule not in new]:
        yield "availability", "allows less than a built-in role does: whoever lives by it cannot work"


def _subjects(ours: Survey, before: Object | None, now: Object) -> Iterator[Judgement]:
    old, new = (list((obj or {}).get("subjects") or ()) for obj in (before, now))
    added = [one for one in new if one not in old]
    reference: Mapping[str, Any] = now.get("roleRef") or {}
    namespace = now["metadata"].get("namespace", "") if reference.get("kind") == "Role" else ""
    role = ours.objects.get((_ROLES.get(reference.get("kind", ""), ""), namespace, reference.get("name", "")))
    rules = () if role is None else role.get("rules") or ()
    much = next(filter(None, map(wide, rules)), "")
    if added and much:
        yield "security", f"lets {added[0].get('name', '')} have {much}"
    if before is not None and [one for one in old if one not in new] and _is_built_in(now):
        yield "availability", "takes from those who live by it what they may do"


def _is_built_in(obj: Object) -> bool:
    name = str(obj["metadata"]["name"])
    return name.startswith(_BUILT_IN[0]) or name in _BUILT_IN
