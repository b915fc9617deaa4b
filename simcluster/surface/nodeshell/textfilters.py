"""Text filters of a shell: grep, head, tail, wc, sort, uniq, cut, tr, sed, awk, cat, echo.

They know nothing of nodes: text in, text out. Files are read through a function the caller
gives. Options are those that people use on a pager's worth of text; others are refused as
the real programs refuse unknown ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from simcluster.surface.nodeshell.awk import AwkError, run_awk
from simcluster.surface.nodeshell.regex import RegexError, compile_pattern
from simcluster.surface.protocols import CommandResult

#: Gives a file's text, or None if there is no such file.
ReadFile = Callable[[str], str | None]


class Options(NamedTuple):
    """A command line taken apart."""

    flags: dict[str, str]
    words: list[str]
    invalid: str = ""

    def number(self, flag: str, default: int) -> int:
        """An option's value as a number."""
        text = self.flags.get(flag, "")
        return int(text) if text.lstrip("+-").isdigit() else default


def options(argv: Sequence[str], simple: str, valued: str, long: dict[str, str] | None = None) -> Options:
    """Take apart `argv[1:]`: letters without a value, letters with one, long names by their letter."""
    flags: dict[str, str] = {}
    words: list[str] = []
    rest = list(argv[1:])
    while rest:
        word = rest.pop(0)
        if word == "--":
            words.extend(rest)
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            letter = (long or {}).get(name)
            if letter is None:
                return Options(flags, words, f"unrecognized option '{word}'")
            flags[letter] = value if equals or letter not in valued else (rest.pop(0) if rest else "")
        elif word.startswith("-") and word != "-" and not (word[1:].isdigit() and "n" in valued):
            problem = _letters(word[1:], rest, flags, simple, valued)
            if problem:
                return Options(flags, words, problem)
        elif word.startswith("-") and word[1:].isdigit():
            flags["n"] = word[1:]
        else:
            words.append(word)
    return Options(flags, words)


def _letters(letters: str, rest: list[str], flags: dict[str, str], simple: str, valued: str) -> str:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in valued:
            flags[letter] = letters or (rest.pop(0) if rest else "")
            return ""
        if letter not in simple:
            return f"invalid option -- '{letter}'"
        flags[letter] = ""
    return ""


def _invalid(name: str, problem: str) -> CommandResult:
    return CommandResult("", f"{name}: {problem}\nTry '{name} --help' for more information.\n", 1)


def _inputs(name: str, paths: list[str], stdin: str, read: ReadFile) -> tuple[list[tuple[str, str]], str]:
    """(name, text) of each input, and what is said about missing files."""
    if not paths:
        return [("", stdin)], ""
    found, problems = [], ""
    for path in paths:
        text = stdin if path == "-" else read(path)
        if text is None:
            problems += f"{name}: {path}: No such file or directory\n"
        else:
            found.append((path, text))
    return found, problems


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)


