"""Connections of containers, and commands that speak to the network: nslookup, wget, ping.

They resolve names at the pod's name servers, follow the service rules of the container's own
node and ask the program that listens there, so they meet whatever is broken. TLS matters where
the program minds it (the API server); others are asked in plain. Left out: IPv6, redirects.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.certificate import pem_of, presented_by
from simcluster.models.machine.container import Container
from simcluster.models.machine.exposed import answered
from simcluster.models.machine.httprequest import LONG_WITH_VALUE, http_call
from simcluster.models.machine.imagetools import echoes
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.imagetools.dns import records_by_nslookup
from simcluster.models.machine.names import is_address, is_loopback
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError

CLUSTER_DNS = "10.96.0.10"
#: First local port of connections and how many there are (net.ipv4.ip_local_port_range).
_EPHEMERAL = (32768, 28_232)
#: Certificates of the components that listen on a host's ports.
_COMPONENTS = {6443: "/etc/kubernetes/pki/apiserver.crt", 2379: "/etc/kubernetes/pki/etcd/server.crt",
               2380: "/etc/kubernetes/pki/etcd/peer.crt", 10250: "/var/lib/kubelet/pki/kubelet.crt"}  # fmt: skip
#: Linux gives up a connection after 6 SYN retries (net.ipv4.tcp_syn_retries): about 127 s.
CONNECT_TIMEOUT_NS = 127 * SECOND
#: Round trip inside a cluster and a look-up at its DNS server: typical magnitudes.
_ROUND_TRIP_NS = MILLISECOND // 2
_LOOKUP_NS = 2 * MILLISECOND
_REASONS = {
    200: "OK", 201: "Created", 204: "No Content", 301: "Moved Permanently", 302: "Found", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 429: "Too Many Requests",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip


class Contact(NamedTuple):
    """What became of a connection.

    Attributes:
        outcome: `ok`, `refused`, `timeout`, `reset`, or `unknown host`.
        address: the resolved address.
        answer: what the program answered, when one was asked.
        delay_ns: time it all took; looked_ns: until the name was resolved; round_ns: a way there and back;
            connected_ns: until the connection stood, 0 if it never did.
        local_address, local_port: this end; presented: the certificates (PEM) that the server shows.
    """

    outcome: str
    address: str = ""
    answer: Answer | None = None
    delay_ns: int = 0
    looked_ns: int = 0
    connected_ns: int = 0
    round_ns: int = 0
    local_address: str = ""
    local_port: int = 0
    presented: str = ""


def contact(
    container: Container, host: str, call: Call, timeout_ns: int, *, ask: bool = True, dial_ns: int | None = None
) -> Contact:
    """Connect from a container to host and port, and (with `ask`) send the call.

    Args:
        dial_ns: how long the connection itself may take, if less than all of it.
    """
    network, sandbox = container.machine.network, container.sandbox
    if is_loopback(host):
        address, looked_ns = "127.0.0.1", 0
    else:
        found = network.resolve_for(sandbox, host)
        address, looked_ns = found.address, 0 if is_address(host) else found.delay_ns
    if not address:
        return Contact("unknown host", delay_ns=max(looked_ns, _LOOKUP_NS))
    own = "127.0.0.1" if address == "127.0.0.1" else sandbox.address
    draw = mix(container.sim.streams.key("local port", container.container_id, address), container.sim.now)
    if not (is_address(host) or is_loopback(host)):
        looked_ns = max(looked_ns, _LOOKUP_NS // 4 + draw // 7 % (_LOOKUP_NS // 2))
    begun = Contact("ok", address, None, looked_ns, looked_ns, 0, 0, own, _EPHEMERAL[0] + draw % _EPHEMERAL[1])
    given_up_ns = min(timeout_ns if dial_ns is None else dial_ns, looked_ns + CONNECT_TIMEOUT_NS)
    outcome, owner, port = _dial(network, container, address, call.port)
    if outcome == "timeout":
        return begun._replace(outcome="timeout", delay_ns=given_up_ns)
    round_ns = _ROUND_TRIP_NS // 2 + draw % _ROUND_TRIP_NS
    if outcome != "ok":
        return begun._replace(outcome=outcome, delay_ns=looked_ns + round_ns)
    find = getattr(owner, "container_on", None)  # a pod's sandbox, or a node
    listener: Container | None = None if find is None else find(port)
    way_ns = _way_ns(network, container, owner)
    if way_ns is None or looked_ns + way_ns > timeout_ns:
        return begun._replace(outcome="timeout", delay_ns=given_up_ns)
    round_ns += way_ns
    stands = begun._replace(connected_ns=looked_ns + round_ns, round_ns=round_ns, delay_ns=looked_ns + round_ns)
    if call.secure:
        stands = stands._replace(presented=presented_on(listener, owner, port))
    if listener is None or not ask:
        return stands
    answer = answered(listener.program, call._replace(port=port, source=own))
    delay_ns = stands.delay_ns + (2 * round_ns if call.secure else 0) + answer.delay_ns
    if delay_ns > timeout_ns:
        return stands._replace(outcome="timeout", delay_ns=timeout_ns)
    return stands._replace(outcome=answer.outcome, answer=answer, delay_ns=delay_ns)


def presented_on(listener: Container | None, owner: object, port: int) -> str:
    """The certificates (PEM) that a port shows: those of the program's mounts, or of the host's component."""
    machine = getattr(listener, "machine", None) or getattr(owner, "machine", None) or owner
    path, files = _COMPONENTS.get(port, ""), getattr(machine, "files", None)
    if path and files is not None and files.find(path) is not None:
        return str(files.read(path))
    return "" if listener is None else "".join(pem_of(block) for block in presented_by(listener)[0] if block)


def _way_ns(network: Network, container: Container, owner: object) -> int | None:
    """What the link to whoever was reached adds; None if nothing arrives."""
    there = getattr(owner, "node", "")
    if network.links.calm or not there:
        return 0
    sandbox, address = container.sandbox, getattr(owner, "address", "")
    path = network.path(sandbox.node, there, sandbox.address, address)
    draw = mix(container.sim.streams.key("link", container.container_id, address), container.sim.now)
    return path.sample(draw / (1 << 64))


def _dial(network: Network, container: Container, address: str, port: int) -> tuple[str, object, int]:
    """Outcome, owner of the address that was reached, and the port there."""
    sandbox = container.sandbox
    if address == "127.0.0.1":
        return ("ok" if sandbox.listens_on(port) else "refused"), sandbox, port
    route = network.route(sandbox.node, address, port, sandbox.address)
    if route.outcome != "ok":
        return route.outcome, None, port
    # kube-proxy picks a backend at random for each connection: iptables' statistic mode.
    draw = mix(container.sim.streams.key("connection", container.container_id, address, port), container.sim.now)
    backend = route.backends[draw % len(route.backends)]
    return network.connect(backend, sandbox.address), network.sandboxes.get(backend[0]), backend[1]


def option(call: ToolCall, *names: str) -> str | None:
    """Value of an option given as `-T 5`, `-T5`, `--timeout 5` or `--timeout=5`."""
    words = call.argv
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                return words[at + 1] if at + 1 < len(words) else None
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if not name.startswith("--") and word.startswith(name) and not word.startswith("--") and len(word) > 2:
                return word[len(name) :]
    return None


def timeout_ns(call: ToolCall, default_ns: int, *names: str) -> int:
    """The seconds of an option, in nanoseconds."""
    text = option(call, *names)
    whole, _, fraction = (text or "").partition(".")
    if not (whole + fraction).isdigit():
        return default_ns
    return int(whole or "0") * SECOND + int((fraction or "0")[:9].ljust(9, "0"))


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str


def _target(url: str) -> _Target | None:
    try:
        parts = urlsplit(url if "://" in url else "http://" + url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(parts.scheme, parts.hostname, port, path) if parts.hostname else None


def _url(call: ToolCall, with_value: str) -> str:
    """The first argument that is no option and no option's value; `with_value`: letters that take one."""
    words = iter(call.argv[1:])
    for word in words:
        if word.startswith("--"):
            if "=" not in word and word in LONG_WITH_VALUE:
                next(words, None)
        elif word.startswith("-") and word != "-":
            if (word[-1] in with_value and len(word) == 2) or (word[-1] in with_value and word[1] not in with_value):
                next(words, None)
        else:
            return word
    return ""


