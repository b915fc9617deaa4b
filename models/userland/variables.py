"""Builtins that set, change and read variables: export, declare, read, set, getopts and their kin."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.models.userland import options as getopts
from simcluster.models.userland.bashbuiltins import BASH_BUILTINS, SET_OPTIONS, set_options
from simcluster.models.userland.expand import ExpansionError, shell_quoted
from simcluster.models.userland.grammar import compile_script
from simcluster.models.userland.lexer import ShellSyntaxError, Word
from simcluster.models.userland.process import NOWHERE, Process, Sink, is_name
from simcluster.models.userland.runner import ShellRunner
from simcluster.models.userland.stream import Stream

Fds = dict[int, Sink]
Builtin = Callable[[ShellRunner, Process, list[str], Fds], None]


def out(runner: ShellRunner, fds: Fds, text: str) -> None:
    """Print."""
    runner.write(fds.get(1, NOWHERE), text)


def refuse(runner: ShellRunner, process: Process, argv: list[str], fds: Fds, text: str, code: int = 1) -> None:
    """A builtin refuses its words."""
    said = runner.place.face.said(process.script_name, process.line, text, argv[0])
    runner.write(fds.get(2, NOWHERE), said)
    if code == 2 and runner.place.face.shell == "dash":
        runner.end(process, 2)
    else:
        runner.completed(process, code)


def _export(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = [word for word in argv[1:] if word not in ("-p", "--")]
    if not words:
        for name in sorted(process.exported):
            if name in process.variables:
                head = "declare -x " if runner.place.face.bash else "export "
                value = process.variables[name]
                shown = '"' + value.replace('"', '\\"') + '"' if runner.place.face.bash else shell_quoted(value)
                out(runner, fds, f"{head}{name}={shown}\n")
    if words[:1] == ["-f"] and runner.place.face.bash:
        missing = next((name for name in words[1:] if name not in process.functions), "")
        process.shared.update(dict.fromkeys((name for name in words[1:] if name in process.functions), True))
        if missing:
            refuse(runner, process, argv, fds, f"{missing}: not a function")
        else:
            runner.completed(process, 0)
        return
    if argv[0] == "readonly" and runner.place.face.bash:
        letters = "".join(word[1:] for word in words if word[:1] == "-")
        words = [word for word in words if word[:1] != "-"]
        for word in words if "A" in letters else ():
            process.associative[word.partition("=")[0]] = True
    unexport = words[:1] == ["-n"]
    for word in words[unexport:]:
        name, equals, value = word.partition("=")
        append = name.endswith("+") and runner.place.face.bash
        name = name.removesuffix("+") if append else name
        if not is_name(name):
            bash = runner.place.face.bash
            text = f"`{word}': not a valid identifier" if bash else f"{name}: bad variable name"
            refuse(runner, process, argv, fds, text, 1 if bash else 2)
            return
        if equals and value[:1] == "(" and value[-1:] == ")" and runner.place.face.bash:
            process.assign_array(name, array_words(value), append=append)
        elif equals:
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
        refuse(runner, process, argv, fds, text, 1 if runner.place.face.bash else 2)
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
            refuse(runner, process, argv, fds, text)
            return
        before = process.variable(name) if append else ""
        if entry is not None and "g" not in letters and name not in entry.saved:
            entry.saved[name] = tuple(table.get(name) for table in process.tables())
            if argv[0] == "local" or not append:
                process.references.pop(name, None)
                process.attributes.pop(name, None)
            if argv[0] == "local" or not append:
                process.variables.pop(name, None)
                process.arrays.pop(name, None)
        _attribute(process, name, letters)
        if "n" in letters and equals:
            process.references[name] = process.references.get(value, value)
        elif equals and value[:1] == "(" and value[-1:] == ")" and runner.place.face.bash:
            process.assign_array(name, array_words(value), append=append)
        elif equals:
            process.assign(name, (before or "") + value)
        if "r" in letters:
            process.attributes[name] = process.attributes.get(name, "") + "r"
        if "x" in letters:
            process.exported[name] = True
    runner.completed(process, 0)


def array_words(text: str) -> tuple[Word, ...]:
    """The words of an array written as a text: `(a [k]='b c')`."""
    try:
        value = compile_script(f"x={text}", "bash")[0][1][0][3]
    except (ShellSyntaxError, IndexError):
        return ((("lit", text, True),),)
    return tuple(value[0][1]) if value and value[0][0] == "array" else ((("lit", text, True),),)


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
    """`declare -p`, `declare -f` and `declare -F`."""
    missing = ""
    if "f" in letters or "F" in letters:
        unknown = [name for name in words if name not in process.functions]
        for name in words or sorted(process.functions):
            if name in process.functions:
                out(runner, fds, f"{'' if words else 'declare -f '}{name}\n" if "F" in letters else f"{name} () \n")
        runner.completed(process, int(bool(unknown)))
        return
    for name in words or sorted({*process.variables, *process.arrays}):
        if name in process.arrays:
            sign = "A" if name in process.associative else "a"
            inner = " ".join(f'[{at}]="{value}"' for at, value in process.arrays[name].items())
            out(runner, fds, f"declare -{sign} {name}=({inner}{' ' if sign == 'A' and inner else ''})\n")
        elif name in process.variables:
            marks = process.attributes.get(name, "") + ("x" if name in process.exported else "") or "-"
            out(runner, fds, f'declare -{marks} {name}="{process.variables[name]}"\n')
        else:
            missing = name
    if missing:
        refuse(runner, process, ["declare"], fds, f"{missing}: not found")
    else:
        runner.completed(process, 0)


def _unset(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    if "-n" in argv:
        for word in argv[1:]:
            process.references.pop(word, None)
        runner.completed(process, 0)
        return
    for word in argv[1:]:
        name, bracket, subscript = word.partition("[")
        name = process.references.get(name, name)
        if bracket and name in process.arrays:
            process.arrays[name].pop(process.key(name, subscript.rstrip("]")), None)
            continue
        if "r" in process.attributes.get(name, ""):
            raise ExpansionError(
                f"{argv[0]}: {name}: cannot unset: readonly variable"
                if runner.place.face.bash
                else f"{name}: is read only",
                deadly=not runner.place.face.bash,
            )
        if word.startswith("-"):
            continue
        process.variables.pop(name, None)
        process.arrays.pop(name, None)
        process.associative.pop(name, None)
        process.references.pop(word, None)
        process.exported.pop(name, None)
        if "-v" not in argv:
            process.functions.pop(name, None)
    runner.completed(process, 0)


def _set(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    words = argv[1:]
    if not words:
        shown = sorted(name for name in process.variables)
        out(runner, fds, "".join(f"{name}={_shown(process.variables[name])}\n" for name in shown))
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            process.parameters = words
            break
        letters = word[1:]
        if letters.endswith("o"):
            letters = letters[:-1]
            if words:
                option = SET_OPTIONS.get(words[0], "")
                if not option:
                    text = f"{words[0]}: invalid option name"
                    text = text if runner.place.face.bash else f"illegal option {word} {words[0]}"
                    refuse(runner, process, argv, fds, text, 2 if not runner.place.face.bash else 1)
                    return
                process.options[option] = word[0] == "-"
                words.pop(0)
            else:
                out(runner, fds, set_options(process, again=word[0] == "+"))
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
    process.steps += len(process.parameters) // 2000  # all that follow move
    if enough:
        process.parameters = process.parameters[count:]
    elif runner.place.face.shell == "dash":
        refuse(runner, process, argv, fds, "can't shift that many", 2)
        return
    runner.completed(process, 0 if enough else 1)


def _read(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    given = getopts.parse(argv[1:], "rse", "adinNptu")
    if given.problem:
        bash = runner.place.face.bash
        letter = given.problem[-2:-1]
        text = f"-{letter}: option requires an argument" if bash else f"no arg for -{letter} option"
        refuse(runner, process, argv, fds, text, 2)
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
        array = process.references.get(given.values["a"], given.values["a"])
        process.variables.pop(array, None)
        process.arrays[array] = dict(enumerate(_read_fields(process, text, 0)))
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


def _getopts(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    if len(argv) < 3:
        refuse(runner, process, argv, fds, "usage: getopts optstring name [arg ...]", 2)
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


def _let(runner: ShellRunner, process: Process, argv: list[str], fds: Fds) -> None:
    value = 0
    for word in argv[1:]:
        value = process.number(word)
    runner.completed(process, int(value == 0))


VARIABLES: dict[str, Builtin] = {
    "declare": _local,
    "typeset": _local,
    "local": _local,
    "export": _export,
    "readonly": _export,
    "getopts": _getopts,
    "let": _let,
    "read": _read,
    "set": _set,
    "shift": _shift,
    **BASH_BUILTINS,
    "unset": _unset,
}
