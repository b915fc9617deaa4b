"""`ulimit`: what a shell and what it starts may use. Formats: bash 5.2, BusyBox 1.35, dash 0.5.12.

A limit that is set holds for the shell and for what it starts. Of what limits forbid, open files alone act,
in containers, where the kernel counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.userland.place import Place

#: (soft, hard) as /proc/PID/limits shows them, by the letter of the option.
Limits = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class _Row:
    """Letter; name and unit of bash, name of BusyBox and dash ("": none); row of /proc/PID/limits; bytes a unit."""

    letter: str
    bash: str
    unit: str
    ash: str
    dash: str
    source: str
    scale: int = 1


#: In the order of bash; what has no row there is fixed.
_ROWS = (
    _Row("R", "real-time non-blocking time", "microseconds, ", "", "", "Max realtime timeout"),
    _Row("c", "core file size", "blocks, ", "core file size (blocks)", "coredump(blocks)", "Max core file size", 512),
    _Row("d", "data seg size", "kbytes, ", "data seg size (kb)", "data(kbytes)", "Max data size", 1024),
    _Row("e", "scheduling priority", "", "scheduling priority", "", "Max nice priority"),
    _Row("f", "file size", "blocks, ", "file size (blocks)", "file(blocks)", "Max file size", 512),
    _Row("i", "pending signals", "", "pending signals", "", "Max pending signals"),
    _Row(
        "l",
        "max locked memory",
        "kbytes, ",
        "max locked memory (kb)",
        "locked memory(kbytes)",
        "Max locked memory",
        1024,
    ),
    _Row("m", "max memory size", "kbytes, ", "max memory size (kb)", "memory(kbytes)", "Max resident set", 1024),
    _Row("n", "open files", "", "open files", "nofiles", "Max open files"),
    _Row("p", "pipe size", "512 bytes, ", "", "", "=8"),
    _Row("q", "POSIX message queues", "bytes, ", "POSIX message queues (bytes)", "", "Max msgqueue size"),
    _Row("r", "real-time priority", "", "real-time priority", "rtprio", "Max realtime priority"),
    _Row("s", "stack size", "kbytes, ", "stack size (kb)", "stack(kbytes)", "Max stack size", 1024),
    _Row("t", "cpu time", "seconds, ", "cpu time (seconds)", "time(seconds)", "Max cpu time"),
    _Row("u", "max user processes", "", "max user processes", "process", "Max processes"),
    _Row("v", "virtual memory", "kbytes, ", "virtual memory (kb)", "vmemory(kbytes)", "Max address space", 1024),
    _Row("x", "file locks", "", "file locks", "locks", "Max file locks"),
)
_DASH_ORDER = "tfdscmlpnvwr"


def ulimit(place: Place, words: list[str], own: Limits, *, lasts: bool) -> Outcome:
    """Run `ulimit WORDS` of a shell whose limits are `own` above those of its place; what is set is put there."""
    shell = place.face.shell
    flags = "".join(word[1:] for word in words if word[:1] == "-" and len(word) > 1)
    values = [word for word in words if word[:1] != "-"]
    letters = flags.replace("S", "").replace("H", "")
    rows = {row.letter: row for row in _ROWS if getattr(row, shell)}
    if shell == "dash":
        rows = {("p" if letter == "u" else "w" if letter == "x" else letter): row for letter, row in rows.items()}
        rows = {letter: rows[letter] for letter in _DASH_ORDER if letter in rows}
    wrong = next((letter for letter in letters if letter != "a" and letter not in rows), "")
    if wrong:
        usage = "\nulimit: usage: ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]" if shell == "bash" else ""
        said = {"bash": f"-{wrong}: invalid option{usage}", "ash": f"invalid option -- '{wrong}'"}
        return Outcome(stderr=said.get(shell, f"Illegal option -{wrong}") + "\n", code=1 if shell == "ash" else 2)
    text = place.limits()
    hard = "H" in flags and "S" not in flags
    if "a" in letters:
        return Outcome("".join(_line(row, shell, _shown(row, text, own, hard=hard)) for row in rows.values()))
    chosen = [rows[letter] for letter in letters or "f"]
    if values:
        return _set(place, chosen[-1], values[0], flags, own, lasts=lasts)
    if len(chosen) == 1:
        return Outcome(_shown(chosen[0], text, own, hard=hard) + "\n")
    return Outcome("".join(_line(row, shell, _shown(row, text, own, hard=hard)) for row in chosen))


def with_soft(text: str, source: str, soft: str) -> str:
    """The text of /proc/PID/limits with another soft limit in one row."""
    lines = text.split("\n")
    return "\n".join(line[:26] + f"{soft:<21}" + line[47:] if line.startswith(source) else line for line in lines)


def _line(row: _Row, shell: str, value: str) -> str:
    if shell == "bash":
        heading = f"({row.unit}-{row.letter})"
        return f"{row.bash:<20} {heading:>19} {value}\n"
    return f"{row.ash:<32}(-{row.letter}) {value}\n" if shell == "ash" else f"{row.dash:<20} {value}\n"


def _pair(row: _Row, text: str, own: Limits) -> tuple[str, str]:
    """Soft and hard, as /proc/PID/limits has them."""
    if row.letter in own:
        return own[row.letter]
    line = next((line for line in text.splitlines() if line.startswith(row.source)), "")
    soft, hard = line[26:47].strip(), line[47:68].strip()
    return soft or row.source.partition("=")[2] or "unlimited", hard or soft or "unlimited"


def _shown(row: _Row, text: str, own: Limits, *, hard: bool) -> str:
    value = _pair(row, text, own)[hard]
    return str(int(value) // row.scale) if value.isdigit() else value


def _set(place: Place, row: _Row, value: str, flags: str, own: Limits, *, lasts: bool) -> Outcome:
    shell = place.face.shell
    soft, hard = _pair(row, place.limits(), own)
    named = {"unlimited": "unlimited", **({"soft": soft, "hard": hard} if shell == "bash" else {})}
    if value not in named and not (value.isascii() and value.isdigit() and len(value) < 20):
        said = {"bash": f"{value}: invalid number", "ash": f"invalid number '{value}'"}
        return Outcome(stderr=said.get(shell, f"bad number: {value}") + "\n", code=1 if shell != "dash" else 2)
    wanted = named.get(value) or str(int(value) * row.scale)
    both = "S" not in flags and "H" not in flags
    raised = hard != "unlimited" and (wanted == "unlimited" or int(wanted) > int(hard))
    above = "H" not in flags and not both and raised  # a soft limit is never above the hard one
    if above or place.limited(row.letter, wanted, raised=raised, lasts=lasts):
        why = "Invalid argument" if above else "Operation not permitted"
        said = {"bash": f"{row.bash}: cannot modify limit: {why}", "ash": f"error setting limit: {why}"}
        return Outcome(stderr=said.get(shell, f"error setting limit ({why})") + "\n", code=2 if shell == "dash" else 1)
    own[row.letter] = (wanted if both or "S" in flags else soft, wanted if both or "H" in flags else hard)
    return Outcome()
