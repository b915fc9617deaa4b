"""jq: its command line. Source: the jq 1.7 manual.

The filter language is evaluated here (`jqmachine`) and not by libjq: that reads the real machine's environment, clock
and `~/.jq`, and nothing can end a filter that never ends. Left out: modules, streaming (`--stream`), colours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland.outcome import ROOM, Exhausted, Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.tools.jqcolors import coloured
from simcluster.models.userland.tools.jqlibrary import NATIVES, Halt, library
from simcluster.models.userland.tools.jqmachine import Break, Machine, Scope, compiled
from simcluster.models.userland.tools.jqparser import JqSyntaxError
from simcluster.models.userland.tools.jqvalues import JqError, kind_of, truth, written

_DECODER = json.JSONDecoder(parse_constant=float)
_FLAGS = {
    "raw-output": "r",
    "compact-output": "c",
    "null-input": "n",
    "slurp": "s",
    "raw-input": "R",
    "exit-status": "e",
    "join-output": "j",
    "sort-keys": "S",
    "ascii-output": "a",
    "color-output": "C",
    "monochrome-output": "M",
    "tab": "tab",
    "raw-output0": "r0",
    "unbuffered": "u",
    "seq": "seq",
    "stream": "stream",
    "help": "h",
    "version": "V",
}


class _Options:
    def __init__(self) -> None:
        self.flags: dict[str, bool] = {}
        self.indent: int | str = 2
        self.words: list[str] = []
        self.variables: dict[str, Any] = {}
        self.named: dict[str, Any] = {}
        self.positional: list[Any] = []
        self.source: str | None = None


def jq(call: Call) -> Outcome:
    """Filter JSON."""
    options = _Options()
    problem = _read_options(call, options)
    if problem is not None:
        return problem
    if "V" in options.flags:
        return Outcome("jq-1.7.1\n")
    words = options.words
    if options.source is None and not words:
        return Outcome(stderr=_USAGE, code=2)
    text = words.pop(0) if options.source is None else options.source
    try:
        node = compiled(text)
    except JqSyntaxError as syntax:
        return Outcome(stderr=f"jq: error: {syntax}\njq: 1 compile error\n", code=3)
    except RecursionError:
        return Outcome(stderr="jq: error: memory exhausted\njq: 1 compile error\n", code=3)
    return _Run(call, options, node, words).outcome()


_USAGE = """Usage:\tjq [OPTIONS] FILTER [FILES...]
\tjq [OPTIONS] --args FILTER [ARGUMENTS...]
\tjq [OPTIONS] --jsonargs FILTER [JSON_VALUES...]

jq is a tool for processing JSON inputs, applying the given filter to
its JSON text inputs and producing the filter's results as JSON on
standard output.
"""


def _read_options(call: Call, options: _Options) -> Outcome | None:
    rest = list(call.args)
    mode = ""
    while rest:
        word = rest.pop(0)
        if word == "--":
            options.words += rest
            break
        if not word.startswith("-") or word == "-":
            if mode and (options.words or options.source is not None):
                options.positional.append(json.loads(word) if mode == "json" else word)
            else:
                options.words.append(word)
            continue
        name = word[2:]
        if word in ("--args", "--jsonargs"):
            mode = "json" if "json" in word else "text"
        elif word in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            problem = _variable(call, options, name, rest)
            if problem is not None:
                return problem
        elif word in ("--indent", "-f", "--from-file", "-L"):
            if not rest:
                return Outcome(stderr=f"jq: {word} takes a parameter\n", code=2)
            problem = _valued(call, options, word, rest.pop(0))
            if problem is not None:
                return problem
        elif word.startswith("--"):
            if name not in _FLAGS:
                return Outcome(stderr=f"jq: Unknown arguments\n{_USAGE}", code=2)
            options.flags[_FLAGS[name]] = True
        else:
            for letter in word[1:]:
                if letter not in "rcnsRejSaCMuhV":
                    return Outcome(stderr=f"jq: Unknown arguments\n{_USAGE}", code=2)
                options.flags[letter] = True
    return None


def _variable(call: Call, options: _Options, kind: str, rest: list[str]) -> Outcome | None:
    if len(rest) < 2:
        return Outcome(
            stderr=f"jq: --{kind} takes two parameters (e.g. --{kind} varname value)\n",
            code=2,
        )
    name, text = rest.pop(0), rest.pop(0)
    value: Any = text
    try:
        if kind in ("slurpfile", "rawfile"):
            text = call.read(text)
            value = list(_values(text)) if kind == "slurpfile" else text
        elif kind == "argjson":
            value = json.loads(text)
    except FileError as problem:
        return Outcome(stderr=f"jq: Bad JSON in --{kind} {name} {text}: Could not open {text}: {problem}\n", code=2)
    except (ValueError, JqError):
        return Outcome(stderr=f"jq: Invalid JSON text passed to --{kind}\n{_USAGE}", code=2)
    options.variables[f"${name}"] = value
    options.named[name] = value
    return None


def _valued(call: Call, options: _Options, word: str, value: str) -> Outcome | None:
    if word == "--indent":
        if not value.isdigit() or int(value[:3]) > 7:
            return Outcome(stderr="jq: Cannot indent more than 7 characters\n", code=2)
        options.indent = int(value)
    elif word in ("-f", "--from-file"):
        try:
            options.source = call.read(value)
        except FileError as problem:
            return Outcome(stderr=f"jq: error: Could not open {value}: {problem}\n", code=2)
    return None


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a text, one after the other. Raises JqError."""
    at = 0
    blanks = " \t\n\r\x1e"
    while True:
        while at < len(text) and text[at] in blanks:
            at += 1
        if at >= len(text):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as problem:
            raise JqError(_parse_problem(text, at, getattr(problem, "pos", at))) from None
        yield value


