"""Programs that read lines and print some of them: cat, head, tail, wc, sort and their kin."""

from __future__ import annotations

import json
import re

from simcluster.engine import SECOND
from simcluster.models.userland.escapes import byte, joined, raw
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import FOREVER_NS, ROOM, Exhausted, Outcome, fitting
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import ENDLESS, PIPE_BYTES, Call, Tool, endless
from simcluster.models.userland.regex import compile_pattern
from simcluster.models.userland.tools.lines import kept_lines, size_of, split_lines


def cat(call: Call) -> Outcome:
    """Print files."""
    given = parse(
        call.args,
        "nbsEAvTetu" if call.gnu else "nbvteA",
        "",
        {
            "number": "n",
            "show-all": "A",
            "squeeze-blank": "s",
            "show-ends": "E",
            "number-nonblank": "b",
            "show-tabs": "T",
            "show-nonprinting": "v",
        },
    )
    if given.problem:
        return call.wrong(given.problem)
    if given.words and given.words[0] in ENDLESS:
        return Outcome(endless(call.place, given.words[0], PIPE_BYTES), endless=True)
    text = "".join(text for _, text in call.inputs(given.words))
    if given.has("s"):
        text = re.sub(r"\n{3,}", "\n\n", text)
    if given.has("A", "E", "T", "v", "e", "t"):
        text = _visible(
            text, tabs=given.has("A", "T", "t"), ends=given.has("A", "E", "e"), others=given.has("A", "v", "e", "t")
        )
    if given.has("n", "b"):
        out, number = [], 0
        for line in kept_lines(text):
            blank = line in ("\n", "$\n") and given.has("b")
            number += not blank
            out.append(line if blank else f"{number:6d}\t{line}")
        text = "".join(out)
    return call.done(fitting(text))


def _visible(text: str, *, tabs: bool, ends: bool, others: bool) -> str:
    out = []
    for code in raw(text):
        if code == 10:
            out.append("$\n" if ends else "\n")
        elif code == 9:
            out.append("^I" if tabs else "\t")
        elif not others:
            out.append(byte(code))
        else:
            high = "M-" if code > 127 else ""
            low = code & 127
            out.append(high + (f"^{chr(low + 64)}" if low < 32 else "^?" if low == 127 else chr(low)))
    return joined("".join(out))


def tac(call: Call) -> Outcome:
    """Lines in reverse."""
    out = []
    for _, text in call.inputs(
        [word for word in call.args if word[:1] != "-"], "failed to open '{name}' for reading: {problem}"
    ):
        lines = kept_lines(text)
        out += lines[::-1]
    return call.done("".join(out))


def rev(call: Call) -> Outcome:
    """Each line in reverse."""
    texts = call.inputs(call.args, "cannot open {name}: {problem}")
    return call.done(
        "".join(line.rstrip("\n")[::-1] + "\n" * line.endswith("\n") for _, t in texts for line in kept_lines(t))
    )


def head(call: Call) -> Outcome:
    """The first lines or bytes."""
    given, count, unit, problem = _counted(call)
    if problem:
        return call.wrong(problem)
    names = given.words
    out: list[str] = []
    many = (len(names) > 1 or given.has("v")) and not given.has("q")
    for name in names or ["-"]:
        if name == "-" and call.source is not None and not count.startswith("-") and unit == "n":
            lines = []
            for _ in range(int(count.lstrip("+"))):
                line = call.source.line()
                if line is None:
                    break
                lines.append(line)
            found = [("standard input", "".join(lines))]
            if not call.source.seekable:
                call.source.take()
        elif name in ENDLESS and unit == "c" and count.isdigit():
            if int(count[:18]) > ROOM:
                raise Exhausted
            found = [(name, endless(call.place, name, int(count)))]
        else:
            found = call.inputs([name], "cannot open '{name}' for reading: {problem}")
            found = [(name, _first(text, count, unit)) for name, text in found]
        for shown, text in found:
            shown = "standard input" if shown == "-" else shown
            out.append((f"{chr(10) if out else ''}==> {shown} <==\n" if many else "") + text)
    return call.done(fitting("".join(out)))


