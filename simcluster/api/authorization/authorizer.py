"""The chain of authorizers of a cluster made by kubeadm: `--authorization-mode=Node,RBAC`."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.authorization.node import NodeAuthorizer, node_of
from simcluster.api.authorization.question import MASTERS, Decision, Question, question_of, refusal
from simcluster.api.authorization.resolver import RuleResolver
from simcluster.api.objects import Json
from simcluster.api.request import Request, User
from simcluster.api.store import Store

_YES = Decision(True)


class OwnRules(NamedTuple):
    """What a user may do, as a rules review lists it."""

    resource_rules: list[Json]
    path_rules: list[Json]
    incomplete: bool
    error: str


class Authorizer:
    """Decides every request of a cluster.

    Attributes:
        rbac: the rules of users.
        nodes: what kubelets may do.
    """

    def __init__(self, store: Store) -> None:
        self.rbac = RuleResolver(store)
        self.nodes = NodeAuthorizer(store)

    def decide(self, user: User, question: Question) -> Decision:
        """Whether the user may. Members of system:masters may do everything, by the server's code."""
        if MASTERS in user.groups:
            return _YES
        reason = ""
        node = node_of(user)
        if node:
            decision = self.nodes.decide(node, question)
            if decision.allowed:
                return decision
            reason = decision.reason
        decision = self.rbac.decide(user, question)
        if decision.allowed or not reason:
            return decision
        return Decision(False, f"{reason}\n{decision.reason}" if decision.reason else reason)

    def admit(self, request: Request) -> None:
        """Let a request pass. Raises ApiError 403 unless its user may do what it asks.

        What a user may do to all objects of a kind is found once for requests that say what their path names.
        """
        route = request.route
        if route is None or request.query or route.resource.name == "namespaces":
            self.require(request.user, question_of(request))
            return
        user, resource = request.user, route.resource
        key = (
            user.name,
            user.groups,
            request.method,
            resource.name,
            route.subresource,
            not route.name,
            route.namespace,
        )
        if key in self.rbac.known:
            return
        question = question_of(request)
        self.require(user, question)
        if self.nodes.allows_all(user, question) or self.rbac.allows_all(user, question):
            self.rbac.remember(key)

    def require(self, user: User, question: Question) -> None:
        """Raises ApiError 403 unless the user may."""
        decision = self.decide(user, question)
        if not decision.allowed:
            raise refusal(user, question, decision.reason)

    def rules_of(self, user: User, namespace: str) -> OwnRules:
        """Every rule of the user in the namespace; not those of code (masters, nodes)."""
        access = self.rbac.access(user, namespace)
        resources: list[Json] = []
        paths: list[Json] = []
        for rule, _ in access.grants:
            if rule.get("resources"):
                kept = ("verbs", "apiGroups", "resources", "resourceNames")
                resources.append({key: rule[key] for key in kept if rule.get(key)})
            if rule.get("nonResourceURLs"):
                paths.append({key: rule[key] for key in ("verbs", "nonResourceURLs")})
        problems = list(access.errors)
        if node_of(user):
            problems.insert(0, "node authorizer does not support user rule resolution")
        error = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""
        return OwnRules(resources, paths, bool(problems), error)
