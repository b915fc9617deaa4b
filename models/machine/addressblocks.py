"""Addresses of pods by pools and blocks, for a cluster whose network plugin does not go by the nodes' own ranges.

A pool is cut into blocks; a node claims one when it needs addresses and takes the next when that is used up. When no
block is left it borrows from those of others, unless affinity is strict. Source: Calico 3.27, libcalico-go/lib/ipam.
Left out: reservations, handles, blocks that are given back, pools for certain nodes or namespaces.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple


class Pool(NamedTuple):
    """A network, and how many bits of an address say which block it is in."""

    cidr: str
    block_bits: int = 26


class NoAddress(Exception):
    """There is none left; the message is the plugin's."""


class AddressBlocks:
    """The blocks of one cluster.

    Attributes:
        used: whether pods get addresses from here at all.
    """

    def __init__(self) -> None:
        self.used = False
        self._pools: tuple[Pool, ...] = ()
        self._strict = False
        self._owners: dict[str, str] = {}  # block -> node
        self._taken: dict[str, str] = {}  # address -> pod uid

    def configure(self, pools: Sequence[Pool], strict: bool) -> None:
        """These pools are enabled from now on; with `strict` a node takes addresses from its own blocks alone."""
        self.used = True
        self._pools, self._strict = tuple(pools), strict

    def assign(self, node: str, pod_uid: str) -> str:
        """An address for a pod on a node. Raises NoAddress."""
        if not self._pools:
            raise NoAddress(f"failed to request IPv4 addresses: no configured Calico pools for node {node}")
        for own in (True, False):
            for pool in self._pools:
                address = self._from_claimed(pool, node if own else "") or (self._from_new(pool, node) if own else "")
                if address:
                    self._taken[address] = pod_uid
                    return address
            if self._strict:
                why = "No more free affine blocks and strict affinity enabled"
                raise NoAddress(f"Assigned 0 out of 1 requested IPv4 addresses; {why}")
        raise NoAddress("Assigned 0 out of 1 requested IPv4 addresses; No more IPs in the enabled pools")

    def release(self, address: str) -> None:
        """The pod is gone. Harmless for an address from elsewhere."""
        self._taken.pop(address, None)

    def _from_claimed(self, pool: Pool, node: str) -> str:
        network = ipaddress.IPv4Network(pool.cidr)
        for block, owner in self._owners.items():
            if (not node or owner == node) and ipaddress.IPv4Network(block).subnet_of(network):
                found = self._free(block)
                if found:
                    return found
        return ""

    def _from_new(self, pool: Pool, node: str) -> str:
        network = ipaddress.IPv4Network(pool.cidr)
        for block in network.subnets(new_prefix=max(pool.block_bits, network.prefixlen)):
            if str(block) not in self._owners:
                self._owners[str(block)] = node
                return self._free(str(block))
        return ""

    def _free(self, block: str) -> str:
        return next((str(one) for one in ipaddress.IPv4Network(block) if str(one) not in self._taken), "")
