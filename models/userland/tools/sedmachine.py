"""What sed's commands do to the lines."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.outcome import Exhausted, fitting
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import Match, Pattern
from simcluster.models.userland.tools.lines import cut, split_lines

#: Commands of one run: a loop of labels that never ends is ended with the process.
STEPS_MAX = 200_000


class SedError(Exception):
    """The script is wrong.

    Attributes:
        short: BusyBox' words.
    """

    def __init__(self, text: str, short: str, code: int = 1) -> None:
        super().__init__(text)
        self.short, self.code = short, code


@dataclass
class Address:
    """`line`, `last`, `regex`, `step` (`first~step`), and as a second one `plus` and `multiple`."""

    kind: str
    number: int = 0
    step: int = 0
    pattern: Pattern | None = None


@dataclass
class Command:
    """One command with its addresses and arguments."""

    name: str
    first: Address | None = None
    last: Address | None = None
    negated: bool = False
    text: str = ""
    number: int = 0
    flags: str = ""
    pattern: Pattern | None = None
    replacement: list[str | int] = field(default_factory=list)
    table: dict[str, str] = field(default_factory=dict)
    target: int = 0


class Sed:
    """Runs a script over lines."""

    def __init__(self, call: Call, commands: list[Command], *, quiet: bool, end: str) -> None:
        self.call = call
        self.commands = commands
        self.quiet = quiet
        self.end = end
        self.printed_aside = ""
        self.steps = 0
        self._files: dict[str, list[str]] = {}

    def aside(self) -> str:
        """What went to /dev/stdout while files were edited in place."""
        return self.printed_aside

    def run(self, lines: list[str], name: str) -> tuple[str, int]:
        """The output for lines with their ends, and the exit status."""
        self.lines, self.name = lines, name
        self.number = -1
        self.out: list[str] = []
        self.hold = ""
        self.active: dict[int, int] = {}  # range -> the line that ends it, or -1
        self.last_pattern: Pattern | None = None
        self.code = 0
        self.queue: list[str] = []
        again: bool | None = False
        while again is not None and (again or self._read()):
            again = self._cycle()
        for path, texts in self._files.items():
            try:
                self.call.files.write(path, "".join(texts))
            except FileError as problem:
                self.call.complain(f"couldn't open file {path}: {problem}")
        return "".join(self.out), self.code

    def _read(self) -> bool:
        if self.number + 1 >= len(self.lines):
            return False
        self.number += 1
        line = self.lines[self.number]
        self.whole = line.endswith(self.end)
        self.space = line.removesuffix(self.end)
        return True

    def _print(self, text: str) -> None:
        if self.out and not self.out[-1].endswith(self.end) and self.out[-1]:
            self.out.append(self.end)
        last = self.number == len(self.lines) - 1
        self.out.append(text + (self.end if self.whole or not last else ""))

    def _flush(self) -> None:
        for text in self.queue:
            if self.out and not self.out[-1].endswith(self.end) and self.out[-1]:
                self.out.append(self.end)
            self.out.append(text)
        self.queue = []
        if self.steps % 256 == 0:
            cut(self.out)

    def _cycle(self) -> bool | None:
        """Run the script on the pattern space; whether it starts over without reading, None at the end."""
        self.replaced = False
        at = 0
        while at < len(self.commands):
            self.steps += 1 + (len(self.space) + len(self.hold)) // 100
            if self.steps > STEPS_MAX:
                raise Exhausted
            command = self.commands[at]
            if self._applies(at, command) == command.negated:
                at = command.target if command.name == "{" else at + 1
                continue
            step = self._do(command, at)
            if step == "end":
                break
            if step == "delete":
                self._flush()
                return False
            if step == "restart":
                self._flush()
                return True
            if step in ("quit", "silent"):
                if step == "quit" and not self.quiet:
                    self._print(self.space)
                self._flush()
                return None
            at = command.target if step == "jump" else at + 1
        if not self.quiet:
            self._print(self.space)
        self._flush()
        return False

    def _applies(self, at: int, command: Command) -> bool:
        if command.first is None:
            return True
        if command.last is None:
            return self._matches(command.first)
        line = self.number + 1
        if at in self.active:
            return self._in_range(at, command, line)
        starts = command.first.kind == "line" and command.first.number == 0 and line == 1
        if not starts and not self._matches(command.first):
            return False
        last = command.last
        if starts:
            self.active[at] = -1
            return self._in_range(at, command, line)
        ends = {"line": last.number, "plus": line + last.number, "last": len(self.lines)}.get(last.kind, -1)
        if last.kind == "multiple":
            ends = line if not last.number else -(-line // last.number) * last.number
        if ends < 0 or ends > line:
            self.active[at] = ends
        return True

    def _in_range(self, at: int, command: Command, line: int) -> bool:
        ends = self.active[at]
        if ends >= 0:
            if line >= ends:
                del self.active[at]
            return line <= ends
        if command.last is not None and self._matches(command.last):
            del self.active[at]
        return True

    def _matches(self, address: Address) -> bool:
        line = self.number + 1
        if address.kind == "line":
            return line == address.number
        if address.kind == "last":
            return line == len(self.lines)
        if address.kind == "step":
            return (
                line == address.number
                if not address.step
                else (line >= address.number and (line - address.number) % address.step == 0)
            )
        return self._pattern(address.pattern).search(self.space) is not None

    def _pattern(self, pattern: Pattern | None) -> Pattern:
        """A pattern; an empty one is the last that was used."""
        if pattern is None:
            if self.last_pattern is None:
                raise SedError("-e expression #1, char 0: no previous regular expression", "no previous regexp")
            return self.last_pattern
        self.last_pattern = pattern
        return pattern

    def _do(self, command: Command, at: int) -> str:
        name = command.name
        if name == "s":
            self._substitute(command)
        elif name in "pP":
            self._print(self.space if name == "p" else self.space.partition("\n")[0])
        elif name == "d":
            return "delete"
        elif name == "D":
            if "\n" not in self.space:
                return "delete"
            self.space = self.space.partition("\n")[2]
            return "restart"
        elif name in "nN":
            return self._following(name)
        elif name in "gGhHx":
            self._exchange(name)
        elif name in "bTt":
            jumps = name == "b" or self.replaced == (name == "t")
            self.replaced = False if name != "b" else self.replaced
            if jumps:
                return "jump" if command.target < len(self.commands) else "end"
        elif name in "qQ":
            self.code = command.number & 255
            return "quit" if name == "q" else "silent"
        else:
            return self._others(command)
        return ""

    def _others(self, command: Command) -> str:
        name = command.name
        if name == "a":
            self.queue.append(command.text)
        elif name == "i":
            self._print_text(command.text)
        elif name == "c":
            ranged = command.last is not None and not command.negated
            if not ranged or not any(self.commands[at] is command for at in self.active):
                self._print_text(command.text)
            return "delete"
        elif name == "=":
            self._print_text(f"{self.number + 1}\n")
        elif name == "l":
            self._print_text(_visible(self.space, int(command.text) if command.text.isdigit() else 70))
        elif name == "y":
            self.space = "".join(command.table.get(char, char) for char in self.space)
        elif name == "r":
            with suppress(FileError):
                self.queue.append(self.call.read(command.text))
        elif name in "wW":
            self._write(command.text, self.space if name == "w" else self.space.partition("\n")[0])
        elif name == "z":
            self.space = ""
        elif name == "F":
            self._print_text(f"{self.name}\n")
        return ""

    def _print_text(self, text: str) -> None:
        if self.out and self.out[-1] and not self.out[-1].endswith(self.end):
            self.out.append(self.end)
        self.out.append(text)

    def _write(self, name: str, text: str) -> None:
        if name in ("/dev/stdout", "/dev/stderr"):
            self._print_text(text + "\n")
            return
        self._files.setdefault(self.call.resolved(name), []).append(text + "\n")

    def _following(self, name: str) -> str:
        if self.number + 1 >= len(self.lines):
            if name == "N" or self.quiet:
                return "quit" if not self.quiet and self.call.gnu else "silent"
            return "quit"
        if name == "n":
            if not self.quiet:
                self._print(self.space)
            self._flush()
            self._read()
            return ""
        before = self.space
        self._flush()
        self._read()
        self.space = fitting(f"{before}\n{self.space}")
        return ""

    def _exchange(self, name: str) -> None:
        if name == "g":
            self.space = self.hold
        elif name == "G":
            self.space = fitting(f"{self.space}\n{self.hold}")
        elif name == "h":
            self.hold = self.space
        elif name == "H":
            self.hold = fitting(f"{self.hold}\n{self.space}")
        else:
            self.space, self.hold = self.hold, self.space

    def _substitute(self, command: Command) -> None:
        pattern = self._pattern(command.pattern)
        text, at, count = self.space, 0, 0
        out: list[str] = []
        wanted = command.number or 1
        for match in pattern.iterate(text):
            count += 1
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Exhausted
            if count < wanted:
                continue
            out += [text[at : match.start], _filled(command.replacement, match)]
            self.replaced = True
            at = match.end
            if "g" not in command.flags:
                break
        if count >= wanted:
            self.space = fitting("".join(out) + text[at:])
            if "p" in command.flags:
                self._print(self.space)
            if "w" in command.flags:
                self._write(command.text, self.space)


def _filled(parts: list[str | int], match: Match) -> str:
    out, mode, once = [], "", ""
    for part in parts:
        if isinstance(part, str) and len(part) == 2 and part[0] == "\\":
            if part[1] in "UL":
                mode = part[1]
            elif part[1] == "E":
                mode = ""
            else:
                once = part[1]
            continue
        text = ((match.groups[part] or "") if part < len(match.groups) else "") if isinstance(part, int) else part
        text = {"U": text.upper(), "L": text.lower()}.get(mode, text)
        if once and text:
            text = (text[0].upper() if once == "u" else text[0].lower()) + text[1:]
            once = ""
        out.append(text)
    return "".join(out)


def _visible(text: str, width: int) -> str:
    """`l`: what cannot be seen is written as escapes; lines are folded before the width."""
    named = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}
    pieces: list[str] = []
    for char in text:
        if char in named:
            pieces.append(named[char])
        elif char.isascii() and char.isprintable():
            pieces.append(char)
        else:
            pieces += [f"\\{byte:03o}" for byte in raw(char)]
    out, line = "", ""
    for piece in pieces:
        if width > 1 and len(line) + len(piece) > width - 1:
            out, line = out + line + "\\\n", ""
        line += piece
    return out + line + "$\n"


def lines_of(text: str, end: str) -> list[str]:
    """Lines without their ends."""
    return split_lines(text, end)
