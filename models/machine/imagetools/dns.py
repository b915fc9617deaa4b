"""Commands that ask name servers for more than addresses: `nslookup -type=`, `dig`, `host`.

They ask the pod's name servers over the network. Left out: transfers, tracing, DNSSEC, the
authority section.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.names import ResolverConfig, cluster_first, is_address

_LOOKUP_NS = 2 * MILLISECOND
#: dig waits 5 s, three times.
_TIMEOUT_NS = 15 * SECOND
_KINDS = ("A", "AAAA", "SRV", "PTR", "CNAME", "TXT", "NS", "SOA", "MX", "ANY")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


#: Resolvers of the world outside that answer whoever asks.
_PUBLIC = ("1.0.0.1", "1.1.1.1", "8.8.4.4", "8.8.8.8", "9.9.9.9")
#: A name server whose own name nobody knows.
UNKNOWN = "unknown server"


class Found(NamedTuple):
    """Who answered what. `code` is `NOERROR`, `NXDOMAIN`, `SERVFAIL`, `UNKNOWN`, or empty if nobody answered."""

    server: str
    code: str = ""
    name: str = ""
    records: tuple[str, ...] = ()


def reverse_name(address: str) -> str:
    """The name of a PTR question.

    >>> reverse_name("10.96.0.1")
    '1.0.96.10.in-addr.arpa'
    """
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"


def ask(call: ToolCall, names: list[str], kind: str, server: str = "") -> Found:
    """Ask for records of the first of some full names that has any; `server`: an address or a name, not its own."""
    network, sandbox = call.container.machine.network, call.container.sandbox
    config = sandbox.names or cluster_first(network.dns, sandbox.namespace)
    if server:
        found = server if is_address(server) else network.resolve_for(sandbox, server).address
        if not found:
            return Found("", UNKNOWN)
        outside = not network.serves(found)
        if outside and found not in (*config.servers, *_PUBLIC):
            return Found(found)
        config = ResolverConfig((found,), config.search, config.ndots, config.options)
    asked = network.name_servers(config, sandbox.node, sandbox.address)
    for address, there in asked:
        if there.server is None:
            continue
        code = "NXDOMAIN"
        for name in names:
            answer = there.server.query(name)
            records = answer.addresses if kind == "A" else network.more_records.get((name, kind), ())
            if records or answer.code == "NOERROR":
                return Found(address, "NOERROR", name, records)
            code = answer.code
        return Found(address, code, names[-1])
    return Found(asked[0][0] if asked else server)


def _candidates(call: ToolCall, host: str) -> list[str]:
    network, sandbox = call.container.machine.network, call.container.sandbox
    return (sandbox.names or cluster_first(network.dns, sandbox.namespace)).candidates(host.lower())


def records_by_nslookup(call: ToolCall, host: str, kind: str, server: str = "") -> Outcome:
    """What busybox's `nslookup` prints for a type, for an address, or of a server that is named."""
    if is_address(host):
        host, kind = reverse_name(host) + ".", "PTR"
    found = ask(call, _candidates(call, host), kind, server)
    if found.code == UNKNOWN:
        return Outcome(stderr=f"nslookup: bad address '{server}'\n", code=1, delay_ns=_LOOKUP_NS)
    if not found.code:
        return Outcome(";; connection timed out; no servers could be reached\n\n", code=1, delay_ns=_TIMEOUT_NS)
    head = f"Server:\t\t{found.server}\nAddress:\t{found.server}:53\n\n"
    if found.code != "NOERROR" or (not found.records and kind == "PTR"):
        code = found.code if found.code != "NOERROR" else "NXDOMAIN"
        return Outcome(f"{head}** server can't find {host.rstrip('.')}: {code}\n\n", code=1, delay_ns=_LOOKUP_NS)
    word = {"SRV": "service", "PTR": "name", "CNAME": "canonical name"}.get(kind, "text")
    lines = [f"{found.name}\t{word} = {record.rstrip('.')}\n" for record in found.records]
    if kind == "A":
        lines = [f"Name:\t{found.name}\nAddress: {record}\n" for record in found.records]
    body = "".join(lines) or f"*** Can't find {host}: No answer\n"
    return Outcome(f"{head}{body}\n", delay_ns=_LOOKUP_NS)


