"""systemctl: the state of units and changes of it.

Left out: dependencies, timers of one's own, properties beyond those of `show` that scripts ask for, of `set-property`
all but CPUWeight, which are refused as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine import SECOND
from simcluster.models.userland.outcome import Outcome
from simcluster.surface.nodeshell.clocktext import ago, stamp
from simcluster.surface.nodeshell.journalctl import entry_line
from simcluster.surface.protocols import Host, Unit

#: Lines of the journal under `systemctl status`.
_STATUS_LINES = 10
#: Options that have a meaning here, or change nothing that is shown.
_FLAGS = ("--no-pager", "--no-legend", "--failed", "--state", "--type", "-t", "--all", "-a", "--full", "-l", "-n",
          "--lines", "-p", "--property", "--value", "-P", "--now", "--quiet", "-q", "--plain", "-o", "--output",
          "--no-block", "--force", "-f", "--no-ask-password", "--system", "--signal", "-s", "--runtime", "--kill-who",
          "--kill-whom", "--no-reload")  # fmt: skip
_TAKING = ("-t", "-p", "-P", "-n", "-o", "-s", "--type", "--property", "--state", "--lines", "--output", "--signal",
           "--kill-who", "--kill-whom")  # fmt: skip
_CHANGES = (
    *("start", "stop", "restart", "enable", "disable", "reload", "try-restart", "reload-or-restart"),
    *("mask", "unmask"),
)
#: Ubuntu's own timers: unit, what it starts, the period in seconds (daily at a time that differs from node to node).
_TIMERS = (
    ("apt-daily-upgrade.timer", 86_400), ("apt-daily.timer", 43_200), ("dpkg-db-backup.timer", 86_400),
    ("fstrim.timer", 604_800), ("logrotate.timer", 86_400), ("man-db.timer", 86_400),
    ("systemd-tmpfiles-clean.timer", 86_400),
)  # fmt: skip
_LINKS = "/etc/systemd/system"
_MISSING = 4
_INACTIVE = 3
#: Where units are, and what they weigh, unless their files say otherwise (systemd.resource-control(5)).
_SLICE, _WEIGHT = "system.slice", 100


def run(host: Host, argv: Sequence[str], now_ns: int) -> Outcome:
    """Run `systemctl ARGS`."""
    flags, words = _split(argv[1:])
    unknown = next((flag for flag in flags if not flag.startswith(_FLAGS)), "")
    if unknown:
        what = f"unrecognized option '{unknown}'" if unknown[:2] == "--" else f"invalid option -- '{unknown[1:2]}'"
        return Outcome("", f"systemctl: {what}\n", 1)
    verb, names = (words[0], words[1:]) if words else ("list-units", [])
    if verb in ("daemon-reload", "daemon-reexec", "reset-failed"):
        return Outcome("")
    if verb in ("poweroff", "reboot", "halt"):
        done = host.run((verb, *flags))
        return Outcome("") if done is not None else Outcome("", f"Unknown command verb '{verb}'.\n", 1)
    if verb == "list-timers":
        return _timers(host, flags, now_ns)
    if verb == "list-sockets":
        return Outcome("LISTEN UNIT ACTIVATES\n\n0 sockets listed.\n")
    if verb in ("list-units", "list-unit-files"):
        return _list(host, flags, verb == "list-unit-files")
    if verb == "is-system-running":
        failed = any(unit.failed and not host.is_restarting(unit.name) for unit in host.unit_list())
        return Outcome("degraded\n" if failed else "running\n", "", 1 if failed else 0)
    if verb == "set-property":
        return _set_property(host, flags, names)
    if verb == "edit":
        return Outcome("", "Cannot edit units if not on a tty.\n", 1)
    if verb not in ("status", "is-active", "is-failed", "is-enabled", "cat", "show", "kill", *_CHANGES):
        return Outcome("", f"Unknown command verb '{verb}'.\n", 1)
    if not names:
        if verb == "status":
            return _overview(host, now_ns)
        return Outcome("", "Too few arguments.\n", 1)
    results = [_one(host, verb, name, flags, now_ns) for name in names]
    separator = "\n" if verb == "status" else ""
    text = separator.join(result.stdout for result in results if result.stdout)
    return Outcome(text, "".join(result.stderr for result in results), max(r.exit_code for r in results))


def _split(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options, each with its value after a `=`, and operands."""
    flags: list[str] = []
    words: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word in _TAKING and rest:
            long = {"-t": "--type", "-p": "--property", "-P": "--property", "-n": "--lines", "-o": "--output"}
            flags += [f"{long.get(word, word)}={rest.pop(0)}", *(["--value"] if word == "-P" else [])]
        else:
            (flags if word.startswith("-") and len(word) > 1 else words).append(word)
    return flags, words


