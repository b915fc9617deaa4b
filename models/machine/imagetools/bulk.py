"""Large files without their bytes: `dd`, `fallocate` and `truncate` in a container.

A file of zeros is known by its size alone; reading it gives nothing. Format: BusyBox 1.36. Left
out: `dd` between files of text by blocks, its conversions.
"""

from __future__ import annotations

import re

from simcluster.engine import SECOND
from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, Tool, ToolCall
from simcluster.models.machine.shell.files import ERROR_TEXTS, FileError

#: What a container writes a second to its node's disk (an order of magnitude of an SSD through overlayfs).
_BYTES_PER_S = 450 << 20
_ENDLESS = ("/dev/zero", "/dev/urandom", "/dev/random")
_SIZE = re.compile(r"(\d+)([ckMGTw]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "c": 1, "w": 2, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Zeros(str):
    """The text of a file of zeros: as long as the file, and empty."""

    __slots__ = ("size",)
    size: int

    def __new__(cls, size: int) -> Zeros:
        """A file of `size` bytes."""
        made = super().__new__(cls, "")
        made.size = size
        return made

    def __len__(self) -> int:
        """Its size in bytes."""
        return self.size

    def __reduce__(self) -> tuple[type[Zeros], tuple[int]]:
        """How to pickle it."""
        return (Zeros, (self.size,))

    def __deepcopy__(self, memo: object) -> Zeros:
        """It never changes."""
        return self


def size_of(text: str) -> int:
    """A size as these programs read it; -1 if it is none.

    >>> size_of("1M"), size_of("200"), size_of("2GiB"), size_of("x")
    (1048576, 200, 2147483648, -1)
    """
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2].lower()] if match else -1


def dd(call: ToolCall) -> Outcome:
    """`dd if=/dev/zero of=FILE bs=N count=N`; without a count it uses a core for ever."""
    words = dict(word.partition("=")[::2] for word in call.argv[1:])
    block, count = size_of(words.get("bs", "512")), words.get("count")
    if block <= 0 or (count is not None and size_of(count) < 0):
        return Outcome(stderr=f"dd: invalid number '{words.get('bs') if block <= 0 else count}'\n", code=1)
    source, target = words.get("if", ""), words.get("of", "")
    if source and source not in _ENDLESS:
        return _copy(call, source, target, block)
    if count is None and target in ("", "/dev/null"):
        return Outcome(delay_ns=FOREVER_NS, cores=1.0)
    size = block * size_of(count) if count is not None else call.files.room(call.path(target)) + block
    size = size if source else 0
    return _written(call, target, Zeros(size), block)


def _copy(call: ToolCall, source: str, target: str, block: int) -> Outcome:
    try:
        text = call.files.read(call.path(source))
    except FileError as problem:
        return Outcome(stderr=f"dd: can't open '{source}': {problem}\n", code=1)
    return _written(call, target, text, block)


def _written(call: ToolCall, target: str, text: str, block: int) -> Outcome:
    size, error = len(text), ""
    if target:
        try:
            call.files.write(call.path(target), text)
        except FileError as problem:
            if str(problem) != ERROR_TEXTS["ENOSPC"]:
                return Outcome(stderr=f"dd: can't open '{target}': {problem}\n", code=1)
            error, size = f"dd: error writing '{target}': {problem}\n", min(size, call.files.room(call.path(target)))
            call.files.write(call.path(target), Zeros(size))
    micros = max(40, size * 1_000_000 // _BYTES_PER_S)
    rate = size * 10 // micros * 1_000_000 // (1 << 20)
    whole = f"{size // block}+{1 if size % block else 0} records"
    shown = f"{size * 10 // (1 << 20) // 10}.{size * 10 // (1 << 20) % 10}MB"
    took = f"{micros // 1_000_000}.{micros % 1_000_000:06d}"
    report = f"{size} bytes ({shown}) copied, {took} seconds, {rate // 10}.{rate % 10}MB/s\n"
    printed = "" if target else str(text)
    said = f"{error}{whole} in\n{whole} out\n{report}"
    return Outcome(printed, said, 1 if error else 0, micros * SECOND // 1_000_000)


def allocate(call: ToolCall) -> Outcome:
    """`fallocate -l SIZE FILE` and `truncate -s SIZE FILE`."""
    flag = "-l" if call.name == "fallocate" else "-s"
    words, size = list(call.argv[1:]), -1
    if flag in words and words.index(flag) + 1 < len(words):
        at = words.index(flag)
        size = size_of(words[at + 1])
        del words[at : at + 2]
    names = [word for word in words if not word.startswith("-")]
    if size < 0 or not names:
        return Outcome(stderr=f"{call.name}: invalid number ''\n", code=1)
    for name in names:
        try:
            call.files.write(call.path(name), Zeros(size))
        except FileError as problem:
            return Outcome(stderr=f"{call.name}: {name}: {problem}\n", code=1)
    return Outcome()


TOOLS: dict[str, Tool] = {"dd": dd, "fallocate": allocate, "truncate": allocate}
