"""Injected failures of system calls by the names that fault injectors have for them, and where each acts here.

A name stands for a call and its usual error (probability too, where it says so), or it says why nothing here would
notice and which fault has that effect. The names are those of Khaos, the kernel probes of SREGym; errors: errno(3),
the manual page of each call.
"""

from __future__ import annotations

from typing import NamedTuple

#: Calls that something makes -> their usual error.
CALLS = {
    "read": "EIO",  # files of shells and stores
    "write": "EIO",
    "fsync": "EIO",  # journals of stores
    "open": "EIO",  # files, pipes and descriptors
    "connect": "ETIMEDOUT",  # connections that a program opens
    "socket": "EACCES",
    "accept": "ECONNABORTED",  # connections that a program accepts
    "bind": "ENETDOWN",  # a program that begins to listen
    "mmap": "ENOMEM",  # a program that needs more memory
    "brk": "ENOMEM",
    "fork": "EAGAIN",  # processes that shells start
    "clock": "EINVAL",  # the time that shells tell
    "nanosleep": "EINTR",  # sleep of shells
    "prlimit": "EPERM",  # ulimit of shells
    "setns": "EPERM",  # exec into a container
}


class Probe(NamedTuple):
    """What a name stands for: a call and its error, or why it is refused and the `nearest` fault."""

    call: str = ""
    errno: str = ""
    probability: float = 1.0
    why: str = ""
    nearest: str = ""


def _refused(why: str, nearest: str) -> Probe:
    return Probe(why=why, nearest=nearest)


_LOSS = "packets are lost on a way, not in a call"
_SWAP = "nodes have no swap"
_CLOSE = "nobody looks at what close returns"

PROBES = {
    "read_error": Probe("read", "EIO"),
    "pread_error": Probe("read", "EIO"),
    "write_error": Probe("write", "EIO"),
    "pwrite_error": Probe("write", "EIO"),
    "fsync_error": Probe("fsync", "EIO"),
    "open_error": Probe("open", "EIO"),
    "close_fail": _refused(_CLOSE, "failing_system_call with fsync"),
    "dup_fail": _refused("descriptors are counted, not copied", "descriptor_limit_too_low"),
    "getrandom_fail": _refused("nobody asks the kernel for random bytes", "failing_system_call with open"),
    "gettimeofday_fail": Probe("clock", "EINVAL"),
    "ioctl_fail": _refused("nobody controls devices", "disk_fail_slow"),
    "cuda_malloc_fail": _refused("nodes have no GPUs", "memory_limit_too_low"),
    "getaddrinfo_fail": _refused(
        "it is no system call: names are asked of the cluster's DNS", "service_dns_resolution_failure"
    ),
    "nanosleep_throttle": _refused("give nanosleep a delay", "failing_system_call with nanosleep"),
    "nanosleep_interrupt": Probe("nanosleep", "EINTR"),
    "fork_fail": Probe("fork", "EAGAIN"),
    "clock_drift": _refused("a clock drifts by itself, not in a call", "clock_drift"),
    "setns_fail": Probe("setns", "EPERM"),
    "prlimit_fail": Probe("prlimit", "EPERM"),
    "socket_block": Probe("socket", "EACCES"),
    "mmap_fail": Probe("mmap", "ENOMEM"),
    "mmap_oom": Probe("mmap", "ENOMEM"),
    "brk_fail": Probe("brk", "ENOMEM"),
    "mlock_fail": _refused("nobody locks memory", "failing_system_call with mmap"),
    "bind_enetdown": Probe("bind", "ENETDOWN"),
    "mount_io_error": _refused("the kubelet's mounts are not calls of containers", "latent_sector_errors"),
    "force_close_ret_err": _refused(_CLOSE, "failing_system_call with fsync"),
    "force_read_ret_ok": _refused("a read that only seems to succeed gives wrong data", "silent_corruption"),
    "force_open_ret_eperm": Probe("open", "EPERM"),
    "force_mmap_eagain": Probe("mmap", "EAGAIN"),
    "force_brk_eagain": Probe("brk", "EAGAIN"),
    "force_mlock_eperm": _refused("nobody locks memory", "failing_system_call with mmap"),
    "force_mprotect_eacces": _refused("nobody changes the protection of pages", "failing_system_call with mmap"),
    "force_swapon_einval": _refused(_SWAP, "memory_limit_too_low"),
    "oom_memchunk": _refused("memory runs out in a control group, not in a call", "memory_leak"),
    "oom_heapspace": _refused("memory runs out in a control group, not in a call", "memory_limit_too_low"),
    "oom_nonswap": _refused(_SWAP, "memory_leak"),
    "hfrag_memchunk": _refused("memory is not fragmented here", "memory_leak"),
    "hfrag_heapspace": _refused("memory is not fragmented here", "memory_leak"),
    "ptable_permit": _refused("page tables are not kept", "failing_system_call with mmap"),
    "stack_rndsegfault": _refused("a program that crashes by itself is another build", "other_build"),
    "thrash_swapon": _refused(_SWAP, "noisy_neighbour"),
    "thrash_swapoff": _refused(_SWAP, "noisy_neighbour"),
    "memleak_munmap": _refused("what is never given back is a leak", "memory_leak"),
    "packet_loss_sendto": _refused(_LOSS, "node_network_packet_loss"),
    "packet_loss_recvfrom": _refused(_LOSS, "node_network_packet_loss"),
    "latent_sector_error": Probe("read", "EIO", 0.3),
}
