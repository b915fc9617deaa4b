"""Commands that speak to the network: nslookup, wget, curl, nc, ping.

They resolve names at the pod's name servers, follow the service rules of the container's own
node and ask the program that listens there, so they meet whatever is broken. TLS matters where
the program minds it (the API server); others are asked in plain. Left out: IPv6, redirects.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.exposed import answered
from simcluster.models.machine.httprequest import LONG_WITH_VALUE, http_call
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.imagetools.dns import records_by_nslookup
from simcluster.models.machine.names import is_address, is_loopback
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError

CLUSTER_DNS = "10.96.0.10"
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


#: What curl adds when it refuses a certificate (curl 8, src/tool_operate.c).
_UNTRUSTED = """More details here: https://curl.se/docs/sslcerts.html

curl failed to verify the legitimacy of the server and therefore could not
establish a secure connection to it. To learn more about this situation and
how to fix it, please visit the webpage mentioned above."""


class Contact(NamedTuple):
    """What became of a connection.

    Attributes:
        outcome: `ok`, `refused`, `timeout`, `reset`, or `unknown host`.
        address: the resolved address.
        answer: what the program answered, when one was asked.
        delay_ns: time it all took.
    """

    outcome: str
    address: str = ""
    answer: Answer | None = None
    delay_ns: int = 0


def contact(container: Container, host: str, call: Call, timeout_ns: int, *, ask: bool = True) -> Contact:
    """Connect from a container to host and port, and (with `ask`) send the call."""
    network, sandbox = container.machine.network, container.sandbox
    if is_loopback(host):
        address = "127.0.0.1"
        looked_ns = 0
    else:
        found = network.resolve_for(sandbox, host)
        address, looked_ns = found.address, found.delay_ns
    if not address:
        return Contact("unknown host", delay_ns=max(looked_ns, _LOOKUP_NS))
    outcome, owner, port = _dial(network, container, address, call.port)
    if outcome == "timeout":
        return Contact("timeout", address, delay_ns=looked_ns + min(timeout_ns, CONNECT_TIMEOUT_NS))
    if outcome != "ok":
        return Contact(outcome, address, delay_ns=looked_ns + _ROUND_TRIP_NS)
    find = getattr(owner, "container_on", None)  # a pod's sandbox, or a node
    listener: Container | None = None if find is None else find(port)
    way_ns = _way_ns(network, container, owner)
    if way_ns is None or looked_ns + way_ns > timeout_ns:
        return Contact("timeout", address, delay_ns=looked_ns + min(timeout_ns, CONNECT_TIMEOUT_NS))
    looked_ns += way_ns
    if listener is None or not ask:
        return Contact("ok", address, delay_ns=looked_ns + _ROUND_TRIP_NS)
    answer = answered(
        listener.program, call._replace(port=port, source="127.0.0.1" if address == "127.0.0.1" else sandbox.address)
    )
    delay_ns = looked_ns + _ROUND_TRIP_NS + answer.delay_ns
    if delay_ns > timeout_ns:
        return Contact("timeout", address, delay_ns=timeout_ns)
    return Contact(answer.outcome, address, answer, delay_ns)


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
    """Ask the pod's first name server, search list included."""
    if not call.arguments:
        return usage_error(call, "missing host")
    host = call.arguments[0]
    kind = next((w.partition("=")[2].upper() for w in call.argv if w.startswith(("-type=", "-q=", "-querytype="))), "A")
    if kind != "A" or is_address(host):
        return records_by_nslookup(call, host, kind)
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
        said += f"wget: server returned error: HTTP/1.1 {_status(reached.answer.status)}\n"
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


