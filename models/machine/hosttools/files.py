"""Programs of a node that know how its drives keep files: du, fallocate, zcat. Formats: coreutils 9.4, gzip 1.12."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine import containerlogs
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError, normalize
from simcluster.models.userland.outcome import Outcome


def _split(args: list[str]) -> tuple[str, list[str]]:
    """Letters of the options, and the operands."""
    letters, words, only_words = "", [], False
    for arg in args:
        if only_words or not arg.startswith("-") or arg == "-":
            words.append(arg)
        elif arg == "--":
            only_words = True
        elif arg.startswith("--"):
            letters += {"--recursive": "r", "--force": "f", "--parents": "p", "--append": "a", "--all": "a"}.get(
                arg, ""
            )
        else:
            letters += arg[1:]
    return letters, words


class _Answer:
    """What a program prints while it goes through its operands."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.out: list[str] = []
        self.err: list[str] = []

    def fail(self, text: str) -> None:
        """One line on standard error."""
        self.err.append(f"{self.name}: {text}\n")

    def attempt(self, what: str, act: Callable[..., None], *args: str) -> None:
        """Do something, and say why it fails."""
        try:
            act(*args)
        except FileError as error:
            self.fail(f"{what}: {error}")

    def result(self, delay_ns: int = 0) -> Outcome:
        """The whole, after so long."""
        said = ("".join(self.out), "".join(self.err), 1 if self.err else 0)
        return Outcome(*said, delay_ns=delay_ns) if delay_ns else Outcome(*said)


def _zcat(machine: Machine, args: list[str], stdin: str) -> Outcome:
    """gzip 1.12; only what the kubelet compressed is in its format."""
    answer = _Answer("gzip")
    for path in _split(args)[1]:
        logged = containerlogs.find(machine, normalize(path, "/root"))
        if logged is not None and logged.packed:
            answer.out.append(logged.text())
            continue
        what = "not in gzip format" if NodeTree(machine).is_file(normalize(path, "/root")) else ERROR_TEXTS["ENOENT"]
        answer.err.append(f"\ngzip: {path}: {what}\n" if what.startswith("not") else f"gzip: {path}: {what}\n")
    return answer.result()


def _fallocate(machine: Machine, args: list[str], stdin: str) -> Outcome:
    size, path = "", ""
    words = iter(args)
    for word in words:
        if word in ("-l", "--length"):
            size = next(words, "")
        elif word.startswith("-l"):
            size = word[2:]
        elif not word.startswith("-"):
            path = word
    number = _size_of(size)
    if number is None:
        return Outcome("", "fallocate: invalid length value specified\n", 1)
    if not path:
        return Outcome("", "fallocate: no filename specified\n", 1)
    try:
        NodeTree(machine).allocate(path, number)
    except FileError as error:
        failed = f"cannot open {path}" if str(error) == ERROR_TEXTS["ENOENT"] else "fallocate failed"
        return Outcome("", f"fallocate: {failed}: {error}\n", 1)
    return Outcome("")


def _size_of(text: str) -> int | None:
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    digits = text.rstrip("KMGTiB")
    unit = text[len(digits) :].removesuffix("iB")
    return int(digits) * units[unit] if digits.isdigit() and unit in units else None


TOOLS: dict[str, Callable[[Machine, list[str], str], Outcome]] = {"fallocate": _fallocate, "zcat": _zcat}
