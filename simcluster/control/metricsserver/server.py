"""metrics-server: scrapes the kubelets and keeps the last two samples of everything.

CPU usage is the difference of two cumulative counters over their distance, so a container
shows up only after its second scrape, and usage lags by up to one resolution. The API
answers while a metrics-server pod is a ready endpoint of its Service.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from simcluster.api.backends import Measured, Usage
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

#: `--metric-resolution` of the deployment (metrics-server 0.7 default).
RESOLUTION_NS = 15 * SECOND
#: A node or pod that was not scraped for longer than this is not reported.
STALE_NS = 2 * RESOLUTION_NS


class ContainerStats(NamedTuple):
    """One container in a kubelet's `/metrics/resource`. CPU is cumulative nanoseconds of one core."""

    namespace: str
    pod: str
    container: str
    started_ns: int
    cpu_ns: int
    memory_bytes: int


class StatsSource(Protocol):
    """A kubelet's `/metrics/resource`."""

    def reachable(self) -> bool:
        """Whether the kubelet's server answers."""

    def node_stats(self) -> tuple[int, int]:
        """Cumulative CPU nanoseconds and memory working set in bytes of the node."""

    def container_stats(self) -> list[tuple[str, str, str, int, int, int]]:
        """Fields of `ContainerStats` of every running container."""


class _Sample(NamedTuple):
    t_ns: int
    started_ns: int
    cpu_ns: int
    memory_bytes: int


_Pair = tuple[_Sample | None, _Sample]


class MetricsServer:
    """The aggregated API `metrics.k8s.io`. Implements `api.backends.MetricsSource`."""

    def __init__(self, sim: Simulation, api: Api, kubelets: dict[str, StatsSource]) -> None:
        self.sim = sim
        self.api = api
        self.kubelets = kubelets
        self._nodes: dict[str, _Pair] = {}
        self._pods: dict[tuple[str, str], dict[str, _Pair]] = {}
        sim.every(RESOLUTION_NS, self._scrape)

    def available(self) -> bool:
        """Whether a metrics-server pod is a ready endpoint and has scraped."""
        endpoints = self.api.store.get("endpoints", "kube-system", "metrics-server")
        ready = any(subset.get("addresses") for subset in (endpoints or {}).get("subsets") or ())
        return ready and bool(self._nodes)

    def pod(self, namespace: str, name: str) -> Measured | None:
        """Usage of a pod's containers; None until every running one has been scraped twice."""
        usage: dict[str, Usage] = {}
        last_ns, window_ns = 0, RESOLUTION_NS
        for container, pair in self._pods.get((namespace, name), {}).items():
            measured = self._usage(pair)
            if measured is None:
                return None
            usage[container] = measured
            last_ns = pair[1].t_ns
            window_ns = last_ns - pair[0].t_ns if pair[0] else RESOLUTION_NS
        return Measured(last_ns, window_ns, usage) if usage else None

    def node(self, name: str) -> Measured | None:
        """Usage of a node."""
        pair = self._nodes.get(name)
        measured = None if pair is None else self._usage(pair)
        if pair is None or measured is None or pair[0] is None:
            return None
        return Measured(pair[1].t_ns, pair[1].t_ns - pair[0].t_ns, {"": measured})

    def _usage(self, pair: _Pair) -> Usage | None:
        before, last = pair
        if before is None or self.sim.now - last.t_ns > STALE_NS:
            return None
        window_ns = last.t_ns - before.t_ns
        return Usage((last.cpu_ns - before.cpu_ns) * SECOND // window_ns, last.memory_bytes)

    def _scrape(self) -> None:
        if not self._pods_running():
            return
        pods: dict[tuple[str, str], dict[str, _Pair]] = {}
        for name, kubelet in self.kubelets.items():
            if not kubelet.reachable():
                continue
            cpu_ns, memory = kubelet.node_stats()
            known = self._nodes.get(name)
            self._nodes[name] = (known[1] if known else None, _Sample(self.sim.now, 0, cpu_ns, memory))
            for fields in kubelet.container_stats():
                stats = ContainerStats(*fields)
                sample = _Sample(self.sim.now, stats.started_ns, stats.cpu_ns, stats.memory_bytes)
                earlier = self._pods.get((stats.namespace, stats.pod), {}).get(stats.container)
                # A restarted container counts from zero: its old sample says nothing.
                before = earlier[1] if earlier and earlier[1].started_ns == stats.started_ns else None
                pods.setdefault((stats.namespace, stats.pod), {})[stats.container] = (before, sample)
        for key, containers in self._pods.items():
            # Pods of unreachable kubelets keep their last samples until these are stale.
            if key not in pods and any(self.sim.now - pair[1].t_ns <= STALE_NS for pair in containers.values()):
                pods[key] = containers
        self._pods = pods

    def _pods_running(self) -> bool:
        return any(
            (pod.get("status") or {}).get("phase") == "Running"
            for pod in self.api.store.objects("pods", "kube-system")
            if (pod["metadata"].get("labels") or {}).get("k8s-app") == "metrics-server"
        )
