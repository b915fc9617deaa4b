"""Virtual hosts and paths, and which of them answers a request. Source: ingress-nginx v1.x, its nginx template."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import Shared
from simcluster.models.machine.certificate import out_of_date, read
from simcluster.models.machine.network import Backend

#: The host of rules that name none.
CATCH_ALL = "_"


class Upstream(NamedTuple):
    """Where a location leads.

    Attributes:
        name: `namespace-service-port`, as the access log shows it.
        endpoints: addresses of ready endpoints; nginx connects to them itself.
        service: its name.
    """

    name: str
    endpoints: tuple[Backend, ...]
    service: str = ""


class Location(NamedTuple):
    """One path of a host; `exact` or else a prefix of whole segments."""

    path: str
    exact: bool
    upstream: str
    ingress: str

    def matches(self, path: str) -> bool:
        """Whether a request's path belongs here."""
        if self.exact:
            return path == self.path
        prefix = self.path.rstrip("/")
        return path == prefix or path.startswith(prefix + "/") or not prefix


class VirtualHost(NamedTuple):
    """One server block: `secret` is `namespace/name` of its certificate, `fake` whether the default one stands in.

    `block` is the certificate it presents, without line breaks.
    """

    name: str
    locations: tuple[Location, ...]
    secret: str = ""
    fake: bool = False
    block: str = ""


class Configuration(Shared):
    """What nginx runs with; never changed, a new one takes its place.

    Attributes:
        hosts: by name; upstreams: by name.
    """

    def __init__(self, hosts: dict[str, VirtualHost], upstreams: dict[str, Upstream]) -> None:
        self.hosts = hosts
        self.upstreams = upstreams

    def host(self, name: str) -> VirtualHost | None:
        """The server block for a Host header: the name itself, the longest wildcard, the one for everybody."""
        name = name.partition(":")[0].lower()
        if name in self.hosts:
            return self.hosts[name]
        rest = name
        while "." in rest:
            rest = rest.partition(".")[2]
            if f"*.{rest}" in self.hosts:
                return self.hosts[f"*.{rest}"]
        return self.hosts.get(CATCH_ALL)

    def objection(self, host: str, now_ns: int) -> str:
        """Why a client refuses the certificate that a host presents, in OpenSSL's words; "" if it does not.

        One that was made elsewhere is taken as it is; who signed does not matter.
        """
        found = self.host(host)
        if found is None or not found.secret or found.fake:
            return "unable to get local issuer certificate"
        leaf = read(found.block)
        if leaf is None:
            return ""
        if leaf.names and host.partition(":")[0] not in leaf.names:
            return f"no alternative certificate subject name matches target host name '{host}'"
        return out_of_date(leaf, now_ns)

    def locate(self, host: str, path: str) -> Location | None:
        """The location for a request: an exact path, else the longest prefix; None is the default backend's 404."""
        found = self.host(host)
        path = path.partition("?")[0] or "/"
        for location in found.locations if found is not None else ():
            if location.matches(path):
                return location
        return None

    def same_servers(self, other: Configuration) -> bool:
        """Whether nginx need not reload: endpoints and certificates change without."""
        hosts, others = ([one._replace(block="") for one in each.hosts.values()] for each in (self, other))
        return hosts == others and list(self.upstreams) == list(other.upstreams)


def in_order(locations: list[Location]) -> tuple[Location, ...]:
    """Exact paths first, then long prefixes before short ones; of two equal ones the first stays."""
    kept: dict[tuple[str, bool], Location] = {}
    for location in locations:
        kept.setdefault((location.path, location.exact), location)
    return tuple(sorted(kept.values(), key=_rank))


def _rank(location: Location) -> tuple[bool, int, str]:
    return not location.exact, -len(location.path), location.path
