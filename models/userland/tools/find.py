"""find: files below folders that fit. Source: findutils 4.9 and BusyBox 1.35."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from simcluster.models.userland.datetimes import formatted, read_date
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError, Stat
from simcluster.models.userland.patterns import matches
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.regex import RegexError, compile_pattern
from simcluster.models.userland.tools.listing import ls
from simcluster.models.userland.tools.modes import changed, letters_of

_KINDS = {"f": "file", "d": "folder", "l": "link", "b": "block", "c": "char", "p": "pipe", "s": "socket"}
_TAKING = (
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-type",
    "-size",
    "-mtime",
    "-mmin",
    "-newer",
    "-maxdepth",
    "-mindepth",
    "-user",
    "-group",
    "-perm",
    "-regex",
    "-iregex",
    "-printf",
    "-links",
    "-inum",
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-regextype",
    "-lname",
    "-uid",
    "-gid",
    "-fprint",
    "-newermt",
)
_PLAIN = (
    "-print",
    "-print0",
    "-delete",
    "-empty",
    "-ls",
    "-prune",
    "-quit",
    "-true",
    "-false",
    "-follow",
    "-xdev",
    "-mount",
    "-depth",
    "-d",
    "-executable",
    "-readable",
    "-writable",
    "-nouser",
    "-nogroup",
    "-daystart",
    "-noleaf",
)
_UNITS = {"c": 1, "w": 2, "b": 512, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "": 512}
Node = tuple[Any, ...]


class FindError(Exception):
    """The expression is wrong."""


@dataclass
class _Walk:
    """What the walk has done so far."""

    call: Call
    tree: Node | None
    code: list[tuple[Any, ...]] = field(default_factory=list)  # what is printed and started, in its order
    batches: dict[int, list[str]] = field(default_factory=dict)
    least: int = 0
    most: int = 10_000
    deep_first: bool = False
    stopped: bool = False
    pruned: bool = False
    printed: bool = True


def find(call: Call) -> Outcome:
    """Look for files."""
    words = [word for word in call.args if word not in ("-L", "-H", "-P")]
    starts = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!", ")"):
        starts.append(words.pop(0))
    walk = _Walk(call, None)
    try:
        parser = _Parser(words, walk)
        walk.tree = parser.tree()
    except (FindError, RegexError) as problem:
        return Outcome(stderr=f"{call.name}: {problem}\n", code=1)
    walk.printed = not parser.acts
    for start in starts or ["."]:
        found = call.look(start, follow="-L" in call.args or "-H" in call.args)
        if found is None:
            call.complain(
                f"‘{start}’: No such file or directory" if call.gnu else f"{start}: No such file or directory"
            )
        elif not walk.stopped:
            _visit(walk, start, found, 0)
    return _outcome(walk, parser)


def _outcome(walk: _Walk, parser: _Parser) -> Outcome:
    code: list[tuple[Any, ...]] = list(walk.code)
    for number, paths in walk.batches.items():
        command = parser.batched[number]
        at = command.index("{}") if "{}" in command else len(command)
        code += [_started([*command[:at], *paths, *command[at + 1 :]]), ("remember",)]
    errors, failed = "".join(walk.call.said), int(bool(walk.call.said))
    if not any(each[0] == "cmd" for each in code):
        return Outcome("".join(each[2] for each in code if each[0] == "emit"), errors, failed)
    final: tuple[Any, ...] = ("tallied",) if walk.batches and not failed else ("status", failed)
    return Outcome(stderr=errors, code=failed, runs=(*code, final))


def _started(words: list[str]) -> tuple[Any, ...]:
    return ("cmd", (), tuple((("lit", word, True),) for word in words), (), 1)


def _visit(walk: _Walk, path: str, found: Stat, depth: int) -> None:
    walk.pruned = False
    if not walk.deep_first:
        _judge(walk, path, found, depth)
    pruned = walk.pruned and not walk.deep_first
    if found.is_folder and depth < walk.most and not walk.stopped and not pruned and depth < 60:
        folder = walk.call.path(path)
        try:
            names = walk.call.files.names(folder)
        except FileError as problem:
            walk.call.complain(f"‘{path}’: {problem}")
            names = []
        for name in names:
            inner = walk.call.files.look(f"{folder.rstrip('/')}/{name}")
            if inner is not None and not walk.stopped:
                _visit(walk, f"{path.rstrip('/') if path != '/' else ''}/{name}", inner, depth + 1)
    if walk.deep_first:
        _judge(walk, path, found, depth)


def _judge(walk: _Walk, path: str, found: Stat, depth: int) -> None:
    if depth < walk.least or depth > walk.most:
        return
    holds = walk.tree is None or _holds(walk, walk.tree, path, found)
    if holds and walk.printed:
        walk.code.append(("emit", 1, path + "\n"))


def _holds(walk: _Walk, node: Node, path: str, found: Stat) -> bool:
    kind = node[0]
    if kind == "and":
        return _holds(walk, node[1], path, found) and _holds(walk, node[2], path, found)
    if kind == "or":
        return _holds(walk, node[1], path, found) or _holds(walk, node[2], path, found)
    if kind == "list":
        _holds(walk, node[1], path, found)
        return _holds(walk, node[2], path, found)
    if kind == "not":
        return not _holds(walk, node[1], path, found)
    if kind in (
        "-exec",
        "-execdir",
        "-ok",
        "-delete",
        "-print",
        "-print0",
        "-printf",
        "-ls",
        "-prune",
        "-quit",
        "batch",
        "-fprint",
    ):
        return _act(walk, node, path, found)
    return _fits(walk, node, path, found)


def _act(walk: _Walk, node: Node, path: str, found: Stat) -> bool:
    kind, call = node[0], walk.call
    if kind == "-print":
        walk.code.append(("emit", 1, path + "\n"))
    elif kind == "-print0":
        walk.code.append(("emit", 1, path + "\0"))
    elif kind == "-printf":
        walk.code.append(("emit", 1, _printed(node[1], path, found)))
    elif kind == "-ls":
        line = ls(Call(call.place, ["ls", "-disl", path], call.env, cwd=call.cwd, now_ns=call.now_ns)).stdout
        walk.code.append(("emit", 1, line))
    elif kind == "-prune":
        walk.pruned = True
    elif kind == "-quit":
        walk.stopped = True
    elif kind == "batch":
        walk.batches.setdefault(node[1], []).append(path)
    elif kind == "-delete":
        if path in (".", "/"):
            return True
        try:
            if found.is_folder and call.files.names(call.path(path)):
                raise FileError("Directory not empty")
            call.files.remove(call.path(path))
        except FileError as problem:
            call.complain(f"cannot delete ‘{path}’: {problem}")
            return False
    else:
        walk.code.append(_started([word.replace("{}", path) for word in node[1]]))
    return True


def _printed(form: str, path: str, found: Stat) -> str:
    base = path.rstrip("/").rpartition("/")[2] or path
    values = {
        "p": path,
        "f": base,
        "h": path.rpartition("/")[0] or ".",
        "s": str(found.size),
        "m": f"{found.mode:o}",
        "M": letters_of(found),
        "u": found.owner,
        "g": found.group,
        "y": {"file": "f", "folder": "d", "link": "l"}.get(found.kind, "b"),
        "l": found.target,
        "n": str(found.links),
        "i": str(found.inode),
        "d": str(path.count("/")),
        "%": "%",
        "P": path.partition("/")[2],
        "k": str(-(-found.size // 1024)),
        "b": str(-(-found.size // 512)),
    }
    text = re.sub(
        r"%[-0-9]*([a-zA-Z%])", lambda match: values.get(match[1], match[0]), re.sub(r"%[TAC](.)", _stamp(found), form)
    )
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0").replace("\\\\", "\\")


def _stamp(found: Stat) -> Any:
    from_ns = found.changed_ns

    def one(match: re.Match[str]) -> str:
        if match[1] == "@":
            return formatted("%s.%N0", from_ns)
        return formatted({"+": "%F+%T.%N0", "T": "%T.%N0", "S": "%S.%N0"}.get(match[1], "%" + match[1]), from_ns)

    return one


def _number(text: str, value: int) -> bool:
    wanted = int(re.sub(r"\D", "", text)[:15] or 0)
    return value > wanted if text[:1] == "+" else value < wanted if text[:1] == "-" else value == wanted


def _fits(walk: _Walk, node: Node, path: str, found: Stat) -> bool:
    kind, value, call = node[0], node[1] if len(node) > 1 else "", walk.call
    base = path.rstrip("/").rpartition("/")[2] or path
    if kind in ("-name", "-iname"):
        return matches(value, base) if kind == "-name" else matches(value.lower(), base.lower())
    if kind in ("-path", "-ipath", "-wholename"):
        return matches(value, path) if kind != "-ipath" else matches(value.lower(), path.lower())
    if kind == "-type":
        return any(found.kind == _KINDS[letter] for letter in value.split(","))
    if kind == "-size":
        unit = _UNITS[value[-1] if not value[-1].isdigit() else ""]
        return _number(value, -(-found.size // unit))
    if kind in ("-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin"):
        age_ns = max(0, call.now_ns - found.changed_ns)
        if kind.endswith("time"):
            return _number(value, age_ns // (86_400 * 10**9))
        return _number(value, -(-age_ns // (60 * 10**9)))
    if kind == "-newer":
        return bool(found.changed_ns > node[2])
    if kind == "-newermt":
        return bool(found.changed_ns > node[2])
    if kind == "-empty":
        return not call.files.names(call.path(path)) if found.is_folder else found.kind == "file" and found.size == 0
    if kind in ("-user", "-group", "-uid", "-gid"):
        held = found.owner if kind[1] == "u" else found.group
        return held == value or (value == "0" and held == "root")
    if kind == "-perm":
        return _permits(value, found)
    if kind in ("-regex", "-iregex"):
        match = node[2].search(path)
        return match is not None and (match.start, match.end) == (0, len(path))
    if kind == "-links":
        return _number(value, found.links)
    if kind == "-lname":
        return found.kind == "link" and matches(value, found.target)
    if kind == "-executable":
        return bool(found.mode & 0o111)
    return kind not in ("-false", "-nouser", "-nogroup", "-inum")


def _permits(text: str, found: Stat) -> bool:
    sign = text[:1] if text[:1] in "-/+" else ""
    bits = changed(0, text.removeprefix(sign), folder=False, umask=0) or 0
    if sign == "-":
        return found.mode & bits == bits
    return bool(found.mode & bits) if sign else found.mode & 0o7777 == bits


class _Parser:
    def __init__(self, words: list[str], walk: _Walk) -> None:
        self.words = words
        self.walk = walk
        self.at = 0
        self.acts = False
        self.batched: list[list[str]] = []
        self.kind = "G"

    def tree(self) -> Node | None:
        if not self.words:
            return None
        node = self._list()
        if self.at < len(self.words):
            word = self.words[self.at]
            raise FindError("you have too many ')'" if word == ")" else f"paths must precede expression: `{word}'")
        return node

    def _next(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def _list(self) -> Node:
        node = self._or()
        while self._next() == ",":
            self.at += 1
            node = ("list", node, self._or())
        return node

    def _or(self) -> Node:
        node = self._and()
        while self._next() in ("-o", "-or"):
            self.at += 1
            node = ("or", node, self._and())
        return node

    def _and(self) -> Node:
        node = self._not()
        while self._next() and self._next() not in ("-o", "-or", ")", ","):
            if self._next() in ("-a", "-and"):
                self.at += 1
            node = ("and", node, self._not())
        return node

    def _not(self) -> Node:
        word = self._next()
        self.at += 1
        if word in ("!", "-not"):
            return ("not", self._not())
        if word == "(":
            node = self._list()
            if self._next() != ")":
                raise FindError(
                    "invalid expression; I was expecting to find a ')' somewhere but did not see one."
                    if self.walk.call.gnu
                    else "unmatched '('"
                )
            self.at += 1
            return node
        if word in ("-exec", "-execdir", "-ok"):
            return self._command(word)
        if word in _PLAIN:
            return self._plain(word)
        if word == "-printf" and not self.walk.call.gnu:
            raise FindError(f"unrecognized: {word}")
        if word in _TAKING:
            if self.at >= len(self.words):
                raise FindError(
                    f"missing argument to `{word}'" if self.walk.call.gnu else f"{word} requires an argument"
                )
            self.at += 1
            return self._valued(word, self.words[self.at - 1])
        if not word:
            raise FindError("expected an expression")
        if word.startswith("-"):
            raise FindError(f"unknown predicate `{word}'" if self.walk.call.gnu else f"unrecognized: {word}")
        raise FindError(f"paths must precede expression: `{word}'" if self.walk.call.gnu else f"unrecognized: {word}")

    def _plain(self, word: str) -> Node:
        if word in ("-print", "-print0", "-delete", "-ls"):
            self.acts = True
        if word in ("-delete", "-depth", "-d"):
            self.walk.deep_first = True
        return (
            (word,)
            if word
            not in ("-follow", "-xdev", "-mount", "-depth", "-d", "-readable", "-writable", "-daystart", "-noleaf")
            else ("-true",)
        )

    def _command(self, word: str) -> Node:
        start = self.at
        while self.at < len(self.words) and self.words[self.at] not in (";", "\\;"):
            if self.words[self.at] == "+" and self.words[self.at - 1] == "{}":
                break
            self.at += 1
        if self.at >= len(self.words):
            raise FindError(f"missing argument to `{word}'" if self.walk.call.gnu else f"{word} requires an argument")
        command, end = self.words[start : self.at], self.words[self.at]
        self.at += 1
        self.acts = True
        if end == "+":
            self.batched.append(command)
            return ("batch", len(self.batched) - 1)
        return (word, command) if word != "-ok" else ("not", ("-true",))  # nobody answers its question

    def _valued(self, word: str, value: str) -> Node:
        call = self.walk.call
        if word in ("-maxdepth", "-mindepth"):
            if not value.isdigit():
                raise FindError(f"Expected a positive decimal integer argument to {word}, but got ‘{value}’")
            if word == "-maxdepth":
                self.walk.most = int(value[:6])
            else:
                self.walk.least = int(value[:6])
            return ("-true",)
        if word == "-type" and any(letter not in _KINDS for letter in value.split(",")):
            raise FindError(f"Unknown argument to -type: {value}")
        if word == "-size" and re.fullmatch(r"[-+]?\d+[cwbkMG]?", value) is None:
            raise FindError(f"Invalid argument `{value}' to -size")
        if (
            word in ("-mtime", "-mmin", "-links", "-atime", "-ctime", "-amin", "-cmin")
            and re.fullmatch(r"[-+]?\d+(\.\d+)?", value) is None
        ):
            raise FindError(f"invalid argument `{value}' to `{word}'")
        if word == "-newer":
            found = call.look(value)
            if found is None:
                raise FindError(f"‘{value}’: No such file or directory")
            return (word, value, found.changed_ns)
        if word == "-newermt":
            at, base = read_date(value, call.now_ns), read_date("now", 0)
            if at is None or base is None:
                raise FindError(f"I cannot figure out how to interpret ‘{value}’ as a date or time")
            return (word, value, (at[0] - base[0]) * 10**9)
        if word == "-regextype":
            self.kind = "E" if "extended" in value or value == "egrep" else "G"
            return ("-true",)
        if word in ("-regex", "-iregex"):
            return (word, value, compile_pattern(value, self.kind, ignore_case=word == "-iregex"))
        if (
            word == "-perm"
            and changed(0, value.lstrip("-/+") if not value[:1].isalpha() else value, folder=False) is None
        ):
            raise FindError(f"invalid mode ‘{value}’")
        if word == "-printf":
            self.acts = True
        return (word, value)


TOOLS: dict[str, Tool] = {"find": find}
