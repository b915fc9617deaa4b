"""The packet filter of a node (netfilter's table `filter`): rules that somebody wrote into it, in their order.

The first rule that fits decides; without one the policy of its chain. A rule looks at the way out of a caller and at
the way into who is called: OUTPUT and INPUT for processes of the node, FORWARD for its pods. A boot ends all of them.
Left out: what is looked at besides protocol, addresses and port of destination, chains of one's own, other tables,
counters.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import NamedTuple

CHAINS = ("INPUT", "FORWARD", "OUTPUT")
DROP, REJECT, ACCEPT = "DROP", "REJECT", "ACCEPT"
ACTS = (DROP, REJECT, ACCEPT)


class FilterRule(NamedTuple):
    """One rule.

    Attributes:
        text: as `iptables -S` prints it, without `-A CHAIN`.
        protocol: `TCP`, `UDP`, or empty for all.
        source, destination: networks, empty for all.
        ports: ranges of the port of destination, empty for all.
        act: one of `ACTS`.
    """

    text: str
    protocol: str
    source: str
    destination: str
    ports: tuple[tuple[int, int], ...]
    act: str

    def fits(self, source: str, destination: str, port: int, protocol: str) -> bool:
        """Whether a packet is meant."""
        if self.protocol and self.protocol != protocol:
            return False
        if not (_within(source, self.source) and _within(destination, self.destination)):
            return False
        return not self.ports or any(low <= port <= high for low, high in self.ports)


def _within(address: str, network: str) -> bool:
    if not network:
        return True
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:  # somebody outside whose address nobody knows
        return False


class PacketFilter:
    """The rules of a node, by chain.

    Args:
        changed: called after every change.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.chains: dict[str, tuple[FilterRule, ...]] = {}
        self.policies: dict[str, str] = {}  # of chains that end otherwise than with ACCEPT

    def __bool__(self) -> bool:
        return bool(self.chains or self.policies)

    def put(self, chain: str, rules: tuple[FilterRule, ...]) -> None:
        """Give a chain other rules."""
        if rules:
            self.chains[chain] = rules
        else:
            self.chains.pop(chain, None)
        self._changed()

    def end(self, chain: str, act: str) -> None:
        """What becomes of a packet for which a chain has no rule."""
        if act == ACCEPT:
            self.policies.pop(chain, None)
        else:
            self.policies[chain] = act
        self._changed()

    def booted(self) -> None:
        """A new kernel has no rules."""
        if self:
            self.chains.clear()
            self.policies.clear()
            self._changed()

    def act(self, chain: str, source: str, destination: str, port: int, protocol: str) -> str:
        """What becomes of a new connection there."""
        for rule in self.chains.get(chain, ()):
            if rule.fits(source, destination, port, protocol):
                return rule.act
        return self.policies.get(chain, ACCEPT)
