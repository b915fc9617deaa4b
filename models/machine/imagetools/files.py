"""Commands over files and text, as busybox implements them (the options in common use)."""

from __future__ import annotations

import re

from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.imagetools.sed import pattern_of
from simcluster.models.machine.shell.files import FileError, bytes_of


def _lines(text: str) -> list[str]:
    return text[:-1].split("\n") if text.endswith("\n") else text.split("\n") if text else []


def _text(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def cat(call: ToolCall) -> Outcome:
    """Print files one after the other."""
    texts, errors = call.inputs(call.arguments)
    return Outcome("".join(texts), errors, 1 if errors else 0)


def ls(call: ToolCall) -> Outcome:
    """List folders, one name a line (standard output is no terminal)."""
    out, errors = "", ""
    names = call.arguments or ["."]
    for name in names:
        path = call.path(name)
        if call.files.is_file(path) or (call.has("d") and call.files.exists(path)):
            out += _listed(call, path, name)
            continue
        try:
            entries = call.files.entries(path)
        except FileError as problem:
            errors += f"ls: {name}: {problem}\n"
            continue
        if len(names) > 1:
            out += f"{name}:\n"
        if call.has("a"):
            entries = [".", "..", *entries]
        elif not call.has("A"):
            entries = [entry for entry in entries if not entry.startswith(".")]
        out += "".join(_listed(call, call.path(f"{path}/{entry}"), entry) for entry in entries)
    return Outcome(out, errors, 1 if errors else 0)


def _listed(call: ToolCall, path: str, shown: str) -> str:
    if not call.has("l"):
        return shown + "\n"
    size = bytes_of(call.files.read(path)) if call.files.is_file(path) else 4096
    mode = "-rw-r--r--" if call.files.is_file(path) else "drwxr-xr-x"
    return f"{mode}    1 root     root     {size:9d} Mar  2 09:00 {shown}\n"


def touch(call: ToolCall) -> Outcome:
    """Create empty files."""
    for name in call.arguments:
        path = call.path(name)
        try:
            if not call.files.exists(path):
                call.files.write(path, "")
        except FileError as problem:
            said = "No such file or directory" if str(problem) == "nonexistent directory" else str(problem)
            return Outcome(stderr=f"touch: {name}: {said}\n", code=1)
    return Outcome()


def rm(call: ToolCall) -> Outcome:
    """Remove files, with `-r` folders."""
    errors = ""
    for name in call.arguments:
        path = call.path(name)
        if call.files.is_folder(path) and not (call.has("r") or call.has("R")):
            errors += f"rm: '{name}' is a directory\n"
            continue
        try:
            call.files.remove(path)
        except FileError as problem:
            if not call.has("f") or str(problem) != "No such file or directory":
                errors += f"rm: can't remove '{name}': {problem}\n"
    return Outcome(stderr=errors, code=1 if errors else 0)


def mkdir(call: ToolCall) -> Outcome:
    """Create folders."""
    for name in call.arguments:
        try:
            call.files.make_folder(call.path(name), parents=call.has("p"))
        except FileError as problem:
            return Outcome(stderr=f"mkdir: can't create directory '{name}': {problem}\n", code=1)
    return Outcome()


def _count(call: ToolCall) -> tuple[str, list[str]]:
    """The number given to head or tail (`-n 5`, `-5`), and the files."""
    count, names, words = "10", [], iter(call.argv[1:])
    for word in words:
        if word in ("-n", "-c"):
            count = next(words, "10")
        elif word.startswith("-n"):
            count = word[2:]
        elif word[:1] == "-" and word[1:].isdigit():
            count = word[1:]
        elif not word.startswith("-"):
            names.append(word)
    return count, names


def head(call: ToolCall) -> Outcome:
    """The first lines."""
    count, names = _count(call)
    if not count.removeprefix("-").isdecimal():
        return usage_error(call, f"invalid number '{count}'")
    texts, errors = call.inputs(names)
    out = "".join(_text(_lines(text)[: int(count)]) for text in texts)
    return Outcome(out, errors, 1 if errors else 0)


def tail(call: ToolCall) -> Outcome:
    """The last lines; `+N` counts from the start."""
    count, names = _count(call)
    if names == ["/dev/zero"]:  # an endless line has to be held in memory
        return Outcome(delay_ns=FOREVER_NS, cores=1.0, memory_bytes=1 << 40)
    if not count.lstrip("+-").isdecimal():
        return usage_error(call, f"invalid number '{count}'")
    texts, errors = call.inputs(names)
    following = call.has("f") or call.has("F")
    start = int(count) - 1 if count.startswith("+") else -abs(int(count))
    out = "".join(_text(_lines(text)[start:] if start else []) for text in texts)
    return Outcome(out, errors, 1 if errors else 0, FOREVER_NS if following and not errors else 0)


def wc(call: ToolCall) -> Outcome:
    """Count lines, words and bytes."""
    texts, errors = call.inputs(call.arguments)
    text = "".join(texts)
    counts = {"l": text.count("\n"), "w": len(text.split()), "c": bytes_of(text)}
    shown = [str(n) for letter, n in counts.items() if call.has(letter)] or [str(n) for n in counts.values()]
    suffix = f" {call.arguments[0]}" if call.arguments else ""
    return Outcome(" ".join(shown) + suffix + "\n", errors, 1 if errors else 0)


def grep(call: ToolCall) -> Outcome:
    """Lines that match a pattern: `-i -v -c -q -E -F -o -w -n -e`."""
    arguments = call.arguments
    if not arguments:
        return usage_error(call, "missing pattern")
    source, names = arguments[0], arguments[1:]
    try:
        if call.has("F") or call.name == "fgrep":
            pattern = re.compile(re.escape(source))
        else:
            pattern = pattern_of(source, extended=call.has("E") or call.name == "egrep")
        if call.has("w"):
            pattern = re.compile(rf"\b(?:{pattern.pattern})\b")
        if call.has("i"):
            pattern = re.compile(pattern.pattern, re.IGNORECASE)
    except re.error:
        return Outcome(stderr=f"grep: bad regex '{arguments[0]}'\n", code=2)
    texts, errors = call.inputs(names)
    found = [
        (number, line)
        for text in texts
        for number, line in enumerate(_lines(text), 1)
        if (pattern.search(line) is None) == call.has("v")
    ]
    code = 0 if found else 1
    if call.has("q"):
        return Outcome(stderr=errors, code=code)
    if call.has("c"):
        return Outcome(f"{len(found)}\n", errors, code)
    if call.has("o"):
        return Outcome(_text([match[0] for _, line in found for match in pattern.finditer(line)]), errors, code)
    return Outcome(_text([f"{n}:{line}" if call.has("n") else line for n, line in found]), errors, code)


def cut(call: ToolCall) -> Outcome:
    """Fields of lines: `-d X -f N[,M]`."""
    delimiter, wanted, names, words = "\t", "1", [], iter(call.argv[1:])
    for word in words:
        if word.startswith("-d"):
            delimiter = word[2:] or next(words, "\t")
        elif word.startswith("-f"):
            wanted = word[2:] or next(words, "1")
        elif not word.startswith("-"):
            names.append(word)
    if len(delimiter) != 1:
        return usage_error(call, "the delimiter must be a single character")
    if not re.fullmatch(r"(\d+-?\d*|-\d+)(,(\d+-?\d*|-\d+))*", wanted):
        return usage_error(call, f"invalid range '{wanted}'")
    texts, errors = call.inputs(names)
    out = []
    for line in _lines("".join(texts)):
        fields = line.split(delimiter)
        out.append(delimiter.join(_chosen(fields, wanted)) if len(fields) > 1 else line)
    return Outcome(_text(out), errors, 1 if errors else 0)


def _chosen(fields: list[str], wanted: str) -> list[str]:
    chosen: list[str] = []
    for item in wanted.split(","):
        low, dash, high = item.partition("-")
        first = int(low or "1")
        last = (int(high) if high else len(fields)) if dash else first
        chosen += fields[first - 1 : last]
    return chosen


def sort(call: ToolCall) -> Outcome:
    """Sort lines: `-r -n -u`."""
    texts, errors = call.inputs(call.arguments)
    lines = sorted(_lines("".join(texts)))
    if call.has("n"):
        lines.sort(key=_leading_number)
    if call.has("r"):
        lines.reverse()
    if call.has("u"):
        lines = list(dict.fromkeys(lines))
    return Outcome(_text(lines), errors, 1 if errors else 0)


def _leading_number(line: str) -> int:
    match = re.match(r"\s*(-?\d+)", line)
    return int(match[1]) if match else 0


def uniq(call: ToolCall) -> Outcome:
    """Drop repeated neighbours; `-c` counts them."""
    texts, errors = call.inputs(call.arguments)
    groups: list[list[str]] = []
    for line in _lines("".join(texts)):
        if groups and groups[-1][0] == line:
            groups[-1].append(line)
        else:
            groups.append([line])
    shown = [f"{len(group):7d} {group[0]}" if call.has("c") else group[0] for group in groups]
    return Outcome(_text(shown), errors, 1 if errors else 0)


def tr(call: ToolCall) -> Outcome:
    """Translate or (`-d`) delete characters; ranges such as `a-z`."""
    sets = [_characters(word) for word in call.argv[1:] if word not in ("-d", "-s")]
    if not sets:
        return usage_error(call, "missing operand")
    if call.has("d"):
        return Outcome("".join(char for char in call.stdin if char not in sets[0]))
    if len(sets) < 2 or not sets[1]:
        return usage_error(call, "missing operand")
    target = sets[1] + sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    return Outcome(call.stdin.translate({ord(old): new for old, new in zip(sets[0], target, strict=False)}))


def _characters(text: str) -> str:
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z")
    return re.sub(r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), text)


