"""Error numbers of Linux by name, and what strerror says of them."""

from __future__ import annotations

from typing import NamedTuple

#: asm-generic/errno-base.h, errno.h: name -> number, and glibc's text.
_TABLE = (
    ("EPERM", 1, "Operation not permitted"),
    ("ENOENT", 2, "No such file or directory"),
    ("EINTR", 4, "Interrupted system call"),
    ("EIO", 5, "Input/output error"),
    ("EAGAIN", 11, "Resource temporarily unavailable"),
    ("ENOMEM", 12, "Cannot allocate memory"),
    ("EACCES", 13, "Permission denied"),
    ("EINVAL", 22, "Invalid argument"),
    ("ENFILE", 23, "Too many open files in system"),
    ("EMFILE", 24, "Too many open files"),
    ("ENOSPC", 28, "No space left on device"),
    ("EROFS", 30, "Read-only file system"),
    ("EADDRINUSE", 98, "Address already in use"),
    ("EADDRNOTAVAIL", 99, "Cannot assign requested address"),
    ("ENETDOWN", 100, "Network is down"),
    ("ENETUNREACH", 101, "Network is unreachable"),
    ("ECONNABORTED", 103, "Software caused connection abort"),
    ("ECONNRESET", 104, "Connection reset by peer"),
    ("ENOBUFS", 105, "No buffer space available"),
    ("ETIMEDOUT", 110, "Connection timed out"),
    ("ECONNREFUSED", 111, "Connection refused"),
    ("EHOSTUNREACH", 113, "No route to host"),
    ("EDQUOT", 122, "Disk quota exceeded"),
)
NUMBER = {name: number for name, number, _ in _TABLE}
MESSAGE = {name: text for name, _, text in _TABLE}


def go_text(name: str) -> str:
    """How Go words it: the text of strerror in lower case."""
    text = MESSAGE[name]
    return text[0].lower() + text[1:]


class Failure(NamedTuple):
    """A system call that fails: its error by name, and after how long (nanoseconds)."""

    errno: str
    delay_ns: int = 0
