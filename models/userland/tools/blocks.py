"""`dd` for files of text and for what never ends: blocks, skip and seek, conversions, the report on standard error.

Nodes and containers have one of their own that writes large files to drives. Source: coreutils 9.4, BusyBox 1.36.
"""

from __future__ import annotations

import re

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.outcome import FOREVER_NS, ROOM, Exhausted, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import ENDLESS, Call, Tool, endless

_SIZE = re.compile(r"(\d{1,15})(c|w|b|kB|KB|K|k|KiB|MB|M|MiB|GB|G|GiB|TB|T)?")
_UNITS = {"": 1, "c": 1, "w": 2, "b": 512, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
_BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NAMES = ("if", "of", "bs", "ibs", "obs", "cbs", "count", "skip", "seek", "iseek", "oseek", "conv", "status", "iflag",
          "oflag")  # fmt: skip
_CONVERSIONS = ("ucase", "lcase", "swab", "notrunc", "noerror", "sync", "fsync", "fdatasync", "excl", "nocreat")
#: What a copy from memory to memory moves a second (an order of magnitude).
_BYTES_PER_S = 1_500_000_000


def size_of(text: str) -> int:
    """A number as `dd` reads it; -1 if it is none.

    >>> size_of("1M"), size_of("512"), size_of("2x512"), size_of("1q")
    (1048576, 512, 1024, -1)
    """
    product = 1
    for part in text.split("x"):
        match = _SIZE.fullmatch(part)
        if match is None:
            return -1
        unit = match[2] or ""
        product *= int(match[1]) * (_UNITS[unit] if unit in _UNITS else _BINARY[unit[0].upper()])
    return product


def dd(call: Call) -> Outcome:
    """Copy blocks."""
    given: dict[str, str] = {}
    for word in call.args:
        name, equals, value = word.partition("=")
        if not equals or name not in _NAMES:
            return (
                call.wrong(f"unrecognized operand ‘{word}’") if call.gnu else call.wrong(f"invalid argument '{word}'")
            )
        given[name] = value
    size = {}
    for name in ("bs", "ibs", "count", "skip", "seek"):
        size[name] = size_of(given.get(name, {"skip": "0", "seek": "0", "count": "0"}.get(name, "512")))
        if size[name] < 0 or (name == "bs" and size[name] == 0):
            said = f"invalid number: ‘{given[name]}’" if call.gnu else f"invalid number '{given[name]}'"
            return call.wrong(said, hint=False)
    wrong = next((each for each in given.get("conv", "").split(",") if each and each not in _CONVERSIONS), "")
    if wrong:
        return call.wrong(f"invalid conversion: ‘{wrong}’")
    block = size["bs"] if "bs" in given else size["ibs"]
    start = size["skip"] * (1 if "skip_bytes" in given.get("iflag", "") else block)
    most = size["count"] * (1 if "count_bytes" in given.get("iflag", "") else block) if "count" in given else -1
    return _copied(call, given, block, start, most, size["seek"])


def _copied(call: Call, given: dict[str, str], block: int, start: int, most: int, seek: int) -> Outcome:
    source = given.get("if", "-")
    path = call.path(source) if source != "-" else ""
    try:
        if path in ENDLESS:
            if most < 0 and given.get("of") in (None, "/dev/null"):
                return Outcome(delay_ns=FOREVER_NS, cores=1.0)
            if most < 0 or most > ROOM:
                return _full(call, given.get("of", ""), most, block)
            data = raw(endless(call.place, path, most))[:most]
        else:
            data = raw(call.read(source))[start:]
    except FileError as problem:
        return call.wrong(f"failed to open '{source}': {problem}" if call.gnu else f"can't open '{source}': {problem}",
                          hint=False)  # fmt: skip
    data = data[:most] if most >= 0 else data
    conversions = given.get("conv", "").split(",")
    text = data.decode("utf-8", "surrogateescape")
    text = text.upper() if "ucase" in conversions else text.lower() if "lcase" in conversions else text
    if "swab" in conversions:
        even = len(data) // 2 * 2
        pairs = bytes(byte for at in range(0, even, 2) for byte in (data[at + 1], data[at]))
        text = (pairs + data[even:]).decode("utf-8", "surrogateescape")
    target = given.get("of", "")
    report = _report(call, given, len(data), block)
    if not target:
        return Outcome(text, report)
    if target != "/dev/null":
        try:
            _placed(call, target, text, conversions, given, seek * block)
        except FileError as problem:
            said = f"failed to open '{target}'" if call.gnu else f"can't open '{target}'"
            return call.wrong(f"{said}: {problem}", hint=False)
    return Outcome("", report)


def _full(call: Call, target: str, most: int, block: int) -> Outcome:
    """More than there is room for."""
    if target == "/dev/null":
        return Outcome("", _report(call, {}, most, block), 0, most * 1_000_000_000 // _BYTES_PER_S)
    if not target:
        raise Exhausted
    return call.wrong(f"error writing '{target}': No space left on device", hint=False)


def _placed(call: Call, target: str, text: str, conversions: list[str], given: dict[str, str], at: int) -> None:
    path = call.resolved(target)
    found = call.files.look(path)
    if "append" in given.get("oflag", "").split(","):
        call.files.write(path, text, append=True)
        return
    if not at and "notrunc" not in conversions:
        call.files.write(path, text)
        return
    before = raw(call.files.read(path)) if found is not None else b""
    if at > ROOM:
        raise FileError("No space left on device")
    after = before[at + len(raw(text)) :] if "notrunc" in conversions else b""
    whole = before[:at].ljust(at, b"\0") + raw(text) + after
    call.files.write(path, whole.decode("utf-8", "surrogateescape"))


def _report(call: Call, given: dict[str, str], size: int, block: int) -> str:
    if given.get("status") == "none":
        return ""
    records = f"{size // block}+{int(size % block > 0)} records"
    said = f"{records} in\n{records} out\n"
    if given.get("status") == "noxfer":
        return said
    micros = max(20, size * 1_000_000 // _BYTES_PER_S)
    rate = size * 1_000_000 // micros
    plural = "byte" if size == 1 else "bytes"
    if call.gnu:
        more = (
            f" ({_decimal(size)}, {_binary(size)})" if size >= 1024 else f" ({_decimal(size)})" if size >= 1000 else ""
        )
        return f"{said}{size} {plural}{more} copied, {micros / 1e6:.6g} s, {_decimal(rate)}/s\n"
    return f"{said}{size} bytes ({_binary(size, '')}) copied, {micros / 1e6:.6f} seconds, {_binary(rate, '')}/s\n"


def _decimal(size: int) -> str:
    return _rounded(size, 1000, ("B", "kB", "MB", "GB", "TB"), " ")


def _binary(size: int, blank: str = " ") -> str:
    return _rounded(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB") if blank else ("B", "KB", "MB", "GB", "TB"), blank)


def _rounded(size: int, base: int, units: tuple[str, ...], blank: str) -> str:
    rank, value = 0, size * 10  # tenths
    while value >= base * 10 and rank < len(units) - 1:
        value, rank = value // base, rank + 1
    return f"{value // 10}.{value % 10}{blank}{units[rank]}" if (rank and value < 100) or (
        rank and not blank) else f"{value // 10}{blank}{units[rank]}"  # fmt: skip


TOOLS: dict[str, Tool] = {"dd": dd}
