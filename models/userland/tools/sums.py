"""Checksums, encodings and dumps of bytes: md5sum, base64, od, xxd and their kin."""

from __future__ import annotations

import base64 as codec
import hashlib
import re

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.tools.lines import split_lines

_HASHES = {
    "md5sum": "md5",
    "sha1sum": "sha1",
    "sha224sum": "sha224",
    "sha256sum": "sha256",
    "sha384sum": "sha384",
    "sha512sum": "sha512",
    "b2sum": "blake2b",
}


def checksum(call: Call) -> Outcome:
    """Hashes of files, or with `-c` whether they are still so."""
    given = parse(
        call.args,
        "cbtwzs",
        "",
        {"check": "c", "quiet": "q", "status": "s", "binary": "b", "text": "t", "ignore-missing": "i"},
    )
    if given.problem:
        return call.wrong(given.problem)
    if given.has("c"):
        return _checked(call, given.words, quiet=given.has("q"), silent=given.has("s"))
    out = []
    for name, text in call.inputs(given.words):
        digest = hashlib.new(_HASHES[call.name], raw(text), usedforsecurity=False).hexdigest()
        out.append(f"{digest}  {name}\n")
    return call.done("".join(out))


def _checked(call: Call, names: list[str], *, quiet: bool, silent: bool) -> Outcome:
    out, wrong, gone = [], 0, 0
    for _, text in call.inputs(names):
        for line in split_lines(text):
            match = re.fullmatch(r"([0-9a-f]+) [ *](.+)", line)
            if match is None:
                continue
            try:
                digest = hashlib.new(_HASHES[call.name], raw(call.read(match[2])), usedforsecurity=False).hexdigest()
            except FileError as problem:
                call.complain(f"{match[2]}: {problem}")
                out.append(f"{match[2]}: FAILED open or read\n")
                gone += 1
                continue
            wrong += digest != match[1]
            if digest != match[1] or not quiet:
                out.append(f"{match[2]}: {'OK' if digest == match[1] else 'FAILED'}\n")
    if gone:
        call.complain(f"WARNING: {gone} listed file{'s' if gone > 1 else ''} could not be read")
    if wrong:
        call.complain(f"WARNING: {wrong} computed checksum{'s' if wrong > 1 else ''} did NOT match")
    return Outcome(
        "" if silent else "".join(out), "" if silent else "".join(call.said), int(bool(wrong or gone or call.said))
    )


def base64(call: Call) -> Outcome:
    """Base64 (or 32), and back."""
    given = parse(call.args, "di", "w", {"decode": "d", "wrap": "w", "ignore-garbage": "i"})
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words)
    if call.said:
        return call.done()
    data, wide = raw(texts[0][1]), call.name == "base64"
    if given.has("d"):
        stripped = (
            bytes(byte for byte in data if byte not in b" \t\r\n")
            if not given.has("i")
            else re.sub(rb"[^A-Za-z0-9+/=]", b"", data)
        )
        whole, rest = stripped, b""
        match = re.match(rb"[A-Za-z0-9+/]*={0,2}" if wide else rb"[A-Z2-7]*=*", stripped)
        if match is not None and match.end() < len(stripped):
            whole, rest = stripped[: match.end()], stripped[match.end() :]
        size = 4 if wide else 8
        short = len(whole) % size
        if short:
            rest = rest or b"?"
            filled = whole[len(whole) - short :] + b"=" * (size - short)
            whole = whole[: len(whole) - short] + (filled if short > 1 and call.gnu else b"")
        try:
            decoded = codec.b64decode(whole) if wide else codec.b32decode(whole)
        except ValueError:
            decoded, rest = b"", b"?"
        if rest:
            call.complain("invalid input" if call.gnu else "truncated input")
        return call.done(decoded.decode("utf-8", "surrogateescape"))
    encoded = (codec.b64encode(data) if wide else codec.b32encode(data)).decode()
    width = int(given.values["w"][:9]) if given.values.get("w", "").isdigit() else 76
    if not width:
        return call.done(encoded)
    return call.done("".join(encoded[at : at + width] + "\n" for at in range(0, len(encoded), width)))


def cksum(call: Call) -> Outcome:
    """The CRC of POSIX, or with `sum` that of BSD."""
    out = []
    for name, text in call.inputs([word for word in call.args if word[:1] != "-"]):
        data = raw(text)
        if call.name == "sum":
            total = 0
            for each in data:
                total = ((total >> 1) + ((total & 1) << 15) + each) & 0xFFFF
            out.append(f"{total:05d} {-(-len(data) // 1024):5d}" + (f" {name}" if name != "-" else "") + "\n")
            continue
        crc, size = 0, len(data)
        tail = b""
        while size:
            tail += bytes((size & 255,))
            size >>= 8
        for each in data + tail:
            crc = ((crc << 8) & 0xFFFFFFFF) ^ _TABLE[(crc >> 24) ^ each]
        out.append(f"{crc ^ 0xFFFFFFFF} {len(data)}" + (f" {name}" if name != "-" else "") + "\n")
    return call.done("".join(out))


