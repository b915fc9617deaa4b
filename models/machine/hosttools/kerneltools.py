"""Programs that show the kernel's tables: `sysctl`, `conntrack`, `prlimit`, `lsof`.

Formats: procps-ng 4.0.4, conntrack-tools 1.4.8, util-linux 2.39, lsof 4.95 (Ubuntu 24.04).
"""

from __future__ import annotations

from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.models.machine.hosttools.sockettools import sockets
from simcluster.models.machine.kernel import sysctlfiles
from simcluster.models.machine.kernel.conntrack import CLOSE, ESTABLISHED, SYN_SENT, TIMEOUTS, UDP
from simcluster.models.machine.kernel.descriptors import BASE, DEFAULT_LIMIT
from simcluster.models.machine.kernel.proctable import Process, processes
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import DNS_PORT
from simcluster.models.userland.outcome import Outcome

#: Entries that `conntrack -L` lists at most; its count is of all.
MOST_LISTED = 400
_TERMINAL_LIMIT = 1024
#: Ports at which pages are served more often than anything else.
_PAGES = (80, 443, 3000, 5000, 8000, 8080)
_CONNTRACK = {"-p": "p", "--proto": "p", "--protonum": "p", "--state": "state", "-s": "src", "--src": "src",
              "--orig-src": "src", "-d": "dst", "--dst": "dst", "--orig-dst": "dst", "--sport": "sport",
              "--orig-port-src": "sport", "--dport": "dport", "--orig-port-dst": "dport", "-n": "", "-o": "o",
              "-f": "f"}  # fmt: skip


def _sysctl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    letters = "".join(word[1:] for word in args if word.startswith("-") and not word.startswith("--"))
    words = [word for word in args if not word.startswith("-")]
    if "--system" in args:
        return Outcome(*sysctlfiles.apply_all(machine))
    if "p" in letters or any(word.startswith("--load") for word in args):
        given = [word.partition("=")[2] for word in args if word.startswith("--load=")]
        return Outcome(*sysctlfiles.apply(machine, [*words, *given] or ["/etc/sysctl.conf"]))
    if "a" in letters or "--all" in args:
        words = machine.os.sysctls.names()
    out, errors = "", ""
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if equals or "w" in letters:
            error = (
                machine.os.sysctls.set(name.strip(), value.strip()) if equals else f'sysctl: "{word}" must be of the '
            )
            error += "" if equals else "form name=value"
            out += "" if error or "q" in letters else f"{name.strip().replace('/', '.')} = {value.strip()}\n"
            errors += f"{error}\n" if error else ""
            continue
        found = machine.os.sysctl(name)
        if not found:
            path = name.replace(".", "/")
            errors += f"sysctl: cannot stat /proc/sys/{path}: No such file or directory\n"
        else:
            out += f"{found}\n" if "n" in letters else f"{name.replace('/', '.')} = {found}\n"
    return Outcome(out, errors, 1 if errors else 0)


