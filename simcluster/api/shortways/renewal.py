"""The renewal of a Lease: the most frequent write of a cluster, on a short way.

A patch of nothing but `spec.renewTime` by the manager that owns the field cannot break a rule of
Leases, so it needs no decoding, merging or comparing; admission is asked as always. Every other
patch, and one that webhooks or policies may see, goes the long way (`writing.patch`), to the same result.
A client in this process may renew without making a request (`renew`), again to the same result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simcluster.api.authorization.node import node_of
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.request import MERGE_PATCH, Request, User
from simcluster.api.store import Store

if TYPE_CHECKING:
    from simcluster.api.server import Api

LEASES = "leases.coordination.k8s.io"
#: Whoever could change or refuse the write besides the built-in plugins.
_OBSERVERS = (
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
)
_NODE_LEASES = "kube-node-lease"
#: Verb, group, version, resource, subresource, scope and code, as such a request is counted.
_COUNTED = ("PATCH", "coordination.k8s.io", "v1", "leases", "", "resource", 200)
#: A micro-time in the form in which it is stored.
_MICRO_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.A)


def renewed(api: Api, request: Request, attributes: Attributes) -> ApiObject | None:
    """Store the renewal; None if the request is more than one. Raises ApiError."""
    text = _renewal(request)
    old = api.store.get(LEASES, attributes.namespace, attributes.name) if text else None
    if old is None or "deletionTimestamp" in old["metadata"] or is_observed(api.store):
        return None
    spec, entries = old.get("spec") or {}, _owned(old, attributes.manager)
    if entries is None or spec.get("renewTime", text) == text:
        return None
    now = api.registry.now_text()
    metadata = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
    metadata["managedFields"] = [{**entries[0], "time": now}]  # in the order in which the long way writes them
    attributes.old = old
    attributes.obj = {**old, "metadata": metadata, "spec": {**spec, "renewTime": text}}
    api.registry.admission.mutate(attributes)
    api.registry.admission.validate(attributes)
    return api.store.put(LEASES, attributes.new)


def renew(api: Api, user: User, manager: str, key: tuple[str, str], text: str) -> bool:
    """Store the renewal of the Lease of this namespace and name, as the user's patch would, if nothing speaks
    against it; False if the request must be made.

    Args:
        text: the new time, with six digits of a second's fraction.
    """
    store, namespace, name = api.store, *key
    old = store.get(LEASES, namespace, name)
    if old is None or not api.available or "deletionTimestamp" in old["metadata"] or is_observed(store):
        return False
    node = node_of(user)
    if node and key != (_NODE_LEASES, node):
        return False  # a kubelet may write no other
    authorizer = api.authorizer
    if authorizer is not None and MASTERS not in user.groups:
        question = Question("patch", "coordination.k8s.io", "leases", "", namespace, name, "v1")
        if not authorizer.decide(user, question).allowed:
            return False
    spec, entries = old.get("spec") or {}, _owned(old, manager)
    if entries is None or spec.get("renewTime", text) == text:
        return False
    metadata = dict(old["metadata"])
    del metadata["managedFields"]
    metadata["managedFields"] = [{**entries[0], "time": api.registry.now_text()}]
    store.put(LEASES, {**old, "metadata": metadata, "spec": {**spec, "renewTime": text}})
    counts = api.served.counts
    counts[_COUNTED] = counts.get(_COUNTED, 0) + 1
    return True


def is_observed(store: Store) -> bool:
    """Whether anybody besides the built-in plugins may see, change or refuse writes."""
    return store.count_all(_OBSERVERS) > 0


def _renewal(request: Request) -> str:
    """The new time, if the patch says nothing else; "" otherwise."""
    body = request.body
    if request.query or request.content_type != MERGE_PATCH or type(body) is not dict or len(body) != 1:
        return ""
    spec = body.get("spec")
    if type(spec) is not dict or len(spec) != 1:
        return ""
    text = spec.get("renewTime")
    return text if type(text) is str and _MICRO_TIME.fullmatch(text) else ""


def _owned(lease: ApiObject, manager: str) -> list[Json] | None:
    """The single entry of a Lease whose only writer is the manager, renewing included."""
    entries: list[Json] = lease["metadata"].get("managedFields") or []
    if len(entries) != 1:
        return None
    one = entries[0]
    fields = (one.get("fieldsV1") or {}).get("f:spec") or {}
    is_own = one["manager"] == manager and one["operation"] == "Update" and "subresource" not in one
    return entries if is_own and "f:renewTime" in fields else None
