"""cAdvisor: counters of the control groups of a node, as the kubelet's `/metrics/cadvisor` shows them.

Groups: the root, the slices of pods, every pod, every running container; the interfaces of pods. Names, labels and
help texts: cAdvisor 0.51 in kubelet 1.32. Left out: what nobody here counts (huge pages, NUMA, perf, file locks), and
stamps of single samples.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from simcluster.engine import FlatDict
from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.kernel import cgroupfiles, memory
from simcluster.models.machine.kernel.cfs import CpuStat
from simcluster.models.machine.kernel.cgroups import PODS, scope_of, weight_of
from simcluster.models.machine.kernel.pids import PER_CONTAINER
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.usage import written_bytes
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Metric, Row, Samples, counter, gauge, labels

_TOTAL = labels(cpu="total")
_CPU = (counter("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", _TOTAL),)
_WORKING_SET = gauge("container_memory_working_set_bytes", "Current working set in bytes.")
#: Of a group with no numbers of its own but those of what is in it.
_SUM = Columns((*_CPU, _WORKING_SET, gauge("container_processes", "Number of processes running inside the container.")))
_PLAIN: tuple[Metric, ...] = (
    *_CPU,
    counter("container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds."),
    counter("container_cpu_system_seconds_total", "Cumulative system cpu time consumed in seconds."),
    _WORKING_SET,
    gauge("container_memory_usage_bytes", "Current memory usage in bytes, including all memory regardless of when it "
          "was accessed"),
    gauge("container_memory_rss", "Size of RSS in bytes."),
    gauge("container_memory_cache", "Number of bytes of page cache memory."),
    gauge("container_memory_mapped_file", "Size of memory mapped files in bytes."),
    gauge("container_memory_swap", "Container swap usage in bytes."),
    gauge("container_memory_max_usage_bytes", "Maximum memory usage recorded in bytes"),
    counter("container_memory_failcnt", "Number of memory usage hits limits"),
    counter("container_memory_failures_total", "Cumulative count of memory allocation failures.",
            labels(failure_type="pgfault", scope="container"), labels(failure_type="pgmajfault", scope="container")),
    counter("container_oom_events_total", "Count of out of memory events observed for the container"),
    gauge("container_spec_cpu_period", "CPU period of the container."),
    gauge("container_spec_cpu_shares", "CPU share of the container."),
    gauge("container_spec_memory_limit_bytes", "Memory limit for the container."),
    gauge("container_spec_memory_reservation_limit_bytes", "Memory reservation limit for the container."),
    gauge("container_processes", "Number of processes running inside the container."),
    gauge("container_threads", "Number of threads running inside the container"),
    gauge("container_file_descriptors", "Number of open file descriptors for the container."),
    gauge("container_start_time_seconds", "Start time of the container since unix epoch in seconds."),
    gauge("container_last_seen", "Last time a container was seen by the exporter"),
    gauge("container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem.",
          labels(device="/dev/nvme0n1p2")),
)  # fmt: skip
CONTAINER = Columns(_PLAIN)
#: Of a container with a CPU limit also these.
LIMITED = Columns(
    (
        *_PLAIN,
        gauge("container_spec_cpu_quota", "CPU quota of the container."),
        counter("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals."),
        counter("container_cpu_cfs_throttled_periods_total", "Number of throttled period intervals."),
        counter("container_cpu_cfs_throttled_seconds_total", "Total time duration the container has been throttled."),
    )
)
#: What a container has read and written, by drive.
_TRAFFIC = Columns(
    (
        counter("container_fs_reads_bytes_total", "Cumulative count of bytes read"),
        counter("container_fs_writes_bytes_total", "Cumulative count of bytes written"),
        counter("container_fs_reads_total", "Cumulative count of reads completed"),
        counter("container_fs_writes_total", "Cumulative count of writes completed"),
    )
)
_ROOT_FS = Columns(
    (
        gauge("container_fs_limit_bytes", "Number of bytes that can be consumed by the container on this filesystem."),
        gauge("container_fs_usage_bytes", "Number of bytes that are consumed by the container on this filesystem."),
        gauge("container_fs_inodes_total", "Number of Inodes"),
        gauge("container_fs_inodes_free", "Number of available Inodes"),
    )
)
_MACHINE = Columns(
    (
        gauge("machine_cpu_cores", "Number of logical CPU cores."),
        gauge("machine_memory_bytes", "Amount of memory installed on the machine."),
        counter("machine_scrape_error", "1 if there was an error while getting machine metrics, 0 otherwise."),
    )
)
_ROOT_DEVICE = Group(
    _ROOT_FS,
    (("container", ""), ("device", "/dev/nvme0n1p2"), ("id", "/"), ("image", ""), ("name", ""), ("namespace", ""),
     ("pod", "")),
)  # fmt: skip
#: Of a pod's sandbox: its interface.
_NETWORK = Columns(
    (
        counter("container_network_receive_bytes_total", "Cumulative count of bytes received"),
        counter("container_network_receive_errors_total", "Cumulative count of errors encountered while receiving"),
        counter("container_network_receive_packets_dropped_total", "Cumulative count of packets dropped while "
                "receiving"),
        counter("container_network_receive_packets_total", "Cumulative count of packets received"),
        counter("container_network_transmit_bytes_total", "Cumulative count of bytes transmitted"),
        counter("container_network_transmit_errors_total", "Cumulative count of errors encountered while "
                "transmitting"),
        counter("container_network_transmit_packets_dropped_total", "Cumulative count of packets dropped while "
                "transmitting"),
        counter("container_network_transmit_packets_total", "Cumulative count of packets transmitted"),
    )
)  # fmt: skip
#: The image of sandboxes (containerd's default for Kubernetes 1.32).
PAUSE = "registry.k8s.io/pause:3.10"
_TIERS = ("besteffort", "burstable")


class _Known(NamedTuple):
    """What a container's series are called.

    Attributes:
        group: its own; pod: that of its pod; path: of its pod's control group.
    """

    group: Group
    pod: Group
    path: str


class _Sum:
    """Of containers of one pod: CPU time in microseconds, bytes, how many there are."""

    __slots__ = ("count", "group", "held", "used")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.used = self.held = self.count = 0


class CAdvisor:
    """The exporter of one node; it remembers labels of containers, which cost more than their numbers."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._groups: dict[str, _Known] = FlatDict()  # by container id
        self._cards: dict[str, Group] = FlatDict()  # by sandbox id

    def samples(self) -> Samples:
        """Everything now."""
        machine, known = self.machine, self._groups
        found: dict[Group, Row] = {}
        pods: dict[str, _Sum] = {}
        kept: dict[str, _Known] = FlatDict()
        moved = {owner: None for owner, _ in machine.os.load.io}
        seen = float(unix_seconds(machine.sim.now))
        for run in machine.runtime.containers():
            if not run.running:
                continue
            entry = known.get(run.container_id) or _described(run)
            kept[run.container_id] = entry
            stat = run.cpu_stat()
            found[entry.group] = entry.group.columns.row(self._numbers(run, stat, run.container_id in moved, seen))
            total = pods.get(entry.path)
            if total is None:
                total = pods[entry.path] = _Sum(entry.pod)
            total.used += stat.usage_usec
            total.held += run.memory_bytes
            total.count += 1
        self._groups = kept
        self._io(found, kept)
        self._sums(found, pods)
        self._network(found)
        disk = machine.disk_usage()
        numbers = (disk.total_bytes, disk.used_bytes, disk.total_inodes, disk.free_inodes)
        found[_ROOT_DEVICE] = _ROOT_FS.row(numbers)
        boot = labels(
            boot_id=machine.identity.boot_id,
            machine_id=machine.identity.machine_id,
            system_uuid=machine.identity.system_uuid,
        )
        found[Group(_MACHINE, boot)] = _MACHINE.row((machine.cpu_cores, machine.memory_bytes, 0))
        return found

    def _network(self, found: dict[Group, Row]) -> None:
        """Pods' interfaces, which belong to their sandboxes."""
        machine, now, cards = self.machine, self.machine.sim.now, self._cards
        kept: dict[str, Group] = FlatDict()
        for sandbox in machine.runtime.sandboxes.values():
            if sandbox.veth is not None:
                group = kept[sandbox.sandbox_id] = cards.get(sandbox.sandbox_id) or _card(sandbox)
                heard, came, said, went = sandbox.veth.counted(now)
                found[group] = _NETWORK.row((heard, 0, 0, came, said, 0, 0, went))
        self._cards = kept

    def _numbers(self, run: Container, stat: CpuStat, moved: bool, seen: float) -> list[float]:
        """Numbers of a container; `moved`: whether it has read or written, `seen`: the present instant."""
        machine, spec = self.machine, run.spec
        anonymous, limit, uid = run.memory_bytes, spec.memory_limit, spec.pod_uid
        cache = memory.file_bytes(machine, run) if moved else memory.program_bytes(run)
        if limit is not None:
            cache = max(0, min(cache, limit - anonymous))
        shared = machine.os.shm.used(uid)
        loaded = cgroupfiles.loaded_bytes(run)
        numbers: list[float] = [
            stat.usage_usec / 1e6,
            stat.user_usec / 1e6,
            stat.system_usec / 1e6,
            # What is not inactive file: cAdvisor takes that off the usage.
            anonymous + shared,
            anonymous + cache + shared,
            anonymous,
            cache,
            min(cache, memory.program_bytes(run)) * 2 // 3,
            0,
            cgroupfiles.peak_bytes(run),
            run.memory_full + run.oom_kills,
            cgroupfiles.faults(run),
            loaded // cgroupfiles.READ_AHEAD,
            run.oom_kills,
            100_000,
            _shares(spec.cpu_request),
            limit or 0,
            0,
            1,
            PER_CONTAINER + machine.os.pids.extra(uid),
            machine.os.descriptors.held(run),
            instant(run.started_ns),
            seen,
            written_bytes(run),
        ]
        if spec.cpu_limit is not None:
            quota = int(spec.cpu_limit * 100_000)
            numbers += (quota, stat.nr_periods, stat.nr_throttled, stat.throttled_usec / 1e6)
        return numbers

    def _io(self, found: dict[Group, Row], known: dict[str, _Known]) -> None:
        for (owner, disk), counted in self.machine.os.load.io.items():
            if owner in known:
                read, written, reads, writes = counted
                own = tuple(sorted((*known[owner].group.labels, ("device", f"/dev/{disk}"))))
                found[Group(_TRAFFIC, own)] = _TRAFFIC.row((read, written, reads, writes))

    def _sums(self, found: dict[Group, Row], pods: dict[str, _Sum]) -> None:
        """Pods, the slices above them, and the machine as a whole."""
        machine = self.machine
        slices = {path: _Sum(_slice(path)) for path in (PODS, *(_tier(tier) for tier in _TIERS))}
        for path, pod in pods.items():
            found[pod.group] = _SUM.row(((pod.used + self._gone(path)) / 1e6, pod.held, pod.count))
            for above in _above(path):
                total = slices[above]
                total.used += pod.used
                total.held += pod.held
                total.count += pod.count
        running = slices[PODS].count
        for path, total in slices.items():
            used = total.used + self._gone(path)
            if used:
                found[total.group] = _SUM.row((used / 1e6, total.held, total.count))
        found[_slice("")] = _SUM.row((machine.cpu_ns() // 1000 / 1e6, machine.memory_used(), running))

    def _gone(self, path: str) -> int:
        """CPU time of containers in a group that have ended, microseconds."""
        past = self.machine.runtime.past_groups.get(path)
        return 0 if past is None else past.get(("cpu.stat", "usage_usec"), 0)


def _whole(group: str, namespace: str = "", pod: str = "") -> Labels:
    """Labels of a group that is no container: they are there, and empty."""
    empty = (("container", ""), ("id", group), ("image", ""), ("name", ""))
    return (*empty, ("namespace", namespace), ("pod", pod))


def _tier(tier: str) -> str:
    return f"{PODS}/kubepods-{tier}.slice"


@functools.lru_cache(maxsize=256)
def _shares(request: float) -> int:
    """`cpu.shares` as cAdvisor works it out of the group's weight (opencontainers/cgroups, inverted)."""
    weight = weight_of(request)
    return max(2, 2 + (weight - 1) * 262_142 // 9_999)


@functools.lru_cache(maxsize=4096)
def _above(path: str) -> tuple[str, ...]:
    """The slices in which a pod's control group lies."""
    return tuple(above for above in (PODS, *map(_tier, _TIERS)) if path.startswith(f"{above}/"))


def _described(run: Container) -> _Known:
    spec, path = run.spec, run.control_group
    own = labels(
        container=spec.name,
        id=f"/{path}",
        image=run.image_name,
        name=run.container_id,
        namespace=spec.namespace,
        pod=spec.pod_name,
    )
    above = path.rpartition("/")[0]
    pod = Group(_SUM, _whole(f"/{above}", namespace=spec.namespace, pod=spec.pod_name))
    return _Known(Group(CONTAINER if spec.cpu_limit is None else LIMITED, own), pod, above)


@functools.lru_cache(maxsize=16)
def _slice(path: str) -> Group:
    return Group(_SUM, _whole(f"/{path}"))


def _card(sandbox: Sandbox) -> Group:
    path = f"{sandbox.group.path(sandbox.pod_uid)}/{scope_of(sandbox.sandbox_id)}"
    own = (("container", ""), ("id", f"/{path}"), ("image", PAUSE), ("interface", "eth0"))
    names = (("name", sandbox.sandbox_id), ("namespace", sandbox.namespace), ("pod", sandbox.pod_name))
    return Group(_NETWORK, (*own, *names))
