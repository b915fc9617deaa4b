"""Programs of a node that read and change files: cat, ls, cp, mv, rm, mkdir, touch, tee, stat, du, fallocate.

Formats and error texts: coreutils 9.4. The editors refuse, because nobody sits at a terminal.
Left out: wildcards (the shell's), owners and permissions (all is root's), `ls` in columns.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import month_name
from simcluster.models.machine import containerlogs
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import Entry, NodeTree
from simcluster.models.machine.process import ExecResult, Pausing
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError, normalize


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

    def result(self, delay_ns: int = 0) -> ExecResult:
        """The whole, after so long."""
        said = ("".join(self.out), "".join(self.err), 1 if self.err else 0)
        return Pausing.after(delay_ns, *said) if delay_ns else ExecResult(*said)


def _missing(name: str, what: str = "file operand") -> ExecResult:
    return ExecResult("", f"{name}: missing {what}\nTry '{name} --help' for more information.\n", 1)


def _cat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer, tree, took = _Answer("cat"), NodeTree(machine), 0
    for path in _split(args)[1]:
        try:
            content = tree.read(path)
        except FileError as error:
            answer.fail(f"{path}: {error}")
            continue
        answer.out.append(content.text)
        took += content.delay_ns
    return answer.result(took)


def _zcat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
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


def _ls(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer, tree = _Answer("ls"), NodeTree(machine)
    words = words or ["/root"]
    for path in words:
        entry = tree.look(path)
        if entry is None:
            answer.err.append(f"ls: cannot access '{path}': No such file or directory\n")
            continue
        if not entry.is_folder or "d" in letters:
            answer.out.append(_line(entry, path, long="l" in letters))
            continue
        names = tree.entries(path)
        if len(words) > 1:
            answer.out.append(f"{path}:\n")
        if "l" in letters:
            answer.out.append(f"total {4 * len(names)}\n")
        for name in names:
            if not name.startswith(".") or "a" in letters or "A" in letters:
                inner = tree.look(f"{path}/{name}") if "l" in letters else None
                answer.out.append(_line(inner or entry, name, long=inner is not None))
    result = answer.result()
    return result._replace(code=2 if result.code else 0)


def _line(entry: Entry, shown: str, *, long: bool) -> str:
    if not long:
        return f"{shown}\n"
    stamp = format_rfc3339(entry.changed_ns)
    when = f"{month_name(int(stamp[5:7]))} {int(stamp[8:10]):2d} {stamp[11:16]}"
    if entry.device is not None:
        return f"brw-rw---- 1 root disk {entry.device[0]}, {entry.device[1]:3d} {when} {shown}\n"
    kind = "drwxr-xr-x 2" if entry.is_folder else "-rw------- 1"
    return f"{kind} root root {entry.size:5d} {when} {shown}\n"


def _transfer(machine: Machine, name: str, args: list[str], move: bool) -> ExecResult:
    letters, words = _split(args)
    if len(words) < 2:
        if not words:
            return _missing(name)
        return _missing(name, f"destination file operand after '{words[0]}'")
    tree, answer, took = NodeTree(machine), _Answer(name), 0
    *sources, target = words
    into = tree.is_folder(target)
    if len(sources) > 1 and not into:
        return ExecResult("", f"{name}: target '{target}': No such file or directory\n", 1)
    for source in sources:
        last = normalize(source, "/root").rpartition("/")[2]
        inner = into and not source.endswith("/.")  # `cp -a FOLDER/. TARGET` copies what is in the folder
        end = f"{target}/{last}" if inner else target
        entry = tree.look(source)
        if entry is None:
            answer.fail(f"cannot stat '{source}': No such file or directory")
        elif entry.is_folder and not move and not any(letter in letters for letter in "rRa"):
            answer.fail(f"-r not specified; omitting directory '{source}'")
        else:
            try:
                took += tree.move(source, end, name) if move else tree.copy(source, end, name)
            except FileError as error:
                if str(error) == ERROR_TEXTS["EIO"]:
                    answer.fail(f"error reading '{source}': {error}")
                else:
                    what = f"move '{source}' to" if move else "create regular file"
                    answer.fail(f"cannot {what} '{end}': {error}")
    return answer.result(took)


def _mv(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return _transfer(machine, "mv", args, True)


def _cp(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return _transfer(machine, "cp", args, False)


def _rm(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    if not words and "f" not in letters:
        return _missing("rm", "operand")
    answer, tree = _Answer("rm"), NodeTree(machine)
    for path in words:
        entry = tree.look(path)
        if entry is None:
            if "f" not in letters:
                answer.fail(f"cannot remove '{path}': No such file or directory")
        elif entry.is_folder and "r" not in letters.lower():
            answer.fail(f"cannot remove '{path}': Is a directory")
        else:
            answer.attempt(f"cannot remove '{path}'", tree.remove, path)
    return answer.result()


def _mkdir(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    if not words:
        return _missing("mkdir", "operand")
    answer, tree = _Answer("mkdir"), NodeTree(machine)
    make = tree.make_folders if "p" in letters else tree.make_folder
    for path in words:
        answer.attempt(f"cannot create directory '{path}'", make, path)
    return answer.result()


def _touch(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer, tree = _Answer("touch"), NodeTree(machine)
    for path in _split(args)[1]:
        answer.attempt(f"cannot touch '{path}'", tree.touch, path)
    return answer.result()


def _tee(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer, tree = _Answer("tee"), NodeTree(machine)
    write = tree.append if "a" in letters else tree.write
    for path in words:
        answer.attempt(path, write, path, stdin)
    answer.out.append(stdin)
    return answer.result()


def _stat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer, tree = _Answer("stat"), NodeTree(machine)
    for path in _split(args)[1]:
        entry = tree.look(path)
        if entry is None:
            answer.fail(f"cannot statx '{path}': No such file or directory")
            continue
        kind = "directory" if entry.is_folder else "block special file" if entry.device else "regular file"
        stamp = format_rfc3339(entry.changed_ns)
        answer.out.append(f"  File: {path}\n  Size: {entry.size}\t\tBlocks: 8          IO Block: 4096   {kind}\n")
        answer.out.append(f"Modify: {stamp[:10]} {stamp[11:19]}.000000000 +0000\n")
    return answer.result()


def _test(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if word != "]"]
    if len(words) == 2 and words[0] in ("-e", "-f", "-d"):
        tree = NodeTree(machine)
        holds = {"-e": tree.exists, "-f": tree.is_file, "-d": tree.is_folder}[words[0]]
        return ExecResult("", "", 0 if holds(words[1]) else 1)
    return ExecResult("", "", 0 if len(words) == 1 and words[0] else 1)


def _fallocate(machine: Machine, args: list[str], stdin: str) -> ExecResult:
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
        return ExecResult("", "fallocate: invalid length value specified\n", 1)
    if not path:
        return ExecResult("", "fallocate: no filename specified\n", 1)
    try:
        NodeTree(machine).allocate(path, number)
    except FileError as error:
        failed = f"cannot open {path}" if str(error) == ERROR_TEXTS["ENOENT"] else "fallocate failed"
        return ExecResult("", f"fallocate: {failed}: {error}\n", 1)
    return ExecResult("")


def _size_of(text: str) -> int | None:
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    digits = text.rstrip("KMGTiB")
    unit = text[len(digits) :].removesuffix("iB")
    return int(digits) * units[unit] if digits.isdigit() and unit in units else None


def _du(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer, tree = _Answer("du"), NodeTree(machine)
    for path in words or ["/root"]:
        if not tree.exists(path):
            answer.fail(f"cannot access '{path}': No such file or directory")
            continue
        kib = tree.size_below(path) >> 10
        shown = f"{kib >> 20}G" if "h" in letters and kib >> 20 else f"{kib >> 10}M" if "h" in letters else str(kib)
        answer.out.append(f"{shown}\t{path}\n")
    return answer.result()


def _editor(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    said = "Vim: Warning: Output is not to a terminal\nVim: Warning: Input is not from a terminal\n"
    return ExecResult("", f"{said}Vim: Error reading input, exiting...\nVim: Finished.\n", 1)


def _nano(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return ExecResult("", "Error opening terminal: unknown.\n", 1)


TOOLS: dict[str, Callable[[Machine, list[str], str], ExecResult]] = {
    "cat": _cat,
    "zcat": _zcat,
    "cp": _cp,
    "du": _du,
    "fallocate": _fallocate,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _mv,
    "nano": _nano,
    "rm": _rm,
    "stat": _stat,
    "tee": _tee,
    "test": _test,
    "[": _test,
    "touch": _touch,
    "vi": _editor,
    "vim": _editor,
}
