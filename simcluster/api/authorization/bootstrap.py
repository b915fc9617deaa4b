"""The roles and bindings that exist in every cluster from its first second.

kube-apiserver creates its own when it starts, kubeadm adds some. What is the same in all
clusters is prepared once for each process; only uid and times are a cluster's own. Rules
of aggregated roles are there at once; in a real cluster their controller needs a moment.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from simcluster.api import managedfields
from simcluster.api.authorization.aggregation import aggregated_rules, is_aggregated
from simcluster.api.authorization.authorizer import Authorizer
from simcluster.api.authorization.policyfacts import GROUP, policy
from simcluster.api.managedfields import Manager
from simcluster.api.objects import Json
from simcluster.api.schema import type_of
from simcluster.api.serving import Serving

_PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
_AGGREGATOR = Manager("clusterrole-aggregation-controller", "Apply", f"{GROUP}/v1")


class _Prepared(NamedTuple):
    """An object without what is a cluster's own.

    Attributes:
        owners: the managers of its fields and what they own.
    """

    resource: str
    object: Json
    owners: tuple[tuple[Manager, Json], ...]


def enforce(api: Serving) -> None:
    """Create the bootstrap policy and decide every later request by it."""
    registry = api.registry
    now = registry.now_text()
    for resource, template, owners in _prepared():
        metadata = dict(template["metadata"])
        namespace = metadata.get("namespace", "")
        metadata["uid"] = registry.identities.uid(resource, namespace, metadata["name"])
        metadata["creationTimestamp"] = now
        metadata["managedFields"] = [managedfields.entry(manager, fields, now) for manager, fields in owners]
        api.store.put(resource, {**template, "metadata": metadata})
    api.authorizer = Authorizer(api.store)


@functools.cache
def _prepared() -> tuple[_Prepared, ...]:
    objects = list(policy())
    roles = {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "ClusterRole"}
    for _ in range(3):  # admin gathers from edit, which gathers from view
        for role in roles.values():
            if is_aggregated(role):
                role["rules"] = aggregated_rules(role, roles.values())
    return tuple(_prepare(obj) for obj in objects)


def _prepare(obj: Json) -> _Prepared:
    kind = obj["kind"]
    by_kubeadm = "labels" not in obj["metadata"]
    manager = Manager("kubeadm" if by_kubeadm else "kube-apiserver", "Update", obj["apiVersion"])
    written = {key: value for key, value in obj.items() if key != "rules" or not is_aggregated(obj)}
    fields = managedfields.compare(None, written, type_of(GROUP, "v1", kind)).changed
    owners: tuple[tuple[Manager, Json], ...] = ((manager, fields),)
    if is_aggregated(obj):
        owners = ((_AGGREGATOR, {"f:rules": {}}), *owners)
    return _Prepared(f"{_PLURALS[kind]}.{GROUP}", obj, owners)
