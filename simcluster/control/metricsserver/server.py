"""metrics-server: scrapes the kubelets and keeps the last two samples of everything.

CPU usage is the difference of two cumulative counters over their distance, so a container
shows up only after its second scrape, and usage lags by up to one resolution. The API
answers while a metrics-server pod is a ready endpoint of its Service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from simcluster.api.backends import Measured, Usage
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation

#: `--metric-resolution` of the deployment (metrics-server 0.7 default).
RESOLUTION_NS = 15 * SECOND
#: A node or pod that was not scraped for longer than this is not reported.
STALE_NS = 2 * RESOLUTION_NS


class Usages(Protocol):
    """Cumulative counters of one container or node, as a kubelet reports them."""

    @property
    def cpu_ns(self) -> int:
        """CPU time since the start, nanoseconds of one core."""

    @property
    def memory_bytes(self) -> int:
        """Working set."""

    @property
    def started_ns(self) -> int:
        """When counting began."""


class PodUsages(Protocol):
    """The running containers of one pod."""

    @property
    def namespace(self) -> str:
        """Namespace of the pod."""

    @property
    def name(self) -> str:
        """Name of the pod."""

    @property
    def containers(self) -> Mapping[str, Usages]:
        """Counters by container name."""


class StatsSource(Protocol):
    """A kubelet's `/metrics/resource`."""

    @property
    def running(self) -> bool:
        """Whether the kubelet's server answers."""

    def node_stats(self) -> Usages:
        """Counters of the node."""

    def stats(self) -> Sequence[PodUsages]:
        """Counters of every pod with a running container."""


class _Sample(NamedTuple):
    t_ns: int
    started_ns: int
    cpu_ns: int
    memory_bytes: int


_Pair = tuple[_Sample | None, _Sample]


class MetricsServer:
    """The aggregated API `metrics.k8s.io`. Implements `api.backends.MetricsSource`."""

    def __init__(self, sim: Simulation, api: Api, kubelets: Mapping[str, StatsSource]) -> None:
        self.sim = sim
        self.api = api
        self.kubelets = kubelets
        self._nodes: dict[str, _Pair] = {}
        self._pods: dict[tuple[str, str], dict[str, _Pair]] = {}
        sim.every(RESOLUTION_NS, self._scrape)

    def available(self) -> bool:
        """Whether a metrics-server pod is a ready endpoint and has scraped."""
        endpoints = self.api.store.get("endpoints", "kube-system", "metrics-server")
        if endpoints is None or not self._nodes:
            return False
        return any(subset.get("addresses") for subset in endpoints.get("subsets") or ())

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
            if not kubelet.running:
                continue
            known = self._nodes.get(name)
            self._nodes[name] = (known[1] if known else None, self._sample(kubelet.node_stats()))
            for pod in kubelet.stats():
                key = (pod.namespace, pod.name)
                earlier = self._pods.get(key, {})
                pods[key] = {
                    container: _pair(earlier.get(container), self._sample(usages))
                    for container, usages in pod.containers.items()
                }
        for key, containers in self._pods.items():
            # Pods of unreachable kubelets keep their last samples until these are stale.
            if key not in pods and any(self.sim.now - pair[1].t_ns <= STALE_NS for pair in containers.values()):
                pods[key] = containers
        self._pods = pods

    def _sample(self, usages: Usages) -> _Sample:
        return _Sample(self.sim.now, usages.started_ns, usages.cpu_ns, usages.memory_bytes)

    def _pods_running(self) -> bool:
        return any(
            (pod.get("status") or {}).get("phase") == "Running"
            for pod in self.api.store.objects("pods", "kube-system")
            if (pod["metadata"].get("labels") or {}).get("k8s-app") == "metrics-server"
        )


def _pair(earlier: _Pair | None, sample: _Sample) -> _Pair:
    """The last two samples; a restarted container counts from zero, so its old sample says nothing."""
    if earlier is None or earlier[1].started_ns != sample.started_ns:
        return (None, sample)
    return (earlier[1], sample)
