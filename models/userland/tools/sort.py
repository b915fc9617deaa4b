"""sort, shuf, split: lines compared with lines. Source: coreutils 9.1, in the C locale."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from simcluster.engine.streams import mix
from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import kept_lines, size_of, split_lines

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
    long = {"lines": "l", "bytes": "b", "numeric-suffixes": "d", "suffix-length": "a", "number": "n",
            "hex-suffixes": "x", "additional-suffix": "additional", "verbose": "verbose", "line-bytes": "C",
            }  # fmt: skip
    args = [f"-l{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.args]
    given = parse(args, "dex", "lbaCn additional", long)
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words[:1], "cannot open '{name}' for reading: {problem}")
    if call.said:
        return call.done()
    text, prefix = texts[0][1], given.words[1] if len(given.words) > 1 else "x"
    pieces = _pieces(text, given)
    if pieces is None:
        return call.wrong("invalid number of lines", hint=False)
    size, out = int(given.values["a"][:2] or 2) if given.values.get("a", "").isdigit() else 2, []
    for at, piece in enumerate(pieces[: 26**size]):
        if given.has("d"):
            name = f"{at + int(given.values.get('d', '0')[:4] or 0):0{size}d}"
        else:
            letters = "".join(chr(97 + at // 26**place % 26) for place in range(size - 1, -1, -1))
            name = f"{at:0{size}x}" if given.has("x") else letters
        name = prefix + name + given.values.get("additional", "")
        try:
            call.files.write(call.path(name), piece)
        except FileError as problem:
            call.complain(f"{name}: {problem}")
            break
        out.append(f"creating file '{name}'\n" if given.has("verbose") else "")
    return call.done("".join(out))


def _pieces(text: str, given: Options) -> list[str] | None:
    """What a text is cut into; None if it cannot be said how."""
    number = given.values.get("n", "")
    if number:
        whole, by_line = number.rpartition("/")[2], number.startswith("l/")
        if not whole.isdigit() or not 0 < int(whole[:6]) <= 10_000:
            return None
        count, data = int(whole[:6]), raw(text)
        ends = [len(data) // count * n for n in range(1, count)] + [len(data)]
        if by_line:
            ends = [end if end in (0, len(data)) else (data.find(b"\n", end - 1) + 1 or len(data)) for end in ends]
        starts = [0, *ends[:-1]]
        return [data[a:b].decode("utf-8", "surrogateescape") for a, b in zip(starts, ends, strict=True)]
    if "b" in given.values:
        step = size_of(given.values["b"])
        return None if not step else [text[at : at + step] for at in range(0, len(text), step)]
    many = given.values.get("l", "1000")
    if not many.isdigit() or not int(many[:9]):
        return None
    lines = kept_lines(text)
    return ["".join(lines[at : at + int(many[:9])]) for at in range(0, len(lines), int(many[:9]))]


TOOLS: dict[str, Tool] = {"shuf": shuf, "sort": sort, "split": split}
