"""Cluster IPs and node ports of Services: which are taken, and which comes next.

Sources: pkg/registry/core/service/ipallocator and portallocator: a dynamic allocation
starts at a random place of the upper band; the lower band (256 addresses of a /16, 86 of
the 2768 ports) is left to explicit requests until the upper one is full.
"""

from __future__ import annotations

from simcluster.engine import Simulation

CIDR = "10.96.0.0/16"
_PREFIX = "10.96."
_ADDRESSES = 1 << 16
_STATIC_ADDRESSES = 256
PORT_FIRST, PORT_LAST = 30000, 32767
_STATIC_PORTS = 86
#: kubeadm gives this one to the cluster's DNS, which asks for it by name.
RESERVED = ("10.96.0.10",)

Owner = tuple[str, str]  # namespace, name


class ServiceAddresses:
    """What is allocated to whom. Choosing does not take; `take` does."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.ips: dict[str, Owner] = {}
        self.ports: dict[int, Owner] = {}

    def free_ip(self, owner: Owner) -> str:
        """A free address for a Service that asks for none in particular."""
        start = self.sim.stream("cluster-ip", *owner).integer(_STATIC_ADDRESSES, _ADDRESSES - 2)
        upper = _ADDRESSES - 1 - _STATIC_ADDRESSES
        for step in range(upper):
            offset = _STATIC_ADDRESSES + (start - _STATIC_ADDRESSES + step) % upper
            ip = _address(offset)
            if ip not in self.ips:
                return ip
        for offset in range(1, _STATIC_ADDRESSES):
            ip = _address(offset)
            if ip not in self.ips and ip not in RESERVED:
                return ip
        raise RuntimeError("range is full")

    def free_port(self, owner: Owner, index: int, chosen: dict[int, None]) -> int:
        """A free node port for the `index`-th port of a Service, none of `chosen`."""
        first = PORT_FIRST + _STATIC_PORTS
        count = PORT_LAST - first + 1
        start = self.sim.stream("node-port", *owner, index).integer(0, count - 1)
        for step in range(count):
            port = first + (start + step) % count
            if port not in self.ports and port not in chosen:
                return port
        for port in range(PORT_FIRST, first):
            if port not in self.ports and port not in chosen:
                return port
        raise RuntimeError("range is full")

    def refuse_ip(self, ip: str, owner: Owner) -> str:
        """Why the Service cannot have this address, or an empty text."""
        if not is_in_range(ip):
            return (
                f"failed to allocate IP {ip}: the provided IP ({ip}) is not in the valid range. "
                f"The range of valid IPs is {CIDR}"
            )
        if self.ips.get(ip, owner) != owner:
            return f"failed to allocate IP {ip}: provided IP is already allocated"
        return ""

    def refuse_port(self, port: int, owner: Owner) -> str:
        """Why the Service cannot have this node port, or an empty text."""
        if not PORT_FIRST <= port <= PORT_LAST:
            return f"provided port is not in the valid range. The range of valid ports is {PORT_FIRST}-{PORT_LAST}"
        if self.ports.get(port, owner) != owner:
            return "provided port is already allocated"
        return ""

    def replace(self, owner: Owner, ips: list[str], ports: list[int]) -> None:
        """From now on the Service has exactly these."""
        for ip in [ip for ip, other in self.ips.items() if other == owner and ip not in ips]:
            del self.ips[ip]
        for port in [port for port, other in self.ports.items() if other == owner and port not in ports]:
            del self.ports[port]
        for ip in ips:
            self.ips[ip] = owner
        for port in ports:
            self.ports[port] = owner


def _address(offset: int) -> str:
    return f"{_PREFIX}{offset >> 8}.{offset & 255}"


def is_in_range(ip: str) -> bool:
    """Whether the address is one a Service can have (not the network's first and last)."""
    parts = ip.split(".")
    if not ip.startswith(_PREFIX) or len(parts) != 4 or not all(p.isdecimal() and int(p) < 256 for p in parts):
        return False
    return 0 < int(parts[2]) * 256 + int(parts[3]) < _ADDRESSES - 1