def _table() -> tuple[int, ...]:
    found = []
    for number in range(256):
        crc = number << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
        found.append(crc)
    return tuple(found)


_TABLE = _table()


def od(call: Call) -> Outcome:
    """Bytes in octal and other forms."""
    given = parse(
        call.args,
        "cbxdov",
        "AtNjw",
        {"format": "t", "address-radix": "A", "read-bytes": "N", "skip-bytes": "j", "width": "w"},
    )
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words)
    data = b"".join(raw(text) for _, text in texts)
    skip = int(given.values.get("j", "0")[:9] or 0)
    data = data[skip : skip + int(given.values["N"][:9]) if given.values.get("N", "").isdigit() else None]
    kind = given.values.get("t") or (
        "c" if given.has("c") else "o1" if given.has("b") else "x2" if given.has("x") else "o2"
    )
    base = given.values.get("A", "o")[:1]
    size = 1 if kind[0] in "ca" else int(kind[1:2]) if kind[1:2].isdigit() else 4
    cell = {
        "x": size * 2 + 1,
        "o": {1: 4, 2: 7, 4: 12}.get(size, 23),
        "d": {1: 5, 2: 7, 4: 12}.get(size, 21),
        "u": {1: 4, 2: 6, 4: 11}.get(size, 21),
    }.get(kind[0], 4)
    out = []
    for at in range(0, len(data), 16):
        row, cells = data[at : at + 16], []
        for start in range(0, len(row), size):
            number = int.from_bytes(row[start : start + size].ljust(size, b"\0"), "little", signed=kind[0] == "d")
            shown = (
                _named(number)
                if kind[0] in "ca"
                else f"{number:0{size * 2}x}"
                if kind[0] == "x"
                else f"{number:0{cell - 1}o}"
                if kind[0] == "o"
                else str(number)
            )
            cells.append(shown.rjust(cell))
        out.append(_address(at + skip, base) + "".join(cells) + "\n")
    if base != "n":
        out.append(_address(len(data) + skip, base) + "\n")
    return call.done("".join(out))


def _address(at: int, base: str) -> str:
    return "" if base == "n" else f"{at:07d}" if base == "d" else f"{at:06x}" if base == "x" else f"{at:07o}"


def _named(code: int) -> str:
    known = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
    return known.get(code) or (chr(code) if 32 <= code < 127 else f"{code:03o}")


def xxd(call: Call) -> Outcome:
    """Bytes in hexadecimal: xxd, and hexdump with and without -C."""
    given = parse(call.args, "prCvu", "lcsgn", {})
    if given.problem:
        return call.wrong(given.problem)
    texts = call.inputs(given.words)
    data = b"".join(raw(text) for _, text in texts)
    if call.name == "xxd" and given.has("r"):
        digits = "".join(
            re.sub(r"^\s*[0-9a-fA-F]+:|  .*$", "", line) if not given.has("p") else line
            for line in data.decode("latin-1").split("\n")
        )
        digits = re.sub(r"[^0-9a-fA-F]", "", digits)
        return call.done(bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "surrogateescape"))
    limit = given.values.get("l") or given.values.get("n") or ""
    data = data[: int(limit[:9])] if limit.isdigit() else data
    if given.has("p"):
        return call.done("".join(data[at : at + 30].hex() + "\n" for at in range(0, len(data), 30)))
    out, before = [], b""
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(code) if 32 <= code < 127 else "." for code in row)
        if call.name == "xxd":
            pairs = " ".join(row[n : n + 2].hex() for n in range(0, len(row), 2))
            out.append(f"{at:08x}: {pairs:<39}  {text}\n")
            continue
        if row == before and len(row) == 16 and not given.has("v"):
            out += [] if out[-1] == "*\n" else ["*\n"]
            continue
        before = row
        if given.has("C") or call.name == "hd":
            halves = "  ".join(" ".join(f"{code:02x}" for code in row[n : n + 8]) for n in (0, 8))
            out.append(f"{at:08x}  {halves:<48}  |{text}|\n")
        else:
            words = " ".join(
                f"{int.from_bytes(row[n : n + 2].ljust(2, bytes(1)), 'little'):04x}" for n in range(0, len(row), 2)
            )
            out.append(f"{at:07x} {words:<39}".rstrip() + "\n")
    if call.name != "xxd" and data:
        out.append(f"{len(data):08x}\n" if given.has("C") or call.name == "hd" else f"{len(data):07x}\n")
    return call.done("".join(out))


TOOLS: dict[str, Tool] = {
    **dict.fromkeys(_HASHES, checksum),
    "base32": base64,
    "base64": base64,
    "cksum": cksum,
    "hd": xxd,
    "hexdump": xxd,
    "od": od,
    "sum": cksum,
    "xxd": xxd,
}
