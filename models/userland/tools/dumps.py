"""Dumps of bytes: od, xxd, hexdump. Source: coreutils 9.1, xxd 2022-01-14, util-linux 2.38."""

from __future__ import annotations

import re

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import Options, parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call, Tool

_LONG = {"format": "t", "address-radix": "A", "read-bytes": "N", "skip-bytes": "j", "width": "w"}


def od(call: Call) -> Outcome:
    """Bytes in octal and other forms."""
    args = [word if word not in ("-w", "--width") else "-w32" for word in call.args]
    given = parse(args, "cbxdov", "AtNjw", _LONG)
    if given.problem:
        return call.wrong(given.problem)
    data = b"".join(raw(text) for _, text in call.inputs(given.words))
    skip = int(given.values.get("j", "0")[:9] or 0)
    data = data[skip : skip + int(given.values["N"][:9]) if given.values.get("N", "").isdigit() else None]
    kind = given.values.get("t") or (
        "c" if given.has("c") else "o1" if given.has("b") else "x2" if given.has("x") else "o2"
    )
    kind = "u2" if given.has("d") and "t" not in given.values else kind
    wide = int(given.values["w"][:4]) if given.values.get("w", "").isdigit() else 16
    base, printed = given.values.get("A", "o")[:1], kind.endswith("z")
    size = 1 if kind[0] in "ca" else int(kind[1:2]) if kind[1:2].isdigit() else 4
    cell = {
        "x": size * 2 + 1,
        "o": {1: 4, 2: 7, 4: 12}.get(size, 23),
        "d": {1: 5, 2: 7, 4: 12}.get(size, 21),
        "u": {1: 4, 2: 6, 4: 11}.get(size, 21),
    }.get(kind[0], 4)
    out: list[str] = []
    before = b""
    for at in range(0, len(data), max(1, wide)):
        row = data[at : at + wide]
        if row == before and len(row) == wide and not given.has("v"):
            out += [] if out[-1] == "*\n" else ["*\n"]
            continue
        before = row
        cells = "".join(_cell(row[n : n + size], kind[0], size, cell) for n in range(0, len(row), size))
        shown = "".join(chr(code) if 32 <= code < 127 else "." for code in row)
        cells = f"{cells:<{cell * -(-wide // size)}}  >{shown}<" if printed else cells
        out.append(f"{_address(at + skip, base)}{cells}\n")
    if base != "n":
        out.append(_address(len(data) + skip, base) + "\n")
    return call.done("".join(out))


def _cell(part: bytes, kind: str, size: int, cell: int) -> str:
    number = int.from_bytes(part.ljust(size, b"\0"), "little", signed=kind == "d")
    if kind in "ca":
        shown = _named(number)
    elif kind == "x":
        shown = f"{number:0{size * 2}x}"
    else:
        shown = f"{number:0{cell - 1}o}" if kind == "o" else str(number)
    return shown.rjust(cell)


def _address(at: int, base: str) -> str:
    return "" if base == "n" else f"{at:07d}" if base == "d" else f"{at:06x}" if base == "x" else f"{at:07o}"


def _named(code: int) -> str:
    known = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
    return known.get(code) or (chr(code) if 32 <= code < 127 else f"{code:03o}")


def xxd(call: Call) -> Outcome:
    """Bytes in hexadecimal."""
    given = parse(call.args, "prbiuEea", "lcsgno", {"plain": "p", "postscript": "p", "revert": "r", "bits": "b",
                                                    "include": "i", "cols": "c", "len": "l", "seek": "s"})  # fmt: skip
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words)
    data = b"".join(raw(text) for _, text in texts)
    if given.has("r"):
        return call.done(_reverted(data, plain=given.has("p")))
    start = _count(given, "s", 0)
    data = data[start:] if start >= 0 else data[start:] if -start <= len(data) else data
    start = max(0, start)
    if "l" in given.values:
        data = data[: _count(given, "l", 0)]
    upper = given.has("u")
    if given.has("p"):
        wide = _count(given, "c", 30) or 30
        text = "".join(data[at : at + wide].hex() + "\n" for at in range(0, len(data), wide))
        return call.done(text.upper() if upper else text)
    if given.has("i"):
        return call.done(_included(data, given.words[0] if given.words else "", _count(given, "c", 12) or 12))
    bits = given.has("b")
    wide, group = _count(given, "c", 6 if bits else 16) or 16, _count(given, "g", 1 if bits else 2)
    group = group or wide
    digits = 8 if bits else 2
    room = wide * digits + -(-wide // group) - 1
    out = []
    for at in range(0, len(data), wide):
        row = data[at : at + wide]
        cells = [f"{code:08b}" if bits else f"{code:02X}" if upper else f"{code:02x}" for code in row]
        shown = " ".join("".join(cells[n : n + group]) for n in range(0, len(cells), group))
        text = "".join(chr(code) if 32 <= code < 127 else "." for code in row)
        out.append(f"{at + start:08x}: {shown:<{room}}  {text}\n")
    return call.done("".join(out))


def _count(given: Options, letter: str, default: int) -> int:
    try:
        return int(given.values[letter][:10], 0) if letter in given.values else default
    except ValueError:
        return default


def _included(data: bytes, name: str, wide: int) -> str:
    """An array of C."""
    rows = [", ".join(f"0x{code:02x}" for code in data[at : at + wide]) for at in range(0, len(data), wide)]
    body = ",\n".join(f"  {row}" for row in rows)
    if not name:
        return body + "\n"
    word = re.sub(r"\W", "_", name if not name[:1].isdigit() else f"__{name}")
    return f"unsigned char {word}[] = {{\n{body}\n}};\nunsigned int {word}_len = {len(data)};\n"


def _reverted(data: bytes, *, plain: bool) -> str:
    digits = "".join(
        re.sub(r"^\s*[0-9a-fA-F]+:|  .*$", "", line) if not plain else line
        for line in data.decode("latin-1").split("\n")
    )
    digits = re.sub(r"[^0-9a-fA-F]", "", digits)
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "surrogateescape")


def hexdump(call: Call) -> Outcome:
    """hexdump, with and without -C, and hd."""
    given = parse(call.args, "Cvx", "ns", {"canonical": "C", "length": "n", "skip": "s", "no-squeezing": "v"})
    if given.problem:
        return call.wrong(given.problem)
    data = b"".join(raw(text) for _, text in call.inputs(given.words))
    skip = max(0, _count(given, "s", 0))
    data = data[skip:]
    data = data[: max(0, _count(given, "n", 0))] if "n" in given.values else data
    canonical = given.has("C") or call.name == "hd"
    out: list[str] = []
    before = b""
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if row == before and len(row) == 16 and not given.has("v"):
            out += [] if out[-1] == "*\n" else ["*\n"]
            continue
        before = row
        if canonical:
            text = "".join(chr(code) if 32 <= code < 127 else "." for code in row)
            halves = "  ".join(" ".join(f"{code:02x}" for code in row[n : n + 8]) for n in (0, 8))
            out.append(f"{at + skip:08x}  {halves:<48}  |{text}|\n")
        else:
            words = " ".join(
                f"{int.from_bytes(row[n : n + 2].ljust(2, bytes(1)), 'little'):04x}" for n in range(0, len(row), 2)
            )
            out.append(f"{at + skip:07x} {words:<39}\n")
    if data:
        out.append(f"{len(data) + skip:08x}\n" if canonical else f"{len(data) + skip:07x}\n")
    return call.done("".join(out))


TOOLS: dict[str, Tool] = {"hd": hexdump, "hexdump": hexdump, "od": od, "xxd": xxd}