def _first(text: str, count: str, unit: str) -> str:
    number = int(count.lstrip("+-"))
    if unit == "c":
        data = raw(text)
        return (data[:-number] if count[0] == "-" and number else data[:number] if count[0] != "-" else data).decode(
            "utf-8", "surrogateescape"
        )
    lines = kept_lines(text)
    return "".join(lines[: len(lines) - number] if count[0] == "-" else lines[:number])


def _counted(call: Call) -> tuple[Options, str, str, str]:
    """Options of head and tail: what was given, how much, of what, and what is wrong."""
    args = []
    for at, word in enumerate(call.args):
        if at and call.args[at - 1] in ("-n", "-c", "--lines", "--bytes", "-s"):
            args.append(word)
            continue
        old = re.fullmatch(r"-(\d+)([cbfkl]?)", word) or (
            re.fullmatch(r"\+(\d+)()", word) if call.name == "tail" and not at else None
        )
        if old is not None:
            sign = "+" if word[0] == "+" else ""
            args += ["-c" if old[2] == "c" else "-n", sign + old[1], *(["-f"] if old[2] == "f" else [])]
        else:
            args.append(word)
    given = parse(
        args,
        "qvfFz",
        "ncs pid max-unchanged-stats",
        {
            "lines": "n",
            "bytes": "c",
            "quiet": "q",
            "silent": "q",
            "verbose": "v",
            "follow": "f",
            "retry": "F",
            "sleep-interval": "s",
            "pid": "pid",
            "zero-terminated": "z",
        },
    )
    unit = "n"
    for letter in given.letters:
        unit = letter if letter in "nc" else unit
    count = given.values.get(unit, "10")
    if given.problem:
        return given, "10", unit, given.problem
    sign = count[:1] if count[:1] in "+-" else ""
    size = size_of(count.removeprefix(sign))
    if size is None:
        what = "lines" if unit == "n" else "bytes"
        shown = f"invalid number of {what}: ‘{count}’" if call.gnu else f"invalid number '{count}'"
        return given, "10", unit, shown
    return given, f"{sign}{min(size, 10**12)}", unit, ""


def tail(call: Call) -> Outcome:
    """The last lines or bytes; `-f` goes on until somebody presses Ctrl-C."""
    given, count, unit, problem = _counted(call)
    if problem:
        return call.wrong(problem)
    names = list(given.words)
    follows = given.has("f", "F") and getattr(call.place, "follows", False)
    if follows and names and not all(call.path(name).startswith("/dev/") for name in names):
        return _followed(call, names, count, unit)
    out: list[str] = []
    many = (len(names) > 1 or given.has("v")) and not given.has("q")
    for name, text in call.inputs(names, "cannot open '{name}' for reading: {problem}"):
        shown = "standard input" if name == "-" else name
        out.append((f"{chr(10) if out else ''}==> {shown} <==\n" if many else "") + _last(text, count, unit))
    if given.has("f", "F") and (out or given.has("F")):
        return Outcome("".join(out), "".join(call.said), 0, FOREVER_NS)
    if given.has("f") and not out and call.said:
        call.complain("no files remaining")
    return call.done(fitting("".join(out)))