def _conntrack(machine: Machine, args: list[str], stdin: str) -> Outcome:
    table, version = machine.os.conntrack, "conntrack v1.4.8 (conntrack-tools): "
    if "-C" in args or "--count" in args:
        return Outcome(f"{table.count}\n")
    if "-S" in args or "--stats" in args:
        lines = []
        for cpu in range(machine.cpu_cores):
            share = [machine.os.counter(name) for name in ("drop", "early_drop")]
            part = [n // machine.cpu_cores + (1 if cpu < n % machine.cpu_cores else 0) for n in share]
            lines.append(
                f"cpu={cpu}   \tfound=0 invalid={cpu + 3} insert=0 insert_failed=0 drop={part[0]} "
                f"early_drop={part[1]} error=0 search_restart=0 clash_resolve=0 chaintoolong=0 \n"
            )
        return Outcome("".join(lines))
    if "-F" in args or "--flush" in args:
        table.flush()
        return Outcome("", f"{version}connection tracking table has been emptied.\n")
    if "-E" in args or "--event" in args:
        return Outcome("", f"{version}following events (-E) needs a terminal, and there is none here\n", 1)
    if args[:1] not in ([], ["-L"], ["--dump"]):
        return Outcome(
            "", f"{version}Bad parameter\nTry `conntrack -h' or 'conntrack --help' for more information.\n", 2
        )
    wanted: dict[str, str] = {}
    words = args[1:]
    while words:
        word, words = words[0], words[1:]
        name = _CONNTRACK.get(word)
        if name is None or (name and not words):
            return Outcome("", f"{version}unknown option `{word}'\nTry `conntrack -h' or 'conntrack --help' for "
                                  "more information.\n", 2)  # fmt: skip
        if name:
            wanted[name], words = words[0], words[1:]
    count = min(table.count, MOST_LISTED)
    shown = [entry for entry in _entries(machine, count) if _is_wanted(entry, wanted)]
    found = int(len(shown) * table.count / max(1, count))
    return Outcome("".join(shown), f"{version}{found} flow entries have been shown.\n")


def _is_wanted(entry: str, wanted: dict[str, str]) -> bool:
    cells = entry.split()
    first = {cell.partition("=")[0]: cell.partition("=")[2] for cell in reversed(cells) if "=" in cell}
    if wanted.get("state", cells[3]) != cells[3] or wanted.get("p", cells[0]) not in cells[:2]:
        return False
    return all(first.get(name) == value for name, value in wanted.items() if name in ("src", "dst", "sport", "dport"))


def _entries(machine: Machine, count: int) -> list[str]:
    """A sample of the table: each owner's share of it, between addresses that there are, with made-up high ports."""
    owners = machine.os.conntrack.owners()
    total = sum(owned.total for owned in owners) or 1  # integers
    living = {c.container_id: c for c in machine.runtime.containers() if c.running}
    nodes = machine.network.nodes
    pods = [address for address in machine.network.sandboxes if address not in nodes]
    lines = []
    for owned in owners:
        key = machine.sim.streams.key("conntrack", machine.name, owned.owner)
        ends = _ends(machine, living.get(owned.owner), owned.owner, pods)
        at = 0
        for state, number in (("ESTABLISHED", owned.open), *owned.ended):
            for _ in range(-(-count * number // total)):
                lines.append(_entry(machine, state, at, key, ends[mix(key, at + 1) % len(ends)]))
                at += 1
    return lines[:count]


def _entry(machine: Machine, state: str, at: int, key: int, ends: tuple[str, str, int]) -> str:
    """One line of `conntrack -L`."""
    (source, other, there), port = ends, 32768 + mix(key, at) % 28000
    lasts = machine.os.sysctls.number(TIMEOUTS.get(state, ESTABLISHED))
    left = max(0, lasts - 1 - at % max(1, min(300, lasts)))
    if state == UDP:
        other, there = machine.network.dns or other, DNS_PORT
    asked = f"src={source} dst={other} sport={port} dport={there}"
    answered = f"src={other} dst={source} sport={there} dport={port}"
    if state == UDP:
        return f"udp      17 {left} {asked} {answered} mark=0 use=1\n"
    if state == SYN_SENT:
        return f"tcp      6 {left} {state} {asked} [UNREPLIED] {answered} mark=0 use=1\n"
    assured = "" if state == CLOSE else "[ASSURED] "
    return f"tcp      6 {left} {state} {asked} {answered} {assured}mark=0 use=1\n"


def _ends(machine: Machine, container: Container | None, owner: str, pods: list[str]) -> list[tuple[str, str, int]]:
    """Between whom an owner's connections may be: source, destination, port of the destination."""
    found: list[tuple[str, str, int]] = []
    if container is not None:
        own = container.sandbox.address
        found = [(pod, own, port) for port in container.spec.ports for pod in pods if pod != own]
        return found or [(pod, own, 8080) for pod in pods if pod != own] or [(machine.address, own, 8080)]
    local = [c for c in machine.runtime.containers() if c.running and not c.sandbox.host_network and c.spec.ports]
    if owner:  # somebody from outside, on the way to a pod that serves pages
        found = [(owner, c.sandbox.address, c.spec.ports[0]) for c in local if c.spec.ports[0] in _PAGES]
        return found or [(owner, machine.address, 443)]
    server = next((address for address, node in machine.network.nodes.items() if "control-plane" in node), "")
    found = [(machine.address, c.sandbox.address, c.spec.ports[0]) for c in local]
    return [(machine.address, server or machine.address, 6443), *found]


def _target(machine: Machine, pid: str) -> Container | None:
    for container in machine.runtime.containers():
        if container.running and str(container.pid) == pid:
            return container
    return None


def _prlimit(machine: Machine, args: list[str], stdin: str) -> Outcome:
    pid = next((word.partition("=")[2] for word in args if word.startswith("--pid=")), "")
    for at, word in enumerate(args[:-1]):
        pid = args[at + 1] if word in ("--pid", "-p") else pid
    container = _target(machine, pid)
    if pid and container is None and not any(unit.pid == int(pid or 0) for unit in machine.unit_list()):
        return Outcome("", "prlimit: failed to get the NOFILE resource limit: No such process\n", 1)
    wanted = next((word for word in args if word.startswith(("--nofile=", "-n"))), "")
    if wanted.startswith("--nofile=") and container is not None:
        soft = wanted.partition("=")[2].partition(":")[0]
        try:
            machine.os.descriptors.set_limit(container, int(soft))
        except ValueError:
            return Outcome("", "prlimit: failed to set the NOFILE resource limit: Operation not permitted\n", 1)
        return Outcome("")
    soft_limit = _TERMINAL_LIMIT if container is None else machine.os.descriptors.limit(container)
    hard = max(soft_limit, DEFAULT_LIMIT)
    head = "RESOURCE DESCRIPTION               SOFT      HARD UNITS\n"
    rows = f"NOFILE   max number of open files {soft_limit:>7} {hard:>9} files\n"
    if not any(word in ("-n", "--nofile") for word in args):
        tasks = machine.os.sysctls.get("kernel.threads-max")
        rows += f"NPROC    max number of processes {tasks:>8} {tasks:>9} processes\n"
        rows += f"STACK    max stack size          {8388608:>8} {'unlimited':>9} bytes\n"
    return Outcome(head + rows)


def _lsof(machine: Machine, args: list[str], stdin: str) -> Outcome:
    words = [word for word in args if word not in ("-n", "-P", "-nP", "-Pn", "-a", "-w")]
    internet = next((word for word in words if word.startswith("-i") or word.startswith("-ni")), None)
    pid, name = "", ""
    for at, word in enumerate(words[:-1]):
        pid = words[at + 1] if word == "-p" else pid
        name = words[at + 1] if word == "-c" else name
    known = ("-p", "-c", "-i", "-t")
    wrong = next((word for word in words if word.startswith("-") and not word.startswith(known)), "")
    if wrong:
        return Outcome("", f"lsof: illegal option character: {wrong[1:2]}\nlsof: no more options\n", 1)
    if internet is not None:
        place = internet[2:] or next((w for w in words[words.index(internet) + 1 :] if not w.startswith("-")), "")
        rows = _internet(machine, place.rpartition(":")[2])
    else:
        rows = []
        for process in processes(machine):
            if (pid and str(process.pid) not in pid.split(",")) or (name and not process.comm.startswith(name)):
                continue
            if not process.args.startswith("["):
                rows += _held_by(machine, process)
    if "-t" in words:
        found = dict.fromkeys(row.split()[1] for row in rows)
        return Outcome("".join(f"{number}\n" for number in found), "", 0 if rows else 1)
    head = "COMMAND       PID USER   FD      TYPE             DEVICE SIZE/OFF       NODE NAME\n"
    return Outcome(head + "".join(rows) if rows else "", "", 0 if rows else 1)


def _internet(machine: Machine, port: str) -> list[str]:
    rows = []
    for number, one in enumerate(sockets(machine)):
        if port.isdigit() and port not in (one.here.rpartition(":")[2], one.there.rpartition(":")[2]):
            continue
        kind, state = ("IPv6" if one.here[0] == "*" else "IPv4"), {"ESTAB": "ESTABLISHED"}.get(one.state, one.state)
        place = one.here if one.state == "LISTEN" else f"{one.here}->{one.there}"
        rows.append(
            f"{one.name[:9]:<9} {one.pid:7d} root {7 + number % 3:4d}u  {kind:>6}             {18_000 + number:6d}"
            f"      0t0        TCP {place} ({state})\n"
        )
    return rows


def _held_by(machine: Machine, process: Process) -> list[str]:
    container = next((c for c in machine.runtime.containers() if c.running and c.pid == process.pid), None)
    held = 32 if container is None else machine.os.descriptors.held(container)
    head = f"{process.comm[:9]:<9} {process.pid:7d} {process.user[:8]:<4}"
    program = process.args.split(" ")[0]
    rows = [
        f"{head}  cwd     DIR              259,2     4096          2 /\n",
        f"{head}  txt     REG              259,2 {process.resident // 2:8d}     131072 {program}\n",
    ]
    for number in range(held):
        if number < 3:
            rows.append(f"{head} {number:4d}u  {'CHR':>6}                1,3      0t0          5 /dev/null\n")
        elif number < BASE:
            rows.append(f"{head} {number:4d}u  {'a_inode':>7}              0,15        0         {1000 + number} "
                        f"[{'eventpoll' if number % 2 else 'eventfd'}]\n")  # fmt: skip
        else:
            rows.append(f"{head} {number:4d}u  {'sock':>6}                0,8      0t0     {900000 + number} "
                        "protocol: TCP\n")  # fmt: skip
    return rows


TOOLS = {
    "conntrack": _conntrack,
    "lsof": _lsof,
    "prlimit": _prlimit,
    "sysctl": _sysctl,
}
