"""Where a shell runs, and one call of a command there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from simcluster.models.userland.face import Face
from simcluster.models.userland.outcome import Exhausted, Outcome
from simcluster.models.userland.paths import FileError, Files, Stat, normalize
from simcluster.models.userland.stream import Stream

#: Devices out of which bytes come without end, and how many of them a process that reads on finds at once: what a pipe
#: holds (pipe(7)).
ENDLESS, PIPE_BYTES = ("/dev/zero", "/dev/urandom", "/dev/random"), 65_536


def endless(place: Place, path: str, count: int) -> str:
    """The first bytes of such a device."""
    if path == "/dev/zero":
        return "\0" * count
    drawn = hashlib.shake_128(place.draw().to_bytes(8, "little"))
    return drawn.digest(count).decode("utf-8", "surrogateescape")


class Who(NamedTuple):
    """As whom programs run; who has no name has its number for one."""

    user: str = "root"
    uid: int = 0
    group: str = "root"
    gid: int = 0
    home: str = "/root"
    groups: tuple[int, ...] = ()  # beside its own


class Place(Protocol):
    """A node, a container or the operator's desk, as a shell meets it."""

    face: Face
    host: str  # its name
    who: Who

    @property
    def files(self) -> Files:
        """Its files."""

    def program(self, call: Call) -> Outcome | None:
        """Run a program that only this place has; None if it has none of this name."""

    def own(self, call: Call) -> Outcome | None:
        """Run a program that takes precedence over the common tool of the same name; None if there is none."""

    def located(self, name: str) -> str:
        """Path of the program of this name; empty if there is none."""

    def draw(self) -> int:
        """64 random bits for `$RANDOM`."""

    def fork(self) -> str:
        """Why no process can be started, or empty."""

    def reap(self, count: int) -> None:
        """So many processes are gone."""

    def offset_ns(self) -> int:
        """How far its clock is off."""

    def limits(self) -> str:
        """The text of /proc/self/limits of what is started there."""

    def limited(self, letter: str, value: str, *, raised: bool, lasts: bool) -> bool:
        """Whether `ulimit -LETTER VALUE` is refused; `lasts` where what is set holds for the place itself."""


@dataclass
class Call:
    """One call of a command.

    Attributes:
        place: where it runs.
        argv: name and arguments.
        env: exported variables.
        source: its standard input; None if nobody gives it any.
        cwd: working directory.
        now_ns: the simulated instant.
        until_ns: when somebody ends it (`timeout`), below zero if nobody does.
        piped: whether its output goes into a pipe.
        shell: name of the shell that calls it, and its line; pid: of the process that becomes it.
        umask: what new files may not do; aside: runs a command line and gives what it printed.
    """

    place: Place
    argv: list[str]
    env: dict[str, str]
    source: Stream | None = None
    cwd: str = "/"
    now_ns: int = 0
    until_ns: int = -1
    piped: bool = False
    shell: tuple[str, int] = ("", 0)
    pid: int = 0
    depth: int = 0
    umask: int = 0o022
    aside: Callable[[str], str] | None = None
    said: list[str] = field(default_factory=list)  # complaints so far

    @property
    def name(self) -> str:
        """The command's name without its folder."""
        return self.argv[0].rpartition("/")[2]

    @property
    def args(self) -> list[str]:
        """Its arguments."""
        return self.argv[1:]

    @property
    def gnu(self) -> bool:
        """Whether it is GNU's tool, not BusyBox's."""
        return self.place.face.gnu

    @property
    def files(self) -> Files:
        """The files of the place."""
        return self.place.files

    def stdin(self) -> str:
        """All that is left of its standard input."""
        return "" if self.source is None else self.source.take()

    def path(self, name: str) -> str:
        """Absolute form of a path argument."""
        return normalize(name, self.cwd)

    def look(self, name: str, *, follow: bool = True) -> Stat | None:
        """What lies at a path argument, links followed."""
        path = self.path(name)
        for _ in range(40):
            found = self.files.look(path)
            if found is None or found.kind != "link" or not follow:
                return found
            path = normalize(found.target, path.rpartition("/")[0] or "/")
        return None

    def resolved(self, name: str) -> str:
        """The path behind links."""
        path = self.path(name)
        for _ in range(40):
            found = self.files.look(path)
            if found is None or found.kind != "link":
                break
            path = normalize(found.target, path.rpartition("/")[0] or "/")
        return path

    def read(self, name: str) -> str:
        """Text of a file; `-` is standard input. Raises FileError."""
        if name == "-" or name in ("/dev/stdin", "/proc/self/fd/0"):
            return self.stdin()
        if name == "/dev/null":
            return ""
        if name in ENDLESS:
            raise Exhausted  # who wants the whole of it runs until there is no memory left
        return self.files.read(self.resolved(name))

    def inputs(self, names: list[str], opening: str = "{name}: {problem}") -> list[tuple[str, str]]:
        """Name and text of each file (of standard input if none is named); what fails is complained of.

        Args:
            opening: GNU's form of the complaint, without the program's name.
        """
        found = []
        for name in names or ["-"]:
            try:
                found.append((name, self.read(name)))
            except FileError as problem:
                if self.gnu:
                    self.complain(opening.format(name=name, problem=problem))
                elif str(problem) == "Is a directory":
                    self.complain(f"read error: {problem}")
                else:
                    self.complain(f"can't open '{name}': {problem}" if opening[0] != "!" else f"{name}: {problem}")
        return found

    def complain(self, text: str) -> None:
        """One line on standard error, with the program's name."""
        self.said.append(f"{self.name}: {text}\n")

    def done(self, stdout: str = "", code: int | None = None, *, failed: int = 1) -> Outcome:
        """The outcome: what it printed, and what it complained of; a complaint makes it fail."""
        return Outcome(stdout, "".join(self.said), (failed if self.said else 0) if code is None else code)

    def wrong(self, text: str, code: int = 1, *, hint: bool = True) -> Outcome:
        """The refusal of a command line, in the form of the face's tools."""
        if self.gnu:
            more = f"Try '{self.name} --help' for more information.\n" if hint else ""
            return Outcome(stderr=f"{self.name}: {text}\n{more}", code=code)
        return Outcome(stderr=f"{self.name}: {text}\n", code=code)


Tool = Callable[[Call], Outcome]
