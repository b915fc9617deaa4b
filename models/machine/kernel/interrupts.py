"""Interrupts, soft interrupts and context switches: what the work of a machine comes to, CPU by CPU.

The timer ticks on a CPU that is busy (NO_HZ_IDLE); a card interrupts for each packet, a drive for each request, on
the CPU to which its queue belongs (RSS and blk-mq have a queue for each CPU; how flows fall on queues is a hash, and
so uneven). Who waits for a packet or a drive is switched in and out; who is busy once a slice. Left out: interrupts
between CPUs (RES, CAL, TLB), thermal interrupts, machine checks (there are none).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from simcluster.engine import SECOND
from simcluster.engine.streams import Streams, mix
from simcluster.models.machine.kernel.cfs import SLICE_NS
from simcluster.models.machine.kernel.cputime import CpuTime
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage.counters import Counters

#: CONFIG_HZ of Ubuntu 24.04's generic kernel (6.8).
HZ = 250
#: How unevenly flows fall on queues: weights from 3 to 5.
_LEAST, _SPAN = 3, 3


def ticks(machine: Machine) -> list[int]:
    """Timer interrupts of each CPU."""
    return [(one.user + one.system) * HZ // SECOND for one in machine.os.times.each()]


def packets(machine: Machine) -> dict[str, list[int]]:
    """Interrupts of each card, by CPU."""
    cards = {name: nic.counters() for name, nic in machine.nics.items()}
    return {name: _spread(machine, name, count) for name, count in counts_of(cards, {}).items()}


def requests(machine: Machine) -> dict[str, list[int]]:
    """Interrupts of each drive, by CPU."""
    drives = {disk.name: disk.counted() for disk in machine.disks.values()}
    return {name: _spread(machine, name, count) for name, count in counts_of({}, drives).items()}


def counts_of(cards: Mapping[str, Mapping[str, int]], drives: Mapping[str, Counters]) -> dict[str, int]:
    """Interrupts of devices by what they have counted: packets of cards, requests of drives."""
    of_cards = {name: counted["rx_packets"] + counted["tx_packets"] for name, counted in cards.items()}
    of_drives = {name: int(each.reads) + int(each.writes) + int(each.flushes) for name, each in drives.items()}
    return {**of_cards, **of_drives}


def all_of(machine: Machine) -> int:
    """`intr` of /proc/stat."""
    return totals(machine)[0]


def switches(machine: Machine) -> int:
    """`ctxt` of /proc/stat."""
    return totals(machine)[1]


def totals(
    machine: Machine, times: Sequence[CpuTime] | None = None, counts: Mapping[str, int] | None = None
) -> tuple[int, int]:
    """Interrupts and context switches since boot.

    Args:
        times: of every CPU now; counts: interrupts of devices: if somebody has looked.
    """
    if counts is None:
        cards = {name: nic.counters() for name, nic in machine.nics.items()}
        counts = counts_of(cards, {disk.name: disk.counted() for disk in machine.disks.values()})
    devices = sum(sum(_spread(machine, name, count)) for name, count in counts.items())  # integers
    busy = [one.user + one.system for one in (machine.os.times.each() if times is None else times)]
    ticked = sum(used * HZ // SECOND for used in busy)  # integers
    return ticked + devices, sum(busy) // SLICE_NS + 2 * devices  # integers


def interrupts_file(machine: Machine) -> str:
    """/proc/interrupts."""
    cores = range(machine.cpu_cores)
    lines = [" " * 11 + "".join(f"{f'CPU{cpu}':<11}" for cpu in cores).rstrip() + " "]
    rows = [(str(24 + at), row, f"PCI-MSIX  {name}") for at, (name, row) in enumerate(
        {**packets(machine), **requests(machine)}.items())]  # fmt: skip
    rows.append(("LOC", ticks(machine), "Local timer interrupts"))
    lines += [f"{head:>4}:" + "".join(f"{count:>11}" for count in row) + f"   {what}" for head, row, what in rows]
    return "\n".join([*lines, " ERR:          0", " MIS:          0"]) + "\n"


def softirqs_file(machine: Machine) -> str:
    """/proc/softirqs."""
    cores = range(machine.cpu_cores)
    net, block = _columns(machine, packets(machine)), _columns(machine, requests(machine))
    rows = (("TIMER", ticks(machine)), ("NET_RX", net), ("BLOCK", block), ("SCHED", ticks(machine)))
    head = " " * 20 + "".join(f"{f'CPU{cpu}':<11}" for cpu in cores).rstrip()
    return "\n".join([head, *(f"{name + ':':>13}" + "".join(f"{n:>11}" for n in row) for name, row in rows)]) + "\n"


def softnet_file(machine: Machine) -> str:
    """/proc/net/softnet_stat: packets that each CPU has processed; none was dropped, no budget ran out."""
    rows = _columns(machine, packets(machine))
    return "".join(" ".join(f"{n:08x}" for n in (count, *[0] * 11, cpu)) + "\n" for cpu, count in enumerate(rows))


def _columns(machine: Machine, devices: dict[str, list[int]]) -> list[int]:
    return [sum(row[cpu] for row in devices.values()) for cpu in range(machine.cpu_cores)]  # integers


def _spread(machine: Machine, device: str, count: int) -> list[int]:
    weights, whole = _queues(machine.sim.seed, machine.name, device, machine.cpu_cores)
    return [count * weight // whole for weight in weights]


@functools.lru_cache(maxsize=4096)
def _queues(seed: int, node: str, device: str, cores: int) -> tuple[tuple[int, ...], int]:
    """Weights of a device's queues, and their sum."""
    key = Streams(seed).key("queues", node, device)
    weights = tuple(_LEAST + mix(key, cpu) % _SPAN for cpu in range(cores))
    return weights, sum(weights)  # integers
