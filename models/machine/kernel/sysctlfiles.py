"""Files of kernel parameters: /etc/sysctl.d, /run/sysctl.d, /usr/lib/sysctl.d and /etc/sysctl.conf, in sysctl's order.

They are read at a boot by systemd-sysctl and by `sysctl --system`; what was written by hand and stands in none of them
is gone after a boot. Of two files of one name the one in /etc counts. Source: sysctl.d(5), procps-ng 4.0.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.shell.files import FileError

if TYPE_CHECKING:
    from simcluster.models.machine.machine import Machine

_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
_LAST = "/etc/sysctl.conf"
#: What Ubuntu and kubeadm's prerequisites put there, as far as it says what is so anyway.
SHIPPED = {
    "/etc/sysctl.d/99-kubernetes-cri.conf": "net.ipv4.ip_forward = 1\n",
    "/etc/sysctl.conf": "#\n# /etc/sysctl.conf - Configuration file for setting system variables\n#\n",
}


def files(machine: Machine) -> list[str]:
    """Paths in the order in which they are read."""
    chosen: dict[str, str] = {}
    for folder in _FOLDERS:
        if machine.files.is_folder(folder):
            for name in machine.files.entries(folder):
                if name.endswith(".conf"):
                    chosen.setdefault(name, f"{folder}/{name}")
    found = [chosen[name] for name in sorted(chosen)]
    return [*found, _LAST] if machine.files.find(_LAST) is not None else found


def _settings(text: str) -> list[tuple[str, str, bool]]:
    """Names, values, and whether a failure is ignored (`-name = value`)."""
    found = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        name, equals, value = line.partition("=")
        name = name.strip()
        found.append((name.lstrip("-"), value.strip() if equals else "", name.startswith("-")))
    return found


def apply(machine: Machine, paths: list[str]) -> tuple[str, str, int]:
    """`sysctl -p FILE`: what it prints, and its status."""
    out, errors = "", ""
    for path in paths:
        try:
            text = machine.files.read(path)
        except FileError as error:
            errors += f'sysctl: cannot open "{path}": {error}\n'
            continue
        for name, value, quiet in _settings(text):
            problem = machine.os.sysctls.set(name, value)
            if problem and not quiet:
                errors += f"{problem}\n"
            elif not problem:
                out += f"{name.replace('/', '.')} = {value}\n"
    return out, errors, 1 if errors else 0


def apply_all(machine: Machine) -> tuple[str, str, int]:
    """`sysctl --system`."""
    paths = files(machine)
    heads = "".join(f"* Applying {path} ...\n" for path in paths)
    out, errors, code = apply(machine, paths)
    return heads + out, errors, code


def booted(machine: Machine) -> None:
    """systemd-sysctl at a boot; what it cannot write is in the journal."""
    for path in files(machine):
        for name, value, quiet in _settings(machine.files.read(path)):
            problem = machine.os.sysctls.set(name, value)
            if problem and not quiet:
                key = name.replace(".", "/")
                why = problem.rpartition(": ")[2] if "Invalid" in problem else "No such file or directory"
                why = "Permission denied" if "denied" in problem else why
                text = f"Couldn't write '{value}' to '{key}': {why}"
                machine.log.write(machine.sim.now, "systemd-sysctl.service", "systemd-sysctl", 290, text)
