"""`ps`: the processes of a node. Format: procps-ng 4.0.4 (Ubuntu 24.04).

Left out: threads (-L), security labels, output formats that nobody asks for. `pstree` (psmisc 23.7) shows the tree.
"""

from __future__ import annotations

from typing import Any

from simcluster.engine import MINUTE, SECOND, format_rfc3339
from simcluster.engine.clock import DAY, HOUR, month_name, weekday
from simcluster.models.machine.kernel.proctable import Process, processes
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

_USAGE = (
    "\nUsage:\n ps [options]\n\n Try 'ps --help <simple|list|output|threads|misc|all>'\n"
    "  or 'ps --help <s|l|o|t|m|a>'\n for additional help text.\n\nFor more details see ps(1).\n"
)
#: Column -> heading, width (negative: to the left; 0: the rest of the line).
_COLUMNS: dict[str, tuple[str, int]] = {
    "pid": ("PID", 7), "ppid": ("PPID", 7), "user": ("USER", -8), "uid": ("UID", -8), "comm": ("COMMAND", -15),
    "args": ("COMMAND", 0), "cmd": ("CMD", 0), "pcpu": ("%CPU", 4), "pmem": ("%MEM", 4), "vsz": ("VSZ", 6),
    "rss": ("RSS", 5), "tty": ("TTY", -8), "stat": ("STAT", -4), "s": ("S", -1), "start": ("START", 5),
    "stime": ("STIME", 5), "time": ("TIME", 8), "bsdtime": ("TIME", 6), "etime": ("ELAPSED", 11),
    "etimes": ("ELAPSED", 7), "nlwp": ("NLWP", 4), "ni": ("NI", 3), "pri": ("PRI", 3), "c": ("C", 2),
    "lstart": ("STARTED", 24), "wchan": ("WCHAN", -6), "psr": ("PSR", 3),
}  # fmt: skip
_ALIASES = {"%cpu": "pcpu", "%mem": "pmem", "command": "args", "cputime": "time", "rssize": "rss", "vsize": "vsz",
            "uname": "user", "euser": "user", "ucmd": "comm", "tname": "tty", "state": "s", "nice": "ni",
            "thcount": "nlwp", "start_time": "stime", "bsdstart": "start", "rsz": "rss"}  # fmt: skip
_USER_FORMAT = ("user", "pid", "pcpu", "pmem", "vsz", "rss", "tty", "stat", "start", "bsdtime", "args")
_FULL = ("uid", "pid", "ppid", "c", "stime", "tty", "time", "cmd")
_PLAIN = ("pid", "tty", "time", "comm")
_BSD = ("pid", "tty", "stat", "bsdtime", "args")
#: Where in the kernel a task of a state most likely sleeps.
_WAITS = {"D": "folio_wait_bit_common", "S": "do_epoll_wait", "Z": "-"}


class _Asked:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.every = False
        self.columns: tuple[str, ...] = ()
        self.titles: dict[str, str] = {}
        self.widths: dict[str, int] = {}
        self.forest = self.bsd = False
        self.sort: list[str] = []
        self.only: dict[str, list[str]] = {}
        self.headed = True
        self.wide = False
        self.problem = ""