def curl(call: ToolCall) -> Outcome:
    """`curl -s -S -f -I -i -o FILE -w FORMAT -m N --connect-timeout N URL`."""
    url = _url(call, "owmHXdAuT")
    if not url:
        return Outcome(stderr="curl: (2) no URL specified\n", code=2)
    target = _target(url)
    if target is None:
        return Outcome(stderr="curl: (3) URL rejected: Malformed input to a URL function\n", code=3)
    limit_ns = timeout_ns(call, CONNECT_TIMEOUT_NS, "-m", "--max-time", "--connect-timeout")
    reached = contact(call.container, target.host, http_call(call, *target), limit_ns)
    code, message = _curl_failure(reached, target, limit_ns)
    status = reached.answer.status if reached.answer is not None and code == 0 else 0
    body = reached.answer.body if reached.answer is not None and code == 0 else ""
    if call.has("f") and status >= 400:
        code, message, body = 22, f"The requested URL returned error: {status}", ""
    quiet = call.has("s") and not call.has("S")
    stderr = f"curl: ({code}) {message}\n" if code and not quiet else ""
    out = _curl_output(call, status, body)
    return Outcome(out, stderr, code, reached.delay_ns)


def _curl_failure(reached: Contact, target: _Target, limit_ns: int) -> tuple[int, str]:
    spent_ms = reached.delay_ns // MILLISECOND
    if reached.outcome == "unknown host" and reached.delay_ns > limit_ns:
        return 28, f"Resolving timed out after {limit_ns // MILLISECOND} milliseconds"
    if reached.outcome == "unknown host":
        return 6, f"Could not resolve host: {target.host}"
    if reached.outcome == "refused":
        return (
            7,
            f"Failed to connect to {target.host} port {target.port} after {spent_ms} ms: Couldn't connect to server",
        )
    if reached.outcome == "timeout":
        return 28, f"Connection timed out after {spent_ms} milliseconds"
    if reached.outcome == "untrusted":
        why = (reached.answer.body if reached.answer is not None else "") or "unable to get local issuer certificate"
        return 60, f"SSL certificate problem: {why}\n{_UNTRUSTED}"
    if reached.outcome != "ok":
        return 56, "Recv failure: Connection reset by peer"
    if reached.answer is None:
        return 52, "Empty reply from server"
    return 0, ""


def _curl_output(call: ToolCall, status: int, body: str) -> str:
    head = f"HTTP/1.1 {_status(status)}\r\ncontent-length: {len(body.encode())}\r\n\r\n" if status else ""
    out = head if call.has("I") else head + body if call.has("i") else body
    name = option(call, "-o", "--output")
    if name is not None:
        if name != "/dev/null" and status:
            call.files.write(call.path(name), out)
        out = ""
    form = option(call, "-w", "--write-out") or ""
    form = form.replace("%{http_code}", f"{status:03d}").replace("%{response_code}", f"{status:03d}")
    return out + form.replace("\\n", "\n")


def _status(status: int) -> str:
    return f"{status} {_REASONS.get(status, '')}".rstrip()


def ping(call: ToolCall) -> Outcome:
    """One answer a second from a pod's address; Service addresses answer no ping."""
    words = [word for word in call.arguments if not word.isdigit()]
    if not words:
        return usage_error(call, "missing host")
    network = call.container.machine.network
    address = network.resolve_for(call.container.sandbox, words[0]).address
    if not address:
        return Outcome(stderr=f"ping: bad address '{words[0]}'\n", code=1, delay_ns=_LOOKUP_NS)
    given = option(call, "-c") or "3"
    if not given.isdigit():
        return usage_error(call, f"invalid number '{given}'")
    count = int(given[:5])
    alive = address in network.sandboxes
    rows = [f"64 bytes from {address}: seq={n} ttl=63 time=0.412 ms\n" for n in range(count if alive else 0)]
    lost = 0 if alive else 100
    text = f"PING {words[0]} ({address}): 56 data bytes\n{''.join(rows)}\n--- {words[0]} ping statistics ---\n"
    text += f"{count} packets transmitted, {len(rows)} packets received, {lost}% packet loss\n"
    return Outcome(text, code=0 if alive else 1, delay_ns=(count if alive else count + 10) * SECOND)


TOOLS: dict[str, Tool] = {"curl": curl, "nslookup": nslookup, "ping": ping, "wget": wget}
