"""The network as a node's own programs meet it: curl, wget, ping, traceroute, dig, nslookup, host, nc, telnet.

Names are looked up by /etc/resolv.conf and /etc/hosts of the node. Left out: ICMP errors of routers (one hop is shown
for the whole way), UDP of nc.
"""

from __future__ import annotations

import re

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.hostcontainer import host_container
from simcluster.models.machine.hosttools.tcpdump import tcpdump
from simcluster.models.machine.imagetools import networkstate
from simcluster.models.machine.imagetools.call import ToolCall
from simcluster.models.machine.imagetools.echoes import Asked, echoes, iputils
from simcluster.models.machine.imagetools.network import contact
from simcluster.models.machine.imagetools.registry import TOOLS
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Call as Request
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call

#: Programs that run as they do in an image, but for the network in which they stand.
_SHARED = ("curl", "dig", "host", "nc", "nslookup", "wget")
NAMES = (*_SHARED, "ncat", "ping", "telnet", "traceroute", "tracepath")
_PORTS = {"http": 80, "https": 443, "ssh": 22, "domain": 53}


def run(machine: Machine, call: Call) -> Outcome:
    """Run one of `NAMES`, with the files of whoever calls it."""
    container = host_container(machine)
    name = "nc" if call.name == "ncat" else call.name
    inner = ToolCall(container, [name, *call.args], dict(call.env), "", call.cwd, machine.sim.now)
    inner.files = call.files
    if call.name == "ping":
        return iputils(inner)
    if call.name in ("traceroute", "tracepath"):
        return _traceroute(inner)
    if call.name == "telnet":
        return _telnet(inner)
    healthz = any(re.search(r"(localhost|127\.0\.0\.1):10248/healthz", word) for word in call.args)
    if healthz and machine.units.units["kubelet.service"].active:
        return Outcome("ok")
    inner.stdin = "" if call.source is None else call.source.rest()
    done = TOOLS[name](inner) or Outcome()
    return _as_openbsd(done, call.args) if name == "nc" else _as_bind(done) if name == "nslookup" else done


def dial(machine: Machine, host: str, port: int) -> tuple[str, int]:
    """What becomes of a node's connection, and how long that takes."""
    reached = contact(host_container(machine), host, Request("tcp", port), 130 * SECOND, ask=False)
    return reached.outcome, reached.delay_ns


def _as_bind(done: Outcome) -> Outcome:
    """What BusyBox' nslookup says, in the words of BIND's that Ubuntu has."""
    text = re.sub(r"(?m)^(Address:\t\S+):53$", r"\1#53", done.stdout)
    if "\nName:" in text and not re.search(r"(?m)^Name:\t\S+\.cluster\.local$", text):
        text = text.replace("\n\nName:", "\n\nNon-authoritative answer:\nName:", 1)
    if done.stderr.startswith("nslookup: bad address "):
        server = done.stderr.partition("'")[2].partition("'")[0]
        return done._replace(stdout=f"nslookup: couldn't get address for '{server}': not found\n", stderr="")
    return done._replace(stdout=text)


def _as_openbsd(done: Outcome, args: list[str]) -> Outcome:
    """What BusyBox' nc says, in the words of the OpenBSD one that Ubuntu has."""
    words = [word for word in args if not word.startswith("-")]
    if len(words) < 2:
        return done
    host, port = words[-2:]
    service = {number: name for name, number in _PORTS.items()}.get(int(port) if port.isdigit() else 0, "*")
    opened = re.search(r"\((\S+):\d+\) open\n", done.stderr)
    if opened is not None:
        where = host if host == opened[1] else f"{host} ({opened[1]})"
        return done._replace(stderr=f"Connection to {where} {port} port [tcp/{service}] succeeded!\n")
    if "bad address" in done.stderr:
        return done._replace(stderr=f'nc: getaddrinfo for host "{host}" port {port}: Name or service not known\n')
    for why, said in (("refused", "failed: Connection refused"), ("timed out", "timed out: Operation now in progress")):
        if why in done.stderr:
            return done._replace(stderr=f"nc: connect to {host} port {port} (tcp) {said}\n")
    return done


