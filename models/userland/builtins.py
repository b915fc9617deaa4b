"""Commands that change the shell itself: variables, control flow, traps, waiting.

Each takes (runner, process, argv, descriptors) and completes the command.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.userland import options as getopts
from simcluster.models.userland.expand import ExpansionError, shell_quoted
from simcluster.models.userland.grammar import compile_script, complaint
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.outcome import NOT_FOUND, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.process import NOWHERE, Process, Sink, is_name
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.signals import NAMES, NUMBERS, signal_named
from simcluster.models.userland.stream import Stream

Fds = dict[int, Sink]
Builtin = Callable[[ShellRunner, Process, list[str], Fds], None]


def _colon(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    runner.completed(process, 0)


def _false(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    runner.completed(process, 1)


def _out(runner: ShellRunner, fds: Fds, text: str) -> None:
    runner.write(fds.get(1, NOWHERE), text)


def _refuse(runner: ShellRunner, process: Process, argv: list[str], fds: Fds, text: str, code: int = 1) -> None:
    """A builtin refuses its words."""
    said = runner.place.face.said(process.script_name, process.line, text, argv[0])
    runner.write(fds.get(2, NOWHERE), said)
    if code == 2 and runner.place.face.shell == "dash":
        runner.end(process, 2)
    else:
        runner.completed(process, code)


def _exit(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    code = process.status
    for entry in reversed(process.calls):
        code = entry.status if entry.kind == "trap" and entry.status is not None else code
    code = int(process.traps.get(":exit", code)) if len(argv) == 1 else code
    if len(argv) > 1:
        if not argv[1].lstrip("-").isdigit():
            bash = runner.place.face.bash
            text = f"{argv[1]}: numeric argument required" if bash else f"Illegal number: {argv[1]}"
            _refuse(runner, process, argv, fds, text, 2)
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
            _refuse(runner, process, argv, fds, "can only `return' from a function or sourced script", 2)
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
        _refuse(runner, process, argv, fds, "too many arguments")
        return
    shown = False
    if target == "-":
        target, shown = process.variable("OLDPWD") or "", True
        if not target:
            _refuse(runner, process, argv, fds, "OLDPWD not set")
            return
    call = Call(runner.place, argv, {}, cwd=process.cwd)
    found = call.look(target or ".")
    if found is None or not found.is_folder:
        why = "Not a directory" if found is not None else "No such file or directory"
        dash = runner.place.face.shell == "dash"
        text = f"{target}: {why}" if bash else f"can't cd to {target}" + ("" if dash else f": {why}")
        _refuse(runner, process, argv, fds, text, 2 if dash else 1)
        return
    process.variables["OLDPWD"] = process.cwd
    process.cwd = process.path(target or ".")
    process.variables.pop("PWD", None)
    if shown:
        _out(runner, fds, process.cwd + "\n")
    runner.completed(process, 0)


def _pwd(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    _out(runner, fds, process.cwd + "\n")
    runner.completed(process, 0)


def _umask(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    if len(argv) > 1 and argv[1].isdigit():
        process.umask = int(argv[1], 8) & 0o777 if set(argv[1]) <= set("01234567") else process.umask
    elif argv[1:] == ["-S"]:
        bits = 0o777 & ~process.umask
        shown = ["".join(c for c, bit in zip("rwx", (4, 2, 1), strict=True) if bits >> at & bit) for at in (6, 3, 0)]
        _out(runner, fds, f"u={shown[0]},g={shown[1]},o={shown[2]}\n")
    else:
        _out(runner, fds, f"{process.umask:04o}\n")
    runner.completed(process, 0)


def _ulimit(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    outcome = runner.place.limits(argv[1:], lasts=runner.lasts)
    if outcome.stderr:
        runner.write(fds.get(2, NOWHERE), runner.place.face.said(process.script_name, process.line, "", "")[:-2]
                     + outcome.stderr)  # fmt: skip
    _out(runner, fds, outcome.stdout)
    runner.completed(process, outcome.code)


def _export(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word not in ("-p", "--")]
    if not words:
        for name in sorted(process.exported):
            if name in process.variables:
                head = "declare -x " if runner.place.face.bash else "export "
                value = process.variables[name]
                shown = '"' + value.replace('"', '\\"') + '"' if runner.place.face.bash else shell_quoted(value)
                _out(runner, fds, f"{head}{name}={shown}\n")
    unexport = words[:1] == ["-n"]
    for word in words[unexport:]:
        name, equals, value = word.partition("=")
        append = name.endswith("+") and runner.place.face.bash
        name = name.removesuffix("+") if append else name
        if not is_name(name):
            bash = runner.place.face.bash
            text = f"`{word}': not a valid identifier" if bash else f"{name}: bad variable name"
            _refuse(runner, process, argv, fds, text, 1 if bash else 2)
            return
        if equals:
            process.assign(name, (process.variable(name) or "") + value if append else value)
        if argv[0] == "readonly":
            process.attributes[name] = process.attributes.get(name, "") + "r"
        elif unexport:
            process.exported.pop(name, None)
        else:
            process.exported[name] = True
    runner.completed(process, 0)


def _local(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    entry = next((each for each in reversed(process.calls) if each.kind == "function"), None)
    if entry is None and argv[0] == "local":
        text = "can only be used in a function" if runner.place.face.bash else "not in a function"
        _refuse(runner, process, argv, fds, text)
        return
    letters = "".join(word[1:] for word in argv[1:] if word[:1] == "-")
    words = [word for word in argv[1:] if word[:1] not in "-+"]
    if argv[0] != "local" and ("p" in letters or not words):
        _declared(runner, process, words, letters, fds)
        return
    for word in words:
        name, equals, value = word.partition("=")
        append = name.endswith("+")
        name = name.removesuffix("+")
        if not is_name(name):
            text = f"`{word}': not a valid identifier" if runner.place.face.bash else f"{name}: bad variable name"
            _refuse(runner, process, argv, fds, text)
            return
        before = process.variable(name) if append else ""
        if entry is not None and "g" not in letters and name not in entry.saved:
            held = process.arrays.get(name)
            entry.saved[name] = (process.variables.get(name), held, process.exported.get(name))
            if argv[0] == "local" or not append:
                process.variables.pop(name, None)
                process.arrays.pop(name, None)
        _attribute(process, name, letters)
        if equals and value[:1] == "(" and value[-1:] == ")" and runner.place.face.bash:
            process.assign_array(name, tuple((("lit", each, False),) for each in value[1:-1].split()))
        elif equals:
            process.assign(name, (before or "") + value)
        if "r" in letters:
            process.attributes[name] = process.attributes.get(name, "") + "r"
        if "x" in letters:
            process.exported[name] = True
    runner.completed(process, 0)


def _attribute(process: Process, name: str, letters: str) -> None:
    if "A" in letters:
        process.associative[name] = True
        process.arrays.setdefault(name, {})
    elif "a" in letters:
        process.arrays.setdefault(name, {})
    kept = "".join(letter for letter in letters if letter in "ilu")
    if kept:
        process.attributes[name] = kept


def _declared(runner: ShellRunner, process: Process, words: list[str], letters: str, fds: Fds) -> None:
    """`declare -p`."""
    missing = ""
    for name in words or sorted({*process.variables, *process.arrays}):
        if name in process.arrays:
            sign = "A" if name in process.associative else "a"
            inner = " ".join(f'[{at}]="{value}"' for at, value in process.arrays[name].items())
            _out(runner, fds, f"declare -{sign} {name}=({inner}{' ' if sign == 'A' and inner else ''})\n")
        elif name in process.variables:
            marks = process.attributes.get(name, "") + ("x" if name in process.exported else "") or "-"
            _out(runner, fds, f'declare -{marks} {name}="{process.variables[name]}"\n')
        elif "f" not in letters and "F" not in letters:
            missing = name
    if missing:
        _refuse(runner, process, ["declare"], fds, f"{missing}: not found")
    else:
        runner.completed(process, 0)


def _unset(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    for word in argv[1:]:
        name, bracket, subscript = word.partition("[")
        if bracket and name in process.arrays:
            process.arrays[name].pop(process.key(name, subscript.rstrip("]")), None)
            continue
        if "r" in process.attributes.get(name, ""):
            raise ExpansionError(f"{argv[0]}: {name}: cannot unset: readonly variable" if runner.place.face.bash
                                 else f"{name}: is read only", deadly=not runner.place.face.bash)  # fmt: skip
        if word.startswith("-"):
            continue
        process.variables.pop(name, None)
        process.arrays.pop(name, None)
        process.associative.pop(name, None)
        process.exported.pop(name, None)
        if "-v" not in argv:
            process.functions.pop(name, None)
    runner.completed(process, 0)


_LONG_OPTIONS = {"errexit": "e", "xtrace": "x", "nounset": "u", "noglob": "f", "noclobber": "C", "allexport": "a",
                 "pipefail": "pipefail", "verbose": "v", "noexec": "n", "monitor": "m"}  # fmt: skip


def _set(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = argv[1:]
    if not words:
        shown = sorted(name for name in process.variables)
        _out(runner, fds, "".join(f"{name}={_shown(process.variables[name])}\n" for name in shown))
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            process.parameters = words
            break
        letters = word[1:]
        if letters.endswith("o"):
            letters = letters[:-1]
            if words:
                option = _LONG_OPTIONS.get(words[0], "")
                if not option and words[0] not in ("posix", "vi", "emacs", "history", "braceexpand", "hashall", "errtrace",
                                                   "functrace", "histexpand", "ignoreeof", "physical"):  # fmt: skip
                    text = f"{words[0]}: invalid option name"
                    text = text if runner.place.face.bash else f"illegal option {word} {words[0]}"
                    _refuse(runner, process, argv, fds, text, 2 if not runner.place.face.bash else 1)
                    return
                process.options[option] = word[0] == "-"
                words.pop(0)
        for letter in letters:
            process.options[letter] = word[0] == "-"
    else:
        if words:
            process.parameters = words
    process.status = 0
    process.counter += 1


def _shown(value: str) -> str:
    return value if value and all(char.isalnum() or char in "_-./:,+@%" for char in value) else shell_quoted(value)


def _shift(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    count = int(argv[1][:9]) if len(argv) > 1 and argv[1].isdigit() else 1
    enough = count <= len(process.parameters)
    if enough:
        process.parameters = process.parameters[count:]
    elif runner.place.face.shell == "dash":
        _refuse(runner, process, argv, fds, "can't shift that many", 2)
        return
    runner.completed(process, 0 if enough else 1)


def _read(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    given = getopts.parse(argv[1:], "rse", "adinNptu")
    if given.problem:
        bash = runner.place.face.bash
        letter = given.problem[-2:-1]
        text = f"-{letter}: option requires an argument" if bash else f"no arg for -{letter} option"
        _refuse(runner, process, argv, fds, text, 2)
        return
    names = given.words or (["REPLY"] if not given.has("a") else [])
    fd = int(given.values["u"]) if given.values.get("u", "").isdigit() else 0
    sink = fds.get(fd, NOWHERE)
    stream = sink[1] if sink[0] == "in" else Stream("")
    count = given.values.get("n") or given.values.get("N")
    end = given.values.get("d", "\n")[:1] or "\0"
    if count is not None:
        piece = stream.characters(int(count[:9]) if count.isdigit() else 0)
        if "n" in given.values and end in piece:
            stream.at -= len(piece) - piece.index(end) - 1
            piece = piece.partition(end)[0] + end
        line = piece or None
    else:
        line = _raw_line(stream, end, raw=given.has("r"))
    whole = line is not None and (line.endswith(end) or count is not None)
    text = "" if line is None else line.removesuffix(end) if count is None or "n" in given.values else line
    if given.has("a"):
        process.variables.pop(given.values["a"], None)
        process.arrays[given.values["a"]] = dict(enumerate(_read_fields(process, text, 0)))
    elif names == ["REPLY"] and not given.words:
        process.assign("REPLY", text)
    else:
        fields = _read_fields(process, text, len(names))
        for index, name in enumerate(names):
            process.assign(name, fields[index] if index < len(fields) else "")
    if not whole and given.has("t") and line is None:
        runner.completed(process, 1)
        return
    runner.completed(process, 0 if whole else 1)


def _raw_line(stream: Stream, end: str, *, raw: bool) -> str | None:
    """A line, with its end; unless it is raw, a backslash joins lines and is taken away."""
    line = stream.line(end)
    if raw or line is None or "\\" not in line:
        return line
    out, at = [], 0
    while at < len(line):
        if line[at] != "\\":
            out.append(line[at])
        elif line[at + 1 : at + 2] == "\n":
            line = line[: at + 2] + (stream.line(end) or "")
            at += 1
        else:
            at += 1
            out.append(line[at : at + 1])
        at += 1
    return "".join(out)


def _read_fields(process: Process, text: str, most: int) -> list[str]:
    """The fields of a line; the last of `most` takes the rest."""
    separators = process.variable("IFS")
    separators = " \t\n" if separators is None else separators
    if not separators:
        return [text]
    blanks = "".join(char for char in separators if char in " \t\n")
    text = text.strip(blanks)
    fields: list[str] = []
    while text and (not most or len(fields) < most - 1):
        at = next((i for i, char in enumerate(text) if char in separators), len(text))
        fields.append(text[:at])
        rest = text[at:].lstrip(blanks)
        if rest and rest[0] in separators and rest[0] not in blanks and at < len(text):
            rest = rest[1:].lstrip(blanks)
        text = rest
    if most and len(fields) == most - 1 and text:
        last = text
        if last[-1:] in separators and last[-1:] not in blanks and not any(c in separators for c in last[:-1]):
            last = last[:-1]
        fields.append(last)
    return fields


def _mapfile(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    given = getopts.parse(argv[1:], "t", "cCdnOsu")
    sink = fds.get(0, NOWHERE)
    stream = sink[1] if sink[0] == "in" else Stream("")
    end = given.values.get("d", "\n")[:1] or "\0"
    lines: list[str] = []
    while (line := stream.line(end)) is not None:
        lines.append(line.removesuffix(end) if given.has("t") else line)
    skipped = int(given.values.get("s", "0")[:9] or 0)
    count = int(given.values.get("n", "0")[:9] or 0)
    lines = lines[skipped : skipped + count if count else None]
    name = given.words[0] if given.words else "MAPFILE"
    process.variables.pop(name, None)
    process.arrays[name] = dict(enumerate(lines))
    runner.completed(process, 0)


def _getopts(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    if len(argv) < 3:
        _refuse(runner, process, argv, fds, "usage: getopts optstring name [arg ...]", 2)
        return
    letters, name, words = argv[1], argv[2], argv[3:] or process.parameters
    index = int(process.variables.get("OPTIND", "1") or 1)
    at = process.getopts_at[1] if process.getopts_at[0] == index else 0
    word = words[index - 1] if 0 < index <= len(words) else ""
    if not at and (len(word) < 2 or word[0] != "-" or word == "--"):
        process.assign(name, "?")
        process.assign("OPTIND", str(index + (word == "--")))
        runner.completed(process, 1)
        return
    at = at or 1
    letter = word[at : at + 1]
    place = letters.find(letter) if letter != ":" else -1
    process.variables.pop("OPTARG", None)
    silent, found, last = letters.startswith(":"), letter, at + 1 >= len(word)
    if place < 0:
        found = "?"
        if silent:
            process.assign("OPTARG", letter)
        else:
            said = f"illegal option -- {letter}" if runner.place.face.bash else f"Illegal option -{letter}"
            runner.write(
                fds.get(2, NOWHERE), f"{process.script_name}: {said}\n" if runner.place.face.bash else said + "\n"
            )
        index, at = (index + 1, 0) if last else (index, at + 1)
    elif letters[place + 1 : place + 2] == ":":
        value = word[at + 1 :] or (words[index] if index < len(words) else None)
        index, at = index + (1 if word[at + 1 :] else 2), 0
        if value is None:
            found = ":" if silent else "?"
            if silent:
                process.assign("OPTARG", letter)
            else:
                said = f"option requires an argument -- {letter}"
                runner.write(fds.get(2, NOWHERE), f"{process.script_name}: {said}\n")
        else:
            process.assign("OPTARG", value)
    else:
        index, at = (index + 1, 0) if last else (index, at + 1)
    process.assign(name, found)
    process.assign("OPTIND", str(index))
    process.getopts_at = (index, at)
    runner.completed(process, 0)


def _trap(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word != "--"]
    if words[:1] == ["-l"]:
        _out(runner, fds, "".join(f"{number:2d}) SIG{name}\n" for name, number in NUMBERS.items() if number))
        runner.completed(process, 0)
        return
    if not words or words[:1] == ["-p"]:
        for name, handler in process.traps.items():
            sign = name if name in ("EXIT", "ERR", "DEBUG") or not runner.place.face.bash else f"SIG{name}"
            _out(runner, fds, f"trap -- {shell_quoted(handler)} {sign}\n" if name[0] != ":" else "")
        runner.completed(process, 0)
        return
    handler, targets = (words[0], words[1:]) if len(words) > 1 else ("-", words)
    for word in targets:
        name = signal_named(word)
        if not name:
            text = f"{word}: invalid signal specification"
            _refuse(runner, process, argv, fds, text)
            return
        if handler == "-":
            process.traps.pop(name, None)
        else:
            process.traps[name] = handler
    runner.completed(process, 0)


def _wait(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word not in ("-n", "-f")]
    wanted = [_job(process, word) for word in words] or list(process.children)
    for word, pid in zip(words, wanted, strict=False):
        if pid not in process.children:
            text = f"pid {word} is not a child of this shell"
            if runner.place.face.bash:
                _refuse(runner, process, argv, fds, text, NOT_FOUND)
            else:
                runner.completed(process, NOT_FOUND)
            return
    alive = [pid for pid in wanted if pid in runner.processes and not runner.processes[pid].finished]
    if not alive:
        runner.completed(process, process.ended.get(wanted[-1], 0) if words and wanted else 0)
        return
    process.waiting_for = alive
    process.after = ("wait", 0 if words else 1, 0)
    process.blocked = True


def _job(process: Process, word: str) -> int:
    if word.startswith("%"):
        at = int(word[1:]) - 1 if word[1:].isdigit() else len(process.children) - 1
        return process.children[at] if 0 <= at < len(process.children) else -1
    return int(word[:9]) if word.isdigit() else -1


def _jobs(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    for number, pid in enumerate(process.children, 1):
        if pid in runner.processes:
            _out(runner, fds, f"{pid}\n" if "-p" in argv else f"[{number}]+  Running                 &\n")
    runner.completed(process, 0)


def _no_jobs(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    _refuse(runner, process, argv, fds, "no job control" if runner.place.face.bash else "No current job", 1)


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
            _refuse(runner, process, argv, fds, f"{words[0]}: not found", code)
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
    try:
        code = compile_script(text, runner.place.face.bash)
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
        text = Call(runner.place, argv, {}, cwd=process.cwd).read(name) if name else ""
        code = compile_script(text, face.bash)
    except FileError as problem:
        if face.bash:
            runner.complain(process, f"{name}: {problem}")
            runner.completed(process, 1)
            return
        said = f"can't open '{name}': {problem}" if face.shell == "ash" else f"cannot open {name}: No such file"
        _refuse(runner, process, argv, fds, said, 2)
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
                runner.complain(process, f"{name}: not found", argv[0])
            elif verbose:
                runner.write(fds.get(2, NOWHERE) if False else fds.get(1, NOWHERE), f"{name}: not found\n")
            continue
        if verbose:
            _out(runner, fds, _described(runner, name, place, keyword))
        elif "-t" in words:
            kind = "keyword" if keyword else place if place in ("function", "builtin") else "file"
            _out(runner, fds, kind + "\n")
        else:
            _out(runner, fds, (name if place in ("function", "builtin", "") else place) + "\n")
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
    signal, targets, words = "TERM", [], argv[1:]
    if words[:1] == ["-l"]:
        shown = "".join(f"{NAMES.get(int(word) & 127, word)}\n" for word in words[1:] if word.isdigit())
        _out(runner, fds, shown or " ".join(name for name, number in NUMBERS.items() if number) + "\n")
        runner.completed(process, 0)
        return
    while words and words[0].startswith("-") and len(words[0]) > 1 and not targets:
        word = words.pop(0)
        if word == "--":
            break
        text = words.pop(0) if word in ("-s", "-n") and words else word[1:]
        signal = signal_named(text)
        if not signal:
            _refuse(runner, process, argv, fds, f"{text}: invalid signal specification")
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
            if bash:
                runner.complain(process, f"({word}) - {why}" if plain else f"{word}: {why}", "kill")
            else:
                said = f"can't kill pid {word}: {why}" if plain else f"invalid number '{word}'"
                runner.write(fds.get(2, NOWHERE), f"{process.script_name}: {said}\n")
    if not process.finished:
        runner.completed(process, status)


def _let(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    value = 0
    for word in argv[1:]:
        value = process.number(word)
    runner.completed(process, int(value == 0))


def _shopt(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    for word in argv[1:]:
        if not word.startswith("-"):
            process.options[word] = "-s" in argv
    runner.completed(process, 0)


def _printf_into(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    """`printf`, whose `-v` sets a variable; bash alone has it as a builtin with a line."""
    from_shell = argv[1:2] == ["-v"] and len(argv) > 3 and runner.place.face.bash
    words = ["printf", *argv[3:]] if from_shell else argv
    call = Call(runner.place, words, process.environment(), now_ns=runner.now, cwd=process.cwd,
                shell=(process.script_name, process.line))  # fmt: skip
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
        _out(runner, fds, " ".join(shown) + "\n")


BUILTINS: dict[str, Builtin] = {
    ".": _source, ":": _colon, "true": _colon, "false": _false, "bg": _no_jobs, "break": _break, "builtin": _command,
    "cd": _cd, "command": _command, "continue": _break, "declare": _local, "disown": _colon, "eval": _eval,
    "exec": _exec, "exit": _exit, "export": _export, "fg": _no_jobs, "getopts": _getopts, "hash": _colon,
    "history": _colon, "jobs": _jobs, "kill": _kill, "let": _let, "local": _local, "logout": _exit,
    "mapfile": _mapfile, "printf": _printf_into, "popd": _pushd, "pushd": _pushd, "dirs": _pushd, "pwd": _pwd,
    "read": _read, "readarray": _mapfile, "readonly": _export, "return": _return, "set": _set, "shift": _shift,
    "shopt": _shopt, "source": _source, "trap": _trap, "type": _command, "typeset": _local, "ulimit": _ulimit,
    "umask": _umask, "unalias": _colon, "alias": _colon, "unset": _unset, "wait": _wait, "enable": _colon,
    "bind": _colon, "complete": _colon,
}  # fmt: skip
