"""grep: patterns of any kind, context, counts, folders. Source: grep(1) 3.8 and BusyBox 1.35."""

from __future__ import annotations

from simcluster.models.userland.backtrack import TooHard
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.patterns import matches as glob_matches
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import Pattern, RegexError, compile_pattern
from simcluster.models.userland.tools.lines import cut, split_lines
from simcluster.models.userland.tools.packing import unpacked

_LONG = {
    "count": "c",
    "ignore-case": "i",
    "invert-match": "v",
    "line-number": "n",
    "recursive": "r",
    "quiet": "q",
    "silent": "q",
    "word-regexp": "w",
    "line-regexp": "x",
    "only-matching": "o",
    "files-with-matches": "l",
    "files-without-match": "L",
    "no-filename": "h",
    "with-filename": "H",
    "no-messages": "s",
    "extended-regexp": "E",
    "fixed-strings": "F",
    "perl-regexp": "P",
    "basic-regexp": "G",
    "regexp": "e",
    "file": "f",
    "max-count": "m",
    "after-context": "A",
    "before-context": "B",
    "context": "C",
    "text": "a",
    "byte-offset": "b",
    "null": "Z",
    "line-buffered": "U",
    "color": "color",
    "colour": "color",
    "include": "include",
    "exclude": "exclude",
    "exclude-dir": "exclude-dir",
    "dereference-recursive": "R",
    "null-data": "z",
    "binary-files": "binary-files",
    "no-ignore-case": "y",
    "label": "label",
    "initial-tab": "T",
    "directories": "d",
}


#: The long options that BusyBox takes, and the end of options.
_PLAIN = ("--", "--color")
#: What marks a match, a file's name, a number, and what stands between them (GREP_COLORS' defaults).
_MATCH, _FILE, _NUMBER, _SIGN = (f"\x1b[{code}m\x1b[K{{}}\x1b[m\x1b[K" for code in ("01;31", "35", "32", "36"))


def grep(call: Call) -> Outcome:
    """Print lines that match."""
    given = parse(
        _numbers(call.args),
        "civnrRqswxolLhHEFPGabZUyTzI",
        "efmABCd include exclude exclude-dir binary-files label",
        _LONG,
    )
    if not call.gnu:
        unknown = next(
            (word for word in call.args if word.startswith("--") and word.partition("=")[0] not in _PLAIN), ""
        )
        if unknown or given.has("P"):
            return _usage(call, f"unrecognized option '{unknown}'" if unknown else "invalid option -- 'P'")
    if given.problem:
        return _usage(call, given.problem)
    words, patterns = list(given.words), _patterns(call, given)
    if patterns is None:
        return Outcome(stderr="".join(call.said), code=2)
    if not patterns and not given.has("e", "f"):
        if not words:
            return _usage(call, "")
        patterns = words.pop(0).split("\n")
    kind = "F" if given.has("F") or call.name == "fgrep" else "P" if given.has("P") else "G"
    kind = "E" if kind == "G" and (given.has("E") or call.name == "egrep") else kind
    try:
        program = compile_pattern(
            "\n".join(patterns),
            kind,
            ignore_case=given.has("i", "y"),
            whole_word=given.has("w"),
            whole_line=given.has("x"),
        )
        for number in ("A", "B", "C", "m"):
            if not given.values.get(number, "0").lstrip("-").isdigit():
                what = (
                    "invalid max count" if number == "m" else f"{given.values[number]}: invalid context length argument"
                )
                return Outcome(stderr=f"{call.name}: {what}\n", code=2)
        return _Search(call, given, program, not patterns).run(words)
    except RegexError as problem:
        return Outcome(stderr=f"{call.name}: {_worded(call, str(problem), patterns)}\n", code=2)
    except TooHard:
        return Outcome(stderr=f"{call.name}: exceeded PCRE's backtracking limit\n", code=2)


def _worded(call: Call, problem: str, patterns: list[str]) -> str:
    return problem if call.gnu else f"bad regex '{patterns[0]}': {problem}"


