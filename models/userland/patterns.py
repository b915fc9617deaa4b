"""Shell patterns (`*`, `?`, `[...]`) in linear time, and the paths that they match.

A pattern is a text in which a backslash takes the meaning from the character after it. Left out: extended globs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import re2

from simcluster.models.userland.outcome import ROOM, Exhausted
from simcluster.models.userland.paths import FileError, Files, normalize

_CLASSES = ("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit")
#: Paths that `**` may find in one folder.
_BELOW_MAX = 20_000
_SPECIAL = frozenset(r".+*?()|[]{}^$\\-&~#")


def quoted(text: str) -> str:
    """The pattern that matches a text alone.

    >>> quoted("a*b")
    'a\\\\*b'
    """
    return "".join("\\" + char if char in "*?[]\\!^-" else char for char in text)


def plain(pattern: str) -> str:
    """The text of a pattern in which nothing is special any more."""
    out, at = [], 0
    while at < len(pattern):
        at += pattern[at] == "\\" and at + 1 < len(pattern)
        out.append(pattern[at])
        at += 1
    return "".join(out)


def is_pattern(pattern: str) -> bool:
    """Whether anything in it is special."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] in "*?[":
            return True
        at += 1
    return False


def _escaped(char: str) -> str:
    return "\\" + char if char in _SPECIAL else char


def tokens(pattern: str) -> list[str]:
    """Its parts, each as a regular expression of RE2; `*` stands for itself."""
    found, at = [], 0
    closing = pattern.rfind("]")
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            at += 1
            found.append(_escaped(pattern[at]))
        elif char == "*":
            if not found or found[-1] != "*":
                found.append("*")
        elif char == "?":
            found.append(".")
        elif char == "[" and at < closing:
            source, at = _set(pattern, at)
            found.append(source)
            continue
        else:
            found.append(_escaped(char))
        at += 1
    return found


def _set(pattern: str, start: int) -> tuple[str, int]:
    """A bracket expression, and where it ends; a literal bracket if none closes it."""
    at, out = start + 1, "["
    if pattern[at : at + 1] in ("!", "^"):
        out, at = "[^", at + 1
    first = at
    while at < len(pattern):
        char = pattern[at]
        if char == "]" and at > first:
            return out + "]", at + 1
        named = next((name for name in _CLASSES if pattern.startswith(f"[:{name}:]", at)), "")
        if named:
            out += f"[:{named}:]"
            at += len(named) + 4
            continue
        if char == "\\" and at + 1 < len(pattern):
            at += 1
            out += "\\" + pattern[at] if not pattern[at].isalnum() else pattern[at]
        elif char == "-" and first < at < len(pattern) - 1 and pattern[at + 1] != "]":
            if pattern[at + 1] < pattern[at - 1]:
                return "[^\\x00-\\x{10FFFF}]", pattern.find("]", at) + 1 or len(pattern)
            out += "-"
        else:
            out += "\\" + char if not char.isalnum() else char
        at += 1
    return "\\[", start + 1


@lru_cache(maxsize=1024)
def _program(source: str) -> Any:
    options = re2.Options()
    options.never_nl = False
    options.log_errors = False
    options.longest_match = True
    return re2.compile(f"(?s){source}", options)


@lru_cache(maxsize=1024)
def _lazy(source: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(f"(?s){source}", options)


def _source(parts: list[str], star: str = ".*") -> str:
    return "".join(star if part == "*" else part for part in parts)


def searchable(text: str) -> str:
    """The text as RE2 can take it: bytes that are no UTF-8 become other private characters, one for one."""
    if text.isascii():
        return text
    return "".join(chr(0xF0000 + ord(char) - 0xD800) if "\ud800" <= char < "\ue000" else char for char in text)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits.

    >>> matches("a*.[ch]", "abc.h"), matches("[!a-c]?", "xy"), matches(quoted("a*"), "ab")
    (True, True, False)
    """
    return _program(searchable(_source(tokens(pattern)))).fullmatch(searchable(text)) is not None


def trimmed(text: str, pattern: str, operator: str) -> str:
    """`${X#p}`, `${X##p}`, `${X%p}` and `${X%%p}`.

    >>> trimmed("a.b.c", "*.", "#"), trimmed("a.b.c", "*.", "##"), trimmed("a.b.c", ".*", "%")
    ('b.c', 'c', 'a.b')
    """
    parts, subject = tokens(pattern), searchable(text)
    if operator[0] == "%":
        parts, subject = parts[::-1], subject[::-1]
    greedy = len(operator) == 2
    program = (
        _program("\\A" + searchable(_source(parts))) if greedy else _lazy("\\A" + searchable(_source(parts, ".*?")))
    )
    found = program.search(subject)
    if found is None:
        return text
    cut = found.end()
    return text[cut:] if operator[0] == "#" else text[: len(text) - cut]


def replaced(text: str, pattern: str, replacement: str, operator: str) -> str:
    """`${X/p/r}`, with `//` everywhere, `/#` at the beginning, `/%` at the end.

    >>> replaced("banana", "a", "o", "//"), replaced("banana", "a", "o", "/%")
    ('bonono', 'banano')
    """
    if not pattern:
        return {"/#": replacement + text, "/%": text + replacement}.get(operator, text)
    if operator == "//" and not is_pattern(pattern):
        wanted = plain(pattern)
        if len(text) + text.count(wanted) * (len(replacement) - len(wanted)) > ROOM:
            raise Exhausted
        return text.replace(wanted, replacement)
    source = searchable(_source(tokens(pattern)))
    source = {"/#": f"\\A(?:{source})", "/%": f"(?:{source})\\z"}.get(operator, source)
    program, subject = _program(source), searchable(text)
    out, at = [], 0
    for found in program.finditer(subject):
        if found.end() == found.start() and operator == "//":
            continue
        out += [text[at : found.start()], replacement]
        at = found.end()
        if operator != "//":
            break
    return "".join(out) + text[at:]


def paths(pattern: str, folder: str, files: Files, options: Mapping[str, bool] | None = None) -> list[str]:
    """Existing paths that match, sorted; none if nothing does.

    Args:
        options: of `shopt`: dotglob, globstar, nocaseglob.
    """
    asked = options or {}
    dots, blind = asked.get("dotglob", False), asked.get("nocaseglob", False)
    found = ["/" if pattern.startswith("/") else ""]
    pieces = [piece for piece in pattern.split("/") if piece]
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        grown: list[str] = []
        for base in found:
            if piece == "**" and asked.get("globstar"):
                below = _below(files, base, folder, dots=dots, folders=not last)
                grown += below if last else [base, *(f"{path}/" for path in below)]
                continue
            if is_pattern(piece):
                wanted = piece.lower() if blind else piece
                names = [
                    name for name in _names(files, base, folder) if matches(wanted, name.lower() if blind else name)
                ]
                names = [name for name in names if dots or name[0] != "." or piece.startswith((".", "\\."))]
            else:
                names = [plain(piece)]
            for name in names:
                path = base + name
                if pattern.endswith("/") and last and not _is_folder(files, normalize(path, folder)):
                    continue
                if last and (is_pattern(piece) or files.look(normalize(path, folder)) is not None):
                    grown.append(path + ("/" if pattern.endswith("/") else ""))
                elif not last:
                    grown.append(path + "/")
        found = grown
    return sorted(found) if pieces else []


def _below(files: Files, base: str, folder: str, *, dots: bool, folders: bool) -> list[str]:
    """All that lies under a folder, or the folders alone; links to folders are not followed."""
    found: list[str] = []
    for name in _names(files, base, folder):
        if name[0] == "." and not dots:
            continue
        stat = files.look(normalize(base + name, folder))
        if stat is None or (folders and not stat.is_folder):
            continue
        found.append(base + name)
        if len(found) > _BELOW_MAX:
            raise Exhausted
        if stat.is_folder:
            found += _below(files, f"{base}{name}/", folder, dots=dots, folders=folders)
    return found


def _is_folder(files: Files, path: str) -> bool:
    """Whether a path is a folder, or a link that leads to one."""
    for _ in range(10):
        found = files.look(path)
        if found is None or found.kind != "link":
            return found is not None and found.is_folder
        path = normalize(found.target, path.rpartition("/")[0] or "/")
    return False


def _names(files: Files, base: str, folder: str) -> list[str]:
    try:
        return files.names(normalize(base or ".", folder))
    except FileError:
        return []
