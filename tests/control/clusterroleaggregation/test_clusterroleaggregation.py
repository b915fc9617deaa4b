"""Rules find their way into aggregated roles."""

from __future__ import annotations

from typing import Any

from simcluster.api.authorization import bootstrap
from simcluster.api.authorization.resolver import CLUSTER_ROLES
from simcluster.api.client import Client
from simcluster.api.request import ADMIN
from simcluster.api.server import Api
from simcluster.control.clusterroleaggregation import ClusterRoleAggregationController
from simcluster.engine import SECOND, Simulation

RULE = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}


def rules_of(api: Api, name: str) -> list[Any]:
    role = api.store.get(CLUSTER_ROLES, "", name)
    assert role is not None
    return list(role["rules"])


def test_a_labelled_role_reaches_view_edit_and_admin() -> None:
    sim = Simulation(1)
    api = Api(sim)
    bootstrap.enforce(api)
    ClusterRoleAggregationController(sim, api)
    sim.run_for(SECOND)
    quiet = api.store.version
    assert quiet == api.store.count(CLUSTER_ROLES) + sum(  # integers
        api.store.count(f"{kind}.rbac.authorization.k8s.io")
        for kind in ("roles", "rolebindings", "clusterrolebindings")
    )
    client = Client(api, ADMIN, "kubectl")
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    client.create(CLUSTER_ROLES, "", {"metadata": {"name": "widgets", "labels": labels}, "rules": [RULE]})
    sim.run_for(5 * SECOND)
    assert all(RULE in rules_of(api, name) for name in ("view", "edit", "admin"))
    managers = {entry["manager"] for entry in api.store.get(CLUSTER_ROLES, "", "view")["metadata"]["managedFields"]}  # type: ignore[index]
    assert managers == {"clusterrole-aggregation-controller", "kube-apiserver"}
    client.delete(CLUSTER_ROLES, "", "widgets")
    sim.run_for(5 * SECOND)
    assert all(RULE not in rules_of(api, name) for name in ("view", "edit", "admin"))
