"""`mpstat`, `pidstat` and `sar`: what CPUs, processes, the network and the memory did in an interval.

Format: sysstat 12.6 (Ubuntu 24.04). With an interval a program pauses and goes on as itself, with what it counted
before on standard input; the first report of mpstat and pidstat is since boot. sar's history (`sadc`) is not
collected here, so that it wants an interval. Left out: averages of several reports but their last line, other
activities of sar, threads.
"""

from __future__ import annotations

import math

from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel import memory, usage
from simcluster.models.machine.kernel.cputime import NOTHING, CpuTime
from simcluster.models.machine.kernel.proctable import Process, processes
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome

_NO_HISTORY = (
    "Cannot open /var/log/sysstat/sa{day}: No such file or directory\n"
    "Please check if data collecting is enabled in /etc/default/sysstat\n"
)
#: Counters of interfaces and of drives from which rates are made.
_FIELDS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes")
_DISK_FIELDS = ("reads", "read_sectors", "read_ns", "writes", "write_sectors", "write_ns", "busy_ns")


def _title(machine: Machine) -> str:
    text = format_rfc3339(machine.os.clock.now_ns())
    kernel = machine.identity.kernel_version
    date = f"{text[5:7]}/{text[8:10]}/{text[:4]}"
    return f"Linux {kernel} ({machine.name}) \t{date} \t_x86_64_\t({machine.cpu_cores} CPU)\n\n"


def _clock(machine: Machine) -> str:
    text = format_rfc3339(machine.os.clock.now_ns())
    hour = int(text[11:13])
    return f"{hour % 12 or 12:02d}{text[13:19]} {'AM' if hour < 12 else 'PM'}"


class _Past:
    """What a program counted when it paused: instant, CPU time, and whatever else by name."""

    def __init__(self, stdin: str) -> None:
        self.known = stdin.startswith("@ ")
        rows = [line.split() for line in stdin.splitlines()] if self.known else []
        self.numbers = {row[0]: float(row[1]) for row in rows if len(row) == 2}
        self.began_ns = int(self.numbers.get("@", 0.0))
        self.cpus = [CpuTime(*map(int, row[1:])) for row in rows if row[0] == "cpu"]

    def get(self, name: str) -> float:
        """A number of then."""
        return self.numbers.get(name, 0.0)


def _now(machine: Machine, more: dict[str, float]) -> str:
    rows = {"@": float(machine.sim.now), **more}
    lines = [f"{name} {value!r}" for name, value in rows.items()]
    return "\n".join(lines + [f"cpu {' '.join(map(str, times))}" for times in machine.os.times.each()])


def _interval(asked: Options, program: str, text: str, past: str) -> Outcome:
    """Print, and go on after the interval if there is one left."""
    numbers = [int(word) for word in asked.words]
    if not numbers or (len(numbers) > 1 and numbers[1] < 1):
        return Outcome(text)
    following = (program, *asked.given(), str(numbers[0]), *([str(numbers[1] - 1)] if len(numbers) > 1 else []))
    return Outcome(text, delay_ns=max(1, numbers[0]) * SECOND, then=following, then_stdin=past)


def _bad(asked: Options, program: str, usage_text: str) -> Outcome | None:
    if asked.problem or not all(word.isdigit() for word in asked.words) or len(asked.words) > 2:
        return Outcome("", f"Usage: {program} [ options ] [ <interval> [ <count> ] ]\n{usage_text}", 1)
    return None


def _times(machine: Machine, past: _Past) -> list[CpuTime]:
    """Where the time of each CPU went since the program paused, or since boot."""
    now = machine.os.times.each()
    return [time.minus(then) for time, then in zip(now, past.cpus or [NOTHING] * len(now), strict=True)]


def _shares(machine: Machine, past: _Past) -> usage.Split:
    whole = NOTHING
    for one in _times(machine, past):
        whole = whole.plus(one)
    return usage.shares(whole)


