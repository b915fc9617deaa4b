"""node-exporter: what its default collectors read from /proc and /sys of a node.

Names, labels and help texts: node_exporter 1.8. Every number is the one that the tools on the node show. Left out:
collectors of what the machine does not have (mdadm, xfs, wireless …), and numbers that nothing here counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.models.machine.cooling import LIMIT_C
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.hosttools.blockfiles import stat_fields
from simcluster.models.machine.kernel import interrupts, memory, snmp, thermalfiles, usage
from simcluster.models.machine.kernel.cputime import CpuTime
from simcluster.models.machine.kernel.thermalfiles import HIGH_C
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.counters import Counters
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.block import Sheet
from simcluster.telemetry.metrics.columns import Columns, Labels, Metric, Row, counter, gauge, labels
from simcluster.telemetry.metrics.sheets import Layouts, Sheets

PORT = 9100


def _untyped(name: str, text: str) -> Metric:
    return Metric(name, "untyped", text, (("", ()),))


_MODES = ("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")
_CPU = Columns(
    (
        counter("node_cpu_seconds_total", "Seconds the CPUs spent in each mode.", *(labels(mode=m) for m in _MODES)),
        gauge("node_cpu_scaling_frequency_hertz", "Current scaled CPU thread frequency in hertz."),
        counter("node_cpu_core_throttles_total", "Number of times this CPU core has been throttled."),
    )
)
_MEMORY = (
    "MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal",
    "SwapFree", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables",
)  # fmt: skip
_NETSTAT = {
    "Tcp_ActiveOpens": "TcpActiveOpens", "Tcp_PassiveOpens": "TcpPassiveOpens", "Tcp_CurrEstab": "TcpCurrEstab",
    "Tcp_InSegs": "TcpInSegs", "Tcp_OutSegs": "TcpOutSegs", "Tcp_RetransSegs": "TcpRetransSegs",
    "Tcp_InErrs": "TcpInErrs", "Tcp_OutRsts": "TcpOutRsts", "TcpExt_ListenOverflows": "TcpExtListenOverflows",
    "TcpExt_ListenDrops": "TcpExtListenDrops", "TcpExt_TCPSynRetrans": "TcpExtTCPSynRetrans",
    "TcpExt_TCPTimeouts": "TcpExtTCPTimeouts",
}  # fmt: skip
_VMSTAT = ("oom_kill", "pswpin", "pswpout")
_HOST = Columns(
    (
        *(gauge(f"node_memory_{name}_bytes", f"Memory information field {name}_bytes.") for name in _MEMORY),
        *(gauge(f"node_load{minutes}", f"{minutes}m load average.") for minutes in (1, 5, 15)),
        *(_untyped(f"node_vmstat_{name}", f"/proc/vmstat information field {name}.") for name in _VMSTAT),
        *(_untyped(f"node_netstat_{name}", f"Statistic {name.replace('_', '')}.") for name in _NETSTAT),
        gauge("node_sockstat_sockets_used", "Number of IPv4 sockets in use."),
        gauge("node_sockstat_TCP_inuse", "Number of TCP sockets in state inuse."),
        gauge("node_sockstat_TCP_tw", "Number of TCP sockets in state tw."),
        gauge("node_nf_conntrack_entries", "Number of currently allocated flow entries for connection tracking."),
        gauge("node_nf_conntrack_entries_limit", "Maximum size of connection tracking table."),
        counter("node_nf_conntrack_stat_drop", "Number of packets dropped due to conntrack failure."),
        gauge("node_filefd_allocated", "File descriptor statistics: allocated."),
        gauge("node_filefd_maximum", "File descriptor statistics: maximum."),
        gauge("node_processes_threads", "Allocated threads in system"),
        gauge("node_processes_max_processes", "Number of max PIDs limit"),
        gauge("node_procs_running", "Number of processes in runnable state."),
        gauge("node_procs_blocked", "Number of processes blocked waiting for I/O to complete."),
        counter("node_forks_total", "Total number of forks."),
        counter("node_context_switches_total", "Total number of context switches."),
        counter("node_intr_total", "Total number of interrupts serviced."),
        gauge("node_boot_time_seconds", "Node boot time, in unixtime."),
        gauge("node_time_seconds", "System time in seconds since epoch (1970)."),
        gauge("node_timex_offset_seconds", "Time offset in between local system and reference clock."),
        gauge("node_timex_sync_status", "Is clock synchronized to a reliable server (1 = yes, 0 = no)."),
        *(
            counter(f"node_pressure_{name}_seconds_total", f"Total time in seconds that {text}")
            for name, text in (
                ("cpu_waiting", "processes have waited for CPU time"),
                ("io_waiting", "processes have waited due to IO congestion"),
                ("io_stalled", "no process could make progress due to IO congestion"),
                ("memory_waiting", "processes have waited for memory"),
                ("memory_stalled", "no process could make progress due to memory congestion"),
            )
        ),
    )
)
_NET = Columns(
    (
        *(
            counter(f"node_network_{way}_{what}_total", f"Network device statistic {way}_{what}.")
            for way in ("receive", "transmit")
            for what in ("bytes", "packets", "errs", "drop")
        ),
        gauge("node_network_up", "Value is 1 if operstate is 'up', 0 otherwise."),
        gauge("node_network_carrier", "Network device property: carrier"),
        counter("node_network_carrier_changes_total", "Network device property: carrier_changes_total"),
        gauge("node_network_mtu_bytes", "Network device property: mtu_bytes"),
        gauge("node_network_speed_bytes", "Network device property: speed_bytes"),
    )
)
_DISK = Columns(
    (
        counter("node_disk_reads_completed_total", "The total number of reads completed successfully."),
        counter("node_disk_reads_merged_total", "The total number of reads merged."),
        counter("node_disk_read_bytes_total", "The total number of bytes read successfully."),
        counter("node_disk_read_time_seconds_total", "The total number of seconds spent by all reads."),
        counter("node_disk_writes_completed_total", "The total number of writes completed successfully."),
        counter("node_disk_writes_merged_total", "The number of writes merged."),
        counter("node_disk_written_bytes_total", "The total number of bytes written successfully."),
        counter("node_disk_write_time_seconds_total", "This is the total number of seconds spent by all writes."),
        gauge("node_disk_io_now", "The number of I/Os currently in progress."),
        counter("node_disk_io_time_seconds_total", "Total seconds spent doing I/Os."),
        counter("node_disk_io_time_weighted_seconds_total", "The weighted # of seconds spent doing I/Os."),
        counter("node_disk_flush_requests_total", "The total number of flush requests completed successfully"),
        counter("node_disk_flush_requests_time_seconds_total", "This is the total number of seconds spent by all "
                "flush requests."),
    )
)  # fmt: skip
_FILES = Columns(
    (
        gauge("node_filesystem_size_bytes", "Filesystem size in bytes."),
        gauge("node_filesystem_free_bytes", "Filesystem free space in bytes."),
        gauge("node_filesystem_avail_bytes", "Filesystem space available to non-root users in bytes."),
        gauge("node_filesystem_files", "Filesystem total file nodes."),
        gauge("node_filesystem_files_free", "Filesystem total free file nodes."),
        gauge("node_filesystem_readonly", "Filesystem read-only status."),
        gauge("node_filesystem_device_error", "Whether an error occurred while getting statistics for the given "
              "device."),
    )
)  # fmt: skip
_SENSOR = Columns(
    (
        gauge("node_hwmon_temp_celsius", "Hardware monitor for temperature (input)"),
        gauge("node_hwmon_temp_max_celsius", "Hardware monitor for temperature (max)"),
        gauge("node_hwmon_temp_crit_celsius", "Hardware monitor for temperature (crit)"),
    )
)
_UNAME = Columns((gauge("node_uname_info", "Labeled system information as provided by the uname system call."),))


class NodeExporter:
    """The exporter of one node; it remembers labels."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._layouts = Layouts()

    def samples(self) -> Sheets:
        """Everything now."""
        machine, layouts = self.machine, self._layouts
        every = machine.os.times.each()
        cards = {name: nic.counters() for name, nic in machine.nics.items()}
        drives = {disk.name: disk.counted() for disk in machine.disks.values()}
        found = {
            _HOST: layouts.sheet(_HOST, {(): _HOST.row(self._host(every, cards, drives))}),
            _CPU: self._cpus(every),
        }
        rows: dict[Labels, Row] = {}
        for name, nic in machine.nics.items():
            n, up = cards[name], int(nic.carrier)
            numbers = [n[f"{way}_{what}"] for way in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")]
            state = (up, up, nic.carrier_changes, 1500, nic.speed_mbps * 125_000 if up else -125_000)
            rows[("device", name),] = _NET.row((*numbers, *state))
        found[_NET] = layouts.sheet(_NET, rows)
        self._drives(found, drives)
        degrees = int(machine.cooling.temperature_c)
        sensor = _SENSOR.row((degrees, int(HIGH_C), int(LIMIT_C)))
        sensors = [_sensor(number) for number in range(machine.cpu_cores + 1)]
        found[_SENSOR] = Sheet(layouts.of(_SENSOR, sensors), sensor * len(sensors))
        found[_UNAME] = layouts.sheet(_UNAME, {_named(machine.name, machine.identity.kernel_version): _UNAME.row((1,))})
        return Sheets(found)

    def _cpus(self, every: Sequence[CpuTime]) -> Sheet:
        """Times of all CPUs."""
        machine = self.machine
        table, times = np.zeros((len(every), len(_CPU))), np.array([[each / SECOND for each in one] for one in every])
        for column, mode in enumerate(_MODES):
            if mode in CpuTime._fields:
                table[:, column] = times[:, CpuTime._fields.index(mode)]
        table[:, -2], table[:, -1] = thermalfiles.mhz(machine) * 1e6, machine.cooling.events
        return self._layouts.table(_CPU, [_cpu(number) for number in range(len(every))], table)

    def _host(
        self, every: Sequence[CpuTime], cards: Mapping[str, Mapping[str, int]], drives: Mapping[str, Counters]
    ) -> list[float]:
        machine, kernel = self.machine, self.machine.os
        info = memory.info(machine, kernel.shared_bytes())
        sockets = snmp.sockets(machine)
        values = snmp.values(machine, sockets)
        used = sockets.established + sockets.listening
        raised, switches = interrupts.totals(machine, every, interrupts.counts_of(cards, drives))
        amounts = (
            info.total, info.free, info.available, info.buffers, info.cached, 0,
            info.anonymous + info.cached // 2, info.cached - info.cached // 2, 0, 0, info.anonymous, info.cached // 3,
            info.shared, info.slab, info.slab // 2, info.slab - info.slab // 2, info.stacks, info.page_tables,
        )  # fmt: skip
        some, full, offset = kernel.load.some, kernel.load.full, kernel.clock.offset_ns()
        return [
            *amounts,
            *(int(average * 100.0 + 0.5) / 100.0 for average in kernel.load.averages),
            *(kernel.all_kills(), 0, 0),
            *(values[name] for name in _NETSTAT.values()),
            *(used + 190, used, sockets.time_wait),
            *(kernel.conntrack.count, kernel.conntrack.maximum, kernel.counter("drop")),
            *(kernel.open_files(), kernel.sysctls.number("fs.file-max")),
            *(kernel.tasks(), kernel.sysctls.number("kernel.pid_max")),
            max(1, usage.busy(machine) // NANOCORES),
            int(math.fsum(usage.blocked(machine).values())),
            machine.units.last_pid,
            *(switches, raised),
            unix_seconds(machine.booted_ns + offset),
            instant(kernel.clock.now_ns()),
            *(-offset / SECOND, int(kernel.clock.synchronised)),
            some["cpu"].total_usec / 1e6,
            *(some["io"].total_usec / 1e6, full["io"].total_usec / 1e6),
            *(some["memory"].total_usec / 1e6, full["memory"].total_usec / 1e6),
        ]

    def _drives(self, found: dict[Columns, Sheet], drives: Mapping[str, Counters]) -> None:
        machine, rows = self.machine, dict[Labels, Row]()
        for disk in machine.disks.values():
            if disk.outage is not None and disk.outage.gone:
                continue
            f = stat_fields(drives[disk.name], disk)
            numbers = (f[0], f[1], f[2] * 512, f[3] / 1e3, f[4], f[5], f[6] * 512, f[7] / 1e3, f[8], f[9] / 1e3)
            rows[("device", disk.name),] = _DISK.row((*numbers, f[10] / 1e3, f[15], f[16] / 1e3))
        if rows:
            found[_DISK] = self._layouts.sheet(_DISK, rows)
        rows = {}
        for system in machine.mounts:
            size = system.usage()
            free = size.total_bytes - size.used_bytes
            amounts = (size.total_bytes, free, size.available_bytes, size.total_inodes, size.free_inodes)
            own = _mounted(system.device, system.mount_point)
            rows[own] = _FILES.row((*amounts, int(system.read_only), int(not system.disk.present)))
        found[_FILES] = self._layouts.sheet(_FILES, rows)


@functools.lru_cache(maxsize=1024)
def _cpu(number: int) -> Labels:
    return labels(cpu=str(number))


@functools.lru_cache(maxsize=1024)
def _sensor(number: int) -> Labels:
    return labels(chip="platform_coretemp_0", sensor=f"temp{number + 1}")


@functools.lru_cache(maxsize=1024)
def _mounted(device: str, point: str) -> Labels:
    return labels(device=f"/dev/{device}", fstype="ext4", mountpoint=point)


@functools.lru_cache(maxsize=1024)
def _named(node: str, version: str) -> Labels:
    return labels(
        domainname="(none)",
        machine="x86_64",
        nodename=node,
        release=version,
        sysname="Linux",
        version="#45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 12:02:04 UTC 2024",
    )
