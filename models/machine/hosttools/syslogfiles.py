"""/var/log/{syslog,kern.log,auth.log}: what rsyslogd made of the journal. Format: RSYSLOG_FileFormat (Ubuntu 24.04).

Each line of the journal is in one of them or in two, as /etc/rsyslog.d/50-default.conf says; while rsyslogd does not
run nothing new is written. Left out: rotation, what was written before the journal's oldest line.
"""

from __future__ import annotations

from simcluster.engine import format_rfc3339
from simcluster.models.machine.journal import JournalLine
from simcluster.models.machine.machine import Machine

_AUTH = ("sshd", "sudo", "systemd-logind", "su")
FILES = ("/var/log/auth.log", "/var/log/kern.log", "/var/log/syslog")


def _belongs(path: str, line: JournalLine) -> bool:
    """Whether a file has a line: auth,authpriv to one, kern.* to another besides syslog."""
    if path.endswith("auth.log"):
        return line.identifier in _AUTH
    if path.endswith("kern.log"):
        return line.identifier == "kernel"
    return line.identifier not in _AUTH


def read(machine: Machine, path: str) -> str | None:
    """Text of one of the files; None of any other path."""
    if path not in FILES:
        return None
    unit = machine.units.units["rsyslog.service"]
    last_ns = machine.sim.now if unit.active else unit.changed_ns
    out = []
    for line in machine.journal():
        if not _belongs(path, line) or line.t_ns - line.wrong_ns > last_ns:
            continue
        stamp = f"{format_rfc3339(line.t_ns, digits=6)[:26]}+00:00"
        process = f"[{line.pid}]" if line.pid else ""
        out.append(f"{stamp} {machine.name} {line.identifier}{process}: {line.text}\n")
    return "".join(out)