def _mpstat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked, past = parse(args, "Au", "PIo"), _Past(stdin)
    wrong = _bad(
        asked,
        "mpstat",
        "Options are:\n[ -A ] [ -n ] [ -T ] [ -u ] [ -V ] [ -I { SUM | CPU | SCPU | ALL } ]\n"
        "[ -N { <node_list> | ALL } ] [ --dec={ 0 | 1 | 2 } ] [ -o JSON ] [ -P { <cpu_list> | ALL } ]\n",
    )
    if wrong is not None:
        return wrong
    which = asked.values.get("P", "ALL" if asked.has("A") else "")
    text = "" if past.known else _title(machine)
    if past.known or not asked.words:
        text += _processors(machine, _clock(machine), past, which)
    if past.known and len(asked.words) > 1 and asked.words[1] == "0":
        text += "\n" + _processors(machine, "Average:   ", past, which)
    return _interval(asked, "mpstat", text, _now(machine, {}))


def _processors(machine: Machine, clock: str, past: _Past, which: str) -> str:
    columns = ("%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle")
    parts = {str(number): usage.shares(times) for number, times in enumerate(_times(machine, past))}
    parts["all"] = _shares(machine, past)
    cores = [str(number) for number in range(machine.cpu_cores)]
    names = ["all", *cores] if which == "ALL" else which.split(",") if which else ["all"]
    shown = {name: parts.get(name, parts["all"]) for name in names}
    lines = [f"{clock}  CPU " + "".join(f"{name:>8}" for name in columns)]
    for name, cpu in shown.items():
        values = (cpu.user, 0.0, cpu.system, cpu.iowait, 0.0, 0.0, cpu.steal, 0.0, 0.0, cpu.idle)
        lines.append(f"{clock} {name:>4} " + "".join(f"{value:8.2f}" for value in values))
    return "\n".join(lines) + "\n"


def _pidstat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked, past = parse(args, "udrwhlsv", "pCUTG"), _Past(stdin)
    wrong = _bad(
        asked,
        "pidstat",
        "Options are:\n[ -d ] [ -H ] [ -h ] [ -I ] [ -l ] [ -R ] [ -r ] [ -s ] [ -t ] [ -U [ <username> ] ]\n"
        "[ -u ] [ -V ] [ -v ] [ -w ] [ -C <command> ] [ -G <process_name> ] [ --human ]\n"
        "[ -p { <pid> [,...] | SELF | ALL } ] [ -T { TASK | CHILD | ALL } ]\n",
    )
    if wrong is not None:
        return wrong
    found = processes(machine)
    wanted = asked.values.get("p", "")
    if wanted and wanted != "ALL":
        found = [one for one in found if str(one.pid) in wanted.split(",")]
    if "C" in asked.values:
        found = [one for one in found if asked.values["C"] in one.comm]
    text = "" if past.known else _title(machine)
    if past.known or not asked.words:
        text += _tasks(machine, asked, found, past)
    counted = {f"p{one.pid}": float(one.cpu_ns) for one in processes(machine) if one.cpu_ns}
    return _interval(asked, "pidstat", text, _now(machine, counted))


def _tasks(machine: Machine, asked: Options, found: list[Process], past: _Past) -> str:
    clock = _clock(machine)
    if asked.has("d"):
        return _transfers(machine, clock, found)
    if asked.has("r"):
        lines = [f"{clock}   UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command"]
        for one in found:
            if one.resident and one.cores >= 0.0005:
                kib, percent = one.resident >> 10, 100.0 * one.resident / machine.memory_bytes
                lines.append(f"{clock} {_uid(one):5d} {one.pid:9d} {one.cores * 300:9.2f} {0.0:9.2f} "
                             f"{kib * 3 + 700_000:7d} {kib:7d} {percent:6.2f}  {one.comm}")  # fmt: skip
        return "\n".join(lines) + "\n\n"
    span = machine.sim.now - past.began_ns if past.known else machine.sim.now - machine.booted_ns
    lines = [f"{clock}   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command"]
    for one in found:
        since = past.get(f"p{one.pid}") if past.known else 0.0
        percent = 100.0 * (one.cpu_ns - since) / max(1, span)
        if percent >= 0.05 or asked.values.get("p"):
            user = percent * usage.USER_SHARE
            lines.append(f"{clock} {_uid(one):5d} {one.pid:9d} {user:7.2f} {percent - user:7.2f} {0.0:7.2f} {0.0:7.2f} "
                         f"{percent:7.2f} {one.pid % machine.cpu_cores:5d}  {one.comm}")  # fmt: skip
    return "\n".join(lines) + "\n\n"


