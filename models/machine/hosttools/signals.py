"""`kill`, `pkill` and `pgrep` on a node: processes end or stop, and what watches them notices.

Formats: procps-ng 4.0.4 and bash 5.2 (Ubuntu 24.04). TERM, KILL, INT, QUIT and HUP end a process; STOP and CONT
halt those of a container and let them go on; other signals do nothing here. A unit whose process is killed by KILL has
failed, by the others it is inactive, until it starts again as its `Restart=` says. Left out: process groups, threads,
kernel threads, units that are halted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.units import Unit
from simcluster.models.userland.outcome import Outcome

_ENDING = {"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "15": "TERM"}
_NUMBERS = {**_ENDING, "18": "CONT", "19": "STOP"}
_USAGE = "kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]\n"


class Running(NamedTuple):
    """A process that a signal can reach: by whom it is looked after."""

    pid: int
    name: str
    owner: Unit | Container | None  # None: nobody's


def running(machine: Machine) -> list[Running]:
    """Processes that can be named, by PID."""
    found = [Running(unit.pid, _comm(unit), unit) for unit in machine.unit_list() if unit.active]
    taken = {process.pid for process in found}
    for container in machine.runtime.containers():
        if container.running:
            found.append(Running(container.pid, container.comm, container))
    for process in machine.processes.values():
        if process.pid not in taken:
            found.append(Running(process.pid, process.name[:15], None))
    return sorted(found, key=_pid)


def _pid(process: Running) -> int:
    return process.pid


def _comm(unit: Unit) -> str:
    return unit.command.strip('"@').split()[0].rpartition("/")[2].rstrip(":")[:15]


def _end(machine: Machine, process: Running, signal: str) -> None:
    owner = process.owner
    if isinstance(owner, Container) and signal == "STOP":
        owner.halt()
    elif isinstance(owner, Container) and signal == "CONT":
        owner.go_on()
    if signal not in _ENDING.values():
        return
    if isinstance(owner, Unit):
        machine.units.signalled(owner.name, signal)
    elif isinstance(owner, Container):
        if signal == "KILL":
            owner.kill()
        else:
            owner.terminate()
    else:
        name = next((n for n, p in machine.processes.items() if p.pid == process.pid), "")
        machine.unburden(name)


def _signal(word: str) -> str:
    text = word.upper().removeprefix("SIG")
    return _NUMBERS.get(text, text)


def _parsed(args: list[str]) -> tuple[str, list[str], list[str]]:
    """Signal, options, and what is left."""
    signal, options, rest = "TERM", [], []
    words = list(args)
    while words:
        word = words.pop(0)
        if word in ("-s", "-n", "--signal") and words:
            signal = _signal(words.pop(0))
        elif word == "--":
            rest += words
            break
        elif word.startswith("-") and len(word) > 1 and not rest:
            if word[1:].isdigit() or (word[1:].isupper() and len(word) > 2):
                signal = _signal(word[1:])
            else:
                options.append(word)
        else:
            rest.append(word)
    return signal, options, rest


def _kill(machine: Machine, args: list[str], stdin: str) -> Outcome:
    signal, _, words = _parsed(args)
    if not words:
        return Outcome("", _USAGE, 2)
    errors = []
    for word in words:
        process = next((p for p in running(machine) if str(p.pid) == word), None)
        if not word.isdigit():
            errors.append(f"bash: kill: {word}: arguments must be process or job IDs\n")
        elif process is None:
            errors.append(f"bash: kill: ({word}) - No such process\n")
        else:
            _end(machine, process, signal)
    return Outcome("", "".join(errors), 1 if errors else 0)


def _matching(machine: Machine, options: list[str], words: list[str]) -> list[Running]:
    pattern = words[-1] if words else ""
    found = []
    for process in running(machine):
        text = process.name
        if "-f" in options and isinstance(process.owner, Unit):
            text = process.owner.command
        try:
            hit = re.fullmatch(pattern, text) if "-x" in options else re.search(pattern, text)
        except re.error:
            hit = None
        if hit:
            found.append(process)
    return found


def _pkill(machine: Machine, args: list[str], stdin: str) -> Outcome:
    signal, options, words = _parsed(args)
    if not words:
        return Outcome("", "pkill: no matching criteria specified\nTry `pkill --help' for more information.\n", 2)
    found = _matching(machine, options, words)
    for process in found:
        _end(machine, process, signal)
    return Outcome("", "", 0 if found else 1)


def _pgrep(machine: Machine, args: list[str], stdin: str) -> Outcome:
    _, options, words = _parsed(args)
    if not words:
        return Outcome("", "pgrep: no matching criteria specified\nTry `pgrep --help' for more information.\n", 2)
    found = _matching(machine, options, words)
    named = "-l" in options or "-a" in options
    return Outcome("".join(f"{p.pid} {p.name}\n" if named else f"{p.pid}\n" for p in found), "", 0 if found else 1)


def _pidof(machine: Machine, args: list[str], stdin: str) -> Outcome:
    names = [word.rpartition("/")[2] for word in args if word[:1] != "-"]
    found = [str(process.pid) for process in reversed(running(machine)) if process.name in [one[:15] for one in names]]
    shown = found[:1] if "-s" in args else found
    return Outcome(" ".join(shown) + "\n" if shown else "", "", 0 if shown else 1)


TOOLS = {"pidof": _pidof, "kill": _kill, "pgrep": _pgrep, "pkill": _pkill}