def _followed(call: Call, names: list[str], count: str, unit: str) -> Outcome:
    """`-f` of a container's own process: what is there, and a second later what has been added since.

    Of a file that cannot be read it says so once, and goes on as if nothing were added.
    """
    said = call.stdin()
    state = json.loads(said) if said.startswith('{"tailed"') else {"tailed": {}, "failed": []}
    before, failed = state["tailed"], list(state["failed"])
    out, seen = "", dict[str, int]()
    for name in names:
        found, known = call.look(name), before.get(name)
        try:
            text = call.read(name) if found is not None and not found.is_folder else ""
        except FileError as problem:
            if name not in failed:
                failed.append(name)
                call.complain(f"error reading '{name}': {problem}" if call.gnu else f"read error: {problem}")
            if known is not None:
                seen[name] = known
            continue
        out += _last(text, count, unit) if known is None else text[known if known <= len(text) else 0 :]
        seen[name] = len(text)
    then = json.dumps({"tailed": seen, "failed": failed})
    return Outcome(fitting(out), "".join(call.said), 0, SECOND, then=("tail", *call.args), then_stdin=then)


def _last(text: str, count: str, unit: str) -> str:
    number = int(count.lstrip("+-"))
    items: list[str] | bytes = raw(text) if unit == "c" else kept_lines(text)
    found = items[max(0, number - 1) :] if count[0] == "+" else items[max(0, len(items) - number) :]
    return found.decode("utf-8", "surrogateescape") if isinstance(found, bytes) else "".join(found)


def wc(call: Call) -> Outcome:
    """Lines, words, bytes."""
    given = parse(
        call.args,
        "lwcmL",
        " files0-from total",
        {"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"},
    )
    if given.problem:
        return call.wrong(given.problem)
    wanted = [letter for letter in "lwmcL" if given.has(letter)] or ["l", "w", "c"]
    rows = []
    for name, text in call.inputs(given.words):
        values = {
            "l": text.count("\n"),
            "w": len(text.split()),
            "c": len(raw(text)),
            "m": len(text),
            "L": max((len(line.expandtabs()) for line in text.split("\n")), default=0),
        }
        rows.append(([values[letter] for letter in wanted], name if given.words else ""))
    if len(given.words) > 1:
        total = [
            max(column) if letter == "L" else sum(column)  # integers
            for letter, column in zip(wanted, zip(*(row for row, _ in rows), strict=True), strict=False)
        ] or [0] * len(wanted)
        rows.append((total, "total"))
    if call.gnu:
        single = len(wanted) == 1 and len(rows) <= 1
        piped = (not given.words and not (call.source and call.source.seekable)) or "-" in given.words
        sized = not piped and not given.words
        width = (
            1
            if single
            else 7
            if piped
            else len(str(rows[0][0][-1] if sized else 0))
            if sized
            else len(str(_size(call, given.words)))
        )
        lines = [" ".join(f"{number:{width}d}" for number in row) + (f" {name}" if name else "") for row, name in rows]
    else:
        one = len(wanted) == 1 and len(rows) == 1
        lines = [
            " ".join(f"{number:9d}" if not one else str(number) for number in row) + (f" {name}" if name else "")
            for row, name in rows
        ]
    return call.done("".join(line + "\n" for line in lines))


def _size(call: Call, names: list[str]) -> int:
    """The width of wc's columns is that of the sum of the files' sizes."""
    found = [call.look(name) for name in names]
    return sum(each.size for each in found if each is not None)  # integers


