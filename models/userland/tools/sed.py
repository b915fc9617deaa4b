"""sed: parsing of scripts and options. Source: sed(1) 4.9, and BusyBox 1.35 where it differs in its complaints."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcluster.models.userland.backtrack import TooHard
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import Pattern, RegexError, compile_pattern
from simcluster.models.userland.tools.lines import kept_lines
from simcluster.models.userland.tools.sedmachine import Address, Command, Sed, SedError

_LONG = {
    "quiet": "n",
    "silent": "n",
    "regexp-extended": "E",
    "expression": "e",
    "file": "f",
    "in-place": "i",
    "null-data": "z",
    "separate": "s",
    "unbuffered": "u",
    "line-length": "l",
    "posix": "p",
    "debug": "d",
}


def sed(call: Call) -> Outcome:
    """Edit a stream."""
    args, in_place = [], None
    for at, word in enumerate(call.args):
        if word == "--":
            args += call.args[at:]
            break
        if word.startswith("-i") or word.startswith("--in-place"):
            in_place = word[2:] if word[1] == "i" else word.partition("=")[2]
        elif word[:1] == "-" and word[1:2] in ("n", "E", "r", "s", "u", "z") and "i" in word and word[1] != "-":
            head, _, in_place = word.partition("i")
            args.append(head)
        else:
            args.append(word)
    given = parse(args, "nErszud", "efl", _LONG)
    if given.problem:
        return given.refused(call.name, _USAGE if call.gnu else "")
    words = list(given.words)
    script = _script(call, args)
    if script is None:
        return Outcome(stderr="".join(call.said), code=1)
    if not given.has("e", "f"):
        if not words:
            return Outcome(
                stderr=_USAGE
                if call.gnu
                else "BusyBox v1.36.1 () multi-call binary.\n\nUsage: sed [-i[SFX]] [-nrE] "
                "[-f FILE]... [-e CMD]... [FILE]...\n",
                code=1,
            )
        script = words.pop(0)
    try:
        commands = Parser(script, extended=given.has("E", "r"), gnu=call.gnu).commands()
        machine = Sed(
            call, commands, quiet=given.has("n") or script.startswith("#n\n"), end="\0" if given.has("z") else "\n"
        )
        if in_place is not None:
            return _edited(call, machine, words, in_place)
        return _streamed(call, machine, words, separate=given.has("s"))
    except SedError as problem:
        return Outcome(
            stderr=f"{call.name}: {problem}\n" if call.gnu else f"{call.name}: {problem.short}\n",
            code=problem.code if call.gnu else 1,
        )
    except TooHard:
        return Outcome(stderr=f"{call.name}: regex too hard\n", code=4)


_USAGE = "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...\n\n"


def _script(call: Call, args: list[str]) -> str | None:
    """What `-e` and `-f` say, in their order."""
    parts: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            break
        name, _, value = word.partition("=")
        letter = {"--expression": "e", "--file": "f"}.get(name, "")
        if not letter and word[:1] == "-" and word[1:2] != "-":
            place = next((at for at in range(1, len(word)) if word[at] in "efl"), 0)
            letter, value = (word[place], word[place + 1 :]) if place else ("", "")
            value = value if value or not letter else next(words, "")
        if letter == "e":
            parts.append(value)
        elif letter == "f":
            try:
                parts.append(call.read(value).removesuffix("\n"))
            except FileError as problem:
                call.complain(f"couldn't open file {value}: {problem}")
                return None
    return "\n".join(parts)


def _streamed(call: Call, machine: Sed, words: list[str], *, separate: bool) -> Outcome:
    files = call.inputs(words, "can't read {name}: {problem}")
    if separate:
        out, code = "", 0
        for name, text in files:
            output, code = machine.run(kept_lines(text, machine.end), name)
            out += output
    else:
        lines: list[str] = []
        for _, text in files:
            if lines and not lines[-1].endswith(machine.end):
                lines[-1] += machine.end
            lines += kept_lines(text, machine.end)
        out, code = machine.run(lines, words[0] if words else "-")
    return Outcome(out, "".join(call.said), code or (2 if call.gnu else 1) * bool(call.said))


def _edited(call: Call, machine: Sed, words: list[str], suffix: str) -> Outcome:
    """`-i`: the files are changed."""
    if not words:
        return Outcome(stderr=f"{call.name}: no input files\n", code=4 if call.gnu else 1)
    code = 0
    for name in words:
        path = call.resolved(name)
        try:
            text = call.files.read(path)
        except FileError as problem:
            folder = str(problem) == "Is a directory"
            call.complain(f"couldn't edit {name}: not a regular file" if folder else f"can't read {name}: {problem}")
            continue
        output, code = machine.run(kept_lines(text, machine.end), name)
        try:
            if suffix:
                backup = suffix.replace("*", path.rpartition("/")[2]) if "*" in suffix else f"{path}{suffix}"
                call.files.write(backup, text)
            call.files.write(path, output)
        except FileError as problem:
            call.complain(f"couldn't open temporary file {name}: {problem}")
            return Outcome(stderr="".join(call.said), code=4)
        if code:
            break
    return Outcome(machine.aside(), "".join(call.said), code or (2 if call.gnu else 1) * bool(call.said))


@dataclass
class _Open:
    """A block that is not closed yet."""

    command: Command
    inner: list[Command] = field(default_factory=list)


class Parser:
    """Reads a script."""

    def __init__(self, text: str, *, extended: bool, gnu: bool = True) -> None:
        self.gnu = gnu
        self.text = text
        self.at = 0
        self.kind = "E" if extended else "G"

    def commands(self) -> list[Command]:
        """All its commands; a block refers to the place after its end. Raises SedError."""
        found: list[Command] = []
        open_: list[int] = []
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.text):
                break
            command = self._command()
            if command.name == "#":
                continue
            if command.name == "}":
                if not open_:
                    raise self._fail("unexpected `}'")
                found[open_.pop()].target = len(found)
                continue
            found.append(command)
            if command.name == "{":
                open_.append(len(found) - 1)
        if open_:
            raise SedError("-e expression #1, char 0: unmatched `{'", "unmatched '{'")
        self._labels(found)
        return found

    def _labels(self, commands: list[Command]) -> None:
        places = {command.text: at for at, command in enumerate(commands) if command.name == ":"}
        for command in commands:
            if command.name in ("b", "t", "T"):
                if command.text and command.text not in places:
                    said = f"can't find label for jump to `{command.text}'"
                    raise SedError(said, said, 4)
                command.target = places.get(command.text, len(commands))

    def _fail(self, text: str) -> SedError:
        if text.startswith("unterminated `s'"):
            return SedError(f"-e expression #1, char {self.at}: {text}", "unmatched '/'")
        return SedError(f"-e expression #1, char {self.at}: {text}", text)

    def _skip(self, blanks: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in blanks:
            self.at += 1

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]

    def _command(self) -> Command:
        first = self._address()
        last = None
        if first is not None:
            self._skip(" \t")
            if self._next() == ",":
                self._take()
                self._skip(" \t")
                last = self._address(second=True)
                if last is None:
                    raise self._fail("unexpected `,'")
        self._skip(" \t")
        negated = False
        while self._next() == "!":
            self._take()
            self._skip(" \t")
            negated = True
        name = self._take()
        if not name:
            raise self._fail("missing command")
        command = Command(name, first, last, negated)
        if name not in "{}=:#abcdDeFgGhHilnNpPqQrRstTvwWxyz" and name:
            raise self._fail(f"unknown command: `{name}'")
        if name == "#":
            stop = self.text.find("\n", self.at)
            self.at = len(self.text) if stop < 0 else stop
        elif name in "}:" and first is not None and name == ":":
            raise self._fail(": doesn't want any addresses")
        else:
            self._arguments(command)
        return command

    def _address(self, *, second: bool = False) -> Address | None:
        char = self._next()
        if char.isdigit() or (second and char in "+~"):
            sign = self._take() if char in "+~" else ""
            number = self._digits()
            if not sign and self._next() == "~":
                self._take()
                return Address("step", number, step=self._digits())
            if not sign and number == 0 and not (not second and self.text.startswith((",/", ",\\"), self.at)):
                raise self._fail("invalid usage of line address 0")
            return Address({"+": "plus", "~": "multiple"}.get(sign, "line"), number)
        if char == "$":
            self._take()
            return Address("last")
        if char in ("/", "\\"):
            delimiter = self._take()
            if delimiter == "\\":
                delimiter = self._take()
            source = self._until(delimiter, "unterminated address regex")
            flags = ""
            while self._next() in ("I", "M"):
                flags += self._take()
            return Address("regex", pattern=self._pattern(source, "I" in flags, "M" in flags) if source else None)
        return None

    def _digits(self) -> int:
        start = self.at
        while self._next().isdigit():
            self.at += 1
        return int(self.text[start : self.at][:9] or 0)

    def _pattern(self, source: str, ignore_case: bool, multiline: bool = False) -> Pattern:
        try:
            return compile_pattern(source, self.kind, ignore_case=ignore_case, multiline=multiline, escapes=True)
        except RegexError as problem:
            text = str(problem)
            unclosed = not self.gnu and text.startswith("Unmatched [")
            raise SedError("", "unmatched '/'") if unclosed else self._fail(text) from None

    def _until(self, delimiter: str, problem: str) -> str:
        """Text up to the delimiter, in which `\\DELIMITER` is the delimiter itself."""
        out, bracket = [], False
        while True:
            char = self._take()
            if not char or (char == "\n" and "address" in problem):
                raise self._fail(problem)
            if char == "\\":
                following = self._take()
                if following == delimiter:
                    out.append(following if delimiter not in ".*[]^$" else "\\" + following)
                elif following == "n":
                    out.append("\\n")
                else:
                    out.append("\\" + following)
                continue
            if char == "[" and not bracket:
                bracket = self._closes_bracket(delimiter)
            elif char == "]" and bracket:
                bracket = False
            if char == delimiter and not bracket:
                return "".join(out)
            out.append(char)

    def _closes_bracket(self, delimiter: str) -> bool:
        """Whether the bracket just opened is closed before the line ends, with the delimiter inside it."""
        at = self.at + (self._next() == "^")
        stop = self.text.find("]", at + 1)
        inner = self.text[self.at : stop] if stop >= 0 else ""
        return delimiter in inner and "\n" not in inner and self.text.find(delimiter, stop) >= 0

    def _arguments(self, command: Command) -> None:
        name = command.name
        if name in "aic":
            command.text = self._text_argument()
            return
        if name in "rRwW":
            self._skip(" \t")
            command.text = self._line()
            if not command.text:
                raise self._fail("missing filename in r/R/w/W commands")
            return
        if name in ":btT":
            self._skip(" \t")
            stops = "\n" if name == ":" else "\n;}"
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in stops:
                self.at += 1
            command.text = self.text[start : self.at].strip()
            if name == ":" and ";" in command.text:
                command.text, _, rest = command.text.partition(";")
                self.at -= len(rest) + 1
            if name == ":" and not command.text:
                raise self._fail('":" lacks a label')
            return
        if name == "s":
            self._substitution(command)
        elif name == "y":
            self._transliteration(command)
        elif name in "qQlL":
            self._skip(" \t")
            command.number = self._digits()
        if name not in "{":
            self._end()

    def _end(self) -> None:
        self._skip(" \t")
        if self._next() not in ("", "\n", ";", "}", "#"):
            self.at += 1
            raise self._fail("extra characters after command")

    def _line(self) -> str:
        stop = self.text.find("\n", self.at)
        stop = len(self.text) if stop < 0 else stop
        found, self.at = self.text[self.at : stop], stop
        return found

    def _text_argument(self) -> str:
        self._skip(" \t")
        if self.text.startswith("\\", self.at):
            self.at += 1
            start = self.at
            self._skip(" \t")
            if self._next() == "\n":
                self.at += 1
            elif self.at > start:
                self.at = start  # GNU's one-line form: the backslash keeps the blanks after it
            elif self.text[self.at - 1 : self.at] in " \t":
                pass
        elif self.at >= len(self.text) or self._next() == "\n":
            raise self._fail("expected \\ after `a', `c' or `i'")
        out = ""
        while self.at < len(self.text):
            char = self._take()
            if char == "\\":
                following = self._take()
                out += {"t": "\t"}.get(following, following)
            elif char == "\n":
                break
            else:
                out += char
        return out + "\n"

    def _substitution(self, command: Command) -> None:
        delimiter = self._take()
        if delimiter in ("\n", "\\", ""):
            raise self._fail("unterminated `s' command")
        source = self._until(delimiter, "unterminated `s' command")
        start = self.at
        replacement = self._raw_until(delimiter)
        if replacement is None:
            self.at = max(start, len(self.text))
            raise self._fail("unterminated `s' command")
        flags = ""
        while True:
            char = self._next()
            if char.isdigit():
                command.number = self._digits()
                if not command.number:
                    raise self._fail("number option to `s' command may not be zero")
            elif char and char in "gpIiMme":
                flags += self._take()
            elif char == "w":
                self._take()
                self._skip(" \t")
                command.text = self._line()
                flags += "w"
            else:
                break
        if self._next() not in ("", "\n", ";", "}", "#", " ", "\t"):
            self.at += 1
            raise self._fail("unknown option to `s'")
        command.flags = flags
        command.pattern = (
            self._pattern(source, "I" in flags or "i" in flags, "M" in flags or "m" in flags) if source else None
        )
        command.replacement = self._replacement(replacement, command)

    def _raw_until(self, delimiter: str) -> str | None:
        out = []
        while True:
            char = self._take()
            if not char:
                return None
            if char == "\\":
                following = self._take()
                out.append(following if following == delimiter and delimiter not in "&" else "\\" + following)
            elif char == delimiter:
                return "".join(out)
            else:
                out.append(char)

    def _replacement(self, text: str, command: Command) -> list[str | int]:
        """Texts, numbers of groups, and case changes (`\\U`)."""
        found: list[str | int] = []
        at = 0
        count = command.pattern.count if command.pattern is not None else 9
        while at < len(text):
            char = text[at]
            if char == "&":
                found.append(0)
            elif char == "\\" and at + 1 < len(text):
                at += 1
                if text[at].isdigit():
                    if int(text[at]) > count and self.gnu:
                        raise self._fail(f"invalid reference \\{text[at]} on `s' command's RHS")
                    found.append(int(text[at]))
                elif text[at] in "ULEul":
                    found.append("\\" + text[at])
                else:
                    found.append({"n": "\n", "t": "\t", "r": "\r"}.get(text[at], text[at]))
            elif found and isinstance(found[-1], str) and found[-1][:1] != "\\" and char != "\\":
                found[-1] += char
            else:
                found.append(char)
            at += 1
        return found

    def _transliteration(self, command: Command) -> None:
        delimiter = self._take()
        parts = []
        for _ in range(2):
            raw = self._raw_until(delimiter)
            if raw is None:
                raise self._fail("unterminated `y' command")
            parts.append(raw.replace("\\n", "\n").replace("\\\\", "\\"))
        if len(parts[0]) != len(parts[1]):
            raise self._fail("strings for `y' command are different lengths")
        command.table = dict(zip(parts[0], parts[1], strict=True))