def _transfers(machine: Machine, clock: str, found: list[Process]) -> str:
    """KiB a second that containers read and write, and how long they are kept from running by drives."""
    lines = [f"{clock}   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command"]
    blocked = usage.blocked(machine)
    by_pid = {container.pid: container for container in machine.runtime.containers() if container.running}
    for one in found:
        container = by_pid.get(one.pid)
        if container is None:
            continue
        read, written = io_rates(machine, container.container_id)
        delay = int(min(1.0, blocked.get(container.container_id, 0.0)) * 100)
        if read or written or delay:
            lines.append(f"{clock} {_uid(one):5d} {one.pid:9d} {read:9.2f} {written:9.2f} {0.0:9.2f} {delay:7d}  "
                         f"{one.comm}")  # fmt: skip
    return "\n".join(lines) + "\n\n"


def io_rates(machine: Machine, container_id: str) -> tuple[float, float]:
    """KiB a second that a container reads and writes now."""
    reads, writes = [], []
    for disk in machine.disks.values():
        for load, rates in disk.rates().items():
            if usage.owner_of(load) == container_id:
                reads.append(rates.random_reads * rates.random_size + rates.sequential_reads * rates.sequential_size)
                writes.append(rates.writes * rates.write_size)
    return math.fsum(reads) / 1024.0, math.fsum(writes) / 1024.0


def _uid(one: Process) -> int:
    return {"root": 0, "65535": 65535, "_chrony": 113, "syslog": 103}.get(one.user, 1000)


_SAR = {"u": "cpu", "q": "queue", "r": "memory", "n": "network", "d": "drives", "b": "drives"}


def _sar(machine: Machine, args: list[str], stdin: str) -> Outcome:
    asked, past = parse(args, "uqrdbBSWvpAh", "nPfo"), _Past(stdin)
    wrong = _bad(asked, "sar", "Main options and reports (report name between square brackets):\n")
    if wrong is not None:
        return wrong
    if not asked.words:
        day = format_rfc3339(machine.os.clock.now_ns())[8:10]
        return Outcome("", _NO_HISTORY.format(day=day), 2)
    unknown = next((letter for letter in asked.letters if letter not in _SAR and letter not in "PphA"), "")
    if unknown or (asked.values.get("n", "DEV") not in ("DEV", "EDEV", "TCP", "ETCP")):
        return Outcome("", "Requested activities not available\n", 1)
    text = "" if past.known else _title(machine)
    if past.known:
        last = len(asked.words) > 1 and asked.words[1] == "0"
        kinds = [letter for letter in asked.letters if letter in _SAR] or ["u"]
        for clock in [_clock(machine), *(["Average:   "] if last else [])]:
            text += "".join(_activity(machine, kind, clock, past, asked.values) + "\n" for kind in kinds)
    counted = {**_network_counted(machine), **_drives_counted(machine)}
    return _interval(asked, "sar", text, _now(machine, counted))


def _network_counted(machine: Machine) -> dict[str, float]:
    return {
        f"{name}.{field}": float(nic.counters()[field])
        for name, nic in machine.nics.items()
        for field in (*_FIELDS, "rx_errors", "tx_errors", "rx_dropped", "tx_dropped")
    }


def _activity(machine: Machine, kind: str, clock: str, past: _Past, values: dict[str, str]) -> str:
    if kind == "u":
        cpu = _shares(machine, past)
        shares = (cpu.user, 0.0, cpu.system, cpu.iowait, cpu.steal, cpu.idle)
        heads = ("%user", "%nice", "%system", "%iowait", "%steal", "%idle")
        head = f"{clock}     CPU" + "".join(f"{name:>10}" for name in heads)
        return f"{head}\n{clock}     all" + "".join(f"{share:10.2f}" for share in shares) + "\n"
    if kind == "q":
        averages = "".join(f"{value:10.2f}" for value in machine.os.load.averages)
        waiting = int(math.fsum(usage.blocked(machine).values()) + 0.5)
        return (
            f"{clock}   runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n"
            f"{clock} {usage.runnable(machine) // NANOCORES:9d} {machine.os.tasks():9d}{averages} {waiting:9d}\n"
        )
    if kind == "r":
        return _memory(machine, clock)
    if kind == "n":
        return _network(machine, clock, past, values.get("n", "DEV"))
    return _drives(machine, clock, past)


