"""Programs of a node that read and change files: cat, ls, cp, mv, rm, mkdir, touch, tee, stat, du, fallocate.

Formats and error texts: coreutils 9.4. The editors refuse, because nobody sits at a terminal.
Left out: wildcards (the shell's), owners and permissions (all is root's), `ls` in columns.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import month_name
from simcluster.models.machine.hostfiles import HostFiles
from simcluster.models.machine.hosttools import storedfiles
from simcluster.models.machine.hosttools.virtualfiles import virtual_file, virtual_names
from simcluster.models.machine.kernel import procfiles
from simcluster.models.machine.machine import Machine
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


def _absolute(path: str) -> str:
    return normalize(path, "/root")


class _Answer:
    """What a program prints while it goes through its operands."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.out: list[str] = []
        self.err: list[str] = []

    def fail(self, text: str) -> None:
        """One line on standard error."""
        self.err.append(f"{self.name}: {text}\n")

    def result(self) -> ExecResult:
        """The whole."""
        return ExecResult("".join(self.out), "".join(self.err), 1 if self.err else 0)


def _missing(name: str, what: str = "file operand") -> ExecResult:
    return ExecResult("", f"{name}: missing {what}\nTry '{name} --help' for more information.\n", 1)


def _cat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer, pause_ns = _Answer("cat"), 0
    for path in _split(args)[1]:
        if storedfiles.size_of(machine, _absolute(path)) is not None:
            took, error = storedfiles.read_through(machine, _absolute(path), "cat")
            pause_ns += took
            if error:
                answer.fail(f"{path}: {error}")
            continue
        try:
            text = virtual_file(machine, _absolute(path))
            answer.out.append(machine.files.read(_absolute(path)) if text is None else text)
        except FileError as error:
            answer.fail(f"{path}: {error}")
    result = answer.result()
    return Pausing.after(pause_ns, result.stdout, result.stderr, result.code) if pause_ns else result


