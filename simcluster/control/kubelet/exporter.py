"""Metrics of a kubelet: its own, those of metrics-server's endpoint, and cAdvisor's.

Source of names, types and help texts: kubelet 1.32 as it prints them. Left out: counters of what it does (syncs,
PLEG, runtime calls), because nothing here counts them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.engine import FlatDict
from simcluster.models.machine.exporters.cadvisor import CAdvisor
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Row, Samples, counter, gauge, labels

if TYPE_CHECKING:
    from simcluster.control.kubelet.kubelet import Kubelet

_OWN = Columns(
    (
        gauge("kubelet_running_pods", "[ALPHA] Number of pods that have a running pod sandbox"),
        gauge("kubelet_running_containers", "[ALPHA] Number of containers currently running",
              labels(container_state="running")),
        gauge("kubelet_desired_pods", "[ALPHA] The number of pods the kubelet is being instructed to run. static is "
              "true if the pod is not from the apiserver.", (("static", ""),), (("static", "true"),)),
        gauge("kubernetes_build_info", "[ALPHA] A metric with a constant '1' value labeled by major, minor, git "
              "version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was "
              "built, and platform on which it is running.",
              labels(git_version="v1.32.13", major="1", minor="32")),
        gauge("process_start_time_seconds", "[ALPHA] Start time of the process since unix epoch in seconds."),
    )
)  # fmt: skip
_NAME = Columns((gauge("kubelet_node_name", "[ALPHA] The node's name. The count is always 1."),))
_VOLUME = Columns(
    (
        gauge("kubelet_volume_stats_capacity_bytes", "[ALPHA] Capacity in bytes of the volume"),
        gauge("kubelet_volume_stats_available_bytes", "[ALPHA] Number of available bytes in the volume"),
        gauge("kubelet_volume_stats_used_bytes", "[ALPHA] Number of used bytes in the volume"),
        gauge("kubelet_volume_stats_inodes", "[ALPHA] Maximum number of inodes in the volume"),
        gauge("kubelet_volume_stats_inodes_free", "[ALPHA] Number of free inodes in the volume"),
        gauge("kubelet_volume_stats_inodes_used", "[ALPHA] Number of used inodes in the volume"),
    )
)
_CONTAINER = Columns(
    (
        counter("container_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the container in "
                "core-seconds"),
        gauge("container_memory_working_set_bytes", "[STABLE] Current working set of the container in bytes"),
        gauge("container_start_time_seconds", "[STABLE] Start time of the container since unix epoch in seconds"),
    )
)  # fmt: skip
_POD = Columns(
    (
        counter("pod_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds"),
        gauge("pod_memory_working_set_bytes", "[STABLE] Current working set of the pod in bytes"),
    )
)
_NODE = Columns(
    (
        counter("node_cpu_usage_seconds_total", "[STABLE] Cumulative cpu time consumed by the node in core-seconds"),
        gauge("node_memory_working_set_bytes", "[STABLE] Current working set of the node in bytes"),
        gauge("resource_scrape_error", "[STABLE] 1 if there was an error while getting container metrics, 0 "
              "otherwise"),
    )
)  # fmt: skip
_PROBE = Columns(
    (
        counter("prober_probe_total", "[BETA] Cumulative number of a liveness, readiness or startup probe for a "
                "container by result.", *(labels(result=result) for result in ("successful", "failed", "unknown"))),
    )
)  # fmt: skip
_MIRROR = "kubernetes.io/config.mirror"


class KubeletExporter:
    """What one kubelet shows, by path."""

    def __init__(self, kubelet: Kubelet) -> None:
        self.kubelet = kubelet
        self.cadvisor = CAdvisor(kubelet.machine)
        #: Pods that were there when somebody looked last, how many of them mirror static ones, and their claims.
        self._met: tuple[list[ApiObject], int, tuple[tuple[str, str], ...]] = ([], 0, ())
        self._tried: dict[tuple[str, str, str], Group] = FlatDict()  # series of probes, by pod, container and kind

    def samples(self, path: str) -> Samples | None:
        """Everything now; None if there is no such path."""
        maker = _PATHS.get(path.partition("?")[0].rstrip("/"))
        return None if maker is None else maker(self)

    def _own(self) -> Samples:
        kubelet = self.kubelet
        containers = [run for run in kubelet.machine.runtime.containers() if run.state == "running"]
        pods = kubelet.client.cache.pods_on(kubelet.name)
        if self._met[0] != pods:
            mirrored = sum(1 for pod in pods if _MIRROR in (pod["metadata"].get("annotations") or ()))
            mounted = tuple((namespace_of(pod), claim) for pod in pods for claim in _claims(pod))
            self._met = (list(pods), mirrored, mounted)
        _, mirrored, claims = self._met
        sandboxes = len({run.spec.pod_uid for run in containers})
        began = instant(kubelet.started_ns)
        row = _OWN.row((sandboxes, len(containers), len(pods) - mirrored, mirrored, 1, began))
        found: dict[Group, Row] = {Group(_OWN): row, _named(kubelet.name): _NAME.row((1,))}
        for namespace, claim in claims:
            self._volume(namespace, claim, found)
        return found

    def _volume(self, namespace: str, claim: str, found: dict[Group, Row]) -> None:
        """A claim whose volume is a directory of this node: what statfs says of its file system."""
        cache = self.kubelet.client.cache
        bound = cache.get("persistentvolumeclaims", namespace, claim)
        volume = None if bound is None else cache.get("persistentvolumes", "", bound["spec"].get("volumeName", ""))
        spec = {} if volume is None else volume["spec"]
        path = (spec.get("hostPath") or spec.get("local") or {}).get("path")
        if path:
            size = self.kubelet.machine.files_at(path).usage()
            used = size.total_inodes - size.free_inodes
            numbers = (
                size.total_bytes,
                size.available_bytes,
                size.used_bytes,
                size.total_inodes,
                size.free_inodes,
                used,
            )
            found[Group(_VOLUME, labels(namespace=namespace, persistentvolumeclaim=claim))] = _VOLUME.row(numbers)

    def _resource(self) -> Samples:
        node, found = self.kubelet.node_stats(), dict[Group, Row]()
        for pod in self.kubelet.stats():
            for name, usage in pod.containers.items():
                own = labels(container=name, namespace=pod.namespace, pod=pod.name)
                numbers = (usage.cpu_ns / 1e9, usage.memory_bytes, instant(usage.started_ns))
                found[Group(_CONTAINER, own)] = _CONTAINER.row(numbers)
            used = sum(one.cpu_ns for one in pod.containers.values())  # integers
            held = sum(one.memory_bytes for one in pod.containers.values())  # integers
            found[Group(_POD, labels(namespace=pod.namespace, pod=pod.name))] = _POD.row((used / 1e9, held))
        found[Group(_NODE)] = _NODE.row((node.cpu_ns / 1e9, node.memory_bytes, 0))
        return found

    def _cadvisor(self) -> Samples:
        return self.cadvisor.samples()

    def _probes(self) -> Samples:
        found: dict[Group, Row] = {}
        known, kept = self._tried, dict[tuple[str, str, str], Group]()
        for uid, worker in self.kubelet.workers.items():
            for (name, kind), probe in worker.probes.workers.items():
                if any(probe.counts):
                    key = (uid, name, kind)
                    group = kept[key] = known.get(key) or _probed(worker.pod, *key)
                    found[group] = _PROBE.row(probe.counts)
        self._tried = FlatDict(kept)
        return found


def _claims(pod: ApiObject) -> list[str]:
    """Claims that a pod mounts."""
    sources = [volume.get("persistentVolumeClaim") or {} for volume in pod["spec"].get("volumes") or ()]
    return [source["claimName"] for source in sources if source.get("claimName")]


@functools.lru_cache(maxsize=1024)
def _named(node: str) -> Group:
    return Group(_NAME, labels(node=node))


def _probed(pod: ApiObject, uid: str, container: str, kind: str) -> Group:
    """The series of one probe."""
    own = labels(
        container=container, namespace=namespace_of(pod), pod=name_of(pod), pod_uid=uid, probe_type=kind.capitalize()
    )
    return Group(_PROBE, own)


_PATHS: Mapping[str, Callable[[KubeletExporter], Samples]] = {
    "/metrics": KubeletExporter._own,
    "/metrics/cadvisor": KubeletExporter._cadvisor,
    "/metrics/probes": KubeletExporter._probes,
    "/metrics/resource": KubeletExporter._resource,
}
