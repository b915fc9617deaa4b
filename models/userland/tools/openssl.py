"""`openssl` without certificates: digests, base64, random bytes, its version. Source: OpenSSL 3.0.13."""

from __future__ import annotations

import base64
import hashlib

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.outcome import ROOM, Exhausted, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool, endless

VERSION = "OpenSSL 3.0.13 30 Jan 2024 (Library: OpenSSL 3.0.13 30 Jan 2024)\n"
#: Digest -> what is printed before the name of a file.
_DIGESTS = {"md5": "MD5", "sha1": "SHA1", "sha224": "SHA2-224", "sha256": "SHA2-256", "sha384": "SHA2-384",
            "sha512": "SHA2-512"}  # fmt: skip


def openssl(call: Call) -> Outcome:
    """`version`, `dgst`, `md5` and its kin, `rand`, `base64`, `enc -base64`."""
    verb, words = (call.args[0] if call.args else "help"), call.args[1:]
    if verb == "version":
        return Outcome(VERSION)
    if verb == "rand":
        return _random(call, words)
    if verb in ("base64", "enc"):
        return _encoded(call, verb, words)
    if verb == "dgst" or verb in _DIGESTS:
        return _digest(call, verb, words)
    return Outcome(stderr=f"Invalid command '{verb}'; type \"help\" for a list.\n", code=1)


def _random(call: Call, words: list[str]) -> Outcome:
    count = next((word for word in words if word.isdigit()), "")
    if not count:
        return Outcome(stderr="rand: Use -help for summary.\n", code=1)
    size = int(count[:12])
    if size > ROOM:
        raise Exhausted
    data = b"" if not size else hashlib.shake_256(raw(endless(call.place, "/dev/urandom", 64))).digest(size)
    if "-hex" in words:
        return Outcome(data.hex() + "\n")
    if "-base64" in words:
        return Outcome(_folded(data))
    return Outcome(data.decode("utf-8", "surrogateescape"))


def _folded(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "".join(text[at : at + 64] + "\n" for at in range(0, len(text), 64))


def _input(call: Call, words: list[str], names: list[str]) -> tuple[bytes, Outcome | None]:
    name = words[words.index("-in") + 1] if "-in" in words[:-1] else (names or ["-"])[0]
    try:
        return raw(call.read(name)), None
    except FileError as problem:
        return b"", Outcome(stderr=f'Can\'t open "{name}" for reading, {problem}\n', code=1)


def _encoded(call: Call, verb: str, words: list[str]) -> Outcome:
    if verb == "enc" and not {"-base64", "-a"} & set(words):
        cipher = next(
            (word.lstrip("-") for word in words if word.startswith("-") and word not in ("-d", "-e", "-in")), ""
        )
        return Outcome(stderr=f"enc: Unknown option or cipher: {cipher}\nenc: Use -help for summary.\n", code=1)
    data, problem = _input(call, words, [])
    if problem is not None:
        return problem
    if "-d" in words:
        try:
            text = base64.b64decode(b"".join(data.split()), validate=False).decode("utf-8", "surrogateescape")
        except ValueError:
            text = ""
    else:
        text = base64.b64encode(data).decode() + "\n" * 0 if "-A" in words else _folded(data)
    if "-out" in words[:-1]:
        call.files.write(call.resolved(words[words.index("-out") + 1]), text)
        return Outcome()
    return Outcome(text)


def _digest(call: Call, verb: str, words: list[str]) -> Outcome:
    kind = verb if verb in _DIGESTS else next((w[1:] for w in words if w[:1] == "-" and w[1:] in _DIGESTS), "sha256")
    names = [word for word in words if not word.startswith("-")]
    out = ""
    for name in names or [""]:
        data, problem = _input(call, [], [name] if name else [])
        if problem is not None:
            return problem
        value = hashlib.new(kind, data, usedforsecurity=False).hexdigest()
        out += f"{value} *{name or 'stdin'}\n" if "-r" in words else f"{_DIGESTS[kind]}({name or 'stdin'})= {value}\n"
    return Outcome(out)


TOOLS: dict[str, Tool] = {"openssl": openssl}
