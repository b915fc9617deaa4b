"""The pager: what wakes an operator. It is what Alertmanager has told the on-call service outside of the cluster."""

from __future__ import annotations

from simcluster.telemetry.alerts import AlertStore
from simcluster.world.world import World


class Pager:
    """What the on-call service has been told; it only reads."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._begun_ns = world.sim.now

    @property
    def alerts(self) -> AlertStore:
        """Alerts that have begun to fire since."""
        found = AlertStore()
        standing = self.world.programs.outside.oncall.firing(self.world.sim.now)
        found.evaluated(alert for alert in standing if alert.since_ns >= self._begun_ns)
        return found

    def since(self, begun_ns: int) -> None:
        """Nothing that fired before this instant pages."""
        self._begun_ns = begun_ns
