"""`df`: how full file systems are, in bytes (-h, -k, -m, -T) or inodes (-i). Format: coreutils 9.4."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine.hosttools import pseudomounts
from simcluster.models.machine.hosttools.pseudomounts import PseudoMount
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.storage import FileSystem
from simcluster.models.userland.outcome import Outcome

_WITH_VALUE = ("-t", "--type", "-x", "--exclude-type")
#: Sizes of blocks, and the letter by which they go here; with a unit alone amounts carry it.
_BLOCKS = {"1": "1", "K": "k", "1K": "k", "1024": "k", "M": "M", "1M": "m", "G": "G", "1G": "g"}


def df(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """df: all mounted file systems, or those of the paths."""
    letters, columns = "", ""
    paths: list[str] = []
    only: list[str] = []
    but: list[str] = []
    rest = iter(args)
    for arg in rest:
        name, equals, value = arg.partition("=")
        if name.startswith("-B") or name == "--block-size":
            size = name[2:] if len(name) > 2 and name[1] == "B" else value if equals else next(rest, "")
            if size not in _BLOCKS:
                return Outcome("", f"df: invalid -B argument '{size}'\n", 1)
            letters += _BLOCKS[size]
        elif name in _WITH_VALUE:
            value = value if equals else next(rest, "")
            (only if name in ("-t", "--type") else but if name in ("-x", "--exclude-type") else []).append(value)
        elif name == "--output":
            columns = value or "source,fstype,itotal,iused,iavail,ipcent,size,used,avail,pcent,target"
        elif arg.startswith("--"):
            letters += {"--inodes": "i", "--human-readable": "h", "--print-type": "T"}.get(arg, "")
        elif arg.startswith("-"):
            letters += arg[1:]
        else:
            paths.append(arg)
    problems: list[str] = []
    systems = _asked(machine, paths, problems) if paths else _all(machine)
    systems = [each for each in systems if (not only or _kind(each) in only) and _kind(each) not in but]
    if not systems:
        none = [] if problems else ["df: no file systems processed\n"]
        return Outcome("", "".join(problems + none), 1)
    if columns:
        return Outcome(_chosen(systems, columns.split(","), letters), "".join(problems), 1 if problems else 0)
    rows = [_row(system, letters) for system in systems]
    return Outcome(_table(_heads(letters), rows, "T" in letters), "".join(problems), 1 if problems else 0)


def _all(machine: Machine) -> list[FileSystem | PseudoMount]:
    """All that have a size, in the order in which they were mounted."""
    mounted: list[FileSystem | PseudoMount] = list(machine.mounts)
    found: list[FileSystem | PseudoMount] = [
        *pseudomounts.before_root(machine),
        *mounted[:1],
        *pseudomounts.after_root(machine),
        *mounted[1:],
    ]
    found += pseudomounts.of_pods(machine)
    return [each for each in found if isinstance(each, FileSystem) or each.size_bytes]


def _asked(machine: Machine, paths: list[str], problems: list[str]) -> list[FileSystem | PseudoMount]:
    """The file systems on which paths lie."""
    tree = NodeTree(machine)
    made_up = [each for each in _all(machine) if isinstance(each, PseudoMount)]
    found: list[FileSystem | PseudoMount] = []
    for path in paths:
        device = machine.mounts.on(path) if path.startswith("/dev/") else None
        place = tree.place(path)
        point = machine.tmpfs_at(place)
        named = next((each for each in made_up if place == each.point or path == each.source), None)
        pseudo = named or next((each for each in made_up if each.point == point), None)
        if device is None and named is None and not tree.exists(path):
            problems.append(f"df: {path}: No such file or directory\n")
        else:
            found.append(device or pseudo or machine.files_at(place))
    return found


def _kind(system: FileSystem | PseudoMount) -> str:
    return "ext4" if isinstance(system, FileSystem) else system.kind


_CHOSEN = {"source": 0, "fstype": 1, "size": 2, "used": 3, "avail": 4, "pcent": 5, "target": 6,
           "itotal": 2, "iused": 3, "iavail": 4, "ipcent": 5, "file": 6}  # fmt: skip
_TITLES = {"source": "Filesystem", "fstype": "Type", "size": "1K-blocks", "used": "Used", "avail": "Avail",
           "pcent": "Use%", "target": "Mounted on", "itotal": "Inodes", "iused": "IUsed", "iavail": "IFree",
           "ipcent": "IUse%", "file": "File"}  # fmt: skip


def _chosen(systems: list[FileSystem | PseudoMount], names: list[str], letters: str) -> str:
    """`df --output=NAMES`."""
    rows = [[_TITLES.get(name, name) for name in names]]
    if set(letters) & set("hH"):
        rows = [[title.replace("1K-blocks", "Size") for title in rows[0]]]
    elif _blocks(letters):
        rows = [[title.replace("1K-blocks", _blocks(letters)) for title in rows[0]]]
    for system in systems:
        usual, inodes = _row(system, letters.replace("i", "") + "T"), _row(system, letters + "iT")
        rows.append([(inodes if name[0] == "i" else usual)[_CHOSEN.get(name, 6)] for name in names])
    widths = [max(len(row[at]) for row in rows) for at in range(len(names))]
    left = ("source", "fstype", "target", "file")
    lines = []
    for row in rows:
        cells = zip(row, widths, names, strict=True)
        lines.append(" ".join(cell.ljust(w) if name in left else cell.rjust(w) for cell, w, name in cells))
    return "".join(line.rstrip() + "\n" for line in lines)


def _heads(letters: str) -> list[str]:
    kind = ["Type"] if "T" in letters else []
    if "i" in letters:
        return ["Filesystem", *kind, "Inodes", "IUsed", "IFree", "IUse%", "Mounted on"]
    if "h" in letters or "H" in letters:
        return ["Filesystem", *kind, "Size", "Used", "Avail", "Use%", "Mounted on"]
    unit = _blocks(letters) or "1K-blocks"
    return ["Filesystem", *kind, unit, "Used", "Available", "Use%", "Mounted on"]


def _row(system: FileSystem | PseudoMount, letters: str) -> list[str]:
    kind = [_kind(system)] if "T" in letters else []
    if isinstance(system, FileSystem):
        usage = system.usage()
        name, point = f"/dev/{system.device}", system.mount_point
        inodes, free = usage.total_inodes, usage.free_inodes
        amounts = (usage.total_bytes, usage.used_bytes, usage.available_bytes)
    else:
        name, point = system.source, system.point
        inodes = 0 if system.kind == "vfat" else max(1, system.size_bytes >> 12)
        free = max(0, inodes - (system.used_bytes >> 12) - 1)
        left = max(0, system.size_bytes - system.used_bytes - system.kept_bytes)
        amounts = (system.size_bytes, system.used_bytes, left)
    if "i" in letters:
        used = inodes - free if inodes else 0
        cells = [_count(n, letters) for n in (inodes, used, free if inodes else 0)]
        return [name, *kind, *cells, f"{-(-100 * used // inodes)}%" if inodes else "-", point]
    percent = -(-100 * amounts[1] // max(1, amounts[1] + amounts[2]))
    shape = _human if "h" in letters or "H" in letters else _SHAPES.get(_unit(letters), _kibi)
    return [name, *kind, *(shape(amount) if amount else "0" for amount in amounts), f"{percent}%", point]


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


def _gibi(amount: int) -> str:
    return str(-(-amount >> 30))


def _mebi_said(amount: int) -> str:
    return f"{_mebi(amount)}M"


def _gibi_said(amount: int) -> str:
    return f"{_gibi(amount)}G"


_SHAPES: dict[str, Callable[[int], str]] = {"1": str, "m": _mebi, "M": _mebi_said, "g": _gibi, "G": _gibi_said}


def _unit(letters: str) -> str:
    """The letter of the size of blocks, if it is another than usual."""
    return next((letter for letter in reversed(letters) if letter in _SHAPES), "")


def _blocks(letters: str) -> str:
    """The head of the column of sizes, if it is another than usual."""
    unit = _unit(letters)
    return f"1{unit.upper() if unit != '1' else 'B'}-blocks" if unit else ""


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