def cat(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """cat: files or standard input."""
    chosen = options(argv, "nAebstuv", "")
    if chosen.invalid:
        return _invalid("cat", chosen.invalid)
    inputs, problems = _inputs("cat", chosen.words, stdin, read)
    text = "".join(text for _, text in inputs)
    if "n" in chosen.flags:
        text = _joined([f"{i:6}\t{line}" for i, line in enumerate(_lines(text), 1)])
    return CommandResult(text, problems, 1 if problems else 0)


def tac(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """tac: lines in reverse order."""
    inputs, problems = _inputs("tac", list(argv[1:]), stdin, read)
    return CommandResult("".join(_joined(_lines(text)[::-1]) for _, text in inputs), problems, 1 if problems else 0)


def head(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """head: the first lines or bytes."""
    return _end("head", argv, stdin, read)


def tail(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """tail: the last lines or bytes; `-f` only shows what there is."""
    return _end("tail", argv, stdin, read)


def _end(name: str, argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    chosen = options(argv, "qvfF", "nc", {"lines": "n", "bytes": "c", "quiet": "q", "follow": "f"})
    if chosen.invalid:
        return _invalid(name, chosen.invalid)
    text_of_n = chosen.flags.get("n", "10")
    if not text_of_n.lstrip("+-").isdigit():
        return CommandResult("", f"{name}: invalid number of lines: '{text_of_n}'\n", 1)
    inputs, problems = _inputs(name, chosen.words, stdin, read)
    pieces: list[str] = []
    for path, text in inputs:
        if len(inputs) > 1:
            pieces.append(("\n" if pieces else "") + f"==> {path} <==\n")
        pieces.append(_part(name, text, chosen))
    return CommandResult("".join(pieces), problems, 1 if problems else 0)


def _part(name: str, text: str, chosen: Options) -> str:
    if "c" in chosen.flags:
        count = chosen.number("c", 0)
        return text[:count] if name == "head" else text[-count:] if count else ""
    lines = _lines(text)
    wanted = chosen.flags.get("n", "10")
    count = abs(int(wanted))
    if name == "head":
        return _joined(lines[:-count] if wanted.startswith("-") and count else lines[:count])
    if wanted.startswith("+"):
        return _joined(lines[max(0, count - 1) :])
    return _joined(lines[-count:] if count else [])


def wc(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """wc: lines, words, bytes."""
    chosen = options(argv, "lwcm", "", {"lines": "l", "words": "w", "bytes": "c", "chars": "m"})
    if chosen.invalid:
        return _invalid("wc", chosen.invalid)
    inputs, problems = _inputs("wc", chosen.words, stdin, read)
    shown = [letter for letter in "lwmc" if letter in chosen.flags] or ["l", "w", "c"]
    rows, totals = [], [0] * len(shown)
    for path, text in inputs:
        found = {"l": text.count("\n"), "w": len(text.split()), "m": len(text), "c": len(text.encode())}
        numbers = [found[letter] for letter in shown]
        totals = [a + b for a, b in zip(totals, numbers, strict=True)]
        rows.append((numbers, path))
    if len(rows) > 1:
        rows.append((totals, "total"))
    single = len(shown) == 1 and len(rows) == 1
    width = 0 if single else 7 if not chosen.words else len(str(max(totals)))
    lines = [" ".join([*[str(n).rjust(width) for n in numbers], *([path] if path else [])]) for numbers, path in rows]
    return CommandResult(_joined(lines), problems, 1 if problems else 0)


def grep(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """grep: lines that match, with context, counts, numbers, names."""
    long = {
        "ignore-case": "i",
        "invert-match": "v",
        "count": "c",
        "line-number": "n",
        "only-matching": "o",
        "word-regexp": "w",
        "extended-regexp": "E",
        "fixed-strings": "F",
        "quiet": "q",
        "after-context": "A",
        "before-context": "B",
        "context": "C",
        "max-count": "m",
        "color": "K",
    }
    chosen = options(argv, "ivcnowxEFPqhHslarK", "eABCm", long)
    if chosen.invalid:
        result = _invalid("grep", chosen.invalid)
        return result._replace(exit_code=2)
    words = list(chosen.words)
    pattern = chosen.flags["e"] if "e" in chosen.flags else (words.pop(0) if words else None)
    if pattern is None:
        return CommandResult("", "Usage: grep [OPTION]... PATTERNS [FILE]...\n", 2)
    kind = "F" if "F" in chosen.flags or argv[0] == "fgrep" else "G"
    kind = "E" if "E" in chosen.flags or "P" in chosen.flags or argv[0] == "egrep" else kind
    try:
        compiled = compile_pattern(
            pattern,
            kind,
            ignore_case="i" in chosen.flags,
            whole_word="w" in chosen.flags,
            whole_line="x" in chosen.flags,
        )
    except RegexError as error:
        return CommandResult("", f"grep: {error}\n", 2)
    inputs, problems = _inputs("grep", words, stdin, read)
    with_name = "H" in chosen.flags or (len(words) > 1 and "h" not in chosen.flags)
    output, matched = [], False
    for path, text in inputs:
        lines, hits = _grep_lines(compiled, _lines(text), chosen, f"{path}:" if with_name else "")
        matched = matched or hits
        output.extend([path or "(standard input)"] if "l" in chosen.flags and hits else lines)
    code = 0 if matched else 1
    return CommandResult("" if "q" in chosen.flags else _joined(output), problems, 2 if problems else code)


def _grep_lines(pattern: re.Pattern[str], lines: list[str], chosen: Options, name: str) -> tuple[list[str], bool]:
    flags = chosen.flags
    limit = chosen.number("m", len(lines))
    hits = [i for i, line in enumerate(lines) if (pattern.search(line) is None) == ("v" in flags)][:limit]
    if "l" in flags:
        return [], bool(hits)
    if "c" in flags:
        return [f"{name}{len(hits)}"], bool(hits)
    if "o" in flags:
        return [
            f"{name}{f'{i + 1}:' if 'n' in flags else ''}{match[0]}"
            for i in hits
            for match in pattern.finditer(lines[i])
            if match[0]
        ], bool(hits)
    around = chosen.number("C", 0)
    before, after = chosen.number("B", around), chosen.number("A", around)
    shown: dict[int, bool] = {}
    for hit in hits:
        for i in range(max(0, hit - before), min(len(lines), hit + after + 1)):
            shown[i] = shown.get(i, False) or i == hit
    output, last = [], -1
    for i in sorted(shown):
        if (before or after) and last >= 0 and i > last + 1:
            output.append("--")
        mark = ":" if shown[i] else "-"
        output.append((name[:-1] + mark if name else "") + (f"{i + 1}{mark}" if "n" in flags else "") + lines[i])
        last = i
    return output, bool(hits)


def sort(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """sort: by text, number, human number or field."""
    chosen = options(argv, "rnuhbfV", "kto", {"reverse": "r", "numeric-sort": "n", "unique": "u", "key": "k"})
    if chosen.invalid:
        return _invalid("sort", chosen.invalid)._replace(exit_code=2)
    inputs, problems = _inputs("sort", chosen.words, stdin, read)
    lines = [line for _, text in inputs for line in _lines(text)]
    lines.sort(key=_SortKey(chosen), reverse="r" in chosen.flags)
    if "u" in chosen.flags:
        lines = list(dict.fromkeys(lines))
    return CommandResult(_joined(lines), problems, 2 if problems else 0)


class _SortKey:
    """Key of one line under the options of sort."""

    def __init__(self, chosen: Options) -> None:
        spec = re.match(r"(\d+)(?:\.\d+)?([nrh]*)(?:,(\d+))?", chosen.flags.get("k", ""))
        self.field = int(spec[1]) if spec else 0
        self.last = int(spec[3]) if spec and spec[3] else 0
        letters = "".join(chosen.flags) + (spec[2] if spec else "")
        self.numeric = "n" in letters or "h" in letters
        self.fold = "f" in chosen.flags
        self.separator = chosen.flags.get("t")

    def __call__(self, line: str) -> tuple[float, str]:
        text = line
        if self.field:
            fields = line.split(self.separator)
            text = " ".join(fields[self.field - 1 : self.last or None])
        if self.numeric:
            match = re.match(r"\s*(-?\d*\.?\d+)([KMGT]?)", text)
            if match is None:
                return (0.0, text)
            return (float(match[1]) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]], text)
        return (0.0, text.lower() if self.fold else text)


def uniq(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """uniq: adjacent equal lines once, with counts."""
    chosen = options(argv, "cdui", "", {"count": "c", "repeated": "d", "unique": "u"})
    if chosen.invalid:
        return _invalid("uniq", chosen.invalid)
    inputs, problems = _inputs("uniq", chosen.words[:1], stdin, read)
    groups: list[tuple[str, int]] = []
    for line in (line for _, text in inputs for line in _lines(text)):
        if groups and groups[-1][0] == line:
            groups[-1] = (line, groups[-1][1] + 1)
        else:
            groups.append((line, 1))
    if "d" in chosen.flags:
        groups = [group for group in groups if group[1] > 1]
    if "u" in chosen.flags:
        groups = [group for group in groups if group[1] == 1]
    lines = [f"{count:7} {line}" if "c" in chosen.flags else line for line, count in groups]
    return CommandResult(_joined(lines), problems, 1 if problems else 0)


def cut(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """cut: fields or characters of each line."""
    chosen = options(argv, "s", "dfcb", {"delimiter": "d", "fields": "f", "characters": "c"})
    if chosen.invalid:
        return _invalid("cut", chosen.invalid)
    if not any(letter in chosen.flags for letter in "fcb"):
        return _invalid("cut", "you must specify a list of bytes, characters, or fields")
    inputs, problems = _inputs("cut", chosen.words, stdin, read)
    delimiter = chosen.flags.get("d", "\t")
    by_field = "f" in chosen.flags
    ranges = chosen.flags.get("f") or chosen.flags.get("c") or chosen.flags.get("b", "")
    output = []
    for line in (line for _, text in inputs for line in _lines(text)):
        if not by_field:
            output.append("".join(_chosen(list(line), ranges)))
        elif delimiter in line:
            output.append(delimiter.join(_chosen(line.split(delimiter), ranges)))
        elif "s" not in chosen.flags:
            output.append(line)
    return CommandResult(_joined(output), problems, 1 if problems else 0)


def _chosen(items: list[str], ranges: str) -> list[str]:
    places: dict[int, None] = {}
    for part in ranges.split(","):
        first, dash, last = part.partition("-")
        start = int(first) if first.isdigit() else 1
        end = (int(last) if last.isdigit() else len(items)) if dash else start
        places.update(dict.fromkeys(range(start - 1, min(end, len(items)))))
    return [items[place] for place in sorted(places) if place < len(items)]


def tr(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """tr: translate, delete or squeeze characters."""
    chosen = options(argv, "dsc", "")
    if chosen.invalid or not chosen.words:
        return _invalid("tr", chosen.invalid or "missing operand")
    first = _characters(chosen.words[0])
    second = _characters(chosen.words[1]) if len(chosen.words) > 1 else ""
    text = stdin
    if "d" in chosen.flags:
        return CommandResult("".join(c for c in text if (c in first) == ("c" in chosen.flags)))
    if second:
        padded = second.ljust(len(first), second[-1])
        text = text.translate(dict(zip(map(ord, first), padded, strict=False)))
    if "s" in chosen.flags:
        for c in dict.fromkeys(second or first):
            text = re.sub(re.escape(c) + "+", lambda _, c=c: c, text)  # type: ignore[misc]
    return CommandResult(text)


_SETS = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\f\v",
}


def _characters(text: str) -> str:
    for name, letters in _SETS.items():
        text = text.replace(name, letters)
    text = text.replace("\\n", "\n").replace("\\t", "\t")
    return re.sub(r"(.)-(.)", _span, text, flags=re.DOTALL)


def _span(match: re.Match[str]) -> str:
    return "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1)))


def sed(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """sed: `s/a/b/g`, `/re/d`, `/re/p`, `3p`, `2,5p`, `$p`, `$d`, `Nq`; one or several, with -n and -E."""
    chosen = options(argv, "nErsz", "e")
    if chosen.invalid:
        return _invalid("sed", chosen.invalid)
    words = list(chosen.words)
    script = chosen.flags["e"] if "e" in chosen.flags else (words.pop(0) if words else "")
    inputs, problems = _inputs("sed", words, stdin, read)
    lines = [line for _, text in inputs for line in _lines(text)]
    kind = "E" if "E" in chosen.flags or "r" in chosen.flags else "G"
    try:
        output = _run_sed([part.strip() for part in script.split(";")], lines, kind, "n" in chosen.flags)
    except (RegexError, ValueError) as error:
        return CommandResult("", f"sed: -e expression #1, char 1: {error}\n", 1)
    return CommandResult(_joined(output), problems, 2 if problems else 0)


_SED = re.compile(r"^(?:(\d+|\$)(?:,(\d+|\$))?|/((?:\\.|[^/])*)/)?\s*(.*)$", re.DOTALL)


def _run_sed(commands: list[str], lines: list[str], kind: str, quiet: bool) -> list[str]:
    output: list[str] = []
    for number, line in enumerate(lines, 1):
        keep, quit_now = True, False
        for command in commands:
            match = _SED.match(command)
            if match is None or not command:
                continue
            if not _addressed(match, number, len(lines), line, kind):
                continue
            action = match[4]
            if action == "d":
                keep = False
                break
            if action == "p":
                output.append(line)
            elif action == "q":
                quit_now = True
            elif action.startswith("s"):
                line, changed = _substituted(action, line, kind)
                if changed and action.rsplit(action[1], 1)[-1].find("p") >= 0:
                    output.append(line)
            else:
                raise ValueError(f"unknown command: `{action[:1]}'")
        if keep and not quiet:
            output.append(line)
        if quit_now:
            break
    return output


def _addressed(match: re.Match[str], number: int, total: int, line: str, kind: str) -> bool:
    if match[3] is not None:
        return compile_pattern(match[3], kind).search(line) is not None
    if match[1] is None:
        return True
    first = total if match[1] == "$" else int(match[1])
    last = first if match[2] is None else total if match[2] == "$" else int(match[2])
    return first <= number <= last


def _substituted(action: str, line: str, kind: str) -> tuple[str, bool]:
    delimiter = action[1:2]
    parts = re.split(rf"(?<!\\){re.escape(delimiter)}", action[2:]) if delimiter else []
    if len(parts) != 3:
        raise ValueError("unterminated `s' command")
    pattern = compile_pattern(parts[0].replace("\\" + delimiter, delimiter), kind, ignore_case="i" in parts[2].lower())
    replacement = parts[1].replace("\\" + delimiter, delimiter)
    replacement = re.sub(r"(?<!\\)&", r"\\g<0>", replacement).replace("\\&", "&")
    changed, count = pattern.subn(replacement, line, count=0 if "g" in parts[2] else 1)
    return changed, count > 0


def awk(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """awk: patterns and `print`."""
    chosen = options(argv, "", "Fv")
    if chosen.invalid or not chosen.words:
        return _invalid("awk", chosen.invalid or "no program text")
    program, *paths = chosen.words
    inputs, problems = _inputs("awk", paths, stdin, read)
    lines = [line for _, text in inputs for line in _lines(text)]
    try:
        return CommandResult(run_awk(program, lines, chosen.flags.get("F")), problems, 2 if problems else 0)
    except AwkError as error:
        return CommandResult("", f"awk: {error}\n", 2)


def echo(argv: Sequence[str], stdin: str, read: ReadFile) -> CommandResult:
    """echo, with -n and -e."""
    words = list(argv[1:])
    newline, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        letters = words.pop(0)
        newline = "" if "n" in letters else newline
        escapes = "e" in letters or escapes
    text = " ".join(words)
    if escapes:
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
    return CommandResult(text + newline)


TextFilter = Callable[[Sequence[str], str, ReadFile], CommandResult]

TEXT_FILTERS: dict[str, TextFilter] = {
    "awk": awk,
    "cat": cat,
    "cut": cut,
    "echo": echo,
    "egrep": grep,
    "fgrep": grep,
    "grep": grep,
    "head": head,
    "sed": sed,
    "sort": sort,
    "tac": tac,
    "tail": tail,
    "tr": tr,
    "uniq": uniq,
    "wc": wc,
}
