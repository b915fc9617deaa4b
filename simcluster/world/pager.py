"""The pager: what wakes an operator.

In a cluster that is observed it is what Alertmanager has told the on-call service. Where nobody scrapes, `UsersPager`
looks at signals that users and the API give: of the requests of an entry's users that ended in 60 s less than 95 %
succeeded; a pod has not been Ready for 60 s; a node is not Ready. A pager only reads.
"""

from __future__ import annotations

from typing import Protocol

from simcluster.api.objects import condition, name_of, namespace_of
from simcluster.engine import SECOND, parse_rfc3339
from simcluster.telemetry.alerts import Alert, AlertStore
from simcluster.world.world import World

PERIOD_NS = 5 * SECOND
WINDOW_NS = 60 * SECOND
SUCCESS_RATIO = 0.95
#: Too few requests say nothing about a ratio.
REQUESTS_MIN = 20


class Pager(Protocol):
    """What fires now, and how it is said."""

    @property
    def alerts(self) -> AlertStore:
        """Alerts that page."""

    def since(self, begun_ns: int) -> None:
        """Nothing that fired before this instant pages."""


class OnCallPager:
    """What the on-call service outside of the cluster has been told."""

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


def pager_of(world: World, namespaces: tuple[str, ...]) -> Pager:
    """The pager of an operator who is responsible for these namespaces."""
    return OnCallPager(world) if world.observed else UsersPager(world, namespaces)


class UsersPager:
    """Looks at the world every 5 s and tells a store of alerts what it finds.

    Args:
        world: the cluster.
        namespaces: whose pods page; those of the system page too.

    Attributes:
        alerts: what fires.
    """

    def __init__(self, world: World, namespaces: tuple[str, ...]) -> None:
        self.world = world
        self.namespaces = (*namespaces, "kube-system")
        self.alerts = AlertStore()
        world.sim.every(PERIOD_NS, self.look)

    def since(self, begun_ns: int) -> None:
        """What it finds fires anew as long as it lasts."""

    def look(self) -> None:
        """Evaluate the rules now."""
        now = self.world.sim.now
        self.alerts.evaluated([*self._users(now), *self._pods(now), *self._nodes(now)])

    def _users(self, now: int) -> list[Alert]:
        pages = []
        for load in self.world.traffic.users.values():
            stats = load.window(now - WINDOW_NS, now)
            if stats.ended >= REQUESTS_MIN and stats.ok < SUCCESS_RATIO * stats.ended:
                share = f"{100.0 * stats.ok / stats.ended:.1f} % of {stats.ended} requests of users succeeded"
                page = Alert(now, "EntrySuccessLow", f"{load.namespace}/{load.service}", f"{share} in the last 60 s")
                pages.append(page)
        return pages

    def _pods(self, now: int) -> list[Alert]:
        pages = []
        for namespace in self.namespaces:
            for pod in self.world.api.store.objects("pods", namespace):
                status = pod.get("status") or {}
                ready = condition(pod, "Ready")
                if status.get("phase") in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]:
                    continue
                if ready is not None and ready["status"] == "True":
                    continue
                since = pod["metadata"]["creationTimestamp"] if ready is None else ready["lastTransitionTime"]
                if now - parse_rfc3339(since) >= WINDOW_NS:
                    what = f"{namespace_of(pod)}/{name_of(pod)}"
                    pages.append(Alert(now, "PodNotReady", what, "the pod has not been Ready for 60 s"))
        return pages

    def _nodes(self, now: int) -> list[Alert]:
        pages = []
        for node in self.world.api.store.objects("nodes"):
            ready = condition(node, "Ready")
            if ready is not None and ready["status"] != "True":
                pages.append(Alert(now, "NodeNotReady", name_of(node), f"condition Ready is {ready['status']}"))
        return pages
