"""Nobody grants what he does not have: the check on writes of roles and bindings.

Who has the verb `escalate` on a role, or `bind` for a binding, is exempt; so are the
members of system:masters.

Source: pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased and
pkg/registry/rbac/validation/rule.go (ConfirmNoEscalation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api import errors
from simcluster.api.authorization import rules
from simcluster.api.authorization.authorizer import Authorizer
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes

_GROUP = "rbac.authorization.k8s.io"
_EVERYTHING: tuple[Json, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


def check_role(attributes: Attributes, authorizer: Authorizer) -> None:
    """Refuse a Role or ClusterRole with rules its writer lacks. Raises ApiError 403."""
    role, old = attributes.new, attributes.old
    if MASTERS in attributes.user.groups or _is_same(role, old, ("rules", "aggregationRule")):
        return
    if _may(attributes, authorizer, "escalate", attributes.resource.plural, role["metadata"].get("name", "")):
        return
    _confirm(attributes, authorizer, role.get("rules") or ())
    if role.get("aggregationRule") and rules.uncovered(_own(attributes, authorizer), _EVERYTHING):
        raise _refused(attributes, "must have cluster-admin privileges to use an aggregationRule")


def check_binding(attributes: Attributes, authorizer: Authorizer) -> None:
    """Refuse a binding to a role with rules its writer lacks. Raises ApiError 403, 404."""
    binding, old = attributes.new, attributes.old
    if MASTERS in attributes.user.groups or _is_same(binding, old, ("roleRef", "subjects")):
        return
    reference = binding.get("roleRef") or {}
    plural = "clusterroles" if reference.get("kind") == "ClusterRole" else "roles"
    if _may(attributes, authorizer, "bind", plural, reference.get("name", "")):
        return
    _confirm(attributes, authorizer, authorizer.rbac.role_rules(reference, attributes.namespace))


def _is_same(new: Mapping[str, Any], old: ApiObject | None, keys: Iterable[str]) -> bool:
    return old is not None and all(new.get(key) == old.get(key) for key in keys)


def _may(attributes: Attributes, authorizer: Authorizer, verb: str, plural: str, name: str) -> bool:
    question = Question(verb, _GROUP, plural, "", attributes.namespace, name, "v1")
    return authorizer.decide(attributes.user, question).allowed


def _own(attributes: Attributes, authorizer: Authorizer) -> list[Json]:
    access = authorizer.rbac.access(attributes.user, attributes.namespace)
    return [grant.rule for grant in access.grants]


def _confirm(attributes: Attributes, authorizer: Authorizer, wanted: Iterable[Json]) -> None:
    missing = rules.uncovered(_own(attributes, authorizer), wanted)
    if not missing:
        return
    user = attributes.user
    listed = sorted({rules.text_of(rule): None for rule in rules.compacted(missing)})
    why = (
        f'user "{user.name}" (groups={rules.quoted(user.groups)}) is attempting to grant RBAC permissions '
        "not currently held:\n" + "\n".join(listed)
    )
    problems = authorizer.rbac.access(user, attributes.namespace).errors
    if problems:
        why += f"; resolution errors: [{' '.join(problems)}]"
    raise _refused(attributes, why)


def _refused(attributes: Attributes, why: str) -> errors.ApiError:
    return errors.forbidden(attributes.resource.name, attributes.shown_name, why)
