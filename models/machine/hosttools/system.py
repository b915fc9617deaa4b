"""Programs about the whole machine: `hostname`, `hostnamectl`, `uname`, `nproc`, `id`, `who`, `last reboot`.

Format: coreutils 9.4, systemd 255 (Ubuntu 24.04).
"""

from __future__ import annotations

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import month_name, weekday
from simcluster.models.machine.imagetools.system import kernel_named
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome


def hostname(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """hostname: the node's name, or its address."""
    return Outcome(f"{machine.address} \n" if args[:1] in (["-I"], ["-i"]) else f"{machine.name}\n")


def uname(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """uname: the kernel."""
    return kernel_named(args, machine.name, machine.identity.kernel_version, gnu=True)


def nproc(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """nproc: cores."""
    return Outcome(f"{machine.cpu_cores}\n")


def user_id(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """id: everybody here is root."""
    letters = "".join(arg[1:] for arg in args if arg.startswith("-"))
    words = [arg for arg in args if not arg.startswith("-")]
    if words[:1] not in ([], ["root"]):
        return Outcome("", f"id: ‘{words[0]}’: no such user\n", 1)
    if set(letters) & set("ugG"):
        return Outcome("root\n" if "n" in letters else "0\n")
    return Outcome("uid=0(root) gid=0(root) groups=0(root)\n")


def hostnamectl(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """hostnamectl: who the machine is."""
    words = [word for word in args if not word.startswith("-")]
    verb, identity = words[0] if words else "status", machine.identity
    if verb in ("hostname", "set-hostname") and len(words) > 1:
        return Outcome("", "Could not set static hostname: Access denied\n", 1)
    if verb == "hostname":
        return Outcome(f"{machine.name}\n")
    if verb != "status":
        return Outcome("", f"Unknown command verb '{verb}'.\n", 1)
    boot = identity.boot_id.replace("-", "")
    rows = (("Static hostname", machine.name), ("Icon name", "computer-server"), ("Chassis", "server"),
            ("Machine ID", identity.machine_id.replace("-", "")), ("Boot ID", boot),
            ("Operating System", identity.os_image), ("Kernel", f"Linux {identity.kernel_version}"),
            ("Architecture", "x86-64"))  # fmt: skip
    return Outcome("".join(f"{name:>16}: {value}\n" for name, value in rows))


def who(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """who: whoever is logged in."""
    text = format_rfc3339(machine.os.clock.now_ns())
    if "-b" in args:
        boot = machine.boots[-1]
        began = format_rfc3339(boot.started_ns + boot.wrong_ns)
        return Outcome(f"         system boot  {began[:10]} {began[11:16]}\n")
    return Outcome(f"root     pts/0        {text[:10]} {text[11:16]} (172.18.0.1)\n")


def last(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """last: boots, the latest first, and who is logged in."""
    words = [arg for arg in args if not arg.startswith("-")]
    lines = []
    if not words or "root" in words:
        lines.append(f"root     pts/0        172.18.0.1       {_when(machine.os.clock.now_ns())}   still logged in")
    for number, boot in enumerate(reversed(machine.boots)):
        ended = "  still running" if not number else " - crash"
        kernel = machine.identity.kernel_version[:16]
        lines.append(f"reboot   system boot  {kernel:<16} {_when(boot.started_ns + boot.wrong_ns)} {ended}")
    first = machine.boots[0]
    begins = _when(first.started_ns + first.wrong_ns, seconds=True)
    return Outcome("\n".join(lines) + f"\n\nwtmp begins {begins}\n")


def _when(t_ns: int, *, seconds: bool = False) -> str:
    text = format_rfc3339(t_ns)
    clock = f"{text[11:19]} {text[:4]}" if seconds else text[11:16]
    return f"{weekday(t_ns)} {month_name(int(text[5:7]))} {int(text[8:10]):2d} {clock}"


TOOLS = {
    "hostname": hostname,
    "hostnamectl": hostnamectl,
    "who": who,
    "id": user_id,
    "last": last,
    "nproc": nproc,
    "uname": uname,
}
