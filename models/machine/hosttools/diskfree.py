"""`df`: how full file systems are, in bytes (-h, -k, -m, -T) or inodes (-i). Format: coreutils 9.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.program import ExecResult
from simcluster.models.machine.storage import FileSystem

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine


def df(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    """df: all mounted file systems, or those of the paths."""
    letters = "".join(arg[1:] for arg in args if arg.startswith("-") and not arg.startswith("--"))
    letters += "i" if "--inodes" in args else ""
    paths = [arg for arg in args if not arg.startswith("-")]
    problems, systems = [], list(machine.mounts)
    if paths:
        systems = []
        for path in paths:
            device = machine.mounts.on(path) if path.startswith("/dev/") else None
            if device is None and not machine.files.exists(path) and not _stored(machine, path):
                problems.append(f"df: {path}: No such file or directory\n")
                continue
            systems.append(device or machine.files_at(path))
    if not systems:
        return ExecResult("", "".join(problems), 1)
    rows = [_row(system, letters) for system in systems]
    return ExecResult(_table(_heads(letters), rows, "T" in letters), "".join(problems), 1 if problems else 0)


def _stored(machine: Machine, path: str) -> bool:
    system = machine.files_at(path)
    return system.exists(path) or system.mount_point == path or bool(system.files_below(path))


def _heads(letters: str) -> list[str]:
    kind = ["Type"] if "T" in letters else []
    if "i" in letters:
        return ["Filesystem", *kind, "Inodes", "IUsed", "IFree", "IUse%", "Mounted on"]
    if "h" in letters or "H" in letters:
        return ["Filesystem", *kind, "Size", "Used", "Avail", "Use%", "Mounted on"]
    unit = "1M-blocks" if "m" in letters else "1K-blocks"
    return ["Filesystem", *kind, unit, "Used", "Available", "Use%", "Mounted on"]


def _row(system: FileSystem, letters: str) -> list[str]:
    usage = system.usage()
    kind = ["ext4"] if "T" in letters else []
    name = f"/dev/{system.device}"
    if "i" in letters:
        used = usage.total_inodes - usage.free_inodes
        cells = [_count(n, letters) for n in (usage.total_inodes, used, usage.free_inodes)]
        return [name, *kind, *cells, f"{-(-100 * used // usage.total_inodes)}%", system.mount_point]
    percent = -(-100 * usage.used_bytes // max(1, usage.used_bytes + usage.available_bytes))
    amounts = (usage.total_bytes, usage.used_bytes, usage.available_bytes)
    shape = _human if "h" in letters or "H" in letters else _mebi if "m" in letters else _kibi
    return [name, *kind, *(shape(amount) for amount in amounts), f"{percent}%", system.mount_point]


def _count(number: int, letters: str) -> str:
    if "h" not in letters:
        return str(number)
    for unit, name in ((1_000_000, "M"), (1_000, "K")):
        if number >= unit:
            tenths = -(-number * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{-(-number // unit)}{name}"
    return str(number)


def _kibi(amount: int) -> str:
    return str(amount >> 10)


def _mebi(amount: int) -> str:
    return str(-(-amount >> 20))


def _human(amount: int) -> str:
    """As `df -h` rounds: up, with one digit below ten."""
    for unit, name in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M")):
        if amount >= unit:
            tenths = -(-amount * 10 // unit)
            return f"{tenths // 10}.{tenths % 10}{name}" if tenths < 100 else f"{-(-amount // unit)}{name}"
    return f"{-(-amount >> 10)}K"


def _table(heads: list[str], rows: list[list[str]], typed: bool) -> str:
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    widths[0] = max(14, widths[0])
    left = (0, 1) if typed else (0,)
    for i in range(len(heads) - 2):
        if i not in left:
            widths[i] = max(widths[i], 5)
    lines = []
    for row in (heads, *rows):
        cells = [cell.ljust(widths[i]) if i in left else cell.rjust(widths[i]) for i, cell in enumerate(row[:-1])]
        lines.append(" ".join([*cells, row[-1]]))
    return "\n".join(lines) + "\n"


TOOLS = {"df": df}
