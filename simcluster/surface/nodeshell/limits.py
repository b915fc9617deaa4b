"""`ulimit`: the limits of the shell's processes. Format: bash 5.2.

They are those of init, but for descriptors: sshd's sessions get the soft limit of login shells. Left out: setting
any of them (a shell that ends at once would change nothing).
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.userland.outcome import Outcome

#: Soft limit of descriptors of a login shell (pam_limits, kernel default).
LOGIN_FILES = "1024"
#: What `ulimit -a` calls them: (text, unit and option), and the name in /proc/PID/limits or a fixed value.
_ROWS = (
    ("real-time non-blocking time", "microseconds, -R", "=unlimited"),
    ("core file size", "blocks, -c", "=0"),
    ("data seg size", "kbytes, -d", "Max data size"),
    ("scheduling priority", "-e", "Max nice priority"),
    ("file size", "blocks, -f", "Max file size"),
    ("pending signals", "-i", "Max pending signals"),
    ("max locked memory", "kbytes, -l", "=1048576"),
    ("max memory size", "kbytes, -m", "Max resident set"),
    ("open files", "-n", f"={LOGIN_FILES}"),
    ("pipe size", "512 bytes, -p", "=8"),
    ("POSIX message queues", "bytes, -q", "Max msgqueue size"),
    ("real-time priority", "-r", "Max realtime priority"),
    ("stack size", "kbytes, -s", "=8192"),
    ("cpu time", "seconds, -t", "Max cpu time"),
    ("max user processes", "-u", "Max processes"),
    ("virtual memory", "kbytes, -v", "Max address space"),
    ("file locks", "-x", "Max file locks"),
)


def ulimit(args: Sequence[str], limits: str) -> Outcome:
    """Run `ulimit ARGS`.

    Args:
        limits: text of /proc/1/limits.
    """
    words = [word for word in args if word not in ("-S", "-H")]
    hard = any(word.startswith("-") and "H" in word for word in args)
    letters = words[0].lstrip("-").replace("S", "").replace("H", "") if words else "f"
    if letters == "a":
        lines = []
        for name, unit, source in _ROWS:
            heading = f"({unit})"
            lines.append(f"{name:<{37 - len(heading)}} {heading} {_value(source, limits)}\n")
        return Outcome("".join(lines))
    for _, unit, source in _ROWS:
        if unit.endswith(f"-{letters}"):
            source = "Max open files" if hard and letters == "n" else source
            return Outcome(_value(source, limits) + "\n") if len(words) < 2 else Outcome("")
    return Outcome("", f"bash: ulimit: -{letters}: invalid option\n", 2)


def _value(source: str, limits: str) -> str:
    if source.startswith("="):
        return source[1:]
    line = next((line for line in limits.splitlines() if line.startswith(source)), "")
    return (line[len(source) :].split() or ["unlimited"])[0]