def in_pod(
    machine: Machine, container: Container, words: list[str], stdin: str, beside: Call | None = None
) -> Outcome | None:
    """Run a program of the node in the network of a pod; None if it is none that shows the network.

    Args:
        beside: whose files and variables it has, if not those of the pod.
    """
    name = words[0].rpartition("/")[2]
    inner = ToolCall(container, [name, *words[1:]], {}, stdin, "/", machine.sim.now)
    if beside is not None:
        inner.files, inner.env, inner.cwd = beside.files, dict(beside.env), beside.cwd
    own = {"ping": iputils, "telnet": _telnet, "traceroute": _traceroute, "tracepath": _traceroute}.get(name)
    if own is not None:
        return own(inner)
    if name == "tcpdump":
        return tcpdump(machine, words[1:], stdin, container.sandbox)
    if name in ("iptables-save", "conntrack", "ipvsadm", "nft"):
        return Outcome()  # nobody writes rules into the namespaces of pods
    return TOOLS[name](inner) if name in (*_SHARED, *networkstate.TOOLS) else None


def _operands(call: ToolCall, valued: str) -> list[str]:
    words, rest = [], list(call.argv[1:])
    while rest:
        word = rest.pop(0)
        if word.startswith("-") and len(word) > 1:
            if word[-1] in valued and len(word) == 2 and rest:
                rest.pop(0)
        else:
            words.append(word)
    return words


def _traceroute(call: ToolCall) -> Outcome:
    words = _operands(call, "mqwpfsi")
    if not words:
        return Outcome(stderr="Usage:\n  traceroute [ -46dFITnreAUDV ] host [ packetlen ]\n", code=2)
    network, host = call.container.machine.network, words[0]
    found = network.resolve_for(call.container.sandbox, host)
    if not found.address:
        text = f'{host}: Name or service not known\nCannot handle "host" cmdline arg `{host}\' on position 1 (argc 1)\n'
        return Outcome(stderr=text, code=2, delay_ns=found.delay_ns)
    head = f"traceroute to {host} ({found.address}), 30 hops max, 60 byte packets\n"
    probes = echoes(
        call.container, Asked(host, found.address, 3, SECOND, SECOND, quiet=True, endless=False), call.now_ns
    )
    if probes:
        times = "  ".join(f"{one.took_ns / MILLISECOND:.3f} ms" for one in probes)
        return Outcome(f"{head} 1  {host} ({found.address})  {times}{'  *' * (3 - len(probes))}\n")
    return Outcome(head + "".join(f"{hop:2d}  * * *\n" for hop in range(1, 31)), delay_ns=30 * SECOND)


def _telnet(call: ToolCall) -> Outcome:
    words = _operands(call, "leb")
    if not words:
        return Outcome(stderr="telnet: no host\n", code=1)
    host, port = words[0], words[1] if len(words) > 1 else "23"
    number = _PORTS.get(port, int(port[:5]) if port.isdigit() else 0)
    if not number:
        return Outcome(
            stderr=f"telnet: could not resolve {host}/{port}: Servname not supported for ai_socktype\n", code=1
        )
    reached = contact(call.container, host, Request("tcp", number), 130 * SECOND, ask=False)
    if reached.outcome == "unknown host":
        text = f"telnet: could not resolve {host}/{port}: Name or service not known\n"
        return Outcome(stderr=text, code=1, delay_ns=reached.delay_ns)
    trying = f"Trying {reached.address}...\n"
    if reached.outcome != "ok":
        why = {"refused": "Connection refused", "timeout": "Connection timed out"}.get(
            reached.outcome, "Network is unreachable"
        )
        return Outcome(trying, f"telnet: Unable to connect to remote host: {why}\n", 1, reached.delay_ns)
    said = f"Connected to {host}.\nEscape character is '^]'.\nConnection closed by foreign host.\n"
    return Outcome(trying + said, code=1, delay_ns=reached.delay_ns)
