"""Which connections NetworkPolicies allow, as the CNI's agent has programmed them.

A pod that no policy selects has no entry and may do everything. Source: networking.k8s.io/v1
NetworkPolicy; replies always pass, and a node always reaches the pods on it (probes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from simcluster.engine import Shared


class Network4(NamedTuple):
    """A block of addresses: the first one as a number, and how many bits are fixed."""

    number: int
    bits: int

    def holds(self, address: int) -> bool:
        """Whether an address lies in the block."""
        return self.bits == 0 or (address ^ self.number) >> (32 - self.bits) == 0


class Peers(NamedTuple):
    """Who may connect (or be connected to), and on which ports.

    Attributes:
        everybody: no restriction of the other side.
        addresses: addresses of the selected pods.
        blocks: blocks of addresses, each with the blocks that are excepted.
        ports: (first, last, protocol) of allowed ports; None allows all.
    """

    everybody: bool
    addresses: frozenset[str] = frozenset()
    blocks: tuple[tuple[Network4, tuple[Network4, ...]], ...] = ()
    ports: tuple[tuple[int, int, str], ...] | None = None

    def allow(self, address: str, port: int, protocol: str = "TCP") -> bool:
        """Whether the rule lets a connection with this other side and port pass."""
        if self.ports is not None and not any(
            first <= port <= last and spoken == protocol for first, last, spoken in self.ports
        ):
            return False
        if self.everybody or address in self.addresses:
            return True
        number = number_of(address)
        return any(
            block.holds(number) and not any(inner.holds(number) for inner in excepted)
            for block, excepted in self.blocks
        )


@dataclass(frozen=True)
class Isolation(Shared):
    """What the policies of one pod allow; None where no policy isolates it in that direction."""

    ingress: tuple[Peers, ...] | None = None
    egress: tuple[Peers, ...] | None = None


def number_of(address: str) -> int:
    """An IPv4 address as a number; 0 for anything else.

    >>> number_of("10.0.0.1") == (10 << 24) + 1
    True
    """
    parts = address.split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return 0
    number = 0
    for part in parts:
        number = number << 8 | int(part)
    return number


def block_of(cidr: str) -> Network4:
    """A block from its text `10.0.0.0/8`; of a text that is none, one that holds nobody."""
    address, _, bits = cidr.partition("/")
    return Network4(number_of(address), min(32, int(bits)) if bits.isdecimal() else 32)


def permits(
    table: Mapping[str, Isolation],
    source: str,
    backend: tuple[str, int],
    nodes: Mapping[str, str],
    node: str,
    protocol: str = "TCP",
) -> bool:
    """Whether a connection from `source` (empty: the backend's own node) to the backend is allowed."""
    address, port = backend
    sender = table.get(source)
    outward = None if sender is None or source == address else sender.egress
    if outward is not None and not any(peers.allow(address, port, protocol) for peers in outward):
        return False
    receiver = table.get(address)
    if receiver is None or receiver.ingress is None or not source or source == address:
        return True
    if nodes.get(source) == node:
        return True
    return any(peers.allow(source, port, protocol) for peers in receiver.ingress)