def ps(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """ps [-e|aux] [-f|-o COLUMNS] [--sort KEYS] [-p PIDS] [-C NAMES] [-u USERS]."""
    asked = _parse(args)
    if asked.problem:
        return Outcome("", f"error: {asked.problem}\n{_USAGE}", 1)
    found = processes(machine) if asked.every or asked.only else _session(machine)
    for kind, values in asked.only.items():
        found = [one for one in found if _is_one_of(one, kind, values)]
    for key in reversed(asked.sort):
        column = key.lstrip("+-")
        found = sorted(found, key=_Key(machine, column), reverse=key.startswith("-"))
    marks: dict[int, str] = {}
    if asked.forest:
        found, marks = _tree(found)
    columns = asked.columns or (_BSD if asked.bsd else _PLAIN)
    titles = {**asked.titles, **({} if asked.columns else {"comm": "CMD"})}
    widths = asked.widths
    lines = [_line([titles.get(c, _COLUMNS[c][0]) for c in columns], columns, widths)] if asked.headed else []
    for one in found:
        cells = [marks.get(one.pid, "") * (c in ("args", "cmd", "comm")) + _cell(machine, one, c) for c in columns]
        lines.append(_line(cells, columns, widths))
    return Outcome("".join(lines), "", 0 if found else 1)


def _session(machine: Machine) -> list[Process]:
    """What belongs to the terminal: the shell and ps itself."""
    pid, now = machine.units.last_pid + 3, machine.sim.now
    return [
        Process(pid, 1, "root", "bash", "-bash", resident=5 << 20, started_ns=now),
        Process(pid + 1, pid, "root", "ps", "ps", "R", resident=4 << 20, started_ns=now),
    ]


def _parse(args: list[str]) -> _Asked:
    asked, words = _Asked(), list(args)
    while words and not asked.problem:
        word = words.pop(0)
        if word.startswith("--"):
            _long(asked, word, words)
        elif word.startswith("-") and len(word) > 1:
            _unix(asked, word[1:], words)
        elif word.replace(",", "").isdigit():
            asked.only["p"] = [*asked.only.get("p", []), *word.split(",")]
        else:
            _bsd(asked, word, words)
    return asked


def _long(asked: _Asked, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    if name in ("no-headers", "no-heading", "noheader", "noheaders", "no-header"):
        asked.headed = False
        return
    if name == "forest":
        asked.forest = True
        return
    if name not in ("sort", "format", "pid", "user", "ppid"):
        asked.problem = "unknown gnu long option"
        return
    value = value if equals else words.pop(0) if words else ""
    if name == "sort":
        _sorted(asked, value)
    elif name == "format":
        _format(asked, value)
    else:
        asked.only[{"pid": "p", "user": "u", "ppid": "P"}[name]] = value.split(",")


def _unix(asked: _Asked, letters: str, words: list[str]) -> None:
    while letters and not asked.problem:
        letter, letters = letters[0], letters[1:]
        if letter in "eA":
            asked.every = True
        elif letter == "f":
            asked.columns = _FULL
        elif letter == "w":
            asked.wide = True
        elif letter == "H":
            asked.forest = True
        elif letter in "opCu":
            value, letters = letters or (words.pop(0) if words else ""), ""
            if not value:
                asked.problem = (
                    "format specification must follow -o" if letter == "o" else "list of process IDs must follow -p"
                )
            elif letter == "o":
                _format(asked, value)
            else:
                asked.only[letter] = value.split(",")
        else:
            asked.problem = "unsupported SysV option"


def _bsd(asked: _Asked, letters: str, words: list[str]) -> None:
    asked.bsd = True
    for number, letter in enumerate(letters):
        if letter in "ax":
            asked.every = True
        elif letter == "u":
            asked.columns = _USER_FORMAT
        elif letter == "w":
            asked.wide = True
        elif letter == "o":
            _format(asked, letters[number + 1 :] or (words.pop(0) if words else ""))
            return
        elif letter == "h":
            asked.headed = False
        elif letter == "f":
            asked.forest = True
        else:
            asked.problem = "unsupported option (BSD syntax)"


def _format(asked: _Asked, text: str) -> None:
    for part in text.replace(" ", ",").split(","):
        name, equals, title = part.partition("=")
        name, _, width = name.partition(":")
        column = _ALIASES.get(name, name)
        if column not in _COLUMNS:
            asked.problem = f'unknown user-defined format specifier "{name}"'
            return
        asked.columns += (column,)
        if width.isdigit():
            asked.widths[column] = int(width)
        if equals:
            asked.titles[column] = title
    if asked.titles and not any(asked.titles.values()) and len(asked.titles) == len(asked.columns):
        asked.headed = False


def _sorted(asked: _Asked, text: str) -> None:
    for part in text.split(","):
        sign, name = ("-" if part.startswith("-") else ""), part.lstrip("+-")
        column = _ALIASES.get(name, name)
        if column not in _COLUMNS:
            asked.problem = "unknown sort specifier"
            return
        asked.sort.append(sign + column)


def _is_one_of(one: Process, kind: str, values: list[str]) -> bool:
    return {"p": str(one.pid), "C": one.comm, "u": one.user, "P": str(one.ppid)}[kind] in values


class _Key:
    """Sorts processes by one column."""

    def __init__(self, machine: Machine, column: str) -> None:
        self._machine = machine
        self._column = column

    def __call__(self, one: Process) -> Any:
        column = self._column
        numbers: dict[str, float] = {
            "pid": one.pid, "ppid": one.ppid, "pmem": one.resident, "rss": one.resident, "vsz": one.resident,
            "time": one.cpu_ns, "bsdtime": one.cpu_ns, "start": one.started_ns, "stime": one.started_ns,
            "etime": -one.started_ns, "etimes": -one.started_ns, "nlwp": one.threads,
            "pcpu": _percent(self._machine, one),
        }  # fmt: skip
        return numbers[column] if column in numbers else _cell(self._machine, one, column)


def _percent(machine: Machine, one: Process) -> float:
    """CPU time over the life of the process, as ps has it."""
    return 100.0 * one.cpu_ns / max(SECOND, machine.sim.now - one.started_ns)


def _tree(found: list[Process]) -> tuple[list[Process], dict[int, str]]:
    """The processes with children below their parents, and what stands before the name of each."""
    known = {one.pid: None for one in found}
    below: dict[int, list[Process]] = {}
    for one in found:
        below.setdefault(one.ppid if one.ppid in known and one.ppid != one.pid else 0, []).append(one)
    ordered, marks = [], {}
    waiting = [(one, "") for one in reversed(below.get(0, []))]
    while waiting:
        one, lead = waiting.pop()
        ordered.append(one)
        marks[one.pid] = lead
        deeper = lead.replace("\\_ ", "|   ", 1) if lead else " "
        waiting += [(child, f"{deeper}\\_ ") for child in reversed(below.get(one.pid, []))]
    return ordered, marks


def pstree(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """pstree [-p] [-a] [PID]: the tree of processes."""
    letters = "".join(arg[1:] for arg in args if arg.startswith("-"))
    words = [arg for arg in args if not arg.startswith("-")]
    if any(letter not in "paAlu" for letter in letters):
        return Outcome("", f"pstree: invalid option -- '{letters[:1]}'\n", 1)
    everything = [one for one in processes(machine) if not one.args.startswith("[") or one.state == "Z"]
    top = int(words[0]) if words and words[0].isdigit() else 1
    below: dict[int, list[Process]] = {}
    for one in everything:
        below.setdefault(one.ppid, []).append(one)
    root = next((one for one in everything if one.pid == top), None)
    if root is None:
        return Outcome("", "", 1)
    lines: list[str] = []
    _branch(root, below, "", "", "p" in letters, lines)
    return Outcome("".join(line + "\n" for line in lines))


def _branch(one: Process, below: dict[int, list[Process]], lead: str, first: str, pids: bool, lines: list[str]) -> None:
    """A process and what is below it; childless ones of one name are counted together unless PIDs are shown."""
    name = f"{one.comm}({one.pid})" if pids else one.comm
    children = below.get(one.pid, [])
    groups: dict[str, list[Process]] = {}
    for child in children:
        alone = pids or child.pid in below or child.threads > 1
        groups.setdefault(f"{child.comm}/{child.pid}" if alone else child.comm, []).append(child)
    lines.append(f"{lead}{first}{name}")
    inner = lead + ("" if not first else "   " if first[0] == "└" else "│  ")
    for number, group in enumerate(groups.values()):
        mark = "└─" if number == len(groups) - 1 else "├─"
        if len(group) > 1:
            lines.append(f"{inner}{mark}{len(group)}*[{group[0].comm}]")
        else:
            _branch(group[0], below, inner, mark, pids, lines)


def _line(cells: list[str], columns: tuple[str, ...], widths: dict[str, int]) -> str:
    shown = []
    for number, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        width = _COLUMNS[column][1]
        if column in widths:
            width = widths[column] if width > 0 else -widths[column]
            cell = cell[: widths[column]]
        last = number == len(columns) - 1
        if width == 0 and not last:
            width = -27
        shown.append(cell if last and width <= 0 else f"{cell:>{width}}" if width > 0 else f"{cell:<{-width}}")
    return " ".join(shown).rstrip() + "\n"


def _cell(machine: Machine, one: Process, column: str) -> str:
    now, threads = machine.sim.now, one.args.startswith("[")
    kib = one.resident >> 10
    if column in ("pid", "ppid"):
        return str(one.pid if column == "pid" else one.ppid)
    if column in ("user", "uid"):
        return one.user
    if column in ("comm", "args", "cmd"):
        return one.comm if column == "comm" else one.args
    if column == "pcpu":
        return f"{_percent(machine, one):.1f}"
    if column == "pmem":
        return f"{100.0 * one.resident / machine.memory_bytes:.1f}"
    if column in ("vsz", "rss"):
        return str(0 if threads else kib * 3 + 700_000 if column == "vsz" else kib)
    if column in ("time", "bsdtime"):
        return _time(one.cpu_ns, column)
    if column in ("etime", "etimes"):
        return _elapsed(now - one.started_ns) if column == "etime" else str((now - one.started_ns) // SECOND)
    if column in ("start", "stime", "lstart"):
        return _began(one.started_ns + machine.os.clock.offset_ns(), now + machine.os.clock.offset_ns(), column)
    fixed = {
        "tty": "pts/0" if one.args in ("-bash", "ps") else "?", "s": one.state, "wchan": _WAITS.get(one.state, "-"),
        "stat": one.state + ("s" if one.ppid == 1 and not threads else "") + ("l" if one.threads > 1 else ""),
        "nlwp": str(one.threads), "ni": str(one.nice), "pri": "19", "c": str(min(99, int(_percent(machine, one)))),
        "psr": str(one.pid % machine.cpu_cores),
    }  # fmt: skip
    return fixed[column]


def _time(cpu_ns: int, column: str) -> str:
    seconds = cpu_ns // SECOND
    if column == "bsdtime":
        return f"{seconds // 60}:{seconds % 60:02d}"
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def _elapsed(span_ns: int) -> str:
    days, rest = span_ns // DAY, span_ns % DAY
    hours, minutes, seconds = rest // HOUR, rest % HOUR // MINUTE, rest % MINUTE // SECOND
    if days:
        return f"{days}-{hours:02d}:{minutes:02d}:{seconds:02d}"
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"


def _began(began_ns: int, now_ns: int, column: str) -> str:
    text = format_rfc3339(began_ns)
    month = month_name(int(text[5:7]))
    if column == "lstart":
        return f"{weekday(began_ns)} {month} {int(text[8:10]):2d} {text[11:19]} {text[:4]}"
    return text[11:16] if now_ns - began_ns < DAY else f"{month}{text[8:10]}"


TOOLS = {"ps": ps, "pstree": pstree}
