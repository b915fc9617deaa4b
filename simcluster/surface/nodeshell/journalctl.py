"""journalctl: the node's journal by unit, time, priority, number of lines and text.

`-f` goes on until somebody presses Ctrl-C. Left out:
fields of its own (FIELD=VALUE matches but the common ones), boots other than the present one,
cursors, vacuuming.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from simcluster.engine import SECOND, format_rfc3339
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.regex import RegexError, compile_pattern
from simcluster.surface.nodeshell.clocktext import parse_instant, stamp, syslog_stamp
from simcluster.surface.protocols import Host, JournalEntry

_VALUED = {
    "-u": "unit", "--unit": "unit", "-t": "identifier", "--identifier": "identifier", "-S": "since",
    "--since": "since", "-U": "until", "--until": "until", "-g": "grep", "--grep": "grep", "-o": "output",
    "--output": "output", "-p": "priority", "--priority": "priority",
}  # fmt: skip
_ACCEPTED = (
    *("--no-pager", "-x", "-e", "-a", "-l", "-q", "-b", "-m", "--all", "--full", "--utc", "--catalog", "--pager-end"),
    *("--quiet", "--boot", "--no-hostname", "--case-sensitive", "--merge", "--no-full", "--system"),
)
_FORMS = ("short", "short-iso", "short-iso-precise", "short-precise", "short-monotonic", "short-full", "short-unix",
          "verbose", "export", "json", "json-pretty", "cat", "with-unit")  # fmt: skip
_PRIORITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
#: How often a follower looks, and what says that it follows on: after which line (of all, counted lost ones).
_POLL_NS, _AFTER = SECOND, "--after-line="
_MATCHES = {"_SYSTEMD_UNIT": "unit", "SYSLOG_IDENTIFIER": "identifier", "_PID": "pid", "PRIORITY": "level",
            "_TRANSPORT": "transport", "_COMM": "identifier"}  # fmt: skip


class _Wanted:
    """What the options ask for."""

    def __init__(self) -> None:
        self.units: list[str] = []
        self.values: dict[str, str] = {}
        self.matches: list[tuple[str, str]] = []
        self.count: int | None = None
        self.kernel = False
        self.reverse = False
        self.follow = False
        self.after: int | None = None  # lines that a follower has seen
        self.worst, self.least = 0, 7
        self.answer = ""
        self.problem = ""


def entry_line(host: Host, entry: JournalEntry) -> str:
    """`Mar 02 09:00:01 worker-1 kubelet[712]: text`."""
    return f"{syslog_stamp(entry.t_ns)} {_body(host, entry)}"


def _body(host: Host, entry: JournalEntry) -> str:
    process = f"[{entry.pid}]" if entry.pid else ""
    return f"{host.name} {entry.identifier}{process}: {entry.text}"


def level_of(entry: JournalEntry) -> int:
    """syslog's level of an entry; what has none is informational."""
    return int(getattr(entry, "priority", 6))


def run(host: Host, argv: Sequence[str], now_ns: int) -> Outcome:
    """Run `journalctl ARGS`; `now_ns` is what the node's clock shows."""
    wanted = _parse(argv[1:])
    if wanted.problem:
        return Outcome("", wanted.problem + "\n", 1)
    if wanted.answer == "vacuum":
        owner = getattr(getattr(host, "identity", None), "machine_id", "").replace("-", "")
        places = ("/run/log/journal", "/var/log/journal", f"/var/log/journal/{owner}")
        said = "".join(f"Vacuuming done, freed 0B of archived journals from {place}.\n" for place in places)
        return Outcome("", said)
    if wanted.answer:
        return Outcome(_about_journal(host, wanted.answer))
    bounds: dict[str, int] = {}
    for name in ("since", "until"):
        if name in wanted.values:
            instant = parse_instant(wanted.values[name], now_ns)
            if instant is None:
                return Outcome("", f"Failed to parse timestamp: {wanted.values[name]}\n", 1)
            bounds[name] = instant
    try:
        pattern = compile_pattern(wanted.values["grep"], "E") if "grep" in wanted.values else None
    except RegexError as error:
        return Outcome("", f'Bad pattern "{wanted.values["grep"]}": {error}\n', 1)
    lines = list(host.journal())
    seen = len(lines)
    entries = [entry for entry in lines[wanted.after or 0 :] if _fits(entry, wanted, bounds)]
    if pattern is not None:
        entries = [entry for entry in entries if pattern.search(entry.text)]
    if wanted.follow and wanted.count is None:
        wanted.count = 10
    if wanted.count is not None and wanted.after is None:
        entries = entries[-wanted.count :] if wanted.count else []
    if wanted.reverse:
        entries = entries[::-1]
    form = wanted.values.get("output", "short")
    text = "".join(_shown(host, entry, form) + "\n" for entry in entries)
    if wanted.follow:
        words = [word for word in argv if not word.startswith(_AFTER)]
        return Outcome(text, "", 0, _POLL_NS, then=(*words, f"{_AFTER}{seen}"))
    return Outcome(text or "-- No entries --\n")


