"""Parsers of lines: `json`, `logfmt`, `pattern`, `regexp`, `unpack`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from simcluster.telemetry.logql.entry import Entry
from simcluster.telemetry.logql.patterns import captures, pattern_parts
from simcluster.telemetry.logql.syntax import LabelParser
from simcluster.telemetry.promql.regex import anywhere

Stage = Callable[[Entry], bool]
_UNCLEAN = re.compile(r"[^a-zA-Z0-9_]")
_STEP = re.compile(r"\.?([a-zA-Z_][\w-]*)|\[\"((?:[^\"\\]|\\.)*)\"\]|\[(\d+)\]")
_PAIR = re.compile(r"[\x00-\x20]*([^\x00-\x20=\"]+)(?:=(\"(?:[^\"\\]|\\.)*\"|[^\x00-\x20\"]*(?=[\x00-\x20]|$))?)?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_QUOTED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def parser(stage: LabelParser) -> Stage:
    """What a parser does to an entry."""
    if stage.kind == "json":
        return _json_fields(stage.fields) if stage.fields else _json
    if stage.kind == "logfmt":
        return _logfmt(stage)
    if stage.kind == "unpack":
        return _unpack
    if stage.kind == "pattern":
        return _pattern(stage.text)
    return _regexp(stage.text)


def clean(name: str) -> str:
    """A name that labels may have.

    >>> clean("http.status-code"), clean("4xx"), clean("")
    ('http_status_code', '_4xx', '')
    """
    name = _UNCLEAN.sub("_", name.strip())
    return f"_{name}" if name[:1].isdigit() else name


class _Literal(float):
    """A number of a JSON text, as it stands there."""

    text: str

    def __new__(cls, text: str) -> _Literal:
        found = super().__new__(cls, text)
        found.text = text
        return found


def _decoded(text: str) -> Any:
    return json.loads(text, parse_int=_Literal, parse_float=_Literal)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Literal):
        return value.text
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _object(entry: Entry) -> dict[str, Any] | None:
    """The object that a line is; otherwise an error is noted."""
    if not entry.text:
        return {}
    try:
        found = _decoded(entry.text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    entry.fail("JSONParserErr", "Value looks like object, but can't find closing '}' symbol"
               if entry.text.startswith("{") else "expected json object({), but got unknown")  # fmt: skip
    return None


def _json(entry: Entry) -> bool:
    found = _object(entry)
    if found is not None:
        _flatten(entry, "", found)
    return True


def _flatten(entry: Entry, prefix: str, found: dict[str, Any]) -> None:
    for key, value in found.items():
        name = clean(key)
        if not name:
            continue
        name = f"{prefix}_{name}" if prefix else name
        if isinstance(value, dict):
            _flatten(entry, name, value)
        elif value is not None and not isinstance(value, list):
            entry.extract(name, _shown(value))


def _json_fields(fields: tuple[tuple[str, str], ...]) -> Stage:
    paths = [(name, _path(source)) for name, source in fields]

    def run(entry: Entry) -> bool:
        found = _object(entry)
        for name, path in paths if found is not None else []:
            entry.extract(name, _shown(_at(found, path)))
        return True

    return run


def _path(text: str) -> list[str | int]:
    found: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return [text]
        found.append(int(match[3]) if match[3] else match[1] or match[2] or "")
        at = match.end()
    return found


def _at(value: Any, path: list[str | int]) -> Any:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _unquoted(text: str) -> str:
    return _QUOTED.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]), text)


def logfmt_pairs(line: str) -> tuple[list[tuple[str, str]], int]:
    """Keys and values of a line, and where it is none (-1).

    >>> logfmt_pairs('level=info msg="a b" done')
    ([('level', 'info'), ('msg', 'a b'), ('done', '')], -1)
    """
    found, at, wrong = [], 0, -1
    line = line.rstrip()
    while at < len(line):
        match = _PAIR.match(line, at)
        if match is None or (match.end() < len(line) and line[match.end()] > " "):
            wrong = at if wrong < 0 else wrong
            space = line.find(" ", at + 1)
            at = len(line) if space < 0 else space + 1
            continue
        value = match[2] or ""
        found.append((match[1], _unquoted(value[1:-1]) if value.startswith('"') else value))
        at = match.end()
    return found, wrong


def _logfmt(stage: LabelParser) -> Stage:
    strict, keep = "--strict" in stage.flags, "--keep-empty" in stage.flags
    wanted = stage.fields

    def run(entry: Entry) -> bool:
        pairs, wrong = logfmt_pairs(entry.text)
        if strict and wrong >= 0:
            entry.fail("LogfmtParserErr", f"logfmt syntax error at pos {wrong + 1} : unexpected '{entry.text[wrong]}'")
            return True
        if wanted:
            known = dict(pairs)
            for name, source in wanted:
                entry.extract(name, known.get(source, ""))
            return True
        for key, value in pairs:
            if value or keep:
                entry.extract(clean(key), value)
        return True

    return run


def _pattern(text: str) -> Stage:
    parts = pattern_parts(text, names=True)

    def run(entry: Entry) -> bool:
        for name, value in captures(parts, entry.text):
            entry.extract(name, value)
        return True

    return run


def _regexp(text: str) -> Stage:
    expression = anywhere(text)
    names = sorted(expression.groupindex, key=expression.groupindex.get)

    def run(entry: Entry) -> bool:
        match = expression.search(entry.text)
        for name in names if match is not None else []:
            entry.extract(clean(name), match.group(name) or "")
        return True

    return run


def _unpack(entry: Entry) -> bool:
    found = _object(entry)
    for key, value in (found or {}).items():
        if not isinstance(value, str):
            continue
        if key == "_entry":
            entry.text = value
        else:
            entry.extract(clean(key), value)
    return True
