"""journalctl: the node's journal by unit, time, number of lines and text.

Left out: following, priorities (everything the units write has the same), other output
formats than short, short-iso and cat, boots other than the present one.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine import format_rfc3339
from simcluster.surface.nodeshell.clocktext import parse_instant, syslog_stamp
from simcluster.surface.nodeshell.regex import RegexError, compile_pattern
from simcluster.surface.protocols import CommandResult, Host, JournalEntry

_VALUED = {
    "-u": "unit",
    "--unit": "unit",
    "-t": "identifier",
    "--identifier": "identifier",
    "-S": "since",
    "--since": "since",
    "-U": "until",
    "--until": "until",
    "-g": "grep",
    "--grep": "grep",
    "-o": "output",
    "--output": "output",
    "-p": "priority",
    "--priority": "priority",
}
_ACCEPTED = (
    "--no-pager",
    "-x",
    "-e",
    "-a",
    "-l",
    "-q",
    "-b",
    "-xe",
    "-ex",
    "--all",
    "--full",
    "--utc",
    "--catalog",
    "--pager-end",
    "--quiet",
    "--boot",
    "--no-hostname",
    "--case-sensitive",
)


class _Wanted:
    """What the options ask for."""

    def __init__(self) -> None:
        self.units: list[str] = []
        self.values: dict[str, str] = {}
        self.count: int | None = None
        self.kernel = False
        self.reverse = False
        self.problem = ""


def entry_line(host: Host, entry: JournalEntry) -> str:
    """`Mar 02 09:00:01 worker-1 kubelet[712]: text`."""
    process = f"[{entry.pid}]" if entry.pid else ""
    return f"{syslog_stamp(entry.t_ns)} {host.name} {entry.identifier}{process}: {entry.text}"


def run(host: Host, argv: Sequence[str], now_ns: int) -> CommandResult:
    """Run `journalctl ARGS`."""
    wanted = _parse(argv[1:])
    if wanted.problem:
        return CommandResult("", wanted.problem + "\n", 1)
    bounds: dict[str, int] = {}
    for name in ("since", "until"):
        if name in wanted.values:
            instant = parse_instant(wanted.values[name], now_ns)
            if instant is None:
                return CommandResult("", f"Failed to parse timestamp: {wanted.values[name]}\n", 1)
            bounds[name] = instant
    try:
        pattern = compile_pattern(wanted.values["grep"], "E") if "grep" in wanted.values else None
    except RegexError as error:
        return CommandResult("", f'Bad pattern "{wanted.values["grep"]}": {error}\n', 1)
    entries = [entry for entry in host.journal() if _fits(entry, wanted, bounds)]
    if pattern is not None:
        entries = [entry for entry in entries if pattern.search(entry.text)]
    if wanted.count is not None:
        entries = entries[-wanted.count :] if wanted.count else []
    if wanted.reverse:
        entries.reverse()
    if not entries:
        return CommandResult("-- No entries --\n")
    return CommandResult("".join(_shown(host, entry, wanted.values.get("output", "short")) + "\n" for entry in entries))


def _shown(host: Host, entry: JournalEntry, form: str) -> str:
    if form == "cat":
        return entry.text
    line = entry_line(host, entry)
    if form.startswith("short-iso"):
        text = format_rfc3339(entry.t_ns, digits=6 if form.endswith("precise") else 0)
        return text[:-1] + "+0000" + line[len(syslog_stamp(entry.t_ns)) :]
    return line


def _parse(words: Sequence[str]) -> _Wanted:
    wanted = _Wanted()
    rest = list(words)
    while rest and not wanted.problem:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _VALUED or word[:2] in _VALUED:
            if name not in _VALUED:
                name, value, equals = word[:2], word[2:], "="
            if not equals:
                value = rest.pop(0) if rest else ""
            if _VALUED[name] == "unit":
                wanted.units.append(value if "." in value else value + ".service")
            else:
                wanted.values[_VALUED[name]] = value
        elif name in ("-n", "--lines") or (word.startswith("-n") and word[2:].isdigit()):
            _count(wanted, rest, value or (word[2:] if word.startswith("-n") else ""))
        elif word in ("-f", "--follow", "-fu", "-xef"):
            wanted.problem = "journalctl: following (-f) needs a terminal, and there is none here; use -n or --since"
        elif word in ("-k", "--dmesg"):
            wanted.kernel = True
        elif word in ("-r", "--reverse"):
            wanted.reverse = True
        elif word in _ACCEPTED or name in ("-b", "--boot") or _bundle(word, rest, wanted):
            continue
        else:
            wanted.problem = _unknown(word)
    return wanted


def _bundle(word: str, rest: list[str], wanted: _Wanted) -> bool:
    """Letters written together, as in `-xeu kubelet`."""
    if not word.startswith("-") or word.startswith("--"):
        return False
    letters = word[1:]
    if not letters or any(letter not in "xealqbkru" for letter in letters) or "u" in letters[:-1]:
        return False
    wanted.kernel = wanted.kernel or "k" in letters
    wanted.reverse = wanted.reverse or "r" in letters
    if letters.endswith("u"):
        unit = rest.pop(0) if rest else ""
        wanted.units.append(unit if "." in unit else unit + ".service")
    return True


def _count(wanted: _Wanted, rest: list[str], value: str) -> None:
    if not value and rest and (rest[0].isdigit() or rest[0] == "all"):
        value = rest.pop(0)
    if value and value != "all" and not value.isdigit():
        wanted.problem = f"Failed to parse lines '{value}'"
    elif value != "all":
        wanted.count = int(value) if value else 10


def _unknown(word: str) -> str:
    if word.startswith("--"):
        return f"journalctl: unrecognized option '{word}'"
    if word.startswith("-"):
        return f"journalctl: invalid option -- '{word[1:2]}'"
    return f"Failed to add match '{word}': Invalid argument"


def _fits(entry: JournalEntry, wanted: _Wanted, bounds: dict[str, int]) -> bool:
    if wanted.units and entry.unit not in wanted.units:
        return False
    if wanted.kernel and entry.identifier != "kernel":
        return False
    if "identifier" in wanted.values and entry.identifier != wanted.values["identifier"]:
        return False
    if entry.t_ns < bounds.get("since", entry.t_ns):
        return False
    return entry.t_ns <= bounds.get("until", entry.t_ns)
