"""How a process finds the address behind a name: its resolver configuration and the servers it asks.

A resolver tries the name with each entry of its search list, in the order that `ndots` says,
and asks its name servers over the network like anybody else: through the service rules of its
node, to whatever listens on port 53 there. Source: resolv.conf(5) (glibc), Go net/dnsclient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from simcluster.engine import MILLISECOND, SECOND, Shared

#: One question to a server in the cluster and its answer.
QUERY_NS = 500_000
#: resolv.conf defaults: 5 s a try, two tries.
TRY_NS = 5 * SECOND
ATTEMPTS = 2
#: A server that refuses (ICMP port unreachable) is known to do so at once.
REFUSED_NS = MILLISECOND

OK = "ok"
NO_SUCH_HOST = "no such host"
TIMEOUT = "timeout"
REFUSED = "refused"
SERVER_FAILURE = "server misbehaving"


@dataclass(frozen=True)
class ResolverConfig(Shared):
    """A pod's `/etc/resolv.conf`."""

    servers: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    ndots: int = 1
    options: tuple[str, ...] = ()

    def text(self) -> str:
        """The file, in the order in which the kubelet writes it."""
        lines = [f"search {' '.join(self.search)}"] if self.search else []
        lines += [f"nameserver {server}" for server in self.servers]
        if self.options:
            lines.append(f"options {' '.join(self.options)}")
        return "\n".join(lines) + "\n"

    def candidates(self, host: str) -> list[str]:
        """The full names to ask for, in order.

        >>> ResolverConfig(search=("a.svc", "svc"), ndots=2).candidates("web")
        ['web.a.svc', 'web.svc', 'web']
        """
        if host.endswith("."):
            return [host[:-1]]
        expanded = [f"{host}.{suffix}" for suffix in self.search]
        return [host, *expanded] if host.count(".") >= self.ndots else [*expanded, host]


def cluster_first(server: str, namespace: str) -> ResolverConfig:
    """What `dnsPolicy: ClusterFirst` gives a pod of the namespace."""
    search = (f"{namespace}.svc.cluster.local", "svc.cluster.local", "cluster.local")
    return ResolverConfig((server,), search, 5, ("ndots:5",))


def in_hosts(text: str, host: str) -> str:
    """The address of a name in a hosts file; empty if it is not there.

    >>> in_hosts("# Entries\\n10.0.0.7 cart cart.shop", "cart")
    '10.0.0.7'
    """
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if host in names:
            return address
    return ""


class NameAnswer(NamedTuple):
    """What a name server says.

    Attributes:
        code: `NOERROR`, `NXDOMAIN`, `SERVFAIL` or `REFUSED`.
        addresses: those of the name, or of what it is an alias of.
    """

    code: str
    addresses: tuple[str, ...] = ()


class NameServer(Protocol):
    """A process that answers questions for addresses."""

    def query(self, name: str) -> NameAnswer:
        """The A records of a full name without its final dot."""


class Reached(NamedTuple):
    """What a resolver meets at one of its servers.

    Attributes:
        outcome: `ok`, `timeout` or `refused`.
        server: who answers, if somebody does.
        lost: share of the tries that nobody answers (dead backends behind stale rules).
    """

    outcome: str
    server: NameServer | None = None
    lost: float = 0.0


class Lookup(NamedTuple):
    """The result of looking up a name.

    Attributes:
        outcome: `ok`, `no such host`, `timeout`, `refused` or `server misbehaving`.
        addresses: of the name; empty unless the outcome is ok.
        name: the full name that has the addresses.
        server: the name server that was asked last, as `10.96.0.10`.
        queries: questions it took; delay_ns: time it took.
    """

    outcome: str
    addresses: tuple[str, ...] = ()
    name: str = ""
    server: str = ""
    queries: int = 0
    delay_ns: int = 0

    @property
    def address(self) -> str:
        """The first address, or empty."""
        return self.addresses[0] if self.addresses else ""


def search(config: ResolverConfig, host: str, reached: list[tuple[str, Reached]]) -> Lookup:
    """Look a name up at servers that were reached (or not), as `reached`: address and what is there."""
    silent_ns, queries = 0, 0
    for address, there in reached:
        if there.server is None:
            # glibc asks every server `attempts` times before it gives up on the name.
            silent_ns += REFUSED_NS if there.outcome == REFUSED else TRY_NS * ATTEMPTS
            continue
        failed = ""
        for name in config.candidates(host):
            queries += 1
            answer = there.server.query(name)
            delay_ns = silent_ns + queries * QUERY_NS + int(there.lost * TRY_NS)
            if answer.code == "NOERROR" and answer.addresses:
                return Lookup(OK, answer.addresses, name, address, queries, delay_ns)
            if answer.code in ("SERVFAIL", "REFUSED"):
                failed = SERVER_FAILURE
        return Lookup(failed or NO_SUCH_HOST, (), host, address, queries, silent_ns + queries * QUERY_NS)
    if not reached:
        return Lookup(NO_SUCH_HOST, (), host)
    address, there = reached[-1]
    return Lookup(there.outcome, (), host, address, queries, silent_ns)


def is_address(host: str) -> bool:
    """Whether a text is an IPv4 address."""
    parts = host.split(".")
    return len(parts) == 4 and all(p.isdigit() and int(p) < 256 for p in parts)


def is_loopback(host: str) -> bool:
    """Whether a text is the caller's own address, or the name of it that every hosts file has."""
    return host == "localhost" or (host.startswith("127.") and is_address(host))