def nslookup(call: ToolCall) -> Outcome:
    """Ask the pod's first name server, or the one that is named, search list included."""
    if not call.arguments:
        return usage_error(call, "missing host")
    host = call.arguments[0]
    kind = next((w.partition("=")[2].upper() for w in call.argv if w.startswith(("-type=", "-q=", "-querytype="))), "A")
    if kind != "A" or is_address(host) or len(call.arguments) > 1:
        return records_by_nslookup(call, host, kind, call.arguments[1] if len(call.arguments) > 1 else "")
    network, sandbox = call.container.machine.network, call.container.sandbox
    found = network.resolve_for(sandbox, host.rstrip("."))
    delay_ns = max(found.delay_ns, _LOOKUP_NS)
    if found.outcome in ("timeout", "refused"):
        return Outcome(";; connection timed out; no servers could be reached\n\n", code=1, delay_ns=delay_ns)
    server = found.server or CLUSTER_DNS
    head = f"Server:\t\t{server}\nAddress:\t{server}:53\n\n"
    if not found.addresses:
        why = "SERVFAIL" if found.outcome == "server misbehaving" else "NXDOMAIN"
        return Outcome(f"{head}** server can't find {host}: {why}\n\n", code=1, delay_ns=delay_ns)
    records = "".join(f"Name:\t{found.name}\nAddress: {address}\n" for address in found.addresses)
    return Outcome(f"{head}{records}\n", delay_ns=delay_ns)


