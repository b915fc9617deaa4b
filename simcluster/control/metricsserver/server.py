"""metrics-server: scrapes the kubelets and keeps the last two samples of everything.

CPU usage is the difference of two cumulative counters over their distance, so a container
shows up only after its second scrape, and usage lags by up to one resolution. The API
answers while a metrics-server pod is a ready endpoint of its Service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from simcluster.api.backends import Measured, Usage
from simcluster.api.server import Api
from simcluster.control.pods.counters import Counters, Usages
from simcluster.engine import SECOND, Shared, Simulation

#: `--metric-resolution` of the deployment (metrics-server 0.7 default).
RESOLUTION_NS = 15 * SECOND
#: A node or pod that was not scraped for longer than this is not reported.
STALE_NS = 2 * RESOLUTION_NS


class StatsSource(Protocol):
    """A kubelet's `/metrics/resource`."""

    @property
    def running(self) -> bool:
        """Whether the kubelet's server answers."""

    def node_stats(self) -> Usages:
        """Counters of the node."""

    def counters(self) -> Counters:
        """Counters of every running container."""


@dataclass(frozen=True)
class Scrape(Shared):
    """What one kubelet said at one instant: counters of its node, and of its containers."""

    t_ns: int
    node: Usages
    containers: Counters


class MetricsServer:
    """The aggregated API `metrics.k8s.io`. Implements `api.backends.MetricsSource`."""

    def __init__(self, sim: Simulation, api: Api, kubelets: Mapping[str, StatsSource]) -> None:
        self.sim = sim
        self.api = api
        self.kubelets = kubelets
        self._scrapes: dict[str, tuple[Scrape | None, Scrape]] = {}  # node -> the last two
        sim.every(RESOLUTION_NS, self._scrape)

    def available(self) -> bool:
        """Whether a metrics-server pod is a ready endpoint and has scraped."""
        endpoints = self.api.store.get("endpoints", "kube-system", "metrics-server")
        if endpoints is None or not self._scrapes:
            return False
        return any(subset.get("addresses") for subset in endpoints.get("subsets") or ())

    def pod(self, namespace: str, name: str) -> Measured | None:
        """Usage of a pod's containers; None until every running one has been scraped twice."""
        pod = self.api.store.get("pods", namespace, name)
        pair = None if pod is None else self._scrapes.get(pod["spec"].get("nodeName", ""))
        if pair is None:
            return None
        before, last = pair
        containers, earlier = last.containers.pod(namespace, name), self._known(before, last, namespace, name)
        if not containers or before is None or self.sim.now - last.t_ns > STALE_NS:
            return None
        usage: dict[str, Usage] = {}
        for container, counters in containers.items():
            old = earlier.get(container)
            if old is None or old.started_ns != counters.started_ns:
                return None  # a restarted container counts from zero, so its old sample says nothing
            usage[container] = _usage(old, counters, last.t_ns - before.t_ns)
        return Measured(last.t_ns, last.t_ns - before.t_ns, usage)

    def _known(self, before: Scrape | None, last: Scrape, namespace: str, name: str) -> Mapping[str, Usages]:
        """The sample of a pod before the last one, unless it had been thrown away as stale by then."""
        if before is None or last.t_ns - RESOLUTION_NS - before.t_ns > STALE_NS:
            return {}
        return before.containers.pod(namespace, name)

    def node(self, name: str) -> Measured | None:
        """Usage of a node."""
        before, last = self._scrapes.get(name) or (None, None)
        if before is None or last is None or self.sim.now - last.t_ns > STALE_NS:
            return None
        window_ns = last.t_ns - before.t_ns
        return Measured(last.t_ns, window_ns, {"": _usage(before.node, last.node, window_ns)})

    def _scrape(self) -> None:
        if not self._pods_running():
            return
        for name, kubelet in self.kubelets.items():
            if kubelet.running:
                known = self._scrapes.get(name)
                latest = Scrape(self.sim.now, kubelet.node_stats(), kubelet.counters())
                self._scrapes[name] = (known[1] if known else None, latest)

    def _pods_running(self) -> bool:
        return any(
            (pod.get("status") or {}).get("phase") == "Running"
            for pod in self.api.store.objects("pods", "kube-system")
            if (pod["metadata"].get("labels") or {}).get("k8s-app") == "metrics-server"
        )


def _usage(before: Usages, last: Usages, window_ns: int) -> Usage:
    return Usage((last.cpu_ns - before.cpu_ns) * SECOND // window_ns, last.memory_bytes)
