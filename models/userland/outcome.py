"""What a command printed, how long it took, and what it asks of the shell that started it."""

from __future__ import annotations

from typing import Any, NamedTuple

#: A delay longer than any episode: `sleep infinity`, a server that never answers.
FOREVER_NS = 1 << 62
#: Characters that one command may hold or print before the kernel has no memory left for it.
ROOM = 8_000_000
#: What a terminal still shows of a program that prints without end until somebody presses Ctrl-C.
SHOWN = 65_536
KILLED, BROKEN_PIPE, INTERRUPTED, NOT_FOUND, NOT_EXECUTABLE = 137, 141, 130, 127, 126


class Exhausted(Exception):
    """A process asked for more memory than there is: it is killed."""


class Outcome(NamedTuple):
    """What a command did; `str()` is the text on the terminal.

    Attributes:
        stdout, stderr: text, with its newlines; bytes that are no UTF-8 are lone surrogates (`surrogateescape`).
        code: exit status; below zero: whoever waits keeps the one it has.
        delay_ns: how long it took; what it printed appears at its end.
        cores: CPU cores it kept busy meanwhile, if the container may use so many.
        memory_bytes: working set it reached, 0 if it is small.
        port: where it listens until a client comes (0: nowhere); reply: what the client gets.
        stays: whether it listens on after that.
        runs: commands that it starts, as compiled code; its own output comes first, their status is its own.
        then, then_stdin: as what it goes on after that, and with what on its standard input.
        parting: what it says on standard error when it is ended before its time.
        endless: it would print without end; `stdout` is the beginning.
    """

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    delay_ns: int = 0
    cores: float = 0.0
    memory_bytes: int = 0
    port: int = 0
    reply: str = ""
    stays: bool = False
    runs: tuple[tuple[Any, ...], ...] = ()
    endless: bool = False
    then: tuple[str, ...] = ()
    then_stdin: str = ""
    parting: str = ""

    @property
    def exit_code(self) -> int:
        """The exit status, by the name that users of an episode know."""
        return self.code

    def __str__(self) -> str:
        return self.stdout + self.stderr


def fitting(text: str) -> str:
    """The text, if a process can hold it.

    Raises:
        Exhausted: it cannot.
    """
    if len(text) > ROOM:
        raise Exhausted
    return text
