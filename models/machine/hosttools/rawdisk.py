"""`dd`: copies from and to drives, partitions and files, with what the drive makes of it. Format: coreutils 9.4.

Data are not modelled, so only amounts, time and errors come out of it; what is written to a file is hollow.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.models.machine.hosttools.blockdevices import disk_of, overwritten, part_of
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError
from simcluster.models.userland.outcome import Outcome

_UNITS = {"": 1, "c": 1, "w": 2, "b": 512, "K": 1 << 10, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_UNITS |= {"kB": 1000, "KB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_ZEROS = ("/dev/zero", "/dev/urandom", "/dev/random")


class _Plan(NamedTuple):
    source: str
    target: str
    block: int
    amount: int  # blocks; -1: until the end
    skip: int
    seek: int
    direct: bool
    durable: bool


class _Moved(NamedTuple):
    delay_ns: int
    size: int
    error: str = ""


def _number(text: str) -> int | None:
    digits = text.rstrip("cwbKkMGTiB")
    unit = text[len(digits) :]
    return int(digits) * _UNITS[unit] if digits.isdigit() and unit in _UNITS else None


def dd(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """dd: if=, of=, bs=, count=, skip=, seek=, iflag=, oflag=, conv=, status=."""
    given = dict(arg.split("=", 1) for arg in args if "=" in arg)
    bad = next((arg for arg in args if "=" not in arg), "")
    if bad:
        return Outcome("", f"dd: unrecognized operand '{bad}'\nTry 'dd --help' for more information.\n", 1)
    values = {}
    for name, default in (("bs", "512"), ("count", "-1"), ("skip", "0"), ("seek", "0")):
        number = -1 if given.get(name, default) == "-1" else _number(given.get(name, default))
        if number is None or (name == "bs" and number < 1):
            return Outcome("", f"dd: invalid number: '{given[name]}'\n", 1)
        values[name] = number
    flags = f"{given.get('iflag', '')},{given.get('oflag', '')},{given.get('conv', '')}".split(",")
    plan = _Plan(
        machine.mounts.source_of(given.get("if", "")),
        machine.mounts.source_of(given.get("of", "")),
        values["bs"],
        values["count"],
        values["skip"],
        values["seek"],
        "direct" in flags,
        any(flag in flags for flag in ("fsync", "fdatasync", "sync", "dsync")),
    )
    quiet = given.get("status", "") == "none"
    return _copy(machine, plan, quiet)


def _copy(machine: Machine, plan: _Plan, quiet: bool) -> Outcome:
    size = plan.amount * plan.block if plan.amount >= 0 else -1
    if plan.source in _ZEROS:
        if size < 0:
            size = _room(machine, plan.target)
        got: _Moved | None = _Moved(size // 4, size)
    else:
        got = _read(machine, plan, size)
    if got is None:
        return Outcome("", f"dd: failed to open '{plan.source}': No such file or directory\n", 1)
    put = _Moved(0, got.size)
    if plan.target and plan.target != "/dev/null":
        put = _write(machine, plan, got.size)
    delay = got.delay_ns + put.delay_ns
    done = min(got.size, put.size)
    errors = []
    if got.error:
        errors.append(f"dd: error reading '{plan.source}': {got.error}\n")
    if put.error:
        errors.append(f"dd: error writing '{plan.target}': {put.error}\n")
    full, rest = divmod(done, plan.block)
    records = f"{full}+{1 if rest else 0} records"
    errors.append(f"{records} in\n{records} out\n")
    if not quiet:
        errors.append(_summary(done, max(delay, 1)))
    return Outcome("", "".join(errors), 1 if got.error or put.error else 0, max(delay, 1))


def _summary(size: int, delay_ns: int) -> str:
    sizes = f"{size} bytes"
    if size >= 1024:
        sizes = f"{size} bytes ({_scaled(size, 1000)}, {_scaled(size, 1024)})"
    seconds = f"{delay_ns / SECOND:.6g}"
    return f"{sizes} copied, {seconds} s, {_scaled(size * SECOND // delay_ns, 1000)}/s\n"


def _scaled(amount: int, base: int) -> str:
    names = ("B", "kB", "MB", "GB", "TB") if base == 1000 else ("B", "KiB", "MiB", "GiB", "TiB")
    power, unit = 0, 1
    while amount >= unit * base and power < 4:
        unit, power = unit * base, power + 1
    tenths = (amount * 10 + unit // 2) // unit
    return (
        f"{tenths // 10}.{tenths % 10} {names[power]}" if power and tenths < 100 else f"{amount // unit} {names[power]}"
    )


def _room(machine: Machine, path: str) -> int:
    disk = disk_of(machine, path)
    if disk is not None:
        return disk.model.size_bytes
    return machine.room_at(path) + 4096


def _read(machine: Machine, plan: _Plan, size: int) -> _Moved | None:
    """Read from a drive, a stored file or a text file; None if there is no such thing."""
    begin = plan.skip * plan.block
    disk = disk_of(machine, plan.source)
    if disk is not None:
        part = part_of(disk, plan.source)
        start, sectors = (part.start, part.sectors) if part is not None else (0, disk.model.sectors)
        end = sectors * 512 if size < 0 else min(sectors * 512, begin + size)
        count = max(0, -(-end // 512) - begin // 512)
        if not count:
            return _Moved(0, 0)
        buffered = "" if plan.direct else plan.source.removeprefix("/dev/")
        answer = disk.read(start + begin // 512, count, sequential=count > 64, buffered=buffered)
        if not answer.failed:
            return _Moved(answer.delay_ns, end - begin)
        good = max(0, (answer.bad_lba - start) * 512 - begin) if answer.bad_lba >= 0 else 0
        return _Moved(answer.delay_ns, good // plan.block * plan.block, ERROR_TEXTS["EIO"])
    system = machine.files_at(plan.source)
    if system.exists(plan.source):
        whole = system.size_of(plan.source) - begin
        wanted = max(0, whole if size < 0 else min(size, whole))
        outcome = system.read(plan.source, begin, wanted, comm="dd")
        if not outcome.error:
            return _Moved(outcome.delay_ns, wanted)
        return _Moved(outcome.delay_ns, max(0, outcome.offset - begin) // plan.block * plan.block, ERROR_TEXTS["EIO"])
    found = NodeTree(machine).look(plan.source)
    if found is None or found.is_folder:
        return None
    whole = found.size - begin
    return _Moved(1_000_000, max(0, whole if size < 0 else min(size, whole)))


def _write(machine: Machine, plan: _Plan, size: int) -> _Moved:
    begin = plan.seek * plan.block
    disk = disk_of(machine, plan.target)
    if disk is not None:
        part = part_of(disk, plan.target)
        start = part.start if part is not None else 0
        answer = disk.write(start + begin // 512, max(1, -(-size // 512)), sequential=size > 32768)
        if not answer.failed:
            overwritten(disk, start + begin // 512, max(1, -(-size // 512)))
        return _Moved(answer.delay_ns, 0 if answer.failed else size, ERROR_TEXTS["EIO"] if answer.failed else "")
    system = machine.files_at(plan.target)
    if not system.exists(plan.target):
        try:
            return _hollow(machine, plan, begin + size)
        except FileError as error:
            return _Moved(0, 0, str(error))
    old = min(size, system.size_of(plan.target) - begin, 64 << 20)
    outcome = system.write(plan.target, begin, size, comm="dd", direct=plan.direct or old > 0)
    delay = outcome.delay_ns
    if not outcome.error and old > 0:  # what a store had there is something else now
        system.corrupt(plan.target, begin, old)
    if not outcome.error and plan.durable:
        outcome = system.fsync(plan.target, comm="dd")
        delay += outcome.delay_ns
    return _Moved(delay, 0 if outcome.error else size, ERROR_TEXTS.get(outcome.error, ""))


def _hollow(machine: Machine, plan: _Plan, size: int) -> _Moved:
    """A file made by hand: its size counts, and the drive is written at once."""
    tree, fits = NodeTree(machine), min(size, machine.room_at(plan.target))
    if machine.tmpfs_at(plan.target):
        tree.allocate(plan.target, fits)
        return _Moved(fits // 4, fits, ERROR_TEXTS["ENOSPC"] if fits < size else "")
    system = machine.files_at(plan.target)
    if system.disk.outage is not None and (answer := system.disk.write(system.start, 8)).failed:
        return _Moved(answer.delay_ns, 0, ERROR_TEXTS["EIO"])
    refused = system.refusal(0)
    if refused:
        return _Moved(0, 0, ERROR_TEXTS[refused])
    tree.allocate(plan.target, fits)
    took = system.disk.pass_over(max(8, fits // 512), sequential=True, write=True)
    delay = took if plan.direct or plan.durable else fits // 2
    return _Moved(delay, fits, ERROR_TEXTS["ENOSPC"] if fits < size else "")


TOOLS = {"dd": dd}