def _ls(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer = _Answer("ls")
    words = words or ["/root"]
    for path in words:
        full = _absolute(path)
        is_file = machine.files.find(full) is not None or storedfiles.size_of(machine, full) is not None
        is_file = is_file or virtual_file(machine, full) is not None
        if "d" in letters and not (is_file or _is_folder(machine, full)):
            answer.err.append(f"ls: cannot access '{path}': No such file or directory\n")
            continue
        if is_file or "d" in letters:
            answer.out.append(_entry(machine, full, path, long="l" in letters))
            continue
        made_up = virtual_names(machine, full)
        names = storedfiles.names_in(machine, full) if made_up is None else made_up
        try:
            if not names or machine.files.is_folder(full):
                names = sorted(dict.fromkeys((*names, *machine.files.entries(full))))
        except FileError as error:
            answer.err.append(f"ls: cannot access '{path}': {error}\n")
            continue
        if len(words) > 1:
            answer.out.append(f"{path}:\n")
        if "l" in letters:
            answer.out.append(f"total {4 * len(names)}\n")
        shown = [name for name in names if "a" in letters or "A" in letters or not name.startswith(".")]
        answer.out.extend(_entry(machine, f"{full}/{name}", name, long="l" in letters) for name in shown)
    result = answer.result()
    return result._replace(code=2 if result.code else 0)


def _is_folder(machine: Machine, path: str) -> bool:
    if machine.files.is_folder(path) or storedfiles.is_folder(machine, path):
        return True
    return virtual_names(machine, path) is not None


def _entry(machine: Machine, path: str, shown: str, *, long: bool) -> str:
    if not long:
        return f"{shown}\n"
    found, stored = machine.files.find(path), storedfiles.size_of(machine, path)
    stamp = format_rfc3339(found.changed_ns if found is not None else 0)
    when = f"{month_name(int(stamp[5:7]))} {int(stamp[8:10]):2d} {stamp[11:16]}"
    if stored is not None:
        return f"-rw------- 1 root root {stored:5d} {when} {shown}\n"
    if found is None:
        return f"drwxr-xr-x 2 root root  4096 {when} {shown}\n"
    size = len(found.text.encode()) + found.hollow_bytes
    return f"-rw------- 1 root root {size:5d} {when} {shown}\n"


def _transfer(machine: Machine, name: str, args: list[str], move: bool) -> ExecResult:
    letters, words = _split(args)
    if len(words) < 2:
        if not words:
            return _missing(name)
        return _missing(name, f"destination file operand after '{words[0]}'")
    files, answer = machine.files, _Answer(name)
    *sources, target = words
    into = files.is_folder(_absolute(target))
    took = 0
    if len(sources) > 1 and not into:
        return ExecResult("", f"{name}: target '{target}': No such file or directory\n", 1)
    for source in sources:
        full = _absolute(source)
        inner = into and not source.endswith("/.")  # `cp -a FOLDER/. TARGET` copies what is in the folder
        end = f"{_absolute(target)}/{full.rpartition('/')[2]}" if inner else _absolute(target)
        try:
            if storedfiles.size_of(machine, full) is not None or storedfiles.is_folder(machine, full):
                took += _copy_stored(machine, name, full, end, move or any(letter in letters for letter in "rRa"))
                if move:
                    storedfiles.remove(machine, full)
            elif move:
                files.move(full, end)
            elif files.is_folder(full):
                _copy_folder(files, full, end, letters)
            else:
                files.write(end, files.read(full))
        except FileError as error:
            _explain(answer, files, move, (source, full), (target, end), str(error))
    result = answer.result()
    return Pausing.after(took, result.stdout, result.stderr, result.code) if took else result


def _copy_stored(machine: Machine, name: str, source: str, target: str, folders: bool) -> int:
    """Copy what a program keeps on a drive; how long it takes. Raises FileError."""
    if storedfiles.size_of(machine, source) is None and not folders:
        raise FileError("-r not specified")
    took, error = storedfiles.copy(machine, source, target, name)
    if error:
        raise FileError(error)
    return took


def _copy_folder(files: HostFiles, source: str, target: str, letters: str) -> None:
    if not any(letter in letters for letter in "rRa"):
        raise FileError("-r not specified")
    files.make_folder(target, parents=True)
    for name, text in files.below(source):
        files.make_folder(f"{target}/{name}".rpartition("/")[0], parents=True)
        files.write(f"{target}/{name}", text)


def _explain(
    answer: _Answer, files: HostFiles, move: bool, source: tuple[str, str], target: tuple[str, str], error: str
) -> None:
    if error == "-r not specified":
        answer.fail(f"-r not specified; omitting directory '{source[0]}'")
    elif error == ERROR_TEXTS["EIO"]:
        answer.fail(f"error reading '{source[0]}': {error}")
    elif error == ERROR_TEXTS["ENOENT"] and not files.exists(source[1]):
        answer.fail(f"cannot stat '{source[0]}': No such file or directory")
    elif move:
        answer.fail(f"cannot move '{source[0]}' to '{target[0]}': {error}")
    else:
        answer.fail(f"cannot create regular file '{target[0]}': {error}")


def _mv(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return _transfer(machine, "mv", args, True)


def _cp(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    return _transfer(machine, "cp", args, False)


def _rm(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    if not words and "f" not in letters:
        return _missing("rm", "operand")
    answer = _Answer("rm")
    for path in words:
        full = _absolute(path)
        below = "r" in letters.lower() and storedfiles.is_folder(machine, full)
        if below or storedfiles.size_of(machine, full) is not None:
            error = storedfiles.remove(machine, full)
            if error:
                answer.fail(f"cannot remove '{path}': {error}")
            elif below and machine.files.is_folder(full):
                machine.files.remove_folder(full)
        elif machine.files.find(full) is not None:
            _remove_file(machine, path, answer)
        elif not machine.files.is_folder(full):
            if "f" not in letters:
                answer.fail(f"cannot remove '{path}': No such file or directory")
        elif "r" in letters or "R" in letters:
            machine.files.remove_folder(full)
        else:
            answer.fail(f"cannot remove '{path}': Is a directory")
    return answer.result()


def _remove_file(machine: Machine, path: str, answer: _Answer) -> None:
    try:
        machine.files.remove(_absolute(path))
    except FileError as error:
        answer.fail(f"cannot remove '{path}': {error}")


def _mkdir(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    if not words:
        return _missing("mkdir", "operand")
    answer = _Answer("mkdir")
    for path in words:
        try:
            machine.files.make_folder(_absolute(path), parents="p" in letters)
        except FileError as error:
            answer.fail(f"cannot create directory '{path}': {error}")
    return answer.result()


def _touch(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer = _Answer("touch")
    for path in _split(args)[1]:
        found = machine.files.find(_absolute(path))
        try:
            machine.files.write(_absolute(path), found.text if found is not None else "")
        except FileError as error:
            answer.fail(f"cannot touch '{path}': {error}")
    return answer.result()


def _tee(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer = _Answer("tee")
    for path in words:
        full = _absolute(path)
        refused = procfiles.write(machine, full, stdin)
        if refused is not None:
            if refused:
                answer.fail(f"{path}: {refused}")
            continue
        before = machine.files.find(full)
        try:
            machine.files.write(full, (before.text if before is not None and "a" in letters else "") + stdin)
        except FileError as error:
            answer.fail(f"{path}: {error}")
    answer.out.append(stdin)
    return answer.result()


def _stat(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    answer = _Answer("stat")
    for path in _split(args)[1]:
        full = _absolute(path)
        found = machine.files.find(full)
        if found is None and not machine.files.is_folder(full):
            answer.fail(f"cannot statx '{path}': No such file or directory")
            continue
        size, kind = (len(found.text.encode()), "regular file") if found is not None else (4096, "directory")
        stamp = format_rfc3339(found.changed_ns if found is not None else 0)
        answer.out.append(f"  File: {path}\n  Size: {size}\t\tBlocks: 8          IO Block: 4096   {kind}\n")
        answer.out.append(f"Modify: {stamp[:10]} {stamp[11:19]}.000000000 +0000\n")
    return answer.result()


def _test(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    words = [word for word in args if word != "]"]
    if len(words) == 2 and words[0] in ("-e", "-f", "-d"):
        path = _absolute(words[1])
        is_file = machine.files.find(path) is not None or storedfiles.size_of(machine, path) is not None
        is_folder = machine.files.is_folder(path) or storedfiles.is_folder(machine, path)
        holds = {"-e": is_file or is_folder, "-f": is_file, "-d": is_folder}[words[0]]
        return ExecResult("", "", 0 if holds else 1)
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
    refused = machine.files_at(_absolute(path)).refusal(number)
    if refused:
        return ExecResult("", f"fallocate: fallocate failed: {ERROR_TEXTS[refused]}\n", 1)
    try:
        machine.files.allocate(_absolute(path), number)
    except FileError as error:
        return ExecResult("", f"fallocate: cannot open {path}: {error}\n", 1)
    return ExecResult("")


def _size_of(text: str) -> int | None:
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    digits = text.rstrip("KMGTiB")
    unit = text[len(digits) :].removesuffix("iB")
    return int(digits) * units[unit] if digits.isdigit() and unit in units else None


def _du(machine: Machine, args: list[str], stdin: str) -> ExecResult:
    letters, words = _split(args)
    answer = _Answer("du")
    for path in words or ["/root"]:
        full = _absolute(path)
        found = machine.files.find(full)
        if found is None and not (machine.files.is_folder(full) or storedfiles.size_below(machine, full)):
            answer.fail(f"cannot access '{path}': No such file or directory")
            continue
        kib = (machine.files.size_below(full) + storedfiles.size_below(machine, full)) >> 10
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