def wget(call: ToolCall) -> Outcome:
    """`wget -q -O- -T N --spider URL`, as busybox does it."""
    target = _target(_url(call, "OTPUo"))
    if target is None:
        return Outcome(stderr="wget: bad address ''\n", code=1)
    # busybox wget: default network read timeout 900 seconds.
    reached = contact(
        call.container,
        target.host,
        http_call(call, *target),
        timeout_ns(call, 900 * SECOND, "-T", "--timeout"),
    )
    quiet = call.has("q")
    said = "" if quiet else f"Connecting to {target.host}:{target.port} ({reached.address}:{target.port})\n"
    if reached.outcome == "unknown host":
        return Outcome(stderr=f"wget: bad address '{target.host}'\n", code=1, delay_ns=reached.delay_ns)
    if reached.outcome == "refused":
        said += f"wget: can't connect to remote host ({reached.address}): Connection refused\n"
    elif reached.outcome == "timeout":
        said += "wget: download timed out\n"
    elif reached.answer is None or reached.outcome != "ok":
        said += "wget: error getting response: Connection reset by peer\n"
    elif reached.answer.status >= 400:
        said += f"wget: server returned error: HTTP/1.1 {status_text(reached.answer.status)}\n"
    else:
        return _saved(call, target, reached, said, quiet)
    return Outcome(stderr=said, code=1, delay_ns=reached.delay_ns)


def _saved(call: ToolCall, target: _Target, reached: Contact, said: str, quiet: bool) -> Outcome:
    body = reached.answer.body if reached.answer is not None else ""
    if "--spider" in call.argv:
        return Outcome(stderr=said + ("" if quiet else "remote file exists\n"), delay_ns=reached.delay_ns)
    name = option(call, "-O", "-qO") or target.path.rpartition("/")[2] or "index.html"
    if name == "-":
        done = "" if quiet else "writing to stdout\nwritten to stdout\n"
        return Outcome(body, said + done, delay_ns=reached.delay_ns)
    try:
        call.files.write(call.path(name), body)
    except FileError as problem:
        return Outcome(stderr=f"wget: can't open '{name}': {problem}\n", code=1, delay_ns=reached.delay_ns)
    return Outcome(stderr=said + ("" if quiet else f"saving to '{name}'\n'{name}' saved\n"), delay_ns=reached.delay_ns)


def status_text(status: int) -> str:
    """A status with its words."""
    return f"{status} {_REASONS.get(status, '')}".rstrip()


TOOLS: dict[str, Tool] = {"nslookup": nslookup, "ping": echoes.busybox, "wget": wget}