def uniq(call: Call) -> Outcome:
    """Lines that repeat, once."""
    given = parse(
        call.args,
        "cdDuiz",
        "fsw",
        {
            "count": "c",
            "repeated": "d",
            "unique": "u",
            "ignore-case": "i",
            "skip-fields": "f",
            "skip-chars": "s",
            "check-chars": "w",
            "all-repeated": "D",
            "group": "group",
        },
    )
    if given.problem:
        return call.wrong(given.problem)
    fields, chars = (int(given.values.get(letter, "0")[:9] or 0) for letter in "fs")
    most = int(given.values["w"][:9]) if given.values.get("w", "").isdigit() else None

    def key(line: str) -> str:
        rest = re.sub(rf"^(?:\s*\S+){{0,{min(fields, 999)}}}", "", line) if fields else line
        rest = rest[chars:][:most]
        return rest.lower() if given.has("i") else rest

    texts = call.inputs(given.words[:1])
    groups: list[tuple[str, list[str]]] = []
    for line in split_lines(texts[0][1] if texts else ""):
        if groups and groups[-1][0] == key(line):
            groups[-1][1].append(line)
        else:
            groups.append((key(line), [line]))
    out = []
    for at, (_, lines) in enumerate(groups):
        if given.has("group"):
            out += ["\n"] * (at > 0) + [line + "\n" for line in lines]
            continue
        if (given.has("d", "D") and len(lines) < 2) or (given.has("u") and len(lines) > 1):
            continue
        if given.has("D"):
            out += [line + "\n" for line in lines]
        else:
            out.append(f"{len(lines):7d} {lines[0]}\n" if given.has("c") else lines[0] + "\n")
    if len(given.words) > 1 and not call.said:
        try:
            call.files.write(call.resolved(given.words[1]), "".join(out))
        except FileError as problem:
            call.complain(f"{given.words[1]}: {problem}")
        return call.done()
    return call.done("".join(out))


def cut(call: Call) -> Outcome:
    """Columns of lines."""
    given = parse(
        call.args,
        "snz",
        "dfcb output-delimiter",
        {
            "delimiter": "d",
            "fields": "f",
            "characters": "c",
            "bytes": "b",
            "only-delimited": "s",
            "complement": "n",
            "output-delimiter": "output-delimiter",
            "zero-terminated": "z",
        },
    )
    if given.problem:
        return call.wrong(given.problem)
    if given.has("n") and "--complement" in call.args and not call.gnu:
        return call.wrong("unrecognized option '--complement'")
    unit = next((letter for letter in "fcb" if letter in given.values), "")
    if not unit:
        return call.wrong(
            "you must specify a list of bytes, characters, or fields"
            if call.gnu
            else "expected a list of bytes, characters, or fields"
        )
    if unit != "f" and "d" in given.values:
        return call.wrong("an input delimiter may be specified only when operating on fields")
    delimiter = given.values.get("d", "\t")
    if len(delimiter) > 1:
        return call.wrong("the delimiter must be a single character")
    delimiter = delimiter or "\0"
    spans, problem = _spans(given.values[unit], call.gnu, unit)
    if spans is None:
        return call.wrong(problem)
    complement = "--complement" in call.args
    between = given.values.get("output-delimiter", delimiter if unit == "f" else "")
    out = []
    end = "\0" if given.has("z") else "\n"
    for _, text in call.inputs(given.words):
        for line in split_lines(text, end):
            if unit == "f":
                if delimiter not in line:
                    out += [] if given.has("s") else [line + end]
                    continue
                items = line.split(delimiter)
            else:
                items = list(line)
            chosen = [item for at, item in enumerate(items, 1) if any(a <= at <= b for a, b in spans) != complement]
            out.append(between.join(chosen) + end)
    return call.done("".join(out))


def _spans(text: str, gnu: bool, unit: str) -> tuple[list[tuple[int, int]] | None, str]:
    spans = []
    for part in re.split(r"[,\s]+", text):
        match = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if match is None or not (match[1] or match[3]):
            what = "field" if unit == "f" else "byte/character"
            kind = "value" if match is None and "-" not in part else "range"
            return None, f"invalid {what} {kind} ‘{part}’" if gnu else f"invalid range '{part}'"
        first = int(match[1][:9] or 1)
        last = int(match[3][:9]) if match[3] else 10**9 if match[2] else first
        if first == 0:
            return None, (
                "fields are numbered from 1" if unit == "f" else "byte/character positions are numbered from 1"
            )
        if last < first:
            return None, "invalid decreasing range"
        spans.append((first, last))
    return spans, ""