def _about_journal(host: Host, what: str) -> str:
    """What is known about the journal itself."""
    entries = list(host.journal())
    if what == "usage":
        size = 8.0 + len(entries) * 0.0009
        return f"Archived and active journals take up {size:.1f}M in the file system.\n"
    boot = getattr(getattr(host, "identity", None), "boot_id", "").replace("-", "")
    first, last = (entries[0].t_ns, entries[-1].t_ns) if entries else (0, 0)
    head = f"{'IDX':<3} {'BOOT ID':<32} {'FIRST ENTRY':<27} LAST ENTRY\n"
    return f"{head}{0:3d} {boot:<32} {stamp(first):<27} {stamp(last)}\n"


def _shown(host: Host, entry: JournalEntry, form: str) -> str:
    text = format_rfc3339(entry.t_ns, digits=6)
    if form == "cat":
        return entry.text
    if form in ("json", "json-pretty"):
        return json.dumps(_fields(host, entry), indent="\t" if form == "json-pretty" else None,
                          separators=None if form == "json-pretty" else (",", ":"), ensure_ascii=False)  # fmt: skip
    if form in ("verbose", "export"):
        head = f"{stamp(entry.t_ns)[:-4]}.{text[20:26]} UTC\n" if form == "verbose" else ""
        indent = "    " if form == "verbose" else ""
        rows = [f"{indent}{name}={value}" for name, value in _fields(host, entry).items() if name[:2] != "__"]
        return head + "\n".join(rows) + ("\n" if form == "export" else "")
    body = _body(host, entry)
    if form.startswith("short-iso"):
        precise = form.endswith("precise")
        return f"{text[:26] if precise else text[:19]}+00:00 {body}" if precise else f"{text[:19]}+0000 {body}"
    if form == "short-precise":
        return f"{syslog_stamp(entry.t_ns)}.{text[20:26]} {body}"
    if form == "short-full":
        return f"{stamp(entry.t_ns)} {body}"
    if form == "short-unix":
        return f"{unix_seconds(entry.t_ns)}.{text[20:26]} {body}"
    if form == "short-monotonic":
        since = entry.t_ns - getattr(entry, "wrong_ns", 0)
        return f"[{since // 1_000_000_000:5d}.{since % 1_000_000_000 // 1000:06d}] {body}"
    if form == "with-unit":
        return f"{stamp(entry.t_ns)} {body.replace(entry.identifier, entry.unit or entry.identifier, 1)}"
    return f"{syslog_stamp(entry.t_ns)} {body}"