def _one(host: Host, verb: str, name: str, flags: Sequence[str], now_ns: int) -> Outcome:
    unit = host.unit(name)
    full = name if "." in name else name + ".service"
    if verb == "kill":
        if unit is None:
            return Outcome("", f"Failed to kill unit {full}: Unit {full} not loaded.\n", 1)
        return _kill(host, unit, flags)
    if verb in ("mask", "unmask") and unit is not None:
        return _mask(host, unit, verb, flags)
    if verb in _CHANGES:
        if unit is None and verb in ("mask", "unmask"):
            return Outcome("", f"Unit {full} does not exist, proceeding anyway.\n")
        if unit is None:
            failed = "Failed to enable unit: Unit file" if verb == "enable" else f"Failed to {verb} {full}: Unit"
            what = f"{full} does not exist." if verb == "enable" else f"{full} not found."
            return Outcome("", f"{failed} {what}\n", 5)
        problem = host.control(verb, unit.name)
        if "--now" in flags and verb in ("enable", "disable"):
            problem = problem or host.control("start" if verb == "enable" else "stop", unit.name)
        return Outcome("", problem if not problem or problem.endswith("\n") else problem + "\n", 1 if problem else 0)
    if unit is None:
        return _missing(verb, full)
    if verb == "status":
        return _status(host, unit, flags, now_ns)
    if verb == "is-active":
        return Outcome(_state(host, unit) + "\n", "", 0 if unit.active else _INACTIVE)
    if verb == "is-failed":
        state = _state(host, unit)
        return Outcome(state + "\n", "", 0 if state == "failed" else 1)
    if verb == "is-enabled":
        known = "masked" if unit.masked else "enabled" if unit.enabled else "disabled"
        return Outcome(f"{known}\n", "", 0 if known == "enabled" else 1)
    if verb == "cat":
        return Outcome(_file(unit))
    return _show(host, unit, flags)


