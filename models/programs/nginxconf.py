"""nginx's configuration: read by crossplane's lexer and table of directives, kept as plain blocks.

Error texts are nginx's own. Left out: `if`, `map`, `geo` and `limit_*` take no effect, modules besides the core's.
"""

from __future__ import annotations

import fnmatch
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from crossplane.analyzer import analyze, enter_block_ctx
from crossplane.errors import NgxParserBaseException
from crossplane.lexer import _balance_braces, _lex_file_object

from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree

#: Blocks in blocks, and bytes of all files: more is no configuration.
DEPTH_MAX, BYTES_MAX = 40, 1 << 20


class ConfError(Exception):
    """The configuration is wrong; the message is nginx's, with file and line."""


class Directive(NamedTuple):
    """One directive and what stands in its block."""

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    block: tuple[Directive, ...] = ()

    def first(self, name: str) -> Directive | None:
        """The first directive of a name in its block."""
        return next((each for each in self.block if each.name == name), None)

    def every(self, name: str) -> list[Directive]:
        """All directives of a name in its block."""
        return [each for each in self.block if each.name == name]

    def value(self, name: str, default: str = "") -> str:
        """The first argument of a directive in its block."""
        found = self.first(name)
        return found.args[0] if found is not None and found.args else default


class _Reader:
    def __init__(self, files: FileTree) -> None:
        self._files = files
        self._bytes = 0

    def read(self, path: str, line: str, context: tuple[str, ...], depth: int) -> tuple[Directive, ...]:
        try:
            text = self._files.read(path)
        except FileError as error:
            number = {"No such file or directory": 2, "Permission denied": 13}.get(str(error), 21)
            raise ConfError(f'open() "{path}" failed ({number}: {error}){line}') from None
        self._bytes += len(text)
        if self._bytes > BYTES_MAX or depth > DEPTH_MAX:
            raise ConfError(f"too deep or too long in {path}:1")
        try:
            tokens = list(_balance_braces(_lex_file_object(io.StringIO(text)), path))
        except NgxParserBaseException as error:
            raise ConfError(f"{error.strerror} in {path}:{error.lineno}") from None
        return self._block(path, iter(tokens), context, depth, text.count("\n") + 1)

    def _block(
        self, path: str, tokens: Iterator[Any], context: tuple[str, ...], depth: int, last: int
    ) -> tuple[Directive, ...]:
        found: list[Directive] = []
        words: list[str] = []
        line = 0
        if depth > DEPTH_MAX:
            raise ConfError(f"too deep in {path}:1")
        for token, number, quoted in tokens:
            if token.startswith("#") and not quoted:
                continue
            if quoted or token not in "{};" or not token:
                line = line if words else number
                words.append(token)
                continue
            if token == "}":
                if words:
                    raise ConfError(f'unexpected "}}" in {path}:{number}')
                return tuple(found)
            if not words:
                raise ConfError(f'unexpected "{token}" in {path}:{number}')
            name, args = words[0], words[1:]
            words = []
            self._check(path, line, number, name, args, token, context)
            statement = {"directive": name, "line": line, "args": args}
            if token == "{":
                inner = enter_block_ctx(statement, context)
                free = name in ("types", "map", "geo")
                block = self._block(path, tokens, ("free",) if free else inner, depth + 1, last)
                found.append(Directive(name, tuple(args), path, line, block))
            elif name == "include":
                found += self._include(path, number, args[0], context, depth)
            else:
                found.append(Directive(name, tuple(args), path, line))
        if words:
            raise ConfError(f'unexpected end of file, expecting ";" or "}}" in {path}:{last}')
        return tuple(found)

    def _check(
        self, path: str, line: int, ends: int, name: str, args: list[str], term: str, context: tuple[str, ...]
    ) -> None:
        if context == ("free",):
            return
        statement = {"directive": name, "line": ends, "args": args}
        if name == "if":
            statement["args"] = args[1:-1] if len(args) > 2 else args
        try:
            analyze(path, statement, term, context, strict=True)
        except NgxParserBaseException as error:
            raise ConfError(f"{error.strerror} in {path}:{ends}") from None

    def _include(self, path: str, line: int, name: str, context: tuple[str, ...], depth: int) -> list[Directive]:
        target = name if name.startswith("/") else f"/etc/nginx/{name}"
        folder, _, pattern = target.rpartition("/")
        if not any(mark in pattern for mark in "*?["):
            return list(self.read(target, f" in {path}:{line}", context, depth + 1))
        try:
            names = self._files.entries(folder or "/")
        except FileError:
            return []
        found: list[Directive] = []
        for each in names:
            whole = f"{folder}/{each}"
            if fnmatch.fnmatchcase(each, pattern) and not each.startswith(".") and self._files.is_file(whole):
                found += self.read(whole, "", context, depth + 1)
        return found


def read_configuration(files: FileTree, path: str) -> Directive:
    """The whole configuration as one block. Raises ConfError."""
    block = _Reader(files).read(path, "", (), 0)
    if not any(each.name == "events" for each in block):
        raise ConfError('no "events" section in configuration')
    return Directive("main", (), path, 1, block)