def _fields(host: Host, entry: JournalEntry) -> dict[str, str]:
    """The fields of an entry, as `-o json` has them."""
    identity = getattr(host, "identity", None)
    micros = str(unix_seconds(entry.t_ns) * 1_000_000 + entry.t_ns % 1_000_000_000 // 1000)
    kernel = entry.identifier == "kernel"
    found = {
        "__REALTIME_TIMESTAMP": micros,
        "_HOSTNAME": host.name,
        "_BOOT_ID": getattr(identity, "boot_id", "").replace("-", ""),
        "_MACHINE_ID": getattr(identity, "machine_id", ""),
        "_TRANSPORT": "kernel" if kernel else "stdout" if entry.unit and entry.identifier != "systemd" else "journal",
        "PRIORITY": str(level_of(entry)),
        "SYSLOG_FACILITY": "0" if kernel else "3",
        "SYSLOG_IDENTIFIER": entry.identifier,
    }
    if entry.pid:
        found["_PID"] = str(entry.pid)
    if entry.unit:
        found["UNIT" if entry.identifier == "systemd" else "_SYSTEMD_UNIT"] = entry.unit
    return {**found, "MESSAGE": entry.text}


def _parse(words: Sequence[str]) -> _Wanted:
    wanted = _Wanted()
    rest = list(words)
    while rest and not wanted.problem:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _VALUED or (word[:2] in _VALUED and not word.startswith("--")):
            if name not in _VALUED:
                name, value, equals = word[:2], word[2:], "="
            if not equals:
                value = rest.pop(0) if rest else ""
            _valued(wanted, _VALUED[name], value)
        elif name in ("-n", "--lines") or (word.startswith("-n") and word[2:].isdigit()):
            _count(wanted, rest, value or (word[2:] if word.startswith("-n") else ""))
        elif word in ("-f", "--follow"):
            wanted.follow = True
        elif word.startswith(_AFTER) and value.isdecimal() and len(value) < 12:
            wanted.after = int(value)
        elif word in ("-k", "--dmesg"):
            wanted.kernel = True
        elif word in ("-r", "--reverse"):
            wanted.reverse = True
        elif word in ("--disk-usage", "--list-boots"):
            wanted.answer = "usage" if word == "--disk-usage" else "boots"
        elif name in ("--vacuum-time", "--vacuum-size", "--vacuum-files"):
            wanted.answer = "vacuum"
            if not equals and rest:
                rest.pop(0)
        elif name in ("-b", "--boot"):
            _boot(wanted, rest, value)
        elif name in _MATCHES and equals:
            wanted.matches.append((_MATCHES[name], value))
        elif word not in _ACCEPTED and not _bundle(word, rest, wanted):
            wanted.problem = wanted.problem or _unknown(word)
    return wanted


def _valued(wanted: _Wanted, what: str, value: str) -> None:
    if what == "unit":
        wanted.units.append(value if "." in value else value + ".service")
    elif what == "priority":
        low, dots, high = value.partition("..")
        numbers = [_priority(text) for text in ([low, high] if dots else [low])]
        if any(number is None for number in numbers):
            wanted.problem = f"Unknown log level {value}"
            return
        wanted.worst = numbers[0] or 0 if dots else 0
        wanted.least = int(numbers[-1] or 0)
    elif what == "output" and value not in _FORMS:
        wanted.problem = f"Unknown output format '{value}'."
    else:
        wanted.values[what] = value


def _priority(text: str) -> int | None:
    if text.isdigit() and int(text) < 8:
        return int(text)
    text = {"warn": "warning", "error": "err"}.get(text, text)
    return _PRIORITIES.index(text) if text in _PRIORITIES else None


def _boot(wanted: _Wanted, rest: list[str], value: str) -> None:
    if not value and rest and (rest[0] == "all" or rest[0].lstrip("-+").isdigit()):
        value = rest.pop(0)
    if value.lstrip("-+").isdigit() and int(value) != 0:
        wanted.problem = f"Data from the specified boot ({value}) is not available: No such boot ID in journal"


def _bundle(word: str, rest: list[str], wanted: _Wanted) -> bool:
    """Letters written together, as in `-xeu kubelet`."""
    if not word.startswith("-") or word.startswith("--"):
        return False
    letters = word[1:]
    if not letters or any(letter not in "xealqbkrufn" for letter in letters) or "u" in letters[:-1]:
        return False
    wanted.follow = wanted.follow or "f" in letters
    wanted.kernel = wanted.kernel or "k" in letters
    wanted.reverse = wanted.reverse or "r" in letters
    if letters.endswith("u"):
        unit = rest.pop(0) if rest else ""
        wanted.units.append(unit if "." in unit else unit + ".service")
    elif letters.endswith("n"):
        _count(wanted, rest, "")
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
    if (wanted.worst, wanted.least) != (0, 7) and not wanted.worst <= level_of(entry) <= wanted.least:
        return False
    if not all(_matches(entry, what, value) for what, value in wanted.matches):
        return False
    return bounds.get("since", entry.t_ns) <= entry.t_ns <= bounds.get("until", entry.t_ns)


def _matches(entry: JournalEntry, what: str, value: str) -> bool:
    if what == "transport":
        return (entry.identifier == "kernel") == (value == "kernel")
    found = {"unit": entry.unit, "identifier": entry.identifier, "pid": str(entry.pid), "level": str(level_of(entry))}
    return found[what] == value
