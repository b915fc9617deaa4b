"""Where the shell stands: `cd`, and what a relative path means there.

Programs of the host know no working folder, so the shell hands them absolute paths: words of programs that take
files are replaced where they name something below the folder. What programs print is therefore absolute, too.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

HOME = "/root"
#: Programs whose operands are files; those that make what they name; those whose first operand is none.
_READING = (
    *("cat", "ls", "rm", "rmdir", "stat", "du", "find", "head", "tail", "wc", "sort", "uniq", "cut", "less", "more"),
    *("file", "md5sum", "sha256sum", "chmod", "chown", "readlink", "realpath", "diff", "nl", "tac", "df"),
)
_MAKING = ("touch", "mkdir", "tee", "cp", "mv", "fallocate", "truncate")
_AFTER_PATTERN = ("grep", "egrep", "fgrep", "zgrep", "sed", "awk")
#: Programs that look at the folder itself when nothing is named.
_HERE = ("ls", "du", "find")


def absolute(folder: str, path: str) -> str:
    """The path as seen from a folder.

    >>> absolute("/var/log", "../lib/./x"), absolute("/var/log", "/etc/"), absolute("/", "tmp")
    ('/var/lib/x', '/etc', '/tmp')
    """
    found = posixpath.normpath(posixpath.join(folder, path))
    return found[1:] if found.startswith("//") else found


def located(argv: Sequence[str], folder: str, exists: Callable[[str], bool]) -> list[str]:
    """A command line whose relative files are absolute.

    Args:
        exists: whether there is such a path.

    >>> located(["grep", "-c", "error", "syslog"], "/var/log", lambda path: True)
    ['grep', '-c', 'error', '/var/log/syslog']
    >>> located(["ls", "-l"], "/var/log", lambda path: True)
    ['ls', '-l', '/var/log']
    """
    name, found = argv[0], [argv[0]]
    making, pattern = name in _MAKING, name in _AFTER_PATTERN
    if not (making or pattern or name in _READING):
        return list(argv)
    operands = 0
    for word in argv[1:]:
        if word.startswith("-") and len(word) > 1:
            pattern = pattern and word not in ("-e", "-f", "--expression", "--regexp")
            found.append(word)
            continue
        operands += 1
        first = pattern and operands == 1
        path = absolute(folder, word)
        found.append(path if not first and word and not word.startswith("/") and (making or exists(path)) else word)
    if not operands and name in _HERE:
        found.append(folder)
    elif name == "find" and operands and len(argv) > 1 and argv[1].startswith("-"):
        found.insert(1, folder)
    return found