def dig(call: ToolCall) -> Outcome:
    """`dig [@SERVER] [+short] [+search] [-x ADDRESS] [-t TYPE] NAME [TYPE]`."""
    name, kind, server, words = "", "A", "", iter(call.argv[1:])
    options = [word for word in call.argv[1:] if word.startswith("+")]
    for word in words:
        if word.startswith("@"):
            server = word[1:]
        elif word == "-x":
            name, kind = reverse_name(next(words, "")), "PTR"
        elif word == "-t":
            kind = next(words, "A").upper()
        elif word.upper() in _KINDS:
            kind = word.upper()
        elif not word.startswith(("+", "-")):
            name = word
    if not name:
        return usage_error(call, "missing name")
    names = _candidates(call, name) if "+search" in options else [name.lower().rstrip(".")]
    found = ask(call, names, kind, server)
    if found.code == UNKNOWN:
        return Outcome(stderr=f"dig: couldn't get address for '{server}': not found\n", code=10, delay_ns=_LOOKUP_NS)
    waits, tries = (_number(options, word, default) for word, default in (("time", 5), ("tries", 3)))
    title = f"\n; <<>> DiG 9.18.28 <<>> {' '.join(call.argv[1:])}\n"
    if not found.code:
        address = found.server or server
        where = f";; communications error to {address}#53: timed out\n" * tries
        title = "" if "+short" in options else f"{title};; global options: +cmd\n"
        text = f"{where}{title};; no servers could be reached\n"
        return Outcome(text, code=9, delay_ns=waits * tries * SECOND)
    if "+short" in options:
        return Outcome("".join(f"{record}\n" for record in found.records), delay_ns=_LOOKUP_NS)
    return Outcome(title + _long(call, found, kind), delay_ns=_LOOKUP_NS)


def _number(options: list[str], word: str, default: int) -> int:
    """The value of `+time=2`, as dig has it: one at least."""
    text = next((each.partition("=")[2] for each in reversed(options) if each.startswith(f"+{word}=")), "")
    return max(1, int(text[:4])) if text.isdigit() else default


def _long(call: ToolCall, found: Found, kind: str) -> str:
    draw = mix(call.container.sim.streams.key("dig", call.container.container_id, found.name), call.now_ns)
    flags = "qr aa rd" if found.name.endswith(("cluster.local", ".arpa")) else "qr rd ra"
    text = ";; global options: +cmd\n;; Got answer:\n"
    text += f";; ->>HEADER<<- opcode: QUERY, status: {found.code}, id: {draw & 0xFFFF}\n"
    text += f";; flags: {flags}; QUERY: 1, ANSWER: {len(found.records)}, AUTHORITY: 0, ADDITIONAL: 1\n"
    if "ra" not in flags:
        text += ";; WARNING: recursion requested but not available\n"
    text += "\n;; OPT PSEUDOSECTION:\n; EDNS: version: 0, flags:; udp: 1232\n"
    text += f";; QUESTION SECTION:\n;{found.name}. IN\t{kind}\n\n"
    if found.records:
        answers = "".join(f"{found.name}. 5 IN\t{kind}\t{record}\n" for record in found.records)
        text += f";; ANSWER SECTION:\n{answers}\n"
    size = 17 + len(found.name) * (1 + len(found.records)) + 16 * len(found.records)
    text += f";; Query time: 1 msec\n;; SERVER: {found.server}#53({found.server}) (UDP)\n"
    return text + f";; WHEN: {_when(call.now_ns)}\n;; MSG SIZE  rcvd: {size}\n\n"


def _when(now_ns: int) -> str:
    """As `date` prints it: `Mon Mar 02 09:00:37 UTC 2026`."""
    stamp = format_rfc3339(now_ns)
    year, month, day = int(stamp[:4]), int(stamp[5:7]), int(stamp[8:10])
    shift = (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1]  # Sakamoto's day of the week, Sunday first
    earlier = year - (month < 3)
    weekday = (earlier + earlier // 4 - earlier // 100 + earlier // 400 + shift + day) % 7
    name = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")[weekday]
    return f"{name} {_MONTHS[month - 1]} {day:02} {stamp[11:19]} UTC {year}"


def host(call: ToolCall) -> Outcome:
    """`host [-t TYPE] NAME`."""
    words = call.argv[1:]
    kind = words[words.index("-t") + 1].upper() if "-t" in words[:-1] else "A"
    names = [word for at, word in enumerate(words) if not word.startswith("-") and (not at or words[at - 1] != "-t")]
    if not names:
        return usage_error(call, "missing name")
    name, server = names[0], names[1] if len(names) > 1 else ""
    if is_address(name):
        found = ask(call, [reverse_name(name)], "PTR", server)
        kind, name = "PTR", reverse_name(name) + "."
    else:
        found = ask(call, _candidates(call, name), kind, server)
    if found.code == UNKNOWN:
        return Outcome(stderr=f"host: couldn't get address for '{server}': not found\n", code=1, delay_ns=_LOOKUP_NS)
    if not found.code:
        return Outcome(";; connection timed out; no servers could be reached\n", code=1, delay_ns=_TIMEOUT_NS)
    if found.code != "NOERROR" or (kind == "PTR" and not found.records):
        return Outcome(f"Host {name} not found: 3(NXDOMAIN)\n", code=1, delay_ns=_LOOKUP_NS)
    word = {"A": "has address", "SRV": "has SRV record", "PTR": "domain name pointer"}.get(kind, "has record")
    lines = "".join(f"{found.name} {word} {record}\n" for record in found.records)
    if server:
        lines = f"Using domain server:\nName: {server}\nAddress: {found.server}#53\nAliases: \n\n{lines}"
    return Outcome(lines or f"{found.name} has no {kind} record\n", delay_ns=_LOOKUP_NS)


TOOLS: dict[str, Tool] = {"dig": dig, "host": host}
