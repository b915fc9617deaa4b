"""Kernel parameters of pods: each has a network namespace of its own, with what `securityContext.sysctls` set.

A new namespace has the kernel's defaults, not what the node was given. Source: pkg/kubelet/sysctl/safe_sysctls.go of
Kubernetes 1.32; net/ipv4/sysctl_net_ipv4.c; runc, libcontainer. Of these the range of ports and SYN cookies act, the
others are shown. Left out: sysctls that an administrator allows besides (`--allowed-unsafe-sysctls`).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.models.machine.kernel.sysctltable import PARAMETERS

PORT_RANGE, COOKIES = "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"
#: Those that a pod may set, and how many numbers each is.
SAFE = {
    "kernel.shm_rmid_forced": 1,
    PORT_RANGE: 2,
    COOKIES: 1,
    "net.ipv4.ping_group_range": 2,
    "net.ipv4.ip_unprivileged_port_start": 1,
    "net.ipv4.tcp_keepalive_time": 1,
    "net.ipv4.tcp_fin_timeout": 1,
    "net.ipv4.tcp_keepalive_intvl": 1,
    "net.ipv4.tcp_keepalive_probes": 1,
    "net.ipv4.tcp_rmem": 3,
    "net.ipv4.tcp_wmem": 3,
    "net.ipv4.ip_local_reserved_ports": 0,
}


class Namespaces:
    """What the pods of one machine were given, by uid."""

    __slots__ = ("_given",)

    def __init__(self) -> None:
        self._given: dict[str, dict[str, str]] = {}

    def set(self, pod_uid: str, values: Mapping[str, str]) -> None:
        """A pod's namespace was made with these values, which `refusal` takes."""
        if values:
            self._given[pod_uid] = {name.replace("/", "."): "\t".join(text.split()) for name, text in values.items()}

    def forget(self, pod_uid: str) -> None:
        """The namespace is gone."""
        self._given.pop(pod_uid, None)

    def get(self, pod_uid: str, name: str) -> str:
        """A parameter that was set for the pod; "" if it has the default."""
        given = self._given.get(pod_uid)
        return "" if given is None else given.get(name.replace("/", "."), "")

    def port_range(self, pod_uid: str) -> tuple[int, int]:
        """First and last ephemeral port of a pod."""
        low, high = (self.get(pod_uid, PORT_RANGE) or PARAMETERS[PORT_RANGE].default).split()
        return int(low), int(high)

    def ranges(self) -> list[tuple[int, int]]:
        """Those of all pods that have not the default."""
        return [self.port_range(uid) for uid, given in self._given.items() if PORT_RANGE in given]


def refusal(values: Mapping[str, str]) -> str:
    """What runc says of a value that the kernel does not take; "" if all are fine."""
    for written, text in values.items():
        name, words = written.replace("/", "."), text.split()
        fine = all(word.isdigit() for word in words) and len(words) == SAFE.get(name) if SAFE.get(name) else True
        known = PARAMETERS.get(name)
        if fine and known is not None and known.readers:
            fine = all(known.low <= int(word) <= known.high for word in words)
        if not fine or (name == PORT_RANGE and int(words[0]) > int(words[1])):
            path = f"/proc/sys/{name.replace('.', '/')}"
            return f"error during container init: write sysctl key {name}: write {path}: invalid argument: unknown"
    return ""
