"""Metrics of a kubelet: its own, those of metrics-server's endpoint, and cAdvisor's.

Source of names, types and help texts: kubelet 1.32 and cAdvisor as they print them.
"""

from __future__ import annotations

from simcluster.control.kubelet import Kubelet
from simcluster.models.machine.container import Container
from simcluster.telemetry.exposition import Family, instant, seconds

Labels = tuple[tuple[str, str], ...]


def kubelet_metrics(kubelet: Kubelet) -> list[Family]:
    """`/metrics`."""
    running = kubelet.stats()
    containers = sum(len(pod.containers) for pod in running)  # integers
    return [
            Family("kubelet_node_name", "gauge", "[ALPHA] The node's name. The count is always 1.",
                   (((("node", kubelet.name),), 1),)),
            Family("kubelet_running_pods", "gauge", "[ALPHA] Number of pods that have a running pod sandbox",
                   (((), len(running)),)),
            Family("kubelet_running_containers", "gauge", "[ALPHA] Number of containers currently running",
                   (((("container_state", "running"),), containers),)),
            Family("kubelet_desired_pods", "gauge",
                   "[ALPHA] The number of pods the kubelet is being instructed to run. static is true if the pod is "
                   "not from the apiserver.", _desired(kubelet)),
            Family("kubernetes_build_info", "gauge", "[ALPHA] A metric with a constant '1' value labeled by major, "
                   "minor, git version, git commit, git tree state, build date, Go version, and compiler from which "
                   "Kubernetes was built, and platform on which it is running.",
                   (((("git_version", "v1.32.13"), ("major", "1"), ("minor", "32")), 1),)),
            Family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.",
                   (((), instant(kubelet.started_ns)),)),
    ]  # fmt: skip


def _desired(kubelet: Kubelet) -> tuple[tuple[Labels, int], ...]:
    pods = kubelet.client.cache.pods_on(kubelet.name)
    mirrored = [pod for pod in pods if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})]
    return (
        ((("static", ""),), len(pods) - len(mirrored)),
        ((("static", "true"),), len(mirrored)),
    )


def resource_metrics(kubelet: Kubelet) -> list[Family]:
    """`/metrics/resource`."""
    node = kubelet.node_stats()
    cpu, memory, starts, pod_cpu, pod_memory = [], [], [], [], []
    for pod in kubelet.stats():
        owner = (("namespace", pod.namespace), ("pod", pod.name))
        for name, usage in pod.containers.items():
            labels = (("container", name), *owner)
            cpu.append((labels, seconds(usage.cpu_ns)))
            memory.append((labels, usage.memory_bytes))
            starts.append((labels, instant(usage.started_ns)))
        pod_cpu.append((owner, seconds(sum(one.cpu_ns for one in pod.containers.values()))))  # integers
        pod_memory.append((owner, sum(one.memory_bytes for one in pod.containers.values())))  # integers
    return [
            Family("container_cpu_usage_seconds_total", "counter",
                   "[STABLE] Cumulative cpu time consumed by the container in core-seconds", tuple(cpu)),
            Family("container_memory_working_set_bytes", "gauge",
                   "[STABLE] Current working set of the container in bytes", tuple(memory)),
            Family("container_start_time_seconds", "gauge",
                   "[STABLE] Start time of the container since unix epoch in seconds", tuple(starts)),
            Family("node_cpu_usage_seconds_total", "counter",
                   "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
                   (((), seconds(node.cpu_ns)),)),
            Family("node_memory_working_set_bytes", "gauge",
                   "[STABLE] Current working set of the node in bytes", (((), node.memory_bytes),)),
            Family("pod_cpu_usage_seconds_total", "counter",
                   "[STABLE] Cumulative cpu time consumed by the pod in core-seconds", tuple(pod_cpu)),
            Family("pod_memory_working_set_bytes", "gauge",
                   "[STABLE] Current working set of the pod in bytes", tuple(pod_memory)),
            Family("resource_scrape_error", "gauge",
                   "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise", (((), 0),)),
    ]  # fmt: skip


def cadvisor_metrics(kubelet: Kubelet) -> list[Family]:
    """`/metrics/cadvisor`: the counters of cgroups that alerts are made of."""
    machine, disk = kubelet.machine, kubelet.machine.disk_usage()
    runs = [newest[0] for by_name in machine.runtime.runs.values() for newest in by_name.values() if newest]
    running = [run for run in runs if run.running]
    root: Labels = (("container", ""), ("id", "/"), ("image", ""), ("name", ""), ("namespace", ""), ("pod", ""))
    device: Labels = (("container", ""), ("device", "/dev/vda1"), ("id", "/"))
    stats = [(_labels(run), run, run.cpu_stat()) for run in running]
    limited = [entry for entry in stats if entry[1].spec.cpu_limit]
    return [
            Family("container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed in seconds.",
                   ((root, seconds(machine.cpu_ns())), *((labels, seconds(run.cpu_ns)) for labels, run, _ in stats))),
            Family("container_cpu_cfs_periods_total", "counter", "Number of elapsed enforcement period intervals.",
                   tuple((labels, stat.nr_periods) for labels, _, stat in limited)),
            Family("container_cpu_cfs_throttled_periods_total", "counter", "Number of throttled period intervals.",
                   tuple((labels, stat.nr_throttled) for labels, _, stat in limited)),
            Family("container_cpu_cfs_throttled_seconds_total", "counter",
                   "Total time duration the container has been throttled.",
                   tuple((labels, stat.throttled_usec / 1_000_000) for labels, _, stat in limited)),
            Family("container_memory_working_set_bytes", "gauge", "Current working set in bytes.",
                   ((root, machine.memory_used()), *((labels, run.memory_bytes) for labels, run, _ in stats))),
            Family("container_memory_max_usage_bytes", "gauge", "Maximum memory usage recorded in bytes",
                   tuple((labels, run.memory_peak) for labels, run, _ in stats)),
            Family("container_spec_memory_limit_bytes", "gauge", "Memory limit for the container.",
                   tuple((labels, run.spec.memory_limit or 0) for labels, run, _ in stats)),
            Family("container_start_time_seconds", "gauge",
                   "Start time of the container since unix epoch in seconds.",
                   tuple((labels, instant(run.started_ns)) for labels, run, _ in stats)),
            Family("container_fs_limit_bytes", "gauge",
                   "Number of bytes that can be consumed by the container on this filesystem.",
                   ((device, disk.total_bytes),)),
            Family("container_fs_usage_bytes", "gauge",
                   "Number of bytes that are consumed by the container on this filesystem.",
                   ((device, disk.used_bytes),)),
            Family("machine_cpu_cores", "gauge", "Number of logical CPU cores.", (((), machine.cpu_cores),)),
            Family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.",
                   (((), machine.memory_bytes),)),
    ]  # fmt: skip


def _labels(run: Container) -> Labels:
    spec = run.spec
    return (
        ("container", spec.name),
        ("id", f"/{run.control_group}"),
        ("image", spec.image),
        ("name", run.container_id),
        ("namespace", spec.namespace),
        ("pod", spec.pod_name),
    )
