"""Commands that change the shell itself: variables, control flow, traps, waiting.

Each takes (runner, process, argv, descriptors) and completes the command.
"""

from __future__ import annotations

from simcluster.models.userland.expand import shell_quoted
from simcluster.models.userland.grammar import compile_script, complaint
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.outcome import NOT_FOUND, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.process import NOWHERE, Process, is_name
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.signals import NAMES, NUMBERS, signal_named
from simcluster.models.userland.ulimit import ulimit
from simcluster.models.userland.variables import VARIABLES, Builtin, Fds, out, refuse


def _colon(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    runner.completed(process, 0)


def _false(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    runner.completed(process, 1)


def _exit(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    code = process.status
    for entry in reversed(process.calls):
        code = entry.status if entry.kind == "trap" and entry.status is not None else code
    code = int(process.traps.get(":exit", code)) if len(argv) == 1 else code
    if len(argv) > 1:
        if not argv[1].lstrip("-").isdigit():
            bash = runner.place.face.bash
            text = f"{argv[1]}: numeric argument required" if bash else f"Illegal number: {argv[1]}"
            refuse(runner, process, argv, fds, text, 2)
            code = 2
        else:
            code = int(argv[1][-18:]) & 255
            process.traps.pop(":exit", None)
    runner.end(process, code)


def _return(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    status = int(argv[1][-9:]) & 255 if len(argv) > 1 and argv[1].lstrip("-").isdigit() else process.status
    while process.calls and process.calls[-1].kind == "eval":
        runner.leave_call(process)
    if not process.calls:
        if runner.place.face.bash:
            refuse(runner, process, argv, fds, "can only `return' from a function or sourced script", 2)
            return
        runner.end(process, status)
        return
    runner.leave_call(process)
    process.status = status
    runner.check_errexit(process)


def _break(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    depth = int(argv[1][:9]) if len(argv) > 1 and argv[1].isdigit() else 1
    floor = process.calls[-1].frames if process.calls else 0
    depth = min(depth, len(process.frames) - floor)
    if depth < 1:
        if runner.place.face.bash:
            said = "only meaningful in a `for', `while', or `until' loop"
            runner.write(fds.get(2, NOWHERE), runner.place.face.said(process.script_name, process.line, said, argv[0]))
        runner.completed(process, 0)
        return
    del process.frames[len(process.frames) - depth + 1 :]
    frame = process.frames[-1]
    process.status, process.guard, frame.last = 0, frame.guard, 0
    process.counter = frame.end_at if argv[0] == "break" else frame.continue_at


def _cd(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word not in ("-L", "-P", "--")]
    target = words[0] if words else process.variable("HOME") or "/root"
    bash = runner.place.face.bash
    if len(words) > 1 and bash:
        refuse(runner, process, argv, fds, "too many arguments")
        return
    shown = False
    if target == "-":
        target, shown = process.variable("OLDPWD") or "", True
        if not target:
            refuse(runner, process, argv, fds, "OLDPWD not set")
            return
    call = Call(runner.place, argv, {}, cwd=process.cwd)
    found = call.look(target or ".")
    if found is None or not found.is_folder:
        why = "Not a directory" if found is not None else "No such file or directory"
        dash = runner.place.face.shell == "dash"
        text = f"{target}: {why}" if bash else f"can't cd to {target}" + ("" if dash else f": {why}")
        refuse(runner, process, argv, fds, text, 1 if bash else 2)
        return
    process.variables["OLDPWD"] = process.cwd
    process.cwd = process.path(target or ".")
    process.variables.pop("PWD", None)
    if shown:
        out(runner, fds, process.cwd + "\n")
    runner.completed(process, 0)


def _pwd(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    out(runner, fds, process.cwd + "\n")
    runner.completed(process, 0)


def _umask(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    if len(argv) > 1 and argv[1].isdigit():
        process.umask = int(argv[1], 8) & 0o777 if set(argv[1]) <= set("01234567") else process.umask
    elif argv[1:] == ["-S"]:
        bits = 0o777 & ~process.umask
        shown = ["".join(c for c, bit in zip("rwx", (4, 2, 1), strict=True) if bits >> at & bit) for at in (6, 3, 0)]
        out(runner, fds, f"u={shown[0]},g={shown[1]},o={shown[2]}\n")
    else:
        out(runner, fds, f"{process.umask:04o}\n")
    runner.completed(process, 0)


def _ulimit(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    outcome = ulimit(runner.place, argv[1:], process.limits, lasts=runner.lasts)
    if outcome.stderr:
        face = runner.place.face
        by = "" if face.shell == "ash" else "ulimit"
        runner.write(fds.get(2, NOWHERE), face.said(process.script_name, process.line, outcome.stderr[:-1], by))
    out(runner, fds, outcome.stdout)
    runner.completed(process, outcome.code)


def _trap(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word != "--"]
    if words[:1] == ["-l"]:
        out(runner, fds, "".join(f"{number:2d}) SIG{name}\n" for name, number in NUMBERS.items() if number))
        runner.completed(process, 0)
        return
    if not words or words[:1] == ["-p"]:
        for name, handler in process.traps.items():
            sign = name if name in ("EXIT", "ERR", "DEBUG") or not runner.place.face.bash else f"SIG{name}"
            out(runner, fds, f"trap -- {shell_quoted(handler)} {sign}\n" if name[0] != ":" else "")
        runner.completed(process, 0)
        return
    handler, targets = (words[0], words[1:]) if len(words) > 1 else ("-", words)
    for word in targets:
        name = signal_named(word)
        if not name:
            text = f"{word}: invalid signal specification"
            refuse(runner, process, argv, fds, text)
            return
        if handler == "-":
            process.traps.pop(name, None)
        else:
            process.traps[name] = handler
        if name == "RETURN" and process.calls and runner.place.face.bash:
            process.traps[":return"] = str(len(process.calls))
    runner.completed(process, 0)


def _wait(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word not in ("-n", "-f")]
    first = "-n" in argv and runner.place.face.bash
    wanted = [_job(process, word) for word in words] or list(process.children)
    if first:
        wanted = [pid for pid in wanted if pid not in process.waited]
    for word, pid in zip(words, wanted, strict=False):
        if pid not in process.children:
            text = f"pid {word} is not a child of this shell"
            if runner.place.face.bash:
                refuse(runner, process, argv, fds, text, NOT_FOUND)
            else:
                runner.completed(process, NOT_FOUND)
            return
    alive = [pid for pid in wanted if pid in runner.processes and not runner.processes[pid].finished]
    over = [pid for pid in process.ended if pid in wanted]  # in the order in which they have ended
    if first and (over or not alive):
        process.waited += over[:1]
        runner.completed(process, process.ended[over[0]] if over else NOT_FOUND)
        return
    if not alive:
        runner.completed(process, process.ended.get(wanted[-1], 0) if words and wanted else 0)
        if not words:
            process.waited = list(process.children)
        return
    if first:  # it looks again who has ended
        process.waiting_for, process.after = alive, ("any", 0, 0)
        process.blocked = True
        return
    process.waited += wanted
    process.waiting_for = alive
    process.after = ("wait", 0 if words else 1, 0)
    process.blocked = True


def _job(process: Process, word: str) -> int:
    if word.startswith("%"):
        known = list(process.jobs)
        at = word[1:] if word[1:].isdigit() else str((known[-2:] or [0])[0] if word == "%-" else (known or [0])[-1])
        return process.jobs.get(int(at[:9]), -1)
    return int(word[:9]) if word.isdigit() else -1


def _jobs(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    living = {number: pid for number, pid in process.jobs.items() if pid in runner.processes}
    marks = dict(zip(reversed(living), ("+", "-"), strict=False))
    gnu = runner.place.face.bash
    for number, pid in living.items() if gnu else reversed(living.items()):
        shown = f"{runner.processes[pid].written} &" if gnu else ""  # BusyBox names them at a terminal only
        row = f"[{number}]{marks.get(number, ' ')}  {'Running':<{24 if gnu else 27}}{shown}\n"
        out(runner, fds, f"{pid}\n" if "-p" in argv else row)
    runner.completed(process, 0)


def _no_jobs(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    refuse(runner, process, argv, fds, "no job control" if runner.place.face.bash else "No current job", 1)


def _disown(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if not word.startswith("-")]
    if not any(pid in runner.processes for pid in process.jobs.values()) and "-a" not in argv:
        refuse(runner, process, argv, fds, f"{(words or ['current'])[0]}: no such job")
        return
    process.jobs.clear()
    runner.completed(process, 0)


def _suspend(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    refuse(runner, process, argv, fds, "cannot suspend: no job control")


def _exec(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = argv[1:]
    while words[:1] in (["-a"], ["-c"], ["-l"]):
        words = words[2:] if words[0] == "-a" else words[1:]
    if not words:
        process.fds = fds
        runner.completed(process, 0)
        return
    if "/" not in words[0] and not runner.place.located(words[0]):
        code = NOT_FOUND
        if not runner.start_program(process, words, replace=True):
            refuse(runner, process, argv, fds, f"{words[0]}: not found", code)
            runner.end(process, code)
        return
    # The process goes on as the other program: nothing of the script is left after it.
    process.fds = fds
    process.traps = {}
    process.frames, process.calls = [], []
    process.code, process.counter = ((("exec",),) if process.parent == 0 else (("exec",), ("end",))), 0
    runner.execute(process, words, {}, fds, functions=False)


def _eval(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    text = " ".join(argv[1:])
    process.steps += len(text) // 20  # reading a program is work, too
    try:
        code = compile_script(text, runner.place.face.shell)
    except ShellSyntaxError as problem:
        said = complaint(problem, runner.place.face, process.script_name, text).replace(
            " -c: line 1:", " eval: line 1:"
        )
        runner.write(fds.get(2, NOWHERE), said)
        if runner.place.face.bash:
            runner.completed(process, 2)
        else:
            runner.end(process, 2)
        return
    process.counter += 1
    if not code:
        process.status = 0
        return
    process.fd_stack.append(process.fds)
    process.fds = fds
    runner.call(process, code, 0, process.parameters, kind="eval")
    if process.calls and not process.finished:
        process.calls[-1] = process.calls[-1]._replace(redirected=len(process.fd_stack) - 1)


def _source(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    name = argv[1] if len(argv) > 1 else ""
    face = runner.place.face
    try:
        if name and "/" not in name and not face.bash:  # the others look into the folders of PATH alone
            raise FileError("not found")
        text = Call(runner.place, argv, {}, cwd=process.cwd).read(name) if name else ""
        code = compile_script(text, face.shell)
    except FileError as problem:
        if face.bash:
            runner.complain(process, f"{name}: {problem}")
            runner.completed(process, 1)
            return
        if str(problem) == "not found":
            runner.write(fds.get(2, NOWHERE), face.said(process.script_name, process.line, f".: {name}: not found"))
            runner.end(process, 2)
            return
        said = f"can't open '{name}': {problem}" if face.shell == "ash" else f"cannot open {name}: No such file"
        refuse(runner, process, argv, fds, said, 2)
        runner.end(process, 2)
        return
    except ShellSyntaxError as problem:
        runner.write(fds.get(2, NOWHERE), complaint(problem, face, name, text).replace(" -c: ", " "))
        runner.completed(process, 2) if face.bash else runner.end(process, 2)
        return
    process.counter += 1
    runner.call(process, code, 0, argv[2:] or process.parameters, kind="source")


def _command(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = argv[1:]
    if words[:1] == ["-p"]:
        words = words[1:]
    if argv[0] in ("command", "builtin") and words[:1] not in (["-v"], ["-V"]):
        if not words:
            runner.completed(process, 0)
            return
        runner.execute(process, words, {}, fds, functions=False)
        return
    verbose = (argv[0] == "type" and "-t" not in words and "-p" not in words and "-P" not in words) or words[:1] == [
        "-V"
    ]
    names = [name for name in words if not name.startswith("-")]
    missing = False
    for name in names:
        place = runner.knows(process, name)
        keyword = name in (
            "if",
            "then",
            "else",
            "fi",
            "for",
            "do",
            "done",
            "while",
            "case",
            "esac",
            "{",
            "}",
            "!",
            "[[",
        )
        if not place and not keyword:
            missing = True
            face = runner.place.face
            if verbose and face.bash:
                said = face.said(process.script_name, process.line, f"{name}: not found", argv[0])
                runner.write(fds.get(2, NOWHERE), said)
            elif verbose:
                runner.write(fds.get(1, NOWHERE), f"{name}: not found\n")
            continue
        if verbose:
            out(runner, fds, _described(runner, name, place, keyword))
        elif "-t" in words and runner.place.face.bash:
            kind = "keyword" if keyword else place if place in ("function", "builtin") else "file"
            out(runner, fds, kind + "\n")
        else:
            out(runner, fds, (name if place in ("function", "builtin", "") else place) + "\n")
    runner.completed(process, (1 if runner.place.face.bash else 127) if missing else 0)


def _described(runner: ShellRunner, name: str, place: str, keyword: bool) -> str:
    bash = runner.place.face.bash
    if keyword:
        return f"{name} is a shell keyword\n"
    if place == "function":
        return f"{name} is a function\n"
    if place == "builtin":
        return f"{name} is a {'' if bash or name in ('cd', 'echo') else 'special '}shell builtin\n"
    return f"{name} is {place}\n"


def _kill(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    signal, words = "TERM", argv[1:]
    if words[:1] == ["-l"]:
        shown = "".join(
            f"{NAMES.get(int(word[-6:]) & 127, word)}\n" if word.isdigit() else f"{NUMBERS[signal_named(word)]}\n"
            for word in words[1:]
            if word.isdigit() or signal_named(word) in NUMBERS
        )
        out(runner, fds, shown or " ".join(name for name, number in NUMBERS.items() if number) + "\n")
        runner.completed(process, 0)
        return
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        text = words.pop(0) if word in ("-s", "-n") and words else word[1:]
        signal = signal_named(text)
        if not signal:
            refuse(runner, process, argv, fds, f"{text}: invalid signal specification")
            return
    status = 0
    for word in words:
        pid = _job(process, word)
        known = process.shell_pid if pid == process.shell_pid and process.parent == 0 else pid
        if known in runner.processes:
            if signal not in ("EXIT", "0"):
                runner.signal(known, signal, 128 + NUMBERS.get(signal, 15))
            continue
        call = Call(runner.place, ["kill", f"-{signal}" if signal != "EXIT" else "-0", word], {}, now_ns=runner.now)
        outcome = runner.place.program(call) or Outcome("", "", 1)
        if outcome.code:
            status = 1
            bash = runner.place.face.bash
            plain = word.lstrip("-").isdigit()
            why = "No such process" if plain else "arguments must be process or job IDs"
            if word[:1] == "%":
                runner.complain(process, f"{word}: no such job", "kill")
            elif bash:
                runner.complain(process, f"({word}) - {why}" if plain else f"{word}: {why}", "kill")
            else:
                said = f"can't kill pid {word}: {why}" if plain else f"invalid number '{word}'"
                runner.write(fds.get(2, NOWHERE), f"{process.script_name}: {said}\n")
    if not process.finished:
        runner.completed(process, status)


def _printf_into(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`printf`, whose `-v` sets a variable; bash alone has it as a builtin with a line."""
    from_shell = argv[1:2] == ["-v"] and len(argv) > 3 and runner.place.face.bash
    words = ["printf", *argv[3:]] if from_shell else argv
    call = Call(
        runner.place,
        words,
        process.environment(),
        now_ns=runner.now,
        cwd=process.cwd,
        shell=(process.script_name, process.line),
    )
    outcome = runner.tool(call) or Outcome()
    if from_shell and is_name(argv[2].partition("[")[0]):
        name, bracket, subscript = argv[2].partition("[")
        if bracket:
            process.assign_element(name, subscript.rstrip("]"), outcome.stdout)
        else:
            process.assign(name, outcome.stdout)
        outcome = outcome._replace(stdout="")
    runner.print(process, fds, outcome)
    runner.completed(process, outcome.code)


def _alias(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    head = "alias " if runner.place.face.bash else ""
    status = 0
    for word in argv[1:] or sorted(process.aliases):
        name, equals, value = word.partition("=")
        if equals:
            process.aliases[name] = value
        elif name in process.aliases:
            out(runner, fds, f"{head}{name}={shell_quoted(process.aliases[name])}\n")
        else:
            status = 1
            said = runner.place.face.said(process.script_name, process.line, f"{name}: not found", "alias")
            runner.write(fds.get(2, NOWHERE), said if runner.place.face.bash else f"alias: {name} not found\n")
    runner.completed(process, status)


def _unalias(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    missing = [name for name in argv[1:] if name != "-a" and process.aliases.pop(name, None) is None]
    if "-a" in argv:
        process.aliases.clear()
    if missing:
        refuse(runner, process, argv, fds, f"{missing[0]}: not found")
    else:
        runner.completed(process, 0)


def _pushd(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    stack = process.arrays.setdefault("DIRSTACK", {})
    folders = [*stack.values()]
    if argv[0] == "pushd" and len(argv) > 1:
        folders = [process.cwd, *folders]
        _cd(runner, process, ["cd", argv[1]], fds)
    elif argv[0] == "popd" and folders:
        _cd(runner, process, ["cd", folders.pop(0)], fds)
    else:
        runner.completed(process, 0)
    process.arrays["DIRSTACK"] = dict(enumerate(folders))
    home = process.variable("HOME") or "/root"
    shown = [path.replace(home, "~", 1) if path.startswith(home) else path for path in (process.cwd, *folders)]
    if process.status == 0:
        out(runner, fds, " ".join(shown) + "\n")


BUILTINS: dict[str, Builtin] = {
    **VARIABLES,
    ".": _source,
    ":": _colon,
    "true": _colon,
    "false": _false,
    "bg": _no_jobs,
    "break": _break,
    "builtin": _command,
    "cd": _cd,
    "command": _command,
    "continue": _break,
    "disown": _disown,
    "suspend": _suspend,
    "eval": _eval,
    "exec": _exec,
    "exit": _exit,
    "fg": _no_jobs,
    "hash": _colon,
    "history": _colon,
    "jobs": _jobs,
    "kill": _kill,
    "logout": _exit,
    "printf": _printf_into,
    "popd": _pushd,
    "pushd": _pushd,
    "dirs": _pushd,
    "pwd": _pwd,
    "return": _return,
    "source": _source,
    "trap": _trap,
    "type": _command,
    "ulimit": _ulimit,
    "umask": _umask,
    "unalias": _unalias,
    "alias": _alias,
    "wait": _wait,
    "enable": _colon,
    "bind": _colon,
    "complete": _colon,
}
