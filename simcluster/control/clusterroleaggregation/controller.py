"""The cluster role aggregation controller: keeps the rules of aggregated ClusterRoles.

A new role with the label `rbac.authorization.k8s.io/aggregate-to-view: "true"` adds its
rules to `view`, through it to `edit`, and so on.
Source: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
"""

from __future__ import annotations

from simcluster.api.authorization.aggregation import aggregated_rules, is_aggregated
from simcluster.api.authorization.resolver import CLUSTER_ROLES
from simcluster.api.objects import is_terminating, name_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

_API_VERSION = "rbac.authorization.k8s.io/v1"


class ClusterRoleAggregationController(Controller):
    """Work-queue keys are the names of aggregated roles."""

    name = "clusterrole-aggregation-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._looked = (-1, -1)
        self.watch(CLUSTER_ROLES, self._on_role)

    def _on_role(self, change: Change) -> None:
        # Which roles choose the changed one is found out when they are looked at, as upstream. Changes
        # that arrive together put the same keys into the queue.
        looking = (self.sim.now, self.client.cache.version)
        if looking == self._looked:
            return
        self._looked = looking
        for role in self.client.cache.objects(CLUSTER_ROLES):
            if is_aggregated(role):
                self.enqueue("", name_of(role))

    def sync(self, namespace: str, name: str) -> None:
        """Give one role the rules of those its selectors choose."""
        role = self.client.cache.get(CLUSTER_ROLES, "", name)
        if role is None or is_terminating(role) or not is_aggregated(role):
            return
        rules = aggregated_rules(role, self.client.cache.objects(CLUSTER_ROLES))
        if rules == (role.get("rules") or []):
            return
        wanted = {"apiVersion": _API_VERSION, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
        self.client.apply(CLUSTER_ROLES, "", name, wanted, manager=self.name)
