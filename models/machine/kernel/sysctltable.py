"""Every kernel parameter that is shown: its default, what the kernel takes, and who reads it here, or why it is fixed.

A parameter acts (`readers` says on what), or it is refused as one that is read only (`refused` says why): none takes a
value that changes nothing. Defaults: Ubuntu 24.04 (kernel 6.8), a node with kube-proxy. Bounds: the tables in
kernel/sysctl.c, net/core/sysctl_net_core.c, net/ipv4/sysctl_net_ipv4.c, fs/file_table.c, fs/file.c, kernel/pid.c and
net/netfilter/nf_conntrack_standalone.c of that kernel. A default of "" follows from the machine.
"""

from __future__ import annotations

from typing import NamedTuple

_INT, _LONG = 2147483647, 9223372036854775807


class Parameter(NamedTuple):
    """One parameter: what is outside of `low` to `high` is EINVAL."""

    name: str
    default: str
    low: int = 0
    high: int = _INT
    readers: str = ""
    refused: str = ""


_AT_ONCE = "a connection passes this state within a round trip: peers answer at once"
_REPAIRED = "a lost segment is repaired, or given up by its caller, before it matters"
_BUFFER = "a connection is one rate: its window follows from losses alone (links.tcp)"
_WRITEBACK = "writes go to the drive when they are made: no page is dirty for long"

ACTING = (
    Parameter("fs.file-max", "9223372036854775807", 0, _LONG, "descriptors: ENFILE"),
    Parameter("fs.nr_open", "1048576", 8, 2147483584, "descriptors: RLIMIT_NOFILE at most"),
    Parameter("kernel.hung_task_timeout_secs", "120", 0, 9223372036, "load: khungtaskd"),
    Parameter("kernel.hung_task_warnings", "10", -1, _INT, "kernel: khungtaskd's lines"),
    Parameter("kernel.panic", "10", -_INT, _INT, "machine: reboots so many seconds after a panic; 0: never"),
    Parameter("kernel.pid_max", "4194304", 301, 4194304, "pids: EAGAIN; the kubelet's pid pressure"),
    Parameter("kernel.softlockup_panic", "0", 0, 1, "kernel: a stuck CPU is a panic"),
    Parameter("kernel.threads-max", "", 20, 1073741823, "pids: EAGAIN"),
    Parameter("kernel.watchdog_thresh", "10", 0, 60, "watchdog: when a CPU counts as stuck"),
    Parameter("net.core.somaxconn", "4096", 0, _INT, "kernel: backlog of listeners; ss"),
    Parameter("net.ipv4.ip_forward", "1", 0, 1, "links: packets from and to pods"),
    Parameter("net.ipv4.ip_local_port_range", "32768\t60999", 1, 65535, "ports: EADDRNOTAVAIL"),
    Parameter("net.ipv4.tcp_max_syn_backlog", "1024", 0, _INT, "kernel: backlog of listeners without cookies"),
    Parameter("net.ipv4.tcp_syncookies", "1", 0, 2, "kernel: backlog of listeners"),
    Parameter("net.ipv4.tcp_tw_reuse", "2", 0, 2, "ports: ports in TIME_WAIT for more than a second"),
    Parameter("net.netfilter.nf_conntrack_max", "", 0, _INT, "conntrack: a full table drops"),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_close", "10", 0, _INT, "conntrack: entries after a reset"),
    Parameter(
        "net.netfilter.nf_conntrack_tcp_timeout_established", "86400", 0, _INT, "conntrack: entries of idle ones"
    ),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_syn_sent", "120", 0, _INT, "conntrack: nobody answers"),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_time_wait", "120", 0, _INT, "conntrack: entries that end"),
    Parameter("net.netfilter.nf_conntrack_udp_timeout", "30", 0, _INT, "conntrack: name look-ups"),
    Parameter("net.nf_conntrack_max", "", 0, _INT, "another name of net.netfilter.nf_conntrack_max"),
    Parameter("vm.min_free_kbytes", "67584", 0, _INT, "memory: what stays free; host: when the kernel kills"),
    Parameter("vm.oom_kill_allocating_task", "0", 0, _INT, "host: whom the kernel kills"),
    Parameter("vm.panic_on_oom", "0", 0, 2, "host: a panic instead of a kill"),
)

FIXED = (
    Parameter("fs.inotify.max_queued_events", "16384", refused="nobody's watches are counted"),
    Parameter("fs.inotify.max_user_instances", "128", refused="nobody's watches are counted"),
    Parameter("kernel.panic_on_oops", "1", refused="this kernel has no oops"),
    Parameter("net.core.netdev_max_backlog", "1000", refused="queues of CPUs are not modelled: a packet never waits"),
    Parameter("net.core.rmem_max", "212992", refused=_BUFFER),
    Parameter("net.core.wmem_max", "212992", refused=_BUFFER),
    Parameter("net.ipv4.tcp_fin_timeout", "60", refused="peers close at once: nobody is in FIN_WAIT_2"),
    Parameter("net.ipv4.tcp_keepalive_time", "7200", refused="nobody waits two hours for a dead peer"),
    Parameter("net.ipv4.tcp_retries2", "15", refused="callers give up long before TCP does"),
    Parameter("net.ipv4.tcp_rmem", "4096\t131072\t6291456", refused=_BUFFER),
    Parameter("net.ipv4.tcp_syn_retries", "6", refused="a pod has a network namespace, and a value, of its own"),
    Parameter("net.ipv4.tcp_wmem", "4096\t16384\t4194304", refused=_BUFFER),
    Parameter("net.netfilter.nf_conntrack_buckets", "65536", refused="looking an entry up takes no time"),
    Parameter("net.netfilter.nf_conntrack_count", "0", refused="a state"),
    Parameter("net.netfilter.nf_conntrack_generic_timeout", "600", refused="nobody speaks another protocol"),
    Parameter("net.netfilter.nf_conntrack_icmp_timeout", "30", refused="nobody pings for longer than a command"),
    Parameter("net.netfilter.nf_conntrack_tcp_be_liberal", "0", refused="no packet is out of its window"),
    Parameter("net.netfilter.nf_conntrack_tcp_loose", "1", refused="open connections always make an entry anew"),
    Parameter("net.netfilter.nf_conntrack_tcp_max_retrans", "3", refused=_REPAIRED),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_close_wait", "3600", refused=_AT_ONCE),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_fin_wait", "120", refused=_AT_ONCE),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_last_ack", "30", refused=_AT_ONCE),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_max_retrans", "300", refused=_REPAIRED),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_syn_recv", "60", refused=_AT_ONCE),
    Parameter("net.netfilter.nf_conntrack_tcp_timeout_unacknowledged", "300", refused=_REPAIRED),
    Parameter("net.netfilter.nf_conntrack_udp_timeout_stream", "120", refused="a look-up is one question and answer"),
    Parameter("vm.dirty_background_ratio", "10", refused=_WRITEBACK),
    Parameter("vm.dirty_ratio", "20", refused=_WRITEBACK),
    Parameter("vm.max_map_count", "262144", refused="maps of processes are not counted"),
    Parameter("vm.overcommit_memory", "1", refused="what is promised is not counted, only what is held"),
    Parameter("vm.swappiness", "60", refused="there is no swap: the kernel never asks"),
)

PARAMETERS = {parameter.name: parameter for parameter in sorted((*ACTING, *FIXED))}