def tee(call: ToolCall) -> Outcome:
    """Write standard input to files and to standard output."""
    for name in call.arguments:
        try:
            call.files.write(call.path(name), call.stdin, append=call.has("a"))
        except FileError as problem:
            return Outcome(call.stdin, f"tee: {name}: {problem}\n", 1)
    return Outcome(call.stdin)


def test(call: ToolCall) -> Outcome:
    """`test` and `[`: files, strings, integers, `!`, `-a`, `-o`."""
    words = call.argv[1:]
    if call.name == "[":
        if words[-1:] != ["]"]:
            return Outcome(stderr="sh: missing ]\n", code=2)
        words = words[:-1]
    try:
        return Outcome(code=0 if _holds(call, words) else 1)
    except ValueError as problem:
        return Outcome(stderr=f"sh: {problem}\n", code=2)


def _holds(call: ToolCall, words: list[str]) -> bool:
    for operator in ("-o", "-a"):
        if operator in words[1:-1] and len(words) > 3:
            at = words.index(operator, 1)
            left, right = _holds(call, words[:at]), _holds(call, words[at + 1 :])
            return left or right if operator == "-o" else left and right
    if words[:1] == ["!"] and len(words) > 1:
        return not _holds(call, words[1:])
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2:
        return _unary(call, words[0], words[1])
    if len(words) == 3:
        return _binary(words[0], words[1], words[2])
    raise ValueError(f"{words[0]}: unknown operand")


