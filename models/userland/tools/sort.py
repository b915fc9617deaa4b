"""sort, join, comm, column, shuf, split: lines compared with lines. Source: coreutils 9.1, in the C locale."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from simcluster.engine.streams import mix
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import ROOM, Exhausted, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import kept_lines, split_lines

_NUMBER = re.compile(r"\s*(-?)(\d*)(?:\.(\d*))?")
_FLOAT = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LONG = {
    "numeric-sort": "n",
    "reverse": "r",
    "unique": "u",
    "ignore-case": "f",
    "key": "k",
    "field-separator": "t",
    "human-numeric-sort": "h",
    "version-sort": "V",
    "general-numeric-sort": "g",
    "month-sort": "M",
    "check": "c",
    "output": "o",
    "stable": "s",
    "ignore-leading-blanks": "b",
    "dictionary-order": "d",
    "zero-terminated": "z",
    "random-sort": "R",
    "merge": "m",
    "parallel": "parallel",
    "buffer-size": "S",
}


class Key(NamedTuple):
    """One `-k`: from field and character, to field and character, and its letters."""

    first: int
    first_char: int
    last: int
    last_char: int
    letters: str


def sort(call: Call) -> Outcome:
    """Sort lines."""
    given = parse(call.args, "nrufhVgMcCsbdiz" + "Rm" * call.gnu, "ktoST parallel compress-program", _LONG)
    if given.problem:
        return call.wrong(given.problem, 2)
    everywhere = "".join(letter for letter in given.letters if letter in "nfhVgMdibRr")
    separator = given.values.get("t")
    if separator == "\\0":
        separator = "\0"
    if separator is not None and len(separator) != 1:
        return call.wrong("empty tab" if not separator else f"multi-character tab ‘{separator}’", 2, hint=False)
    keys: list[Key] = []
    for text in _keys_given(call.args):
        key = _key(text)
        if key is None:
            return call.wrong(
                f"invalid number at field start: invalid count at start of ‘{text}’"
                if not text[:1].isdigit()
                else f"stray character in field spec: invalid field specification ‘{text}’",
                2,
                hint=False,
            )
        keys.append(key)
    end = "\0" if given.has("z") else "\n"
    lines = [
        line
        for _, text in call.inputs(given.words, "cannot read: {name}: {problem}")
        for line in split_lines(text, end)
    ]
    if call.said:
        return call.done(code=2)
    sorter = _Sorter(keys, everywhere, separator, stable=given.has("s", "u"))
    if given.has("c", "C"):
        for at in range(1, len(lines)):
            order = sorter.compare(lines[at - 1], lines[at])
            if order > 0 or (given.has("u") and order == 0):
                said = f"sort: {given.words[0] if given.words else '-'}:{at + 1}: disorder: {lines[at]}\n"
                return Outcome(stderr=said if given.has("c") else "", code=1)
        return Outcome()
    ordered = sorter.sorted(lines)
    if given.has("u"):
        ordered = [
            line for at, line in enumerate(ordered) if not at or sorter.keyed(ordered[at - 1]) != sorter.keyed(line)
        ]
    text = "".join(line + end for line in ordered)
    if "o" in given.values:
        try:
            call.files.write(call.resolved(given.values["o"]), text)
        except FileError as problem:
            call.complain(f"open failed: {given.values['o']}: {problem}")
        return call.done(failed=2)
    return call.done(text)


def _keys_given(args: list[str]) -> list[str]:
    found, words = [], iter(args)
    for word in words:
        if word == "--":
            break
        if word.startswith("--key"):
            found.append(word.partition("=")[2] or next(words, ""))
        elif (
            word[:1] == "-"
            and word[:2] != "--"
            and "k" in word
            and not any(c in word[1 : word.index("k")] for c in "toST")
        ):
            found.append(word[word.index("k") + 1 :] or next(words, ""))
        elif word in ("-t", "-o", "-S", "-T"):
            next(words, "")
    return found


def _key(text: str) -> Key | None:
    match = re.fullmatch(
        r"(\d{1,9})(?:\.(\d{1,9}))?([bdfghiMnRrV]*)(?:,(\d{1,9})(?:\.(\d{1,9}))?([bdfghiMnRrV]*))?", text
    )
    if match is None or match[1] == "0":
        return None
    letters = (match[3] or "") + (match[6] or "")
    return Key(int(match[1]), int(match[2] or 1), int(match[4] or 0), int(match[5] or 0), letters)


class _Sorter:
    def __init__(self, keys: list[Key], letters: str, separator: str | None, *, stable: bool) -> None:
        self.keys = [key._replace(letters=key.letters or letters) for key in keys] or [Key(1, 1, 0, 0, letters)]
        self.whole = not keys
        self.reverse = "r" in letters
        self.separator = separator
        self.stable = stable
        self.last_resort = not stable and (bool(keys) or bool(letters.strip("r")))

    def sorted(self, lines: list[str]) -> list[str]:
        """The lines in their order."""
        found = sorted(lines, reverse=self.reverse) if self.last_resort else lines
        for key in reversed(self.keys):  # the sort is stable: the last pass decides first
            down = "r" in key.letters
            if self.whole and key.letters.strip("r") == "n" and all(map(_is_count, lines)):
                found = sorted(found, key=int, reverse=down)
            elif self.whole and not key.letters.strip("r"):
                found = sorted(found, reverse=down)
            else:
                found = sorted(found, key=partial(self._value, key=key), reverse=down)
        return found

    def keyed(self, line: str) -> list[Any]:
        """What two lines must share to count as one for `-u`."""
        return [self._value(line, key) for key in self.keys]

    def compare(self, left: str, right: str) -> int:
        """Below zero if the left one comes first."""
        for key in self.keys:
            a, b = self._value(left, key), self._value(right, key)
            if a != b:
                return (-1 if a < b else 1) * (-1 if "r" in key.letters else 1)
        if self.last_resort and left != right:
            return (-1 if left < right else 1) * (-1 if self.reverse else 1)
        return 0

    def _value(self, line: str, key: Key) -> Any:
        text = line if self.whole else self._part(line, key)
        letters = key.letters
        if "b" in letters:
            text = text.lstrip(" \t")
        if "n" in letters:
            return _numeric(text)
        if "h" in letters:
            unit = re.match(r"\s*-?[\d.]+([KMGTPEZYk]?)", text)
            rank = " KMGTPEZY".find(unit[1].upper() or " ") if unit is not None else 0
            value = _numeric(text)
            return (-rank if value < (0, "") else rank, value)
        if "g" in letters:
            match = _FLOAT.match(text)
            return (0, 0.0) if match is None else (1, float(match[0]))
        if "M" in letters:
            name = text.lstrip()[:3].upper()
            return _MONTHS.index(name) + 1 if name in _MONTHS else 0
        if "V" in letters:
            return _version(text)
        if "R" in letters:
            return crc32(raw(text), 7)
        if "d" in letters:
            text = "".join(char for char in text if char.isalnum() or char in " \t")
        return text.upper() if "f" in letters else text

    def _part(self, line: str, key: Key) -> str:
        if self.separator is not None:
            bounds, at = [], 0
            for piece in line.split(self.separator):
                bounds.append((at, at + len(piece)))
                at += len(piece) + 1
        else:
            bounds = [match.span() for match in re.finditer(r"[ \t]*[^ \t]+|[ \t]+$", line)]
        if key.first > len(bounds):
            return ""
        start, stop = bounds[key.first - 1]
        start = self._skip(line, start, key) + key.first_char - 1
        if not key.last:
            return line[start:]
        if key.last > len(bounds):
            return line[start:]
        first, stop = bounds[key.last - 1]
        if key.last_char:
            stop = min(stop, self._skip(line, first, key) + key.last_char)
        return line[start:stop]

    def _skip(self, line: str, at: int, key: Key) -> int:
        while "b" in key.letters and at < len(line) and line[at] in " \t":
            at += 1
        return at


def _is_count(text: str) -> bool:
    """Whether a line is a plain whole number of a size that `int` reads at once."""
    return text.isdecimal() and text.isascii() and len(text) < 400


def _numeric(text: str) -> tuple[int, str] | tuple[float, str]:
    if text.isdecimal() and text.isascii() and len(text) < 400:
        return (int(text), "")
    match = _NUMBER.match(text)
    if match is None or not (match[2] or match[3]):
        return (0, "")
    digits, fraction = match[2][:400] or "0", (match[3] or "").rstrip("0")[:400]
    # Whole part and fraction, ordered exactly; of a negative number both count downwards.
    if match[1]:
        whole = -int(digits)
        return (
            (whole - 1, "".join(chr(ord("9") - ord(c) + ord("0")) for c in fraction) + ":") if fraction else (whole, "")
        )
    return (int(digits), fraction)


def _version(text: str) -> list[tuple[int, int, str]]:
    parts: list[tuple[int, int, str]] = []
    for match in re.finditer(r"(\d+)|(\D+)", text):
        if match[1]:
            parts.append((1, int(match[1][:400]), ""))
        else:
            parts += [(0 if char == "~" else 2 if char.isalpha() else 3, 0, char) for char in match[2]]
    return parts


def comm(call: Call) -> Outcome:
    """Lines of the first file, of the second, and of both."""
    given = parse(
        call.args, "123iz", " output-delimiter", {"output-delimiter": "output-delimiter", "nocheck-order": "i",
                                                  "check-order": "i", "total": "i"}
    )  # fmt: skip
    if given.problem:
        return call.wrong(given.problem)
    between = given.values.get("output-delimiter", "\t")
    texts = call.inputs(given.words[:2])
    if len(given.words) < 2 or len(texts) < 2:
        return call.done() if call.said else call.wrong("missing operand")
    left, right = (split_lines(text) for _, text in texts)
    out, a, b = [], 0, 0
    shift = [0, 0 if given.has("1") else 1, (not given.has("1")) + (not given.has("2"))]
    while a < len(left) or b < len(right):
        if b >= len(right) or (a < len(left) and left[a] < right[b]):
            column, line, a = 0, left[a], a + 1
        elif a >= len(left) or right[b] < left[a]:
            column, line, b = 1, right[b], b + 1
        else:
            column, line, a, b = 2, left[a], a + 1, b + 1
        if not given.has(str(column + 1)):
            out.append(between * int(shift[column]) + line + "\n")
    return call.done("".join(out))


def join(call: Call) -> Outcome:
    """Lines of two sorted files with the same field."""
    given = parse(call.args, "i", "t12ojaev")
    texts = call.inputs(given.words[:2])
    if len(texts) < 2:
        return call.done() if call.said else call.wrong("missing operand")
    sign = given.values.get("t")
    places = [int(given.values.get(str(n), given.values.get("j", "1"))[:4] or 1) - 1 for n in (1, 2)]
    tables = [[line.split(sign) if sign else line.split() for line in split_lines(text)] for _, text in texts]
    alone, between, out = given.values.get("a", given.values.get("v", "")), sign or " ", []

    def row(key: str, left: list[str] | None, right: list[str] | None) -> str:
        sides = [left, right]
        if "o" in given.values:
            chosen = []
            for spec in re.split(r"[ ,]+", given.values["o"]):
                side, _, at = spec.partition(".")
                fields = sides[int(side) - 1] if side in ("1", "2") else None
                known = fields is not None and at.isdigit() and int(at) <= len(fields)
                chosen.append(
                    key
                    if spec == "0"
                    else fields[int(at) - 1]
                    if fields is not None and known
                    else given.values.get("e", "")
                )
            return between.join(chosen)
        rest = [
            field
            for n, fields in enumerate(sides)
            if fields is not None
            for at, field in enumerate(fields)
            if at != places[n]
        ]
        return between.join([key, *rest])

    by_key: dict[str, list[list[str]]] = {}
    for fields in tables[1]:
        by_key.setdefault(fields[places[1]] if places[1] < len(fields) else "", []).append(fields)
    seen: dict[str, bool] = {}
    size = 0
    for fields in tables[0]:
        key = fields[places[0]] if places[0] < len(fields) else ""
        seen[key] = True
        partners = by_key.get(key, [])
        if "v" not in given.values:
            out += [row(key, fields, partner) for partner in partners]
            size += sum(len(line) + 50 for line in out[len(out) - len(partners) :])  # integers
            if size > ROOM:
                raise Exhausted
        if not partners and alone == "1":
            out.append(row(key, fields, None))
    if alone == "2":
        out += [row(key, None, fields) for key, rows in by_key.items() if key not in seen for fields in rows]
    return call.done("".join(line + "\n" for line in out))


def column(call: Call) -> Outcome:
    """`column -t`: lines as a table."""
    given = parse(
        call.args, "tnxeJ", "soclNRHd", {"table": "t", "separator": "s", "output-separator": "o", "table-columns": "N"}
    )
    if given.problem:
        return call.wrong(given.problem)
    lines = [line for _, text in call.inputs(given.words) for line in split_lines(text) if line.strip()]
    if not given.has("t"):
        width = max(map(len, lines), default=0)
        across = max(1, 80 // ((width // 8 + 1) * 8)) if lines else 1
        rows = -(-len(lines) // across)
        wide = (width // 8 + 1) * 8
        out = []
        for at in range(rows):
            row = lines[at::rows] if rows else []
            out.append("".join(cell + "\t" * (-(-(wide - len(cell)) // 8)) for cell in row[:-1]) + row[-1] + "\n")
        return call.done("".join(out))
    signs = given.values.get("s")
    table = [
        re.split(f"[{re.escape(signs)}]" if signs else r"\s+", line.strip() if not signs else line) for line in lines
    ]
    if "N" in given.values:
        table.insert(0, given.values["N"].split(","))
    widths: list[int] = []
    for row in table:
        widths += [0] * (len(row) - len(widths))
        widths = [max(width, len(row[at])) if at < len(row) else width for at, width in enumerate(widths)]
    between = given.values.get("o", "  ")
    out = []
    for row in table:
        full = row + [""] * (len(widths) - len(row))
        cells = [cell.ljust(widths[at]) if at < len(widths) - 1 else cell for at, cell in enumerate(full)]
        out.append(between.join(cells).rstrip() if "o" not in given.values else between.join(cells))
    return call.done("".join(line + "\n" for line in out))


def shuf(call: Call) -> Outcome:
    """Lines in a random order."""
    given = parse(call.args, "erz", "nio", {"head-count": "n", "input-range": "i", "echo": "e", "repeat": "r"})
    if "i" in given.values:
        first, _, last = given.values["i"].partition("-")
        if not (first.isdigit() and last.isdigit()) or int(last) - int(first) > 200_000:
            return call.wrong(f"invalid input range: ‘{given.values['i']}’", hint=False)
        lines = [str(number) for number in range(int(first), int(last) + 1)]
    elif given.has("e"):
        lines = given.words
    else:
        lines = [line for _, text in call.inputs(given.words) for line in split_lines(text)]
    drawn = call.place.draw()
    order = sorted(range(len(lines)), key=lambda at: mix(drawn, at))
    most = int(given.values["n"][:9]) if given.values.get("n", "").isdigit() else len(lines)
    return call.done("".join(lines[at] + "\n" for at in order[:most]))


def split(call: Call) -> Outcome:
    """Pieces of a file, in files of their own."""
    given = parse(call.args, "d", "lbaCn", {"lines": "l", "bytes": "b", "numeric-suffixes": "d", "suffix-length": "a"})
    texts = call.inputs(given.words[:1], "cannot open '{name}' for reading: {problem}")
    if call.said:
        return call.done()
    text, prefix = texts[0][1], given.words[1] if len(given.words) > 1 else "x"
    if "b" in given.values:
        size = max(1, int(given.values["b"][:9])) if given.values["b"].isdigit() else 1 << 20
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
    else:
        count = max(1, int(given.values.get("l", "1000")[:9] or 1000)) if given.values.get("l", "1").isdigit() else 1000
        lines = kept_lines(text)
        pieces = ["".join(lines[at : at + count]) for at in range(0, len(lines), count)]
    for at, piece in enumerate(pieces[:676]):
        name = f"{at:02d}" if given.has("d") else chr(97 + at // 26) + chr(97 + at % 26)
        try:
            call.files.write(call.path(prefix + name), piece)
        except FileError as problem:
            call.complain(f"{prefix}{name}: {problem}")
            break
    return call.done()


TOOLS: dict[str, Tool] = {"column": column, "comm": comm, "join": join, "shuf": shuf, "sort": sort, "split": split}
