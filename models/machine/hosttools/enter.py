"""`nsenter`: a program in the namespaces of another process. Format: util-linux 2.39.

With the namespace of mounts the container's own files and programs are meant, without it those of the node, on the
container's network where that is asked for. Left out: user, PID and time namespaces, which change nothing here.
"""

from __future__ import annotations

from simcluster.models.machine import hostnet
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.kernel.proctable import processes
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome

_KINDS = {"m": "mount", "u": "uts", "i": "ipc", "n": "net", "p": "pid", "U": "user", "C": "cgroup", "T": "time"}
_PLAIN = "aFrwZ"


class _Wanted:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.pid = ""
        self.kinds: dict[str, None] = {}
        self.words: list[str] = []
        self.problem = ""


def _read(args: list[str]) -> _Wanted:
    wanted, rest = _Wanted(), list(args)
    names = {name: letter for letter, name in _KINDS.items()}
    while rest:
        word = rest.pop(0)
        if word == "--" or not word.startswith("-"):
            wanted.words = rest if word == "--" else [word, *rest]
            break
        if word in ("-t", "--target"):
            wanted.pid = rest.pop(0) if rest else ""
        elif word.startswith("--target="):
            wanted.pid = word.partition("=")[2]
        elif word.startswith("-t") and word[2:].isdigit():
            wanted.pid = word[2:]
        elif word in ("-a", "--all"):
            wanted.kinds.update(dict.fromkeys(_KINDS))
        elif word.startswith("--"):
            name, _, place = word[2:].partition("=")
            if name in names:
                wanted.kinds[names[name]] = None
                wanted.pid = wanted.pid or (place.split("/")[2] if place.startswith("/proc/") else "")
            elif name not in ("fork", "preserve-credentials", "root", "wd", "no-fork"):
                wanted.problem = f"unrecognized option '{word}'"
        else:
            for at, letter in enumerate(word[1:]):
                if letter in _KINDS:
                    wanted.kinds[letter] = None
                    if word[at + 2 :].startswith("/proc/"):
                        wanted.pid = word[at + 2 :].split("/")[2]
                        break
                elif letter == "t":
                    wanted.pid = word[at + 2 :] or (rest.pop(0) if rest else "")
                    break
                elif letter not in _PLAIN:
                    wanted.problem = f"invalid option -- '{letter}'"
    return wanted


def container_of(machine: Machine, pid: int) -> Container | None:
    """The container in whose namespaces a process of the node is: its own, or that of its pod's pause."""
    for sandbox in machine.runtime.sandboxes.values():
        living = [container for container in sandbox.containers.values() if container.running]
        for container in living:
            if container.pid == pid:
                return container
        if living and min(container.pid for container in living) - 4 == pid:
            return living[0]
    return None


def _nsenter(machine: Machine, args: list[str], stdin: str) -> Outcome:
    wanted = _read(args)
    if wanted.problem:
        return Outcome("", f"nsenter: {wanted.problem}\nTry 'nsenter --help' for more information.\n", 1)
    if not wanted.pid:
        return Outcome("", "nsenter: no target PID specified\n", 1) if wanted.kinds else _here(machine, wanted, stdin)
    if not wanted.pid.isdigit():
        return Outcome("", f"nsenter: failed to parse pid: '{wanted.pid}'\n", 1)
    if not any(str(process.pid) == wanted.pid for process in processes(machine)):
        kind = _KINDS[next(iter(wanted.kinds), "m")]
        file = {"mount": "mnt"}.get(kind, kind)
        return Outcome("", f"nsenter: cannot open /proc/{wanted.pid}/ns/{file}: No such file or directory\n", 1)
    container = container_of(machine, int(wanted.pid))
    if container is None:
        return _here(machine, wanted, stdin)
    words = wanted.words or ["sh"]
    if "m" in wanted.kinds:
        done = execute.timed(container, words, stdin)
        if done is None:
            return Outcome("", f"nsenter: failed to execute {words[0]}: No such file or directory\n", 127)
        return done.result._replace(delay_ns=done.delay_ns)
    if "n" in wanted.kinds and not container.sandbox.host_network:
        found = hostnet.in_pod(machine, container, words, stdin)
        if found is not None:
            return found
    if "u" in wanted.kinds and words == ["hostname"] and not container.sandbox.host_network:
        return Outcome(f"{container.sandbox.pod_name}\n")
    return _here(machine, wanted, stdin)


def _here(machine: Machine, wanted: _Wanted, stdin: str) -> Outcome:
    """A program of the node, in its own namespaces."""
    words = wanted.words or ["bash"]
    run = getattr(machine, "run", None)
    found: Outcome | None = None if run is None else run(words, stdin)
    return found or Outcome("", f"nsenter: failed to execute {words[0]}: No such file or directory\n", 127)


TOOLS = {"nsenter": _nsenter}
