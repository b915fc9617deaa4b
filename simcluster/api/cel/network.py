"""Addresses and networks of CEL: `ip(...)`, `cidr(...)`.

Source: k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go, Go's net/netip.
"""

from __future__ import annotations

import ipaddress
from typing import Any, NamedTuple

from simcluster.api.cel.values import CelError, need_text, no_overload

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Ip(NamedTuple):
    """An address."""

    text: str

    @property
    def address(self) -> Address:
        """The parsed address."""
        return ipaddress.ip_address(self.text)


class Cidr(NamedTuple):
    """An address with the length of its prefix; host bits may be set."""

    text: str

    @property
    def network(self) -> Network:
        """The network, without host bits."""
        return ipaddress.ip_network(self.text, strict=False)


def _parsed(text: str) -> Address | None:
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_ip(value: Any) -> bool:
    """`isIP("10.0.0.1")`."""
    return _parsed(need_text(value)) is not None


def to_ip(value: Any) -> Ip:
    """`ip("10.0.0.1")`."""
    text = need_text(value)
    address = _parsed(text)
    if address is None:
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {_objection(text)}')
    return Ip(str(address))


def _objection(text: str) -> str:
    return f'ParseAddr("{text}"): unable to parse IP'


def is_canonical(value: Any) -> bool:
    """`ip.isCanonical("10.0.0.1")`."""
    return to_ip(value).text == need_text(value)


def _split(text: str) -> tuple[Address, int] | None:
    host, found, bits = text.partition("/")
    address = _parsed(host)
    if not found or address is None or not bits.isdecimal() or int(bits) > address.max_prefixlen:
        return None
    return address, int(bits)


def is_cidr(value: Any) -> bool:
    """`isCIDR("10.0.0.0/8")`."""
    return _split(need_text(value)) is not None


def to_cidr(value: Any) -> Cidr:
    """`cidr("10.0.0.0/8")`."""
    text = need_text(value)
    parts = _split(text)
    if parts is None:
        raise CelError(
            f'network address parse error during conversion from string: netip.ParsePrefix("{text}"): no "/"'
        )
    return Cidr(f"{parts[0]}/{parts[1]}")


def _ip(value: Any) -> Address:
    return value.address if isinstance(value, Ip) else no_overload()


def _cidr(value: Any) -> Cidr:
    return value if isinstance(value, Cidr) else no_overload()


def family(value: Any) -> int:
    """`ip.family()`: 4 or 6."""
    return _ip(value).version


def is_unspecified(value: Any) -> bool:
    """`ip.isUnspecified()`."""
    return _ip(value).is_unspecified


def is_loopback(value: Any) -> bool:
    """`ip.isLoopback()`."""
    return _ip(value).is_loopback


def is_link_local_multicast(value: Any) -> bool:
    """`ip.isLinkLocalMulticast()`."""
    address = _ip(value)
    network = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(network)


def is_link_local_unicast(value: Any) -> bool:
    """`ip.isLinkLocalUnicast()`."""
    return _ip(value).is_link_local


def is_global_unicast(value: Any) -> bool:
    """`ip.isGlobalUnicast()`: as Go has it, private addresses too."""
    address = _ip(value)
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and str(address) != "255.255.255.255"


def contains_ip(value: Any, other: Any) -> bool:
    """`cidr.containsIP(ip or text)`."""
    inner = other if isinstance(other, Ip) else to_ip(other)
    return inner.address in _cidr(value).network


def contains_cidr(value: Any, other: Any) -> bool:
    """`cidr.containsCIDR(cidr or text)`."""
    outer, inner = _cidr(value).network, (other if isinstance(other, Cidr) else to_cidr(other)).network
    if outer.version != inner.version or inner.prefixlen < outer.prefixlen:
        return False
    return inner.network_address in outer


def address_of(value: Any) -> Ip:
    """`cidr.ip()`."""
    return Ip(_cidr(value).text.partition("/")[0])


def masked(value: Any) -> Cidr:
    """`cidr.masked()`."""
    return Cidr(str(_cidr(value).network))


def prefix_length(value: Any) -> int:
    """`cidr.prefixLength()`."""
    return _cidr(value).network.prefixlen
