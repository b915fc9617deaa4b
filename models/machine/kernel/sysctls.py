"""Kernel parameters: defaults that follow from the machine, and what somebody has written.

Only parameters that bind something here, or that people look at, are known. Values are texts, as
in `/proc/sys`. A write takes effect with the next thing that asks.
"""

from __future__ import annotations

from collections.abc import Callable

#: Ubuntu 24.04 (kernel 6.8), a node with kube-proxy.
_FIXED = {
    "fs.file-max": "9223372036854775807",
    "fs.inotify.max_queued_events": "16384",
    "fs.inotify.max_user_instances": "128",
    "fs.nr_open": "1048576",
    "kernel.hung_task_timeout_secs": "120",
    "kernel.hung_task_warnings": "10",
    "kernel.panic": "10",
    "kernel.panic_on_oops": "1",
    "kernel.pid_max": "4194304",
    "kernel.softlockup_panic": "0",
    "kernel.watchdog_thresh": "10",
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.core.netdev_max_backlog": "1000",
    "net.core.rmem_max": "212992",
    "net.core.somaxconn": "4096",
    "net.core.wmem_max": "212992",
    "net.ipv4.ip_forward": "1",
    "net.ipv4.ip_local_port_range": "32768\t60999",
    "net.ipv4.tcp_fin_timeout": "60",
    "net.ipv4.tcp_keepalive_time": "7200",
    "net.ipv4.tcp_max_syn_backlog": "1024",
    "net.ipv4.tcp_retries2": "15",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_syn_retries": "6",
    "net.ipv4.tcp_syncookies": "1",
    "net.ipv4.tcp_tw_reuse": "2",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.netfilter.nf_conntrack_buckets": "65536",
    "net.netfilter.nf_conntrack_tcp_be_liberal": "0",
    "net.netfilter.nf_conntrack_tcp_timeout_close_wait": "3600",
    "net.netfilter.nf_conntrack_tcp_timeout_established": "86400",
    "net.netfilter.nf_conntrack_tcp_timeout_time_wait": "120",
    "net.netfilter.nf_conntrack_udp_timeout": "30",
    "vm.dirty_background_ratio": "10",
    "vm.dirty_ratio": "20",
    "vm.max_map_count": "262144",
    "vm.min_free_kbytes": "67584",
    "vm.overcommit_memory": "1",
    "vm.panic_on_oom": "0",
    "vm.swappiness": "60",
}
#: Read only.
_STATES = ("net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_buckets")
#: Numbers with bounds: what the kernel refuses with EINVAL.
_BOUNDS = {
    "net.core.somaxconn": (0, 2147483647),
    "kernel.pid_max": (301, 4194304),
    "net.netfilter.nf_conntrack_max": (0, 2147483647),
    "fs.nr_open": (8, 2147483584),
    "fs.file-max": (0, 9223372036854775807),
}


class Sysctls:
    """The parameters of one machine.

    Args:
        cores, memory_bytes: from which some defaults follow.
        changed: called after every write.
    """

    __slots__ = ("_changed", "_written", "cores", "memory_bytes")

    def __init__(self, cores: int, memory_bytes: int, changed: Callable[[], None]) -> None:
        self.cores = cores
        self.memory_bytes = memory_bytes
        self._changed = changed
        self._written: dict[str, str] = {}

    def get(self, name: str) -> str:
        """Text of a parameter; "" if there is none of that name."""
        name = name.replace("/", ".")
        return self._written.get(name) or _FIXED.get(name) or self._derived(name)

    def number(self, name: str) -> int:
        """A parameter that is one number."""
        return int(self.get(name).split()[0])

    def set(self, name: str, value: str | int) -> str:
        """Write a parameter; what `sysctl` answers when it fails, else ""."""
        name, text = name.replace("/", "."), "\t".join(str(value).split())
        if not self.get(name):
            return f"sysctl: cannot stat /proc/sys/{name.replace('.', '/')}: No such file or directory"
        if name in _STATES:
            return f'sysctl: permission denied on key "{name}"'
        words = text.split()
        wanted = len(self.get(name).split())
        if len(words) != wanted or not all(word.lstrip("-").isdigit() for word in words):
            return f'sysctl: setting key "{name}": Invalid argument'
        low, high = _BOUNDS.get(name, (-2147483648, 9223372036854775807))
        if not all(low <= int(word) <= high for word in words):
            return f'sysctl: setting key "{name}": Invalid argument'
        if name == "net.ipv4.ip_local_port_range" and not 1 <= int(words[0]) <= int(words[1]) <= 65535:
            return f'sysctl: setting key "{name}": Invalid argument'
        self._written[name] = text
        self._changed()
        return ""

    def names(self) -> list[str]:
        """All known parameters, sorted."""
        derived = ("kernel.threads-max", "net.netfilter.nf_conntrack_max", "net.nf_conntrack_max")
        return sorted({**_FIXED, **dict.fromkeys(derived), **dict.fromkeys(_STATES)})

    def port_range(self) -> tuple[int, int]:
        """First and last ephemeral port."""
        low, high = self.get("net.ipv4.ip_local_port_range").split()
        return int(low), int(high)

    def _derived(self, name: str) -> str:
        if name == "net.netfilter.nf_conntrack_max":
            # kube-proxy: max(min 131072, 32768 a core).
            return str(max(131072, 32768 * self.cores))
        if name == "net.nf_conntrack_max":
            return self.get("net.netfilter.nf_conntrack_max")
        if name == "kernel.threads-max":
            # kernel/fork.c: an eighth of memory for thread stacks of 16 KiB.
            return str(self.memory_bytes // (8 * 16384))
        return "0" if name == "net.netfilter.nf_conntrack_count" else ""
