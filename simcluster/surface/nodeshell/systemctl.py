"""systemctl: the state of units and changes of it.

Left out: dependencies, masks, timers, properties beyond those of `show` that scripts ask for.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.userland.outcome import Outcome
from simcluster.surface.nodeshell.clocktext import ago, stamp
from simcluster.surface.nodeshell.journalctl import entry_line
from simcluster.surface.protocols import Host, Unit

#: Lines of the journal under `systemctl status`.
_STATUS_LINES = 10
#: Options that have a meaning here, or change nothing that is shown.
_FLAGS = ("--no-pager", "--no-legend", "--failed", "--state", "--type", "-t", "--all", "-a", "--full", "-l", "-n",
          "--lines", "-p", "--property", "--value", "-P", "--now", "--quiet", "-q", "--plain", "-o", "--output",
          "--no-block", "--force", "-f", "--no-ask-password", "--system", "--signal", "-s")  # fmt: skip
_TAKING = ("-t", "-p", "-P", "-n", "-o", "-s", "--type", "--property", "--state", "--lines", "--output", "--signal")
_CHANGES = ("start", "stop", "restart", "enable", "disable", "reload", "try-restart", "reload-or-restart")
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
    if verb in ("list-timers", "list-sockets"):
        kind = verb.removeprefix("list-")
        head = "NEXT LEFT LAST PASSED UNIT ACTIVATES" if kind == "timers" else "LISTEN UNIT ACTIVATES"
        return Outcome(f"{head}\n\n0 {kind} listed.\n")
    if verb in ("list-units", "list-unit-files"):
        return _list(host, flags, verb == "list-unit-files")
    if verb == "is-system-running":
        failed = any(unit.failed for unit in host.unit_list())
        return Outcome("degraded\n" if failed else "running\n", "", 1 if failed else 0)
    if verb not in ("status", "is-active", "is-failed", "is-enabled", "cat", "show", *_CHANGES):
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
    if verb in _CHANGES:
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
        return Outcome(_state(unit) + "\n", "", 0 if unit.active else _INACTIVE)
    if verb == "is-failed":
        return Outcome(_state(unit) + "\n", "", 0 if unit.failed else 1)
    if verb == "is-enabled":
        return Outcome("enabled\n" if unit.enabled else "disabled\n", "", 0 if unit.enabled else 1)
    if verb == "cat":
        return Outcome(_file(unit))
    return _show(unit, flags)


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


def _state(unit: Unit) -> str:
    return "failed" if unit.failed else "active" if unit.active else "inactive"


def _path(unit: Unit) -> str:
    return f"/usr/lib/systemd/system/{unit.name}"


def _program(unit: Unit) -> str:
    return unit.command.split()[0].rpartition("/")[2] if unit.command else unit.name.partition(".")[0]


def _status(host: Host, unit: Unit, flags: Sequence[str], now_ns: int) -> Outcome:
    mark = "×" if unit.failed else "●" if unit.active else "○"
    enabled = "enabled" if unit.enabled else "disabled"
    changed = unit.changed_ns + _error(host)
    since = f"since {stamp(changed)}; {ago(now_ns - changed)}"
    lines = [
        f"{mark} {unit.name} - {unit.description}",
        f"     Loaded: loaded ({_path(unit)}; {enabled}; preset: enabled)",
    ]
    if unit.failed:
        lines.append(f"     Active: failed (Result: exit-code) {since}")
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
    return (
        f"# {_path(unit)}\n[Unit]\nDescription={unit.description}\n\n[Service]\nExecStart={unit.command}\n{own}"
        "Restart=always\nRestartSec=10\n\n[Install]\nWantedBy=multi-user.target\n"
    )


def _show(unit: Unit, flags: Sequence[str]) -> Outcome:
    sub = "failed" if unit.failed else "running" if unit.active else "dead"
    found = {
        "Id": unit.name,
        "Description": unit.description,
        "LoadState": "loaded",
        "ActiveState": _state(unit),
        "SubState": sub,
        "UnitFileState": "enabled" if unit.enabled else "disabled",
        "MainPID": str(unit.pid if unit.active else 0),
        "Result": "exit-code" if unit.failed else "success",
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
        lines += [f"{u.name:<32} {'enabled' if u.enabled else 'disabled':<8} enabled" for u in units]
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
        units = [unit for unit in units if _state(unit) in states or ("running" in states and unit.active)]
    width = max([len(unit.name) for unit in units] + [4])
    legend = "--no-legend" not in flags
    lines = [f"  {'UNIT':<{width}} LOAD   ACTIVE   SUB     DESCRIPTION"] if units and legend else []
    for unit in units:
        mark = "●" if unit.failed else " "
        sub = "failed" if unit.failed else "running" if unit.active else "dead"
        lines.append(f"{mark} {unit.name:<{width}} loaded {_state(unit):<8} {sub:<7} {unit.description}")
    if legend and units:
        lines += [
            "", "Legend: LOAD   → Reflects whether the unit definition was properly loaded.",
            "        ACTIVE → The high-level unit activation state, i.e. generalization of SUB.",
            "        SUB    → The low-level unit activation state, values depend on unit type.",
        ]  # fmt: skip
    if legend:
        lines += ["", f"{len(units)} loaded units listed."]
    return Outcome("\n".join(lines) + "\n" if lines else "")