def nl(call: Call) -> Outcome:
    """Number lines."""
    given = parse(call.args, "p", "bwsvinfhd")
    if given.problem:
        return call.wrong(given.problem)
    style, width = given.values.get("b", "t"), int(given.values.get("w", "6")[:3] or 6)
    number, step, sign = int(given.values.get("v", "1")), int(given.values.get("i", "1")), given.values.get("s", "\t")
    shaped = compile_pattern(style[1:], "B") if style[:1] == "p" else None
    form = {"ln": "<", "rn": ">", "rz": "0>"}.get(given.values.get("n", "rn"), ">")
    out = []
    for _, text in call.inputs(given.words):
        for line in kept_lines(text):
            numbered = shaped.search(line.rstrip("\n")) is not None if shaped is not None else line != "\n"
            if style == "a" or (style[:1] in "tp" and numbered):
                out.append(f"{number:{form}{width}d}{sign}{line}")
                number += step
            else:
                out.append(" " * (width + len(sign)) + line)
    return call.done("".join(out))


def fold(call: Call) -> Outcome:
    """Break long lines."""
    given = parse(
        [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.args],
        "sb",
        "w",
        {"width": "w", "spaces": "s"},
    )
    if given.problem:
        return call.wrong(given.problem)
    width = int(given.values.get("w", "80")[:9] or 80)
    if width < 1:
        return call.wrong(f"invalid number of columns: ‘{given.values.get('w')}’", hint=False)
    out = []
    for _, text in call.inputs(given.words):
        for line in kept_lines(text):
            body, begin = line.removesuffix("\n"), 0
            while len(body) - begin > width:
                blank = body.rfind(" ", begin, begin + width) + 1 if given.has("s") else 0
                end = blank or begin + width
                out.append(body[begin:end] + "\n")
                begin = end
            out.append(body[begin:] + line[len(body) :])
    return call.done("".join(out))


def expand(call: Call) -> Outcome:
    """Tabs as blanks; `unexpand -a` the other way."""
    given = parse(call.args, "ai", "t", {"tabs": "t", "all": "a", "first-only": "first-only"})
    size = int(given.values.get("t", "8")[:3]) if given.values.get("t", "8").isdigit() else 8
    texts = call.inputs(given.words)
    if call.name == "expand":
        return call.done("".join(text.expandtabs(size) for _, text in texts))
    everywhere = given.has("a", "t") and not given.has("first-only")
    out = [_tabbed(line, size, everywhere) for _, text in texts for line in kept_lines(text)]
    return call.done("".join(out))


def _tabbed(line: str, size: int, everywhere: bool) -> str:
    """A line whose blanks that reach a tab stop are a tab: two and more, or all of them at its beginning."""
    out, column, blanks, inside = [], 0, 0, False
    for char in line:
        if char == " " and (everywhere or not inside):
            column, blanks = column + 1, blanks + 1
            if column % size == 0:
                out.append("\t" if blanks > 1 or not inside else " ")
                blanks = 0
            continue
        out.append(" " * blanks)
        blanks = 0
        if char == "\t":
            column = (column // size + 1) * size
        else:
            column, inside = column + 1, inside or char not in " \t"
        out.append(char)
    return "".join(out) + " " * blanks


def tee(call: Call) -> Outcome:
    """Print and write."""
    given = parse(call.args, "aip", "", {"append": "a", "ignore-interrupts": "i"})
    if given.problem:
        return call.wrong(given.problem)
    text = call.stdin()
    for name in given.words:
        try:
            if name not in ("/dev/null", "/dev/stderr", "/dev/tty"):
                call.files.write(call.resolved(name), text, append=given.has("a"))
        except FileError as problem:
            call.complain(f"{name}: {problem}")
    return call.done(text)


TOOLS: dict[str, Tool] = {
    "cat": cat,
    "cut": cut,
    "expand": expand,
    "fold": fold,
    "head": head,
    "nl": nl,
    "rev": rev,
    "tac": tac,
    "tail": tail,
    "tee": tee,
    "unexpand": expand,
    "uniq": uniq,
    "wc": wc,
}
