"""Backslash escapes as `echo -e`, `printf`, `$'...'`, awk and tr read them."""

from __future__ import annotations

import re

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ECHO = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0[0-7]{0,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c|.)", re.DOTALL)


def byte(number: int) -> str:
    """The character of a byte in a text: itself up to 127, else a lone surrogate (`surrogateescape`)."""
    return chr(number) if number < 128 else chr(0xDC00 + number)


def joined(text: str) -> str:
    """Bytes that together are UTF-8, as the characters that they are."""
    if not any("\udc80" <= char <= "\udcff" for char in text):
        return text
    return raw(text).decode("utf-8", "surrogateescape")


def raw(text: str) -> bytes:
    """The bytes of a text."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _point(number: int) -> str:
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _one(body: str) -> str:
    if body[0] == "x" and len(body) > 1:
        return byte(int(body[1:], 16))
    if body[0] in "uU" and len(body) > 1:
        return _point(int(body[1:], 16))
    if body[0] in "01234567":
        return byte(int(body, 8) & 255)
    if body[0] == "c" and len(body) == 2:
        return chr(ord(body[1]) & 31)
    return _SIMPLE.get(body, "\\" + body)


def ansi(text: str) -> str:
    r"""What stands between `$'` and `'`.

    >>> ansi(r"a\tb\x41\101")
    'a\tbAA'
    """
    return joined(_ANSI.sub(lambda match: _one(match[1]), text))


def echoed(text: str, *, points: bool = True) -> tuple[str, bool]:
    r"""What `echo -e` and `%b` make of a text, and whether `\c` ended the output.

    Args:
        points: whether `\u` stands for a code point; BusyBox does not know it.

    >>> echoed(r"a\0101\c rest")
    ('aA', True)
    """
    out, at = [], 0
    for match in _ECHO.finditer(text):
        out.append(text[at : match.start()])
        at = match.end()
        if match[1] == "c":
            return joined("".join(out)), True
        body = match[1]
        if body[0] == "0":
            out.append(byte(int(body, 8) & 255))
        elif body[0] in "1234567'\"?" or (body[0] in "uU" and not points):
            out.append("\\" + body)
        else:
            out.append(_one(body))
    out.append(text[at:])
    return joined("".join(out)), False


def unescaped(text: str) -> str:
    r"""What `printf`'s format, awk's strings and tr's sets make of a text; unknown escapes stay.

    >>> unescaped(r"a\n\101\q")
    'a\nA\\q'
    """
    return joined(_ANSI.sub(lambda match: match[0] if match[1][0] == "c" else _one(match[1]), text))