def _usage(call: Call, problem: str) -> Outcome:
    said = f"{call.name}: {problem}\n" if problem else ""
    if call.gnu:
        usage = f"Usage: {call.name} [OPTION]... PATTERNS [FILE]...\nTry '{call.name} --help' for more information.\n"
        return Outcome(stderr=said + usage, code=2)
    head = "BusyBox v1.36.1 () multi-call binary.\n\n"
    return Outcome(
        stderr=f"{said}{head}Usage: grep [-HhnlLoqvsrRiwFE] [-m N] [-A|B|C N] {{ PATTERN | -e PATTERN... |"
        " -f FILE... }"
        " [FILE]...\n",
        code=2,
    )


def _numbers(args: list[str]) -> list[str]:
    """`-3` is `-C 3`."""
    return [f"-C{word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word for word in args]


def _patterns(call: Call, given: Options) -> list[str] | None:
    """What `-e` and `-f` say, in their order; None if a file cannot be read."""
    found: list[str] = []
    words, at = call.args, 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=")
        if word == "--":
            break
        letter = {"--regexp": "e", "--file": "f"}.get(name, "")
        if not letter and word[:1] == "-" and word[:2] != "--":
            place = min((word.find(each) for each in "efmABCd" if each in word[1:]), default=-1)
            letter = word[place] if place > 0 else ""
            value, equals = word[place + 1 :], word[place + 1 :]
        if letter and not equals and at + 1 < len(words):
            at += 1
            value = words[at]
        if letter == "e":
            found += value.split("\n")
        elif letter == "f":
            try:
                found += split_lines(call.read(value))
            except FileError as problem:
                call.complain(f"{value}: {problem}")
                return None
        at += 1
    return found


class _Search:
    def __init__(self, call: Call, given: Options, program: Pattern, nothing: bool) -> None:
        self.call = call
        self.given = given
        self.colours = call.gnu and given.values.get("color") in ("always", "yes", "force")
        self.program = program
        self.nothing = nothing and not given.has("e")  # an empty list of patterns matches nothing
        self.out: list[str] = []
        self.found = False
        self.failed = False
        self.last = ""  # the file and line last printed, for the separator of contexts
        context = given.values.get("C", "0")
        self.after = int(given.values.get("A", context)[:9])
        self.before = int(given.values.get("B", context)[:9])
        self.most = int(given.values["m"][:9]) if "m" in given.values else -1

    def run(self, words: list[str]) -> Outcome:
        recursive = self.given.has("r", "R")
        names = words or (["."] if recursive else ["-"])
        several = len(names) > 1 or recursive
        for name in names:
            for path in self._below(name, shown=bool(words)) if recursive and name != "-" else [name]:
                text = self._read(path, recursive)
                if text is not None:
                    self._file(path, text, several)
                if self.found and self.given.has("q"):
                    return Outcome(code=0)
        errors = "" if self.given.has("s") else "".join(self.call.said)
        if self.given.has("L") and not self.call.gnu and not self.failed:
            return Outcome("".join(self.out), errors, 0)
        code = 2 if self.failed and not (self.found and self.given.has("q")) else int(not self.found)
        return Outcome("".join(self.out), errors, code)

    def _read(self, path: str, recursive: bool) -> str | None:
        try:
            text = self.call.read(path)
            if self.call.name == "zgrep" and text.startswith("\x1f\udc8b"):
                return unpacked(raw(text)).decode("utf-8", "surrogateescape")
            return text
        except FileError as problem:
            self.failed = True
            self.call.complain(f"{path}: {problem}")
            return None

    def _below(self, name: str, *, shown: bool) -> list[str]:
        found = self.call.look(name)
        if found is None or not found.is_folder:
            return [name]
        paths: list[str] = []
        skipped = self.given.values.get("exclude-dir")
        for inner in self.call.files.names(self.call.resolved(name)):
            path = f"{name.rstrip('/') or ''}/{inner}" if shown else inner
            below = self.call.look(path, follow=self.given.has("R"))
            if below is not None and below.is_folder:
                if skipped is None or not glob_matches(skipped, inner):
                    paths += self._below(path, shown=True)
            elif below is not None and below.kind == "file" and self._wanted(inner):
                paths.append(path)
        return paths

    def _wanted(self, name: str) -> bool:
        include, exclude = self.given.values.get("include"), self.given.values.get("exclude")
        return (include is None or glob_matches(include, name)) and not (exclude and glob_matches(exclude, name))

    def _file(self, path: str, text: str, several: bool) -> None:
        given = self.given
        named = (several or given.has("H")) and not given.has("h")
        name = "(standard input)" if path == "-" else path
        end = "\0" if given.has("z") else "\n"
        if "\0" in text and not given.has("a", "z", "o", "c", "l", "q") and self.call.gnu:
            if self._any(text):
                self.found = True
                self.out.append(f"{self.call.name}: {name}: binary file matches\n")
            return
        lines = split_lines(text, end)
        hits = self._hits(lines)
        self.found = self.found or bool(hits)
        if given.has("q"):
            return
        if given.has("l", "L"):
            if bool(hits) == given.has("l"):
                self.out.append(name + ("\0" if given.has("Z") else "\n"))
        elif given.has("c"):
            self.out.append(f"{name}:{len(hits)}\n" if named else f"{len(hits)}\n")
        else:
            self._print(lines, hits, name if named else "", end)
        cut(self.out)

    def _any(self, text: str) -> bool:
        return any(self._matches(line) for line in split_lines(text))

    def _matches(self, line: str) -> bool:
        return (not self.nothing and self.program.matches(line)) != self.given.has("v")

    def _hits(self, lines: list[str]) -> list[int]:
        hits: list[int] = []
        for number, line in enumerate(lines):
            if self.most >= 0 and len(hits) >= self.most:
                break
            if self._matches(line):
                hits.append(number)
                if self.given.has("q", "l", "L"):
                    break
        return hits

    def _print(self, lines: list[str], hits: list[int], name: str, end: str) -> None:
        given, offsets = self.given, self._offsets(lines)
        if given.has("o"):
            for number in hits if not given.has("v") else ():
                for start, part in self._parts(lines[number]):
                    self.out.append(
                        self._head(name, number, offsets[number] + start, ":") + self._coloured(part, ":") + end
                    )
            return
        last, chosen = -2, dict.fromkeys(hits)
        for hit in hits:
            first = max(hit - self.before, last + 1, 0)
            if self.last and (first > last + 1 or last < 0) and (self.after or self.before):
                self.out.append("--\n")
            until = hit + self.after
            if self.most >= 0 and hit == hits[-1]:
                until = hit + self.after
            for number in range(first, min(until, len(lines) - 1) + 1):
                if number > hit and number in chosen:
                    break
                sign = ":" if number in chosen else "-"
                line = self._coloured(lines[number], sign)
                self.out.append(self._head(name, number, offsets[number], sign) + line + end)
                last = number
                self.last = "x"

    def _offsets(self, lines: list[str]) -> list[int]:
        if not self.given.has("b"):
            return [0] * len(lines)
        found, at = [], 0
        for line in lines:
            found.append(at)
            at += len(line.encode("utf-8", "surrogateescape")) + 1
        return found

    def _coloured(self, line: str, sign: str) -> str:
        """A line with what matches in it marked, if that is asked for and it is one that was looked for."""
        if not self.colours or sign != ":" or self.given.has("v"):
            return line
        out, at = [], 0
        for start, part in self._parts(line):
            out += [line[at:start], _MATCH.format(part)]
            at = start + len(part)
        return "".join(out) + line[at:]

    def _head(self, name: str, number: int, offset: int, sign: str) -> str:
        marked = (_FILE, _NUMBER, _SIGN) if self.colours else ("{}", "{}", "{}")
        shown = marked[2].format(sign)
        head = marked[0].format(name) + ("\0" if self.given.has("Z") else shown) if name else ""
        head += marked[1].format(number + 1) + shown if self.given.has("n") else ""
        return head + (marked[1].format(offset) + shown if self.given.has("b") else "")

    def _parts(self, line: str) -> list[tuple[int, str]]:
        found = [(match.start, line[match.start : match.end]) for match in self.program.iterate(line)]
        return [(start, part) for start, part in found if part]