def _kill(host: Host, unit: Unit, flags: Sequence[str]) -> Outcome:
    """A signal to the unit's process: TERM, unless another is named."""
    named = [flag.partition("=")[2] for flag in flags if flag.startswith(("--signal=", "-s="))]
    word = (named[-1] if named else "SIGTERM").upper()
    numbers = {"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "15": "TERM", "10": "USR1", "12": "USR2"}
    signal = numbers.get(word, word.removeprefix("SIG"))
    if signal not in numbers.values():
        return Outcome("", f"Failed to parse signal string {named[-1]}.\n", 1)
    if not unit.active:
        return Outcome("", f"Failed to kill unit {unit.name}: No main process to kill\n", 1)
    if signal in ("TERM", "KILL", "INT", "QUIT", "HUP"):
        host.signal_unit(unit.name, signal)
    return Outcome()


def _mask(host: Host, unit: Unit, verb: str, flags: Sequence[str]) -> Outcome:
    link = f"{_LINKS}/{unit.name}"
    changed = unit.masked != (verb == "mask")
    host.control(verb, unit.name)
    if "--now" in flags and verb == "mask":
        host.control("stop", unit.name)
    if not changed:
        return Outcome()
    return Outcome("", f"Created symlink {link} → /dev/null.\n" if verb == "mask" else f'Removed "{link}".\n')


def _set_property(host: Host, flags: Sequence[str], words: Sequence[str]) -> Outcome:
    if len(words) < 2:
        return Outcome("", "Too few arguments.\n", 1)
    name, assignments = words[0], words[1:]
    full = name if "." in name else f"{name}.service"
    unit = host.unit(name)
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals:
            return Outcome("", f"Not an assignment: {text}\n", 1)
        if key != "CPUWeight":
            return Outcome(
                "", f"Failed to set unit properties on {full}: Cannot set property {key}, or unknown property.\n", 1
            )
        if value and not (value.isdecimal() and len(value) < 6 and 1 <= int(value) <= 10_000):
            return Outcome("", f"Failed to parse CPUWeight= parameter: {value}\n", 1)
        if unit is None:
            return Outcome("", f"Failed to set unit properties on {full}: Unit {full} not found.\n", 1)
        host.set_weight(unit.name, int(value or _WEIGHT), lasts="--runtime" not in flags)
    return Outcome()


def _timers(host: Host, flags: Sequence[str], now_ns: int) -> Outcome:
    """Ubuntu's timers: when each runs follows from the node's name, by the calendar."""
    rows = []
    key = sum(ord(char) * (at + 1) for at, char in enumerate(host.name))  # integers
    for at, (name, period_s) in enumerate(_TIMERS):
        period = period_s * SECOND
        phase = (key * 7919 + at * 104_729) % period_s * SECOND
        last = (now_ns - phase) // period * period + phase
        after = last + period
        left, passed = after - now_ns, ago(now_ns - last)
        began = int(getattr(host, "booted_ns", 0))
        rows.append((after, stamp(after), _left(left), *((stamp(last), passed) if last >= began else ("-", "-")), name,
                     name.replace(".timer", ".service")))  # fmt: skip
    rows.sort()
    table = [["NEXT", "LEFT", "LAST", "PASSED", "UNIT", "ACTIVATES"], *[list(map(str, row[1:])) for row in rows]]
    if "--no-legend" in flags:
        table = table[1:]
    widths = [max(len(row[column]) for row in table) for column in range(6)]
    lines = [" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    tail = (
        ""
        if "--no-legend" in flags
        else f"\n{len(rows)} timers listed.\nPass --all to see loaded but inactive timers, too.\n"
    )
    return Outcome("\n".join(lines) + "\n" + tail)


def _left(span_ns: int) -> str:
    """`5h 12min`, as list-timers says it."""
    minutes = span_ns // SECOND // 60
    if minutes >= 2880:
        return f"{minutes // 1440} days"
    if minutes >= 1440:
        return f"1 day {minutes % 1440 // 60}h"
    return f"{minutes // 60}h {minutes % 60}min" if minutes >= 60 else f"{minutes}min" if minutes else "now"


def _missing(verb: str, full: str) -> Outcome:
    if verb == "is-active":
        return Outcome("inactive\n", "", _MISSING)
    if verb == "is-failed":
        return Outcome("inactive\n", "", 1)
    if verb == "is-enabled":
        return Outcome("", f"Failed to get unit file state for {full}: No such file or directory\n", 1)
    if verb == "cat":
        return Outcome("", f"No files found for {full}.\n", 1)
    return Outcome("", f"Unit {full} could not be found.\n", _MISSING)


def _error(host: Host) -> int:
    """How far the node's clock is off."""
    return int(getattr(host, "clock_error_ns", 0))


def _state(host: Host, unit: Unit) -> str:
    if host.is_restarting(unit.name):
        return "activating"
    return "failed" if unit.failed else "active" if unit.active else "inactive"


def _substate(host: Host, unit: Unit) -> str:
    if host.is_restarting(unit.name):
        return "auto-restart"
    return "failed" if unit.failed else "running" if unit.active else "dead"


def _path(unit: Unit) -> str:
    return f"/usr/lib/systemd/system/{unit.name}"


def _program(unit: Unit) -> str:
    return unit.command.split()[0].rpartition("/")[2] if unit.command else unit.name.partition(".")[0]


def _status(host: Host, unit: Unit, flags: Sequence[str], now_ns: int) -> Outcome:
    mark = "●" if unit.active or host.is_restarting(unit.name) else "×" if unit.failed else "○"
    enabled = "enabled" if unit.enabled else "disabled"
    changed = unit.changed_ns + _error(host)
    since = f"since {stamp(changed)}; {ago(now_ns - changed)}"
    lines = [
        f"{mark} {unit.name} - {unit.description}",
        f"     Loaded: masked (Reason: Unit {unit.name} is masked.)"
        if unit.masked
        else f"     Loaded: loaded ({_path(unit)}; {enabled}; preset: enabled)",
    ]
    if unit.dropins:
        folder = next(iter(unit.dropins)).rpartition("/")[0]
        names = ", ".join(sorted(path.rpartition("/")[2] for path in unit.dropins))
        lines += [f"    Drop-In: {folder}", f"             └─{names}"]
    if host.is_restarting(unit.name):
        why = f" (Result: {unit.result})" if unit.failed else ""
        lines.append(f"     Active: activating (auto-restart){why} {since}")
    elif unit.failed:
        lines.append(f"     Active: failed (Result: {unit.result}) {since}")
    elif unit.active:
        lines.append(f"     Active: active (running) {since}")
    else:
        lines.append(f"     Active: inactive (dead) {since}")
    if unit.active:
        lines += [
            f"   Main PID: {unit.pid} ({_program(unit)})",
            f"     CGroup: {unit.control_group}",
            f"             └─{unit.pid} {unit.command}",
        ]
    elif unit.pid:
        outcome = "code=exited, status=1/FAILURE" if unit.failed else "code=exited, status=0/SUCCESS"
        lines += [
            f"    Process: {unit.pid} ExecStart={unit.command} ({outcome})",
            f"   Main PID: {unit.pid} ({outcome})",
        ]
    entries = [entry for entry in host.journal() if entry.unit == unit.name]
    last = entries[-_line_count(flags) :] if _line_count(flags) else []
    if last:
        lines += ["", *[entry_line(host, entry) for entry in last]]
    return Outcome("\n".join(lines) + "\n", "", 0 if unit.active else _INACTIVE)


def _line_count(flags: Sequence[str]) -> int:
    for flag in flags:
        text = flag.removeprefix("--lines=") if flag.startswith("--lines=") else flag.removeprefix("-n")
        if text != flag and text.isdigit():
            return int(text)
    return _STATUS_LINES


def _overview(host: Host, now_ns: int) -> Outcome:
    units = host.unit_list()
    failed = sum(1 for unit in units if unit.failed)
    lines = [
        f"● {host.name}",
        f"    State: {'degraded' if failed else 'running'}",
        f"    Units: {len(units)} loaded (incl. loaded aliases)",
        "     Jobs: 0 queued",
        f"   Failed: {failed} units",
        f"    Since: {stamp(_error(host))}; {ago(now_ns - _error(host))}",
    ]
    return Outcome("\n".join(lines) + "\n")


def _file(unit: Unit) -> str:
    own = "" if unit.slice == _SLICE else f"Slice={unit.slice}\n"
    own += "" if unit.cpu_weight == _WEIGHT else f"CPUWeight={unit.cpu_weight}\n"
    own += "" if unit.restart == "no" else f"Restart={unit.restart}\n"
    own += f"RestartSec={unit.restart_ns // SECOND}\n" if unit.restart_ns >= SECOND else ""
    if unit.masked:
        return f"# Unit {unit.name} is masked.\n"
    text = (
        f"# {_path(unit)}\n[Unit]\nDescription={unit.description}\n\n[Service]\nExecStart={unit.command}\n{own}"
        "\n[Install]\nWantedBy=multi-user.target\n"
    )
    return text + "".join(f"\n# {path}\n{more}" for path, more in unit.dropins.items())


def _show(host: Host, unit: Unit, flags: Sequence[str]) -> Outcome:
    delay = f"{unit.restart_ns // SECOND}s" if unit.restart_ns >= SECOND or not unit.restart_ns else "100ms"
    found = {
        "Type": "notify" if unit.name == "containerd.service" else "simple",
        "Restart": unit.restart,
        "RestartUSec": delay.replace("0s", "0") if delay == "0s" else delay,
        "NRestarts": str(unit.restarts),
        "Id": unit.name,
        "Description": unit.description,
        "LoadState": "masked" if unit.masked else "loaded",
        "ActiveState": _state(host, unit),
        "SubState": _substate(host, unit),
        "FragmentPath": "/dev/null" if unit.masked else _path(unit),
        "DropInPaths": " ".join(unit.dropins),
        "UnitFileState": "masked" if unit.masked else "enabled" if unit.enabled else "disabled",
        "UnitFilePreset": "enabled",
        "MainPID": str(unit.pid if unit.active else 0),
        "Result": unit.result,
        "ExecMainPID": str(unit.pid),
        "ExecStart": f"{{ path={unit.command.split()[0]} ; argv[]={unit.command} ; ignore_errors=no }}",
        "Slice": unit.slice,
        "ControlGroup": unit.control_group if unit.active else "",
        "CPUWeight": "[not set]" if unit.cpu_weight == _WEIGHT else str(unit.cpu_weight),
        "ActiveEnterTimestamp" if unit.active else "InactiveEnterTimestamp": stamp(unit.changed_ns),
    }
    wanted = [name for flag in flags if flag.startswith(("--property=", "-p")) for name in _property(flag).split(",")]
    if wanted:
        found = {name: found.get(name, "") for name in wanted}
    if "--value" in flags:
        return Outcome("".join(f"{value}\n" for value in found.values()))
    return Outcome("".join(f"{name}={value}\n" for name, value in found.items()))


def _property(flag: str) -> str:
    return flag.removeprefix("--property=") if flag.startswith("--") else flag.removeprefix("-p")


def _list(host: Host, flags: Sequence[str], files: bool) -> Outcome:
    units = list(host.unit_list())
    if files:
        lines = [f"{'UNIT FILE':<32} STATE    PRESET"]
        shown = {u.name: "masked" if u.masked else "enabled" if u.enabled else "disabled" for u in units}
        lines += [f"{u.name:<32} {shown[u.name]:<8} enabled" for u in units]
        return Outcome("\n".join([*lines, "", f"{len(units)} unit files listed."]) + "\n")
    failed_only = "--failed" in flags or "--state=failed" in flags
    if failed_only:
        units = [unit for unit in units if unit.failed]
    elif "--all" not in flags and "-a" not in flags:
        units = [unit for unit in units if unit.active or unit.failed]
    kinds = [flag.partition("=")[2] for flag in flags if flag.startswith("--type=")]
    units = [unit for unit in units if not kinds or unit.name.rpartition(".")[2] in kinds[0].split(",")]
    wanted = [flag.partition("=")[2] for flag in flags if flag.startswith("--state=")]
    if wanted and not failed_only:
        states = wanted[0].split(",")
        units = [unit for unit in units if _state(host, unit) in states or _substate(host, unit) in states]
    width = max([len(unit.name) for unit in units] + [4])
    legend = "--no-legend" not in flags
    lines = [f"  {'UNIT':<{width}} LOAD   ACTIVE   SUB     DESCRIPTION"] if units and legend else []
    for unit in units:
        mark = "●" if unit.failed else " "
        sub, loaded = _substate(host, unit), "masked" if unit.masked else "loaded"
        lines.append(f"{mark} {unit.name:<{width}} {loaded} {_state(host, unit):<8} {sub:<7} {unit.description}")
    if legend and units:
        lines += [
            "", "Legend: LOAD   → Reflects whether the unit definition was properly loaded.",
            "        ACTIVE → The high-level unit activation state, i.e. generalization of SUB.",
            "        SUB    → The low-level unit activation state, values depend on unit type.",
        ]  # fmt: skip
    if legend:
        lines += ["", f"{len(units)} loaded units listed."]
    return Outcome("\n".join(lines) + "\n" if lines else "")
