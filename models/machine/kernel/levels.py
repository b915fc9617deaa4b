"""How urgent lines of the kernel and of daemons are, by what they say: syslog's levels, 0 (emerg) to 7 (debug).

Levels are those of the printk calls in the kernel's sources, and of systemd's log_unit calls; what daemons print
on standard output or error has level 6 (SyslogLevel=info), whatever it says.
"""

from __future__ import annotations

NAMES = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_KERNEL = (
    ("soft lockup", 0), ("EXT4-fs error", 2), ("Remounting filesystem read-only", 2), ("temperature is above", 2),
    ("EXT4-fs warning", 4), ("blocked for more than", 3), ("Not tainted", 3), ("hung_task_timeout_secs", 3),
    ("I/O error, dev", 3), ("critical medium error", 3), ("Buffer I/O error", 3), ("Aborting journal", 3),
    ("exception Emask", 3), ("failed command:", 3), ("status: {", 3), ("error: {", 3), ("Emask 0x", 3), ("cmd 60/", 3),
    ("irq_stat", 3), ("COMRESET", 3), ("out of memory: Killed", 3), ("Out of memory: Killed", 3),
    ("Unrecovered Read Error", 3), ("JBD2:", 3), ("invoked oom-killer", 4), ("table full", 4),
    ("callbacks suppressed", 4), ("timeout, aborting", 4), ("controller is down", 4), ("Marking clocksource", 4),
)  # fmt: skip
_SYSTEMD = (("Failed to start", 3), ("Failed with result", 4), ("Main process exited", 5))
_CHRONYD = (("System clock wrong by", 4), ("Can't synchronise", 4), ("System clock was stepped", 4))
_DAEMONS = {"kernel": _KERNEL, "systemd": _SYSTEMD, "chronyd": _CHRONYD}


def level(identifier: str, text: str) -> int:
    """The level of a line of this program."""
    for word, found in _DAEMONS.get(identifier, ()):
        if word in text:
            return found
    return 6