def _memory(machine: Machine, clock: str) -> str:
    found = memory.info(machine, machine.os.shared_bytes())
    used = found.total - found.free - found.buffers - found.cached - found.slab
    cells = (found.free >> 10, found.available >> 10, used >> 10, 100.0 * used / found.total, found.buffers >> 10,
             found.cached >> 10, found.anonymous * 3 >> 10, 300.0 * found.anonymous / found.total)  # fmt: skip
    heads = ("kbmemfree", "kbavail", "kbmemused", "%memused", "kbbuffers", "kbcached", "kbcommit", "%commit")
    row = "".join(f"{cell:>10.2f}" if isinstance(cell, float) else f"{cell:>10d}" for cell in cells)
    return f"{clock}" + "".join(f"{head:>10}" for head in heads) + f"\n{clock}{row}\n"


def _network(machine: Machine, clock: str, past: _Past, what: str) -> str:
    seconds = max(1, machine.sim.now - past.began_ns) / SECOND
    counted = _network_counted(machine)
    errors = what == "EDEV"
    heads = ("rxerr/s", "txerr/s", "coll/s", "rxdrop/s", "txdrop/s") if errors else (
        "rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "rxcmp/s", "txcmp/s", "rxmcst/s", "%ifutil")  # fmt: skip
    lines = [f"{clock}     IFACE" + "".join(f"{head:>10}" for head in heads)]
    for name, nic in machine.nics.items():
        rate = {
            field: (counted[f"{name}.{field}"] - past.get(f"{name}.{field}")) / seconds
            for field in (*_FIELDS, "rx_errors", "tx_errors", "rx_dropped", "tx_dropped")
        }
        if errors:
            cells = [rate["rx_errors"], rate["tx_errors"], 0.0, rate["rx_dropped"], rate["tx_dropped"]]
        else:
            busy = 100.0 * max(rate["rx_bytes"], rate["tx_bytes"]) * 8.0 / nic.bandwidth_bps
            cells = [rate["rx_packets"], rate["tx_packets"], rate["rx_bytes"] / 1024.0, rate["tx_bytes"] / 1024.0,
                     0.0, 0.0, 0.0, busy]  # fmt: skip
        lines.append(f"{clock} {name:>9}" + "".join(f"{cell:10.2f}" for cell in cells))
    return "\n".join(lines) + "\n"


def _drives_counted(machine: Machine) -> dict[str, float]:
    found: dict[str, float] = {}
    for disk in machine.disks.values():
        counted = disk.counted()
        for field in _DISK_FIELDS:
            found[f"{disk.name}.{field}"] = float(getattr(counted, field))
    return found


def _drives(machine: Machine, clock: str, past: _Past) -> str:
    lines = [f"{clock}       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util"]
    span, counted = max(1, machine.sim.now - past.began_ns), _drives_counted(machine)
    for disk in machine.disks.values():
        n = {field: counted[f"{disk.name}.{field}"] - past.get(f"{disk.name}.{field}") for field in _DISK_FIELDS}
        requests, waited = n["reads"] + n["writes"], n["read_ns"] + n["write_ns"]
        size = (n["read_sectors"] + n["write_sectors"]) / 2.0
        each = (size / requests, waited / requests / 1e6) if requests else (0.0, 0.0)
        second = span / SECOND
        cells = (requests / second, n["read_sectors"] / 2.0 / second, n["write_sectors"] / 2.0 / second, 0.0, each[0],
                 waited / span, each[1], min(100.0, 100.0 * n["busy_ns"] / span))  # fmt: skip
        lines.append(f"{clock} {disk.name:>9}" + "".join(f"{cell:10.2f}" for cell in cells))
    return "\n".join(lines) + "\n"


TOOLS = {"mpstat": _mpstat, "pidstat": _pidstat, "sar": _sar}
