"""Everything cumulative that a node shows, read the way an operator reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from simcluster.models.machine.hosttools.virtualfiles import virtual_file, virtual_names
from simcluster.models.machine.kernel.proctable import processes
from simcluster.models.machine.machine import Machine

#: Counters that a boot of the node does not reset: the drives', the management controller's.
LASTING = ("smart", "nvme", "sel")
#: Of /proc/stat, /proc/vmstat, a group's files and drives' lines: what is a state, not a counter.
_STATES = ("btime", "procs_running", "procs_blocked", "nr_", "CurrEstab", "RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn")
_GROUP_STATES = ("anon", "file", "kernel", "kernel_stack", "pagetables", "sock", "shmem", "file_mapped", "file_dirty",
                 "file_writeback", "inactive_anon", "active_anon", "inactive_file", "active_file", "slab")  # fmt: skip
#: SMART attributes that only grow; pending (197) and uncorrectable (198) sectors come and go.
_ATTRIBUTES = ("Start_Stop_Count", "Reallocated_Sector_Ct", "Power_On_Hours", "Power_Cycle_Count", "Reported_Uncorrect",
               "Command_Timeout", "UDMA_CRC_Error_Count")  # fmt: skip
_HEALTH = ("data units", "host_", "controller_busy", "power_cycles", "power_on", "unsafe", "media_errors", "num_err")
#: What a process has used is told by `ps`.
_PROCESS = re.compile(r"/proc/\d+")
_NUMBERED = ("/proc/interrupts", "/proc/softirqs", "/proc/schedstat", "/proc/net/softnet_stat")


def pseudo_files(machine: Machine, folder: str, skip: re.Pattern[str] | None = None) -> Iterator[str]:
    """Paths of all files below a folder that the kernel makes up, without folders that are to be skipped."""
    for name in virtual_names(machine, folder) or ():
        path = f"{folder}/{name}"
        if skip is not None and skip.fullmatch(path):
            continue
        if virtual_names(machine, path) is not None:
            yield from pseudo_files(machine, path, skip)
        elif virtual_file(machine, path) is not None:
            yield path


def counters(machine: Machine) -> dict[str, float]:
    """Every counter of a node by a name of its own; of groups and processes those that are there."""
    found: dict[str, float] = {}
    for root in ("/proc", "/sys"):
        for path in pseudo_files(machine, root, _PROCESS):
            text = virtual_file(machine, path)
            assert text is not None
            found.update((f"{path} {name}", value) for name, value in _of_file(path, text))
    found.update(_of_tools(machine))
    return found


def _of_file(path: str, text: str) -> Iterable[tuple[str, float]]:
    name = path.rpartition("/")[2]
    lines = [line.split() for line in text.splitlines()]
    if path.startswith("/sys/fs/cgroup/"):
        return _of_group(name, lines)
    if path.startswith("/proc/pressure/"):
        return [(row[0], _tail(row[-1])) for row in lines]
    if path == "/proc/uptime":
        return list(zip(("up", "idle"), map(float, lines[0]), strict=True))
    if path in ("/proc/stat", "/proc/vmstat"):
        rows = [row for row in lines if not row[0].startswith(_STATES)]
        return [(f"{row[0]}.{i}", float(value)) for row in rows for i, value in enumerate(row[1:])]
    if path in ("/proc/net/snmp", "/proc/net/netstat"):
        pairs = zip(lines[::2], lines[1::2], strict=True)
        cells = [(a, b) for heads, row in pairs for a, b in zip(heads[1:], row[1:], strict=True)]
        return [(head, float(value)) for head, value in cells if head not in _STATES]
    if path == "/proc/net/dev":
        return [(f"{row[0]}{i}", float(value)) for row in lines[2:] for i, value in enumerate(row[1:])]
    if path == "/proc/diskstats":
        return [(f"{row[2]}.{i}", float(v)) for row in lines for i, v in enumerate(row[3:]) if i != 8]
    if path.startswith("/sys/block/") and name == "stat":
        return [(str(i), float(value)) for i, value in enumerate(lines[0]) if i != 8]
    if "/statistics/" in path or name.endswith(("_throttle_count", "carrier_changes")):
        return [("", float(text))]
    if path in _NUMBERED:
        base = 16 if name == "softnet_stat" else 10
        cells = [(f"{at}.{i}", cell) for at, row in enumerate(lines) for i, cell in enumerate(row)]
        return [(place, float(int(cell, base))) for place, cell in cells if _is_number(cell, base)]
    return []


def _of_group(name: str, lines: list[list[str]]) -> list[tuple[str, float]]:
    if name.endswith(".pressure"):
        return [(row[0], _tail(row[-1])) for row in lines]
    if name == "io.stat":
        return [(f"{row[0]} {cell.partition('=')[0]}", _tail(cell)) for row in lines for cell in row[1:]]
    if name in ("cpu.stat", "memory.events", "pids.events", "memory.stat"):
        return [(row[0], float(row[1])) for row in lines if row[0] not in _GROUP_STATES]
    return [("", float(lines[0][0]))] if name == "memory.peak" else []


def _of_tools(machine: Machine) -> Iterator[tuple[str, float]]:
    for line in _run(machine, "conntrack", "-S"):
        cells = dict(cell.split("=") for cell in line.split())
        cpu = cells.pop("cpu")
        yield from ((f"conntrack {cpu} {name}", float(value)) for name, value in cells.items())
    for line in _run(machine, "nstat", "-az"):
        words = line.split()
        if len(words) == 3 and not words[0].endswith(_STATES):
            yield f"nstat {words[0]}", float(words[1])
    for line in _run(machine, "ethtool", "-S", "eth0")[1:]:
        yield f"ethtool {line.partition(':')[0].strip()}", _number(line.rpartition(":")[2])
    for at, line in enumerate(_run(machine, "ip", "-s", "link")):
        if re.fullmatch(r"[\d ]+", line):
            yield from ((f"ip link {at} {i}", float(value)) for i, value in enumerate(line.split()))
    for disk in machine.disks.values():
        if disk.outage is not None and disk.outage.gone:
            continue
        # a drive that was replaced is another one
        if disk.model.is_nvme:
            for line in _run(machine, "nvme", "smart-log", f"/dev/{disk.controller}"):
                if line.lower().startswith(_HEALTH):
                    name, _, value = line.partition(":")
                    yield f"nvme {disk.serial} {name.strip()}", _number(value)
        for line in _run(machine, "smartctl", "-A", f"/dev/{disk.name}"):
            words = line.split()
            if len(words) > 9 and words[1] in _ATTRIBUTES:
                yield f"smart {disk.serial} {words[1]}", float(words[9])
    yield "sel entries", float(sum("|" in line for line in _run(machine, "ipmitool", "sel", "list")))
    for process in processes(machine):
        yield f"ps {process.pid} {process.started_ns}", float(process.cpu_ns)


def _run(machine: Machine, *argv: str) -> list[str]:
    found = machine.run(argv)
    assert found is not None
    return found.stdout.splitlines()


def _tail(cell: str) -> float:
    return float(cell.rpartition("=")[2])


def _number(text: str) -> float:
    return float(text.split("(", maxsplit=1)[0].split("[", maxsplit=1)[0].strip().replace(",", "").rstrip("%"))


def _is_number(text: str, base: int) -> bool:
    try:
        int(text, base)
    except ValueError:
        return False
    return True


class Watch:
    """The counters of one node as they were when somebody last looked."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._boot = machine.identity.boot_id
        self._seen: dict[str, float] = {}
        self.looks = 0
        self.grown: dict[str, None] = {}
        self.look()

    @property
    def watched(self) -> int:
        """How many counters there are."""
        return len(self._seen)

    def look(self) -> None:
        """Compare with the last time: nothing runs backwards within a boot, and some things never do."""
        machine = self._machine
        if not machine.runs:
            return
        now, before = counters(machine), self._seen
        if self.looks % 4 == 0:
            assert counters(machine) == now  # reads change nothing
        if machine.identity.boot_id != self._boot:
            self._boot = machine.identity.boot_id
            before = {name: value for name, value in before.items() if name.startswith(LASTING)}
        wrong = [(name, value, now[name]) for name, value in before.items() if name in now and now[name] < value]
        assert not wrong, (machine.name, machine.sim.now, wrong)
        gone = [name for name in before if name not in now and not _may_go(name)]
        assert not gone, (machine.name, gone)
        self.grown.update({name: None for name, value in before.items() if now.get(name, 0.0) > value})
        self._seen, self.looks = now, self.looks + 1


