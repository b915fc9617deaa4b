"""The log plugin: one line for every question and its answer.

Resolvers ask for IPv4 and IPv6 addresses at the same time, so a look-up leaves two lines for every name
of the search list that was tried. Source: README of CoreDNS 1.11 `log` (the format common, classes of
responses), sizes by the wire format of RFC 1035. Left out: whose lines are sampled.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.control.clusterdns.corefile import Directive
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.names import NameAnswer, NameServer

COMMON = (
    '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" '
    "{rcode} {>rflags} {rsize} {duration}"
)
COMBINED = COMMON + ' "{>opcode}"'
#: A SOA record in the authority section: of the cluster's zone, and of the root.
_SOA_CLUSTER, _SOA_ROOT = 93, 75
_CLASSES = {"NOERROR": "success", "NXDOMAIN": "denial", "SERVFAIL": "error", "REFUSED": "error"}


class LoggedClient:
    """A name server as one client asks it; every question is written down.

    Args:
        log_of: the directives `log` that apply to a name.
        container: where the server runs; lines go into its log.
    """

    def __init__(
        self, server: NameServer, log_of: Callable[[str], tuple[Directive, ...]], container: Container, address: str
    ) -> None:
        self.server = server
        self.log_of = log_of
        self.container = container
        self.address = address

    def query(self, name: str) -> NameAnswer:
        """The A records of a full name."""
        answer = self.server.query(name)
        for directive in self.log_of(name):
            if _is_wanted(directive, name, answer):
                self._write(directive, name, "A", answer)
                self._write(directive, name, "AAAA", answer._replace(addresses=()))
        return answer

    def _write(self, directive: Directive, name: str, kind: str, answer: NameAnswer) -> None:
        container = self.container
        drawn, inside = _drawn(container, name, kind), _is_inside(name)
        took_ns, size, answered = figures(container, name, kind, answer)
        values = {
            "remote": self.address or "127.0.0.1",
            "port": str(32768 + mix(drawn, 2) % 28000),
            ">id": str(mix(drawn, 3) % 65536),
            "type": kind,
            "class": "IN",
            "name": f"{name}.",
            "proto": "udp",
            "size": str(size),
            ">do": "false",
            ">bufsize": "512",
            "rcode": answer.code,
            ">rflags": "qr,aa,rd" if inside else "qr,rd,ra",
            "rsize": str(answered),
            "duration": f"0.{took_ns:09d}s",
            ">opcode": "0",
        }
        text = _format(directive)
        for key, value in values.items():
            text = text.replace("{" + key + "}", value)
        container.write(f"[INFO] {text}")


def figures(container: Container, name: str, kind: str, answer: NameAnswer) -> tuple[int, int, int]:
    """Nanoseconds that an answer of this instant takes, bytes of the question and of the answer."""
    drawn, inside = _drawn(container, name, kind), _is_inside(name)
    size = len(name) + 18
    more = len(answer.addresses) * (len(name) + 16) or (_SOA_CLUSTER if inside else _SOA_ROOT)
    micros = 80 + mix(drawn, 1) % 320 if inside else 4_000 + mix(drawn, 1) % 30_000
    answered = size + (0 if answer.code in ("SERVFAIL", "REFUSED") else more)
    return micros * 1000 + mix(drawn, 4) % 1000, size, answered


def _is_inside(name: str) -> bool:
    return name.endswith((".cluster.local", ".arpa"))


def _drawn(container: Container, name: str, kind: str) -> int:
    return mix(container.sim.streams.key("dns-query", container.container_id, kind, name), container.sim.now)


def _format(directive: Directive) -> str:
    last = directive.arguments[-1] if directive.arguments else ""
    return COMBINED if last == "{combined}" else last if "{" in last and last != "{common}" else COMMON


def _is_wanted(directive: Directive, name: str, answer: NameAnswer) -> bool:
    names = [word for word in directive.arguments if "{" not in word]
    if names and not any(not (zone := word.rstrip(".")) or f".{name}".endswith(f".{zone}") for word in names):
        return False
    classes = directive.option("class")
    return not classes or "all" in classes or _CLASSES[answer.code] in classes
