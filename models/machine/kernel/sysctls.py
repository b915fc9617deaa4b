"""Kernel parameters: defaults that follow from the machine, and what somebody has written.

Which there are, what they take and who reads them: `sysctltable`. Values are texts, as in `/proc/sys`. A write takes
effect with the next thing that asks.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine.kernel.sysctltable import PARAMETERS

#: Two names of one value.
_ALIASES = {"net.nf_conntrack_max": "net.netfilter.nf_conntrack_max"}


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
        name = _ALIASES.get(name, name)
        known = PARAMETERS.get(name)
        return "" if known is None else self._written.get(name) or known.default or self._derived(name)

    def writable(self) -> dict[str, str]:
        """Text of every parameter that can be written, by name."""
        return {
            name: self.get(name) for name, known in PARAMETERS.items() if not known.refused and name not in _ALIASES
        }

    def number(self, name: str) -> int:
        """A parameter that is one number."""
        return int(self.get(name).split()[0])

    def set(self, name: str, value: str | int) -> str:
        """Write a parameter; what `sysctl` answers when it fails, else ""."""
        name, text = name.replace("/", "."), "\t".join(str(value).split())
        if not self.get(name):
            return f"sysctl: cannot stat /proc/sys/{name.replace('.', '/')}: No such file or directory"
        known = PARAMETERS[name]
        if known.refused:
            return f'sysctl: permission denied on key "{name}"'
        words = text.split()
        wanted = len(self.get(name).split())
        if len(words) != wanted or not all(word.lstrip("-").isdigit() for word in words):
            return f'sysctl: setting key "{name}": Invalid argument'
        if not all(known.low <= int(word) <= known.high for word in words):
            return f'sysctl: setting key "{name}": Invalid argument'
        if name == "net.ipv4.ip_local_port_range" and not 1 <= int(words[0]) <= int(words[1]) <= 65535:
            return f'sysctl: setting key "{name}": Invalid argument'
        self._written[_ALIASES.get(name, name)] = text
        self._changed()
        return ""

    def booted(self) -> None:
        """What was written and stands in no file of /etc/sysctl.d is forgotten."""
        if self._written:
            self._written.clear()
            self._changed()

    def names(self) -> list[str]:
        """All known parameters, sorted."""
        return list(PARAMETERS)

    def port_range(self) -> tuple[int, int]:
        """First and last ephemeral port."""
        low, high = self.get("net.ipv4.ip_local_port_range").split()
        return int(low), int(high)

    def _derived(self, name: str) -> str:
        if name == "net.netfilter.nf_conntrack_max":
            # kube-proxy: max(min 131072, 32768 a core).
            return str(max(131072, 32768 * self.cores))
        # kernel.threads-max; kernel/fork.c: an eighth of memory for thread stacks of 16 KiB.
        return str(self.memory_bytes // (8 * 16384))
