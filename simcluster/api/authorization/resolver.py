"""Which rules a user has: Roles and ClusterRoles found through their bindings.

The rules of a user in a namespace, and the answers they gave, are kept until a role or a
binding changes. What is kept is no part of a saved or copied world.

Source: pkg/registry/rbac/validation/rule.go and plugin/pkg/auth/authorizer/rbac.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.authorization import rules
from simcluster.api.authorization.question import Decision, Question
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.store import Change, Store

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
CLUSTER_ROLE_BINDINGS = f"clusterrolebindings.{GROUP}"
ROLES = f"roles.{GROUP}"
ROLE_BINDINGS = f"rolebindings.{GROUP}"
#: Users and namespaces whose rules are kept at once; the oldest go first.
_KEPT = 512
#: Kinds of requests that are known to be allowed at once.
_KNOWN = 4096
_Subject = tuple[str, str]  # User or Group, and its name
#: Name and groups of a user, method, resource, subresource, whether of a collection, namespace.
_Known = tuple[str, tuple[str, ...], str, str, str, bool, str]
_ACCOUNT = "system:serviceaccount:"


class Grant(NamedTuple):
    """One rule and the binding through which it holds."""

    rule: Json
    source: str


class Access:
    """The rules of one user in one namespace, and the answers found so far."""

    __slots__ = ("answers", "errors", "grants")

    def __init__(self, grants: list[Grant], errors: list[str]) -> None:
        self.grants = grants
        self.errors = errors
        # (verb, group, resource, subresource) -> for any name, by name
        self.answers: dict[tuple[str, str, str, str], tuple[str | None, dict[str, str]]] = {}

    def source(self, question: Question) -> str | None:
        """Through which binding the question is answered with yes, or None."""
        key = question[:4]
        found = self.answers.get(key)
        if found is None:
            found = self.answers[key] = self._look(question)
        anything, by_name = found
        return anything if anything is not None else by_name.get(question.name)

    def allows_all(self, question: Question) -> bool:
        """Whether the answer is yes whatever the name is."""
        self.source(question)
        return self.answers[question[:4]][0] is not None

    def source_of_path(self, question: Question) -> str | None:
        """The same for a path."""
        return next((grant.source for grant in self.grants if rules.allows(grant.rule, question)), None)

    def _look(self, question: Question) -> tuple[str | None, dict[str, str]]:
        by_name: dict[str, str] = {}
        for rule, source in self.grants:
            if not rules.matches_verb(rule, question.verb):
                continue
            if not rules.matches_resource(rule, question.group, question.resource, question.subresource):
                continue
            names = rule.get("resourceNames")
            if not names:
                return source, by_name
            for name in names:
                by_name.setdefault(name, source)
        return None, by_name


class RuleResolver:
    """Finds and keeps the rules of users.

    Attributes:
        known: kinds of requests that were found to be allowed to their users for all names.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept: dict[tuple[str, tuple[str, ...], str], Access] = {}
        self.known: dict[_Known, None] = {}
        self._cluster_wide: dict[_Subject, list[int]] | None = None
        for resource in (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS):
            store.subscribe(resource, self)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "_kept": {}, "known": {}, "_cluster_wide": None}

    def notify(self, change: Change) -> None:
        """A role or a binding changed: forget what was found."""
        self._kept.clear()
        self.known.clear()
        self._cluster_wide = None

    def remember(self, key: _Known) -> None:
        """Everything that the key stands for is allowed until a role or a binding changes."""
        if len(self.known) >= _KNOWN:
            self.known.clear()
        self.known[key] = None

    def allows_all(self, user: User, question: Question) -> bool:
        """Whether RBAC allows it for objects of any name."""
        return self.access(user, question.namespace).allows_all(question)

    def access(self, user: User, namespace: str) -> Access:
        """Every rule the user has in the namespace (at the cluster scope if it is empty)."""
        key = (user.name, user.groups, namespace)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            found = self._kept[key] = self._resolve(user, namespace)
        return found

    def decide(self, user: User, question: Question) -> Decision:
        """Whether RBAC allows it. A no is no opinion: another authorizer may say yes."""
        access = self.access(user, question.namespace)
        source = access.source_of_path(question) if question.path else access.source(question)
        if source is not None:
            return Decision(True, f"RBAC: allowed by {source}")
        if access.errors:
            listed = access.errors[0] if len(access.errors) == 1 else f"[{', '.join(access.errors)}]"
            return Decision(False, f"RBAC: {listed}")
        return Decision(False)

    def role_rules(self, reference: Mapping[str, Any], namespace: str) -> list[Json]:
        """The rules of a role that a binding refers to. Raises ApiError 404."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if kind == "ClusterRole":
            role = self.store.get(CLUSTER_ROLES, "", name)
        else:
            role = self.store.get(ROLES, namespace, name)
        if role is None:
            singular = f"{kind.lower()}.{GROUP}"
            details = {"name": name, "group": GROUP, "kind": kind.lower()}
            raise ApiError(404, "NotFound", f'{singular} "{name}" not found', details)
        found: list[Json] = role.get("rules") or []
        return found

    def _resolve(self, user: User, namespace: str) -> Access:
        grants: list[Grant] = []
        problems: list[str] = []
        for binding in self._cluster_wide_of(user):
            self._collect(user, binding, "", grants, problems)
        for binding in self.store.objects(ROLE_BINDINGS, namespace) if namespace else ():
            self._collect(user, binding, namespace, grants, problems)
        return Access(grants, problems)

    def _cluster_wide_of(self, user: User) -> list[ApiObject]:
        """The cluster's bindings that name the user or one of its groups, by name."""
        bindings = self.store.objects(CLUSTER_ROLE_BINDINGS)
        index = self._cluster_wide
        if index is None:
            index = self._cluster_wide = {}
            for place, binding in enumerate(bindings):
                for subject in binding.get("subjects") or ():
                    index.setdefault(_named(subject), []).append(place)
        places: dict[int, None] = {}
        for subject in (("User", user.name), *[("Group", group) for group in user.groups]):
            places.update(dict.fromkeys(index.get(subject, ())))
        return [bindings[place] for place in sorted(places)]

    def _collect(
        self, user: User, binding: ApiObject, namespace: str, grants: list[Grant], problems: list[str]
    ) -> None:
        subject = next((s for s in binding.get("subjects") or () if _is_subject(user, s, namespace)), None)
        if subject is None:
            return
        reference = binding["roleRef"]
        try:
            found = self.role_rules(reference, namespace)
        except ApiError as error:
            problems.append(error.message)
            return
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        name = binding["metadata"]["name"]
        shown = f"{name}/{namespace}" if namespace else name
        source = f'{kind} "{shown}" of {reference["kind"]} "{reference["name"]}" to {_described(subject, namespace)}'
        grants.extend(Grant(rule, source) for rule in found)


def _named(subject: Json) -> _Subject:
    """Whom a subject of a binding of the whole cluster means."""
    if subject["kind"] == "ServiceAccount":
        return ("User", f"{_ACCOUNT}{subject.get('namespace') or ''}:{subject['name']}")
    return (subject["kind"], subject["name"])


def _is_subject(user: User, subject: Json, namespace: str) -> bool:
    kind = subject["kind"]
    if kind == "Group":
        return subject["name"] in user.groups
    if kind == "User":
        return bool(subject["name"] == user.name)
    if kind == "ServiceAccount":
        return user.name == f"{_ACCOUNT}{subject.get('namespace') or namespace}:{subject['name']}"
    return False


def _described(subject: Json, namespace: str) -> str:
    if subject["kind"] == "ServiceAccount":
        return f'ServiceAccount "{subject["name"]}/{subject.get("namespace") or namespace}"'
    return f'{subject["kind"]} "{subject["name"]}"'
