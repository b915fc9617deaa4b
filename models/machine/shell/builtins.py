"""Commands that change the shell itself: variables, control flow, traps, waiting.

Each takes (runner, process, argv, sinks, redirected standard input) and completes the command.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.grammar import compile_script
from simcluster.models.machine.shell.lexer import ShellSyntaxError
from simcluster.models.machine.shell.process import Process, Sink, is_name
from simcluster.models.machine.shell.runner import ShellRunner

Sinks = dict[int, Sink]
Builtin = Callable[["ShellRunner", Process, list[str], Sinks, "str | None"], None]

_SIGNALS = {"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "15": "TERM", "0": "EXIT"}
_NUMBERS = {name: int(number) for number, name in _SIGNALS.items()}


def _colon(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    runner.complete(process, 0)


def _exit(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    code = process.status
    if len(argv) > 1:
        if not argv[1].lstrip("-").isdigit():
            runner.complain(process, f"exit: Illegal number: {argv[1]}")
            code = 2
        else:
            code = int(argv[1]) & 255
    runner.end(process, code)


def _return(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    status = int(argv[1]) & 255 if len(argv) > 1 and argv[1].isdigit() else process.status
    if not process.calls:
        runner.end(process, status)
        return
    process.status = status
    runner.leave_call(process)


def _break(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    depth = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    floor = process.calls[-1].frames if process.calls else 0
    depth = min(depth, len(process.frames) - floor)
    if depth < 1:
        runner.complete(process, 0)
        return
    del process.frames[len(process.frames) - depth + 1 :]
    frame = process.frames[-1]
    process.status = 0
    process.counter = frame.end_at if argv[0] == "break" else frame.continue_at


def _cd(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    target = argv[1] if len(argv) > 1 else process.variable("HOME") or "/root"
    path = process.path(target)
    if not runner.files.is_folder(path):
        runner.complain(process, f"cd: can't cd to {target}: No such file or directory")
        runner.complete(process, 1)
        return
    process.cwd = path
    runner.complete(process, 0)


def _pwd(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    runner.write(sinks.get(1, ("null", "")), process.cwd + "\n")
    runner.complete(process, 0)


def _ulimit(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    """`ulimit -n [N]`: open files; what a script sets holds for what it starts. Of other limits nothing is known."""
    flags = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
    values = [word for word in argv[1:] if not word.startswith("-")]
    container = runner.container
    kernel = container.kernel
    if "n" not in flags or kernel is None:
        runner.complete(process, 0)
        return
    if not values:
        runner.write(sinks.get(1, ("null", "")), f"{kernel.descriptors.limit(container)}\n")
    elif kernel.made("prlimit", container):
        runner.complain(process, "ulimit: error setting limit (Operation not permitted)")
        runner.complete(process, 1)
        return
    elif runner.lasts:
        most = kernel.sysctls.number("fs.nr_open")
        try:
            kernel.descriptors.set_limit(container, most if values[0] == "unlimited" else int(values[0]))
        except ValueError:
            runner.complain(process, "ulimit: error setting limit (Operation not permitted)")
            runner.complete(process, 1)
            return
    runner.complete(process, 0)


def _export(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    for word in argv[1:]:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            continue
        if not is_name(name):
            runner.complain(process, f"{argv[0]}: {name}: bad variable name")
            runner.complete(process, 1)
            return
        if equals:
            process.assign(name, value)
        if argv[0] == "export":
            process.exported[name] = True
    runner.complete(process, 0)


def _unset(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    for name in argv[1:]:
        process.variables.pop(name, None)
        process.exported.pop(name, None)
        process.functions.pop(name, None)
    runner.complete(process, 0)


def _set(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    words = argv[1:]
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            process.parameters = words
            break
        if word[1:] == "o":
            option = {"errexit": "e", "xtrace": "x"}.get(words.pop(0) if words else "", "")
            letters = option
        else:
            letters = word[1:]
            if letters.endswith("o") and words:
                words.pop(0)
        for letter in letters:
            process.options[letter] = word[0] == "-"
    else:
        if words:
            process.parameters = words
    process.status = 0
    process.counter += 1


def _shift(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    enough = count <= len(process.parameters)
    if enough:
        process.parameters = process.parameters[count:]
    runner.complete(process, 0 if enough else 1)


def _read(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    names = [word for word in argv[1:] if not word.startswith("-")] or ["REPLY"]
    if stdin is not None:
        line: str | None = stdin.partition("\n")[0] if stdin else None
    else:
        line = process.read_line()
    if line is None:
        runner.complete(process, 1)
        return
    separators = process.variable("IFS")
    fields = line.split(separators or None, len(names) - 1) if separators != "" else [line]
    for index, name in enumerate(names):
        process.assign(name, fields[index].strip() if index < len(fields) else "")
    runner.complete(process, 0)


def _trap(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    if len(argv) > 2:
        for word in argv[2:]:
            name = _SIGNALS.get(word, word.removeprefix("SIG"))
            if argv[1] == "-":
                process.traps.pop(name, None)
            else:
                process.traps[name] = argv[1]
    runner.complete(process, 0)


def _wait(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    wanted = [int(word) for word in argv[1:] if word.isdigit()] or list(process.children)
    alive = [pid for pid in wanted if pid in runner.processes and not runner.processes[pid].finished]
    if not alive:
        runner.complete(process, 0)
        return
    process.waiting_for = alive
    process.after = ("wait", 1, 0)
    process.blocked = True


def _exec(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    if len(argv) == 1:
        process.sinks = sinks
        runner.complete(process, 0)
        return
    # The process goes on as the other program: nothing of the script is left after it.
    process.sinks = sinks
    process.traps = {}
    process.frames, process.calls = [], []
    if process.parent == 0:
        process.code, process.counter = (("exec",),), 0
    else:
        process.code, process.counter = (("exec",), ("end",)), 0
    runner.execute(process, argv[1:], {}, sinks, stdin)


def _eval(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    try:
        code = compile_script(" ".join(argv[1:]))
    except ShellSyntaxError as problem:
        runner.complain(process, f"eval: {problem}")
        runner.end(process, 2)
        return
    process.counter += 1
    runner.call(process, code, 0, process.parameters)


def _source(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    name = argv[1] if len(argv) > 1 else ""
    try:
        code = compile_script(runner.files.read(process.path(name)))
    except FileError:
        runner.complain(process, f".: can't open '{name}': No such file or directory")
        runner.end(process, 2)
        return
    except ShellSyntaxError as problem:
        runner.complain(process, f"{name}: {problem}")
        runner.end(process, 2)
        return
    process.counter += 1
    runner.call(process, code, 0, argv[2:] or process.parameters)


def _command(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    words = argv[1:]
    if words[:1] != ["-v"] and argv[0] == "command":
        runner.execute(process, words or [":"], {}, sinks, stdin)
        return
    found = [name for name in words if not name.startswith("-") and runner.knows(process, name)]
    for name in found:
        shown = name if name in BUILTINS or name in process.functions else f"/bin/{name.rpartition('/')[2]}"
        runner.write(sinks.get(1, ("null", "")), shown + "\n")
    runner.complete(process, 0 if found else 127)


def _kill(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    signal, targets = "TERM", []
    for word in argv[1:]:
        if word.startswith("-"):
            signal = _SIGNALS.get(word[1:], word[1:].removeprefix("SIG"))
        elif word not in ("-s",):
            targets.append(word)
    status = 0
    for word in targets:
        pid = int(word) if word.isdigit() else 0
        if pid not in runner.processes:
            runner.complain(process, f"can't kill pid {word}: No such process")
            status = 1
        elif signal not in ("EXIT", "0"):
            runner.signal(pid, signal, 128 + _NUMBERS.get(signal, 15))
    if not process.finished:
        runner.complete(process, status)


def _timeout(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    words = argv[1:]
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-s", "-k", "-t") else 1]
    runner.execute_limited(process, words, sinks, stdin)


def _prefixed(runner: ShellRunner, process: Process, argv: list[str], sinks: Sinks, stdin: str | None) -> None:
    """`nohup`, `time`, `nice`, `builtin`: the command itself is what matters."""
    words = argv[1:]
    while words and words[0].startswith("-"):
        words = words[1:]
    runner.execute(process, words or [":"], {}, sinks, stdin)


BUILTINS: dict[str, Builtin] = {
    ".": _source,
    ":": _colon,
    "break": _break,
    "builtin": _prefixed,
    "cd": _cd,
    "command": _command,
    "continue": _break,
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "export": _export,
    "kill": _kill,
    "local": _export,
    "nice": _prefixed,
    "nohup": _prefixed,
    "pwd": _pwd,
    "read": _read,
    "readonly": _export,
    "return": _return,
    "set": _set,
    "shift": _shift,
    "source": _source,
    "time": _prefixed,
    "timeout": _timeout,
    "trap": _trap,
    "type": _command,
    "ulimit": _ulimit,
    "umask": _colon,
    "unset": _unset,
    "wait": _wait,
    "which": _command,
}
