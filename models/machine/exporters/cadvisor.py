"""cAdvisor: counters of the control groups of a node, as the kubelet's `/metrics/cadvisor` shows them.

Groups: the root, the slices of pods, every pod, every running container; the interfaces of pods. Names, labels and
help texts: cAdvisor 0.51 in kubelet 1.32. Left out: what nobody here counts (huge pages, NUMA, perf, file locks), and
stamps of single samples.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import FlatDict
from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.container import Container, Sandbox, cpu_times
from simcluster.models.machine.kernel import cgroupfiles, memory
from simcluster.models.machine.kernel.cfs import periods_of
from simcluster.models.machine.kernel.cgroupfiles import faults_of
from simcluster.models.machine.kernel.cgroups import PODS, scope_of, weight_of
from simcluster.models.machine.kernel.cputime import ALL_PARTS, USER_PARTS
from simcluster.models.machine.kernel.pids import PER_CONTAINER
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.usage import layer_bytes
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.block import Sheet
from simcluster.telemetry.metrics.columns import Columns, Labels, Metric, Row, counter, gauge, labels
from simcluster.telemetry.metrics.sheets import Layouts, Sheets

Whole: TypeAlias = NDArray[np.int64]

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
_ROOT_DEVICE = (
    ("container", ""), ("device", "/dev/nvme0n1p2"), ("id", "/"), ("image", ""), ("name", ""), ("namespace", ""),
    ("pod", ""),
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
#: Columns that change only with what a container holds (`_still`), of page faults, and of the present instant.
_STILL = [
    CONTAINER.by_name[f"container_{name}"][0] for name in (
        "memory_working_set_bytes", "memory_usage_bytes", "memory_rss", "memory_cache", "memory_mapped_file",
        "memory_max_usage_bytes", "memory_failcnt",
    )
]  # fmt: skip
_FAULTS, _MAJOR = CONTAINER.by_name["container_memory_failures_total"]
_STILL += [_MAJOR, *(CONTAINER.by_name[f"container_{name}"][0] for name in (
    "oom_events_total", "threads", "file_descriptors", "fs_usage_bytes",
))]  # fmt: skip
_SEEN = CONTAINER.by_name["container_last_seen"][0]


class _Known(NamedTuple):
    """What a container's series are called.

    Attributes:
        own: labels of its own; pod: those of its pod; path: of its pod's control group.
    """

    own: Labels
    pod: Labels
    path: str


class _Part:
    """Containers of one form, and their numbers as they were shown last.

    Attributes:
        places: of its containers among all; table: a row for each; marks: from what their rows were made; touched:
            pages that were touched for the first time or mapped.
    """

    def __init__(self, form: Columns, runs: Sequence[Container], places: Sequence[int]) -> None:
        self.form, self.places = form, np.array(places, dtype=np.int64)
        self.table = np.zeros((len(places), len(form)))
        self.marks: list[tuple[int, ...]] = [()] * len(places)
        self.touched = np.zeros(len(places), dtype=np.int64)
        specs = [runs[place].spec for place in places]
        for name, values in (
            ("container_spec_cpu_period", [100_000] * len(places)),
            ("container_spec_cpu_shares", [_shares(spec.cpu_request) for spec in specs]),
            ("container_spec_memory_limit_bytes", [spec.memory_limit or 0 for spec in specs]),
            ("container_processes", [1] * len(places)),
            ("container_start_time_seconds", [instant(runs[place].started_ns) for place in places]),
        ):
            self.table[:, form.by_name[name][0]] = values
        limits = [spec.cpu_limit for spec in specs]
        if form is LIMITED:
            self.limits = np.array([limit or 0.0 for limit in limits])
            self.started = np.array([runs[place].started_ns for place in places], dtype=np.int64)
            self.table[:, form.by_name["container_spec_cpu_quota"][0]] = (self.limits * 100_000).astype(np.int64)


class _Roster:
    """The containers that ran when somebody looked last, and what does not change until others do.

    Attributes:
        runs, specs: of each; own: labels of each.
        pods: labels of their pods, in the order of their first containers; begins: where each pod's containers begin.
        members: of every slice above pods (`_SLICES`), whether a pod lies in it.
    """

    def __init__(self, runs: list[Container], known: Mapping[str, _Known]) -> None:
        self.runs, self.specs = runs, [run.spec for run in runs]
        entries = [known[run.container_id] for run in runs]
        self.own = [entry.own for entry in entries]
        pods = {entry.path: (place, entry.pod) for place, entry in reversed(list(enumerate(entries)))}
        self.pods = dict(sorted(pods.items(), key=_place_of))
        self.whose = np.array([list(self.pods).index(entry.path) for entry in entries], dtype=np.int64)
        self.counts = np.bincount(self.whose, minlength=len(self.pods))
        self.members = np.zeros((len(_SLICES), len(self.pods)), dtype=np.int64)
        for number, path in enumerate(self.pods):
            for above in _above(path):
                self.members[_SLICES.index(above), number] = 1
        limited = [run.spec.cpu_limit is not None for run in runs]
        self.parts = [
            _Part(form, runs, [place for place, each in enumerate(limited) if each == wanted])
            for form, wanted in ((CONTAINER, False), (LIMITED, True))
            if wanted in limited
        ]

    def by_pod(self, amounts: Whole) -> Whole:
        """Sums of what single containers have, by pod."""
        found = np.zeros(len(self.pods), dtype=np.int64)
        np.add.at(found, self.whose, amounts)
        return found


def _place_of(item: tuple[str, tuple[int, Labels]]) -> int:
    return item[1][0]


class CAdvisor:
    """The exporter of one node.

    It remembers labels of containers, and their last numbers: of most of them only CPU time moves.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[str, _Known] = FlatDict()  # by container id
        self._cards: dict[str, Labels] = FlatDict()  # by sandbox id
        self._layouts = Layouts()
        self._roster: _Roster | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_roster": None}  # made anew when somebody asks

    def samples(self) -> Sheets:
        """Everything now."""
        machine, layouts = self.machine, self._layouts
        runs = [run for run in machine.runtime.containers() if run.state == "running"]
        roster = self._roster
        if roster is None or roster.runs != runs or roster.specs != [run.spec for run in runs]:
            roster = self._roster = self._met(runs)
        found: dict[Columns, Sheet] = {}
        used = np.array(cpu_times(runs), dtype=np.int64)
        facts = self._facts(runs)
        for part in roster.parts:
            self._refresh(part, runs, used[part.places], facts)
            own = [roster.own[place] for place in part.places.tolist()]
            found[part.form] = layouts.table(part.form, own, part.table)
        self._io(found, roster)
        found[_SUM] = self._sums(roster, used // 1000, np.array([run.memory_bytes for run in runs], dtype=np.int64))
        self._network(found)
        disk = machine.disk_usage()
        numbers = (disk.total_bytes, disk.used_bytes, disk.total_inodes, disk.free_inodes)
        found[_ROOT_FS] = layouts.sheet(_ROOT_FS, {_ROOT_DEVICE: _ROOT_FS.row(numbers)})
        boot = labels(
            boot_id=machine.identity.boot_id,
            machine_id=machine.identity.machine_id,
            system_uuid=machine.identity.system_uuid,
        )
        found[_MACHINE] = layouts.sheet(_MACHINE, {boot: _MACHINE.row((machine.cpu_cores, machine.memory_bytes, 0))})
        return Sheets(found)

    def _met(self, runs: list[Container]) -> _Roster:
        """What there is to remember of these containers."""
        before = self._known
        self._known = FlatDict()
        for run in runs:
            self._known[run.container_id] = before.get(run.container_id) or _described(run)
        return _Roster(runs, self._known)

    def _facts(self, runs: Sequence[Container]) -> list[tuple[int, ...]]:
        """Of every container what its numbers follow from, but for CPU time and what its form says.

        Bytes it holds, has touched, at most, in caches, in shared memory, of data at most, in its layer; how often it
        came up against its limit, was killed; tasks, descriptors; how long its quota has stopped it.
        """
        machine, uids = self.machine, [run.spec.pod_uid for run in runs]
        return [
            (
                *(run.memory_bytes, run.memory_grown, run.memory_peak, cache, shared, data),
                0 if run.written is None else layer_bytes(run.written),
                *(run.memory_full, run.oom_kills, extra, held, run.throttled_ns),
            )
            for run, cache, shared, data, extra, held in zip(
                runs,
                memory.each_file_bytes(machine, runs),
                machine.os.shm.used_by(uids),
                memory.each_file_peak(machine, runs),
                machine.os.pids.extras(uids),
                machine.os.descriptors.each(runs),
                strict=True,
            )
        ]

    def _refresh(self, part: _Part, runs: Sequence[Container], used: Whole, facts: Sequence[tuple[int, ...]]) -> None:
        """Bring the numbers of containers of a form up to now."""
        table, places = part.table, part.places.tolist()
        for row, place in enumerate(places):
            mark = facts[place]
            if part.marks[row] != mark:
                part.marks[row] = mark
                numbers, part.touched[row] = _still(mark, runs[place].spec.memory_limit)
                table[row, _STILL] = numbers
        usage = used // 1000
        user = usage * USER_PARTS // ALL_PARTS
        table[:, 0], table[:, 1], table[:, 2] = usage / 1e6, user / 1e6, (usage - user) / 1e6
        table[:, _FAULTS] = part.touched + faults_of(used)
        table[:, _SEEN] = unix_seconds(self.machine.sim.now)
        if part.form is LIMITED:
            stopped = np.array([mark[-1] for mark in part.marks], dtype=np.int64)
            ages = self.machine.sim.now - part.started
            table[:, -3], table[:, -2] = periods_of(used, stopped, ages, part.limits, self.machine.cpu_cores)
            table[:, -1] = stopped // 1000 / 1e6

    def _network(self, found: dict[Columns, Sheet]) -> None:
        """Pods' interfaces, which belong to their sandboxes."""
        now, cards = self.machine.sim.now, self._cards
        there = [one for one in self.machine.runtime.sandboxes.values() if one.veth is not None]
        self._cards = FlatDict({one.sandbox_id: cards.get(one.sandbox_id) or _card(one) for one in there})
        if there:
            table = np.zeros((len(there), len(_NETWORK)))
            # Bytes and packets received, bytes and packets transmitted.
            table[:, (0, 3, 4, 7)] = [one.veth.counted(now) for one in there if one.veth is not None]
            found[_NETWORK] = self._layouts.table(_NETWORK, list(self._cards.values()), table)

    def _io(self, found: dict[Columns, Sheet], roster: _Roster) -> None:
        rows: dict[Labels, Row] = {}
        for (owner, disk), counted in self.machine.os.load.io.items():
            entry = self._known.get(owner)
            if entry is not None:
                read, written, reads, writes = counted
                rows[_on_drive(entry.own, disk)] = _TRAFFIC.row((read, written, reads, writes))
        if rows:
            found[_TRAFFIC] = self._layouts.sheet(_TRAFFIC, rows)

    def _sums(self, roster: _Roster, usage: Whole, held: Whole) -> Sheet:
        """Pods, the slices above them, and the machine as a whole."""
        machine, count = self.machine, len(roster.pods)
        whole = np.zeros((count, 3), dtype=np.int64)
        whole[:, 0], whole[:, 1], whole[:, 2] = roster.by_pod(usage), roster.by_pod(held), roster.counts
        slices = roster.members @ whole
        if machine.runtime.past_groups:
            whole[:, 0] += [self._gone(path) for path in roster.pods]
            slices[:, 0] += [self._gone(path) for path in _SLICES]
        above = [place for place, used in enumerate(slices[:, 0].tolist()) if used]
        table = np.concatenate((whole, slices[above], slices[:1]), dtype=np.float64)
        table[:, 0] /= 1e6
        table[-1, :2] = machine.cpu_ns() // 1000 / 1e6, machine.memory_used()
        names = [*[pod for _, pod in roster.pods.values()], *[_slice(_SLICES[place]) for place in above], _slice("")]
        return self._layouts.table(_SUM, names, table)

    def _gone(self, path: str) -> int:
        """CPU time of containers in a group that have ended, microseconds."""
        past = self.machine.runtime.past_groups.get(path)
        return 0 if past is None else past.get(("cpu.stat", "usage_usec"), 0)


def _still(mark: tuple[int, ...], limit: int | None) -> tuple[list[int], int]:
    """Numbers of a container in the columns `_STILL`, and pages it has touched; see `CAdvisor._facts`."""
    anonymous, grown, peak, cache, shared, data, layer, full, kills, extra, descriptors, _ = mark
    loaded = cgroupfiles.loaded_of(peak)
    if limit is not None:
        cache = max(0, min(cache, limit - anonymous))
    peak = max(peak, anonymous) + loaded + data
    return [
        # What is not inactive file: cAdvisor takes that off the usage.
        anonymous + shared,
        anonymous + cache + shared,
        anonymous,
        cache,
        min(cache, memory.program_of(anonymous)) * 2 // 3,
        peak if limit is None else min(peak, limit),
        full + kills,
        loaded // cgroupfiles.READ_AHEAD,
        kills,
        PER_CONTAINER + extra,
        descriptors,
        layer,
    ], (grown + loaded) // 4096


def _whole(group: str, namespace: str = "", pod: str = "") -> Labels:
    """Labels of a group that is no container: they are there, and empty."""
    empty = (("container", ""), ("id", group), ("image", ""), ("name", ""))
    return (*empty, ("namespace", namespace), ("pod", pod))


def _tier(tier: str) -> str:
    return f"{PODS}/kubepods-{tier}.slice"


_SLICES = (PODS, *(_tier(tier) for tier in _TIERS))


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
    return _Known(own, _whole(f"/{above}", namespace=spec.namespace, pod=spec.pod_name), above)


@functools.lru_cache(maxsize=4096)
def _on_drive(own: Labels, disk: str) -> Labels:
    return tuple(sorted((*own, ("device", f"/dev/{disk}"))))


@functools.lru_cache(maxsize=16)
def _slice(path: str) -> Labels:
    return _whole(f"/{path}")


def _card(sandbox: Sandbox) -> Labels:
    path = f"{sandbox.group.path(sandbox.pod_uid)}/{scope_of(sandbox.sandbox_id)}"
    own = (("container", ""), ("id", f"/{path}"), ("image", PAUSE), ("interface", "eth0"))
    return (*own, ("name", sandbox.sandbox_id), ("namespace", sandbox.namespace), ("pod", sandbox.pod_name))