def _unary(call: ToolCall, operator: str, operand: str) -> bool:
    path = call.path(operand)
    if operator in ("-z", "-n"):
        return (operand == "") == (operator == "-z")
    if operator in ("-e", "-r", "-w", "-x", "-h", "-L"):
        return operator not in ("-h", "-L") and call.files.exists(path)
    if operator == "-f":
        return call.files.is_file(path)
    if operator == "-d":
        return call.files.is_folder(path)
    if operator == "-s":
        return call.files.is_file(path) and call.files.read(path) != ""
    raise ValueError(f"{operator}: unknown operand")


def _binary(left: str, operator: str, right: str) -> bool:
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    if operator not in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        raise ValueError(f"{operator}: unknown operand")
    for word in (left, right):
        if not re.fullmatch(r"\s*[-+]?\d+\s*", word):
            raise ValueError(f"{word}: bad number")
    a, b = int(left), int(right)
    return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}[operator]


TOOLS: dict[str, Tool] = {
    "[": test,
    "cat": cat,
    "cut": cut,
    "egrep": grep,
    "fgrep": grep,
    "grep": grep,
    "head": head,
    "ls": ls,
    "mkdir": mkdir,
    "rm": rm,
    "sort": sort,
    "tail": tail,
    "tee": tee,
    "test": test,
    "touch": touch,
    "tr": tr,
    "uniq": uniq,
    "wc": wc,
}