def _may_go(name: str) -> bool:
    """Groups, processes and interfaces of pods end, and drives are taken out."""
    return name.startswith(("/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/system", "ps ", "ip link ", "smart ", "nvme ",
                            "/proc/diskstats", "/sys/block/"))  # fmt: skip


#: What tools of a node print of hardware that no file shows.
_TOOLS = (("ethtool", "eth0"), ("sensors",), ("ipmitool", "sdr"), ("smartctl", "-A", "/dev/sda"),
          ("smartctl", "-A", "/dev/nvme0n1"), ("nvme", "smart-log", "/dev/nvme0"), ("conntrack", "-S"))  # fmt: skip


class Cell(NamedTuple):
    """One value: the file (or a tool's command line), the words before it in its line, and the place in its line."""

    path: str
    row: str
    column: int


_IDS = ((r"cri-containerd-[0-9a-f]+", "cri-containerd-ID"),
        (r"kubepods-(besteffort|burstable)\.slice/kubepods", "kubepods"),
        (r"kubepods-(\w+-)?pod[^/]+", "kubepods-podUID.slice"),
        (r"kubepods-(besteffort|burstable)\.slice", "kubepods-QOS.slice"),
        (r"^/proc/\d+/", "/proc/PID/"), (r"/cpu\d+/", "/cpuN/"))  # fmt: skip
_VALUE = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(%|°C)?|\d+/\d+|0x[0-9a-f]+|[0-9a-f]{8}")


def cells(machine: Machine) -> dict[Cell, list[str]]:
    """Every number of every file of a node's pseudo file systems, and of tools that show hardware.

    A file that is one word is a value, too; groups, processes and CPUs are taken together.
    """
    texts = [(path, virtual_file(machine, path) or "") for root in ("/proc", "/sys")
             for path in pseudo_files(machine, root)]  # fmt: skip
    texts += [(" ".join(argv), "\n".join(_run(machine, *argv))) for argv in _TOOLS]
    found: dict[Cell, list[str]] = {}
    for path, text in texts:
        for pattern, name in _IDS:
            path = re.sub(pattern, name, path)
        single = len(text.split()) == 1
        for line in text.splitlines():
            words = re.split(r"[\s=|:]+", line.strip())
            row = " ".join(word for word in words if not _VALUE.fullmatch(word))
            values = words if single else [word for word in words if _VALUE.fullmatch(word)]
            for column, word in enumerate(values):
                found.setdefault(Cell(path, "" if single else row, column), []).append(word)
    return found