def _parse_problem(text: str, start: int, at: int) -> str:
    """What jq says of a text that is no JSON."""
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1)
    if at >= len(text.rstrip()):
        line = text.count("\n") + 1
        return f"Unfinished JSON term at EOF at line {line}, column {len(text) - text.rfind(chr(10)) - 1}"
    rest = text[start:]
    if rest[:1].isalpha() or text[at : at + 1].isalpha():
        stop = at
        while stop < len(text) and (text[stop].isalnum() or text[stop] in "_.-+"):
            stop += 1
        following = text[stop : stop + 1]
        if following == "\n":
            return f"Invalid numeric literal at line {line + 1}, column 0"
        if not following:
            return f"Invalid numeric literal at EOF at line {line}, column {stop - (text.rfind(chr(10), 0, at) + 1)}"
        return f"Invalid numeric literal at line {line}, column {stop + 1 - (text.rfind(chr(10), 0, at) + 1)}"
    return (
        f"Objects must consist of key:value pairs at line {line}, column {column + 1}"
        if "{" in rest[:1] and text[at] in "}]"
        else (
            f"Expected value before ',' at line {line}, column {column + 1}"
            if text[at] == ","
            else f"Expected separator between values at line {line}, column {column + 1}"
        )
    )


class _Run:
    def __init__(self, call: Call, options: _Options, node: Any, files: list[str]) -> None:
        self.call, self.options, self.node = call, options, node
        self.out: list[str] = []
        self.errors: list[str] = []
        self.size = 0
        self.code = 0
        self.last: Any = None
        self.some = False
        texts = (
            call.inputs(files, "error: Could not open {name}: {problem}")
            if "n" not in options.flags or files or call.source
            else []
        )
        self.failed = bool(call.said)
        self.text = "".join(text for _, text in texts)
        self.machine = Machine(library(), NATIVES, self._inputs())
        self.machine.now_s = float(unix_seconds(call.now_ns)) + call.now_ns % SECOND / SECOND
        self.machine.environment = dict(call.env)
        named = {"named": options.named, "positional": options.positional}
        variables = {**options.variables, "$ENV": dict(call.env), "$__prog_args": [], "$ARGS": named}
        self.scope = Scope(variables, {}, {})

    def _inputs(self) -> Iterator[Any]:
        if "R" in self.options.flags:
            if "s" in self.options.flags:
                yield self.text
            else:
                yield from self.text.split("\n")[: -1 if self.text.endswith("\n") or not self.text else None]
        elif "s" in self.options.flags:
            yield list(_values(self.text))
        else:
            yield from _values(self.text)

    def outcome(self) -> Outcome:
        """Run it over all inputs."""
        try:
            self._all()
        except JqSyntaxError as problem:
            return Outcome(stderr=f"jq: error: {problem}\njq: 1 compile error\n", code=3)
        except Halt as halt:
            if halt.value is not None:
                self.errors.append(halt.value if isinstance(halt.value, str) else written(halt.value) + "\n")
            self.code = halt.code
        except RecursionError:
            raise Exhausted from None
        code = self.code
        if not code and "e" in self.options.flags:
            code = 4 if not self.some else int(not truth(self.last))
        code = code or (2 if self.failed else 0)
        return Outcome("".join(self.out), "".join(self.call.said) + "".join(self.errors), code)

    def _all(self) -> None:
        if "n" in self.options.flags:
            self._one(None)
            return
        while True:
            try:
                value = next(self.machine.inputs, _END)
            except JqError as problem:
                self.errors.append(
                    f"jq: error (at <stdin>:{self.text.count(chr(10))}): {problem}\n"
                    if False
                    else f"jq: parse error: {problem}\n"
                )
                self.code = 2
                return
            if value is _END:
                return
            self._one(value)

    def _one(self, value: Any) -> None:
        try:
            for found in self.machine.run(self.node, value, self.scope):
                self._print(found)
        except JqError as problem:
            self.code = 5
            where = "at <unknown>" if "n" in self.options.flags else f"at <stdin>:{max(self.text.count(chr(10)), 0)}"
            if problem.value is None:
                self.errors.append(f"jq: error ({where}) (not a string): null\n")
            elif isinstance(problem.value, str):
                self.errors.append(f"jq: error ({where}): {problem.value}\n")
            else:
                self.errors.append(f"jq: error ({where}) (not a string): {written(problem.value)}\n")
        except Break:
            self.code = 5
            self.errors.append("jq: error (at <unknown>): break\n")

    def _print(self, value: Any) -> None:
        flags = self.options.flags
        self.last, self.some = value, True
        if kind_of(value) == "string" and ("r" in flags or "j" in flags or "r0" in flags):
            text = value
        else:
            indent: int | str = 0 if "c" in flags else "\t" if "tab" in flags else self.options.indent
            sort = "S" in flags
            if "C" in flags and "M" not in flags:
                text = coloured(value, indent, sort=sort)
            else:
                text = written(value, indent, sort=sort, ascii_only="a" in flags)
        text += "" if "j" in flags else "\0" if "r0" in flags else "\n"
        self.size += len(text)
        if self.size > 2 * ROOM:
            raise Exhausted
        self.out.append(text)


_END = object()
