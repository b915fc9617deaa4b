"""When a write may take a short way, in one place for all of them, and how it is stored and counted then.

A request is authenticated, authorized, admitted, validated, stored and counted. A short way writes what its
component makes in the form in which it is stored, so nothing of it needs decoding, defaults or validation; what
remains is whether anybody besides could have a say in it, and that is asked here. Dry runs, impersonation, tokens
and options do not exist on a short way, and quotas and limit ranges look at nothing but the creation of objects
that they count (of which only pods take one: `podmodels` knows). Every other write is requested, to the same result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.authorization.node import node_of
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.serving import Serving

#: Objects by which others could change or refuse a write besides the built-in plugins.
_OBSERVERS = (
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
)
_NODE_LEASES = "kube-node-lease"
#: How requests of these verbs are counted: method and code.
_COUNTED = {"create": ("POST", 201), "patch": ("PATCH", 200), "update": ("PUT", 200)}


def is_eligible(api: Serving, user: User, question: Question, old: Mapping[str, Any] | None = None) -> bool:
    """Whether a user's write would be let in whatever it says, and seen by nobody on the way.

    Args:
        question: what the request would have to be allowed.
        old: the object as it is stored, of a write that changes one.
    """
    store, space = api.store, question.namespace
    if not api.available or store.count_all(_OBSERVERS) or (old is not None and "deletionTimestamp" in old["metadata"]):
        return False
    if space:
        home = store.get("namespaces", "", space)
        if home is None or (question.verb == "create" and (home.get("status") or {}).get("phase") == "Terminating"):
            return False
    node, authorizer = node_of(user), api.authorizer
    if node and not _is_own(node, question, old):
        return False
    return authorizer is None or MASTERS in user.groups or authorizer.decide(user, question).allowed


def _is_own(node: str, question: Question, old: Mapping[str, Any] | None) -> bool:
    """Whether NodeRestriction lets a kubelet write this, its labels and owners left alone."""
    resource = question.full_resource
    if resource == "pods/status":
        return old is not None and old["spec"].get("nodeName") == node
    if resource == "leases":
        return question.namespace == _NODE_LEASES and question.name == node
    return resource == "events" or (resource == "nodes/status" and question.name == node)


def commit(api: Serving, question: Question, obj: Json) -> ApiObject:
    """Store what the write has made, and count it as the request that it stands for."""
    group, plural = question.group, question.resource
    method, code = _COUNTED[question.verb]
    api.served.add((method, group, question.version, plural, question.subresource, "resource", code))
    return api.store.put(f"{plural}.{group}" if group else plural, obj)
