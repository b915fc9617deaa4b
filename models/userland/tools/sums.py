"""Checksums, encodings and dumps of bytes: md5sum, base64 and their kin."""

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
        {"tag": "tag", "check": "c", "quiet": "q", "status": "s", "binary": "b", "text": "t", "ignore-missing": "i"},
    )
    if given.problem:
        return call.wrong(given.problem)
    if given.has("c"):
        return _checked(call, given.words, quiet=given.has("q"), silent=given.has("s"))
    out = []
    for name, text in call.inputs(given.words):
        digest = hashlib.new(_HASHES[call.name], raw(text), usedforsecurity=False).hexdigest()
        if given.has("tag"):
            out.append(f"{_HASHES[call.name].upper().replace('BLAKE2B', 'BLAKE2b')} ({name}) = {digest}\n")
        else:
            out.append(f"{digest} {'*' if given.has('b') and call.gnu else ' '}{name}\n")
    return call.done("".join(out))


def _checked(call: Call, names: list[str], *, quiet: bool, silent: bool) -> Outcome:
    out, wrong, gone, missing, warned = [], 0, 0, 0, list[str]()
    texts = call.inputs(names)
    opened = len(call.said)  # what could not be
    size = 2 * hashlib.new(_HASHES[call.name], usedforsecurity=False).digest_size
    for source, text in texts:
        lines = [re.fullmatch(rf"([0-9a-f]{{{size}}}) [ *](.+)", line) or _tagged(line) for line in split_lines(text)]
        if not any(lines):
            gone += 1
            shown = "'standard input'" if source == "-" else source
            warned.append(f"{call.name}: {shown}: no properly formatted checksum lines found\n")
        elif None in lines:
            call.complain(f"WARNING: {lines.count(None)} line{'s are' if lines.count(None) > 1 else ' is'} "
                          "improperly formatted")  # fmt: skip
        for match in lines:
            if match is None:
                continue
            try:
                digest = hashlib.new(_HASHES[call.name], raw(call.read(match[2])), usedforsecurity=False).hexdigest()
            except FileError as problem:
                call.complain(f"{match[2]}: {problem}")
                out.append(f"{match[2]}: FAILED open or read\n")
                missing += 1
                continue
            wrong += digest != match[1]
            if digest != match[1] or not quiet:
                out.append(f"{match[2]}: {'OK' if digest == match[1] else 'FAILED'}\n")
    if missing:
        call.complain(f"WARNING: {missing} listed file{'s' if missing > 1 else ''} could not be read")
    if wrong:
        call.complain(f"WARNING: {wrong} computed checksum{'s' if wrong > 1 else ''} did NOT match")
    errors = "".join(warned) + ("" if silent else "".join(call.said))
    return Outcome("" if silent else "".join(out), errors, int(bool(wrong or gone or missing or opened)))


def _tagged(line: str) -> re.Match[str] | None:
    """A line as `--tag` writes it, with the same groups as the usual one: digest, name."""
    return re.fullmatch(r"\w+ \((?=.*\) = ([0-9a-f]+)$)(.+)\) = [0-9a-f]+", line)


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


TOOLS: dict[str, Tool] = {
    **dict.fromkeys(_HASHES, checksum),
    "base32": base64,
    "base64": base64,
    "cksum": cksum,
    "sum": cksum,
}
