"""How lines of MongoDB's shells are read: options, statements, chains of methods, literals.

Statements that are single calls with literals are read here; others are a script's (`mongoscript`).
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from simcluster.engine import format_rfc3339
from simcluster.models.apps.stores.mongocollection import METHODS

_KEY = re.compile(r"([{,]\s*)([A-Za-z_$][\w$]*)\s*:")
CALL = re.compile(r"^(?:var\s+\w+\s*=\s*)?([\w.$()'\"\- ]+?)\.(\w+)\((.*)\)$", re.DOTALL)
SIBLING = re.compile(r"^db\.getSiblingDB\(\s*['\"]([\w\-]+)['\"]\s*\)")
WRAPPED = re.compile(r"^(print|printjson|JSON\.stringify|tojson|EJSON\.stringify)\((.*)\)$", re.DOTALL)
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
#: Commands by which methods of collections are known to authorisation.
COMMANDS = {
    **{"find": "find", "findOne": "find", "count": "count", "countDocuments": "aggregate"},
    **{"estimatedDocumentCount": "count", "insert": "insert", "insertOne": "insert", "insertMany": "insert"},
    **{"update": "update", "updateOne": "update", "updateMany": "update", "deleteOne": "delete"},
    **{"deleteMany": "delete", "remove": "delete", "drop": "drop", "stats": "collStats", "validate": "validate"},
    **{"createIndex": "createIndexes", "getIndexes": "listIndexes", "aggregate": "aggregate"},
}
#: Methods of cursors and of databases that single statements may have.
_READ_STEPS = (
    *("sort", "limit", "skip", "count", "itcount", "size", "length", "explain", "toArray", "pretty", "hint"),
    *("batchSize", "maxTimeMS", "project"),
)
OF_DATABASE = (
    *("getUsers", "getUser", "createUser", "updateUser", "dropUser", "changeUserPassword", "grantRolesToUser"),
    *("revokeRolesFromUser", "getCollectionNames", "stats", "serverStatus", "currentOp", "getName", "version", "hello"),
    *("isMaster", "adminCommand", "runCommand", "auth", "shutdownServer"),
)


class ShellError(Exception):
    """An exception in the shell: kind (`MongoServerError`), text, and what had been printed before."""

    def __init__(self, kind: str, text: str, before: str = "") -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.before = before


def is_read(text: str) -> bool:
    """Whether a statement is one of those that are read here."""
    words = text.split()
    if (words[0] in ("use", "show") and len(words) == 2) or text in ("exit", "quit()", "quit", "db", "it"):
        return True
    wrapped = WRAPPED.match(text)
    if wrapped:
        inner = wrapped[2].strip()
        return _QUOTED.fullmatch(inner) is not None or (bool(inner) and is_read(inner))
    text = re.sub(r"^db\s*=\s*(db\..*)$", r"\1", text)
    sibling = SIBLING.match(text)
    if sibling is not None:
        text = "db" + text[sibling.end() :]
    chain = chained(text)
    call = CALL.match(text)
    if text == "db" or (chain is not None and chain[1][0][0] in METHODS):
        steps = [] if chain is None else chain[1]
        return all(name in _READ_STEPS for name, _ in steps[1:]) and all(is_literal(inside) for _, inside in steps)
    if call is None or not is_literal(call[3]):
        return False
    known = call[2] in COMMANDS or call[2] in (*OF_DATABASE, "status")
    return known and (call[1].strip() == "db" or re.fullmatch(r"db\.[\w.\-]+|rs", call[1].strip()) is not None)


def statements(script: str) -> list[str]:
    """Statements of a script: ended by `;` or a line's end outside of brackets and quotes."""
    found, depth, quote, part = [], 0, "", ""
    for char in re.sub(r"(?m)^\s*//.*$", "", script):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        if not quote and depth <= 0 and char in ";\n":
            found.append(part.strip())
            part = ""
        else:
            part += char
    found.append(part.strip())
    return [statement for statement in found if statement]


def script_of(path: str, text: str) -> str:
    """The JavaScript of a file: all of it, or of a shell script what it gives to the shell."""
    if path.endswith(".js"):
        return text
    lines = text.splitlines()
    found = []
    while lines:
        line = lines.pop(0)
        words = _words(line)
        if not words or words[0].rpartition("/")[2] not in ("mongo", "mongosh"):
            continue
        options, rest = options_of(tuple(word for word in words[1:] if not word.startswith("<<")))
        if rest:
            found.append(f"use {rest[0]}")
        if "eval" in options:
            found.append(options["eval"])
        here = re.search(r"<<-?\s*['\"]?(\w+)", line)
        while here and lines and lines[0].strip() != here[1]:
            found.append(lines.pop(0))
    return "\n".join(found)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line[:10_000], comments=True)
    except ValueError:
        return line.split()


def options_of(words: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Options by short name, and the rest."""
    short = {"username": "u", "password": "p"}
    found: dict[str, str] = {}
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            rest.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name in ("quiet", "norc", "shell", "tls", "ssl", "tlsAllowInvalidCertificates"):
            continue
        if not word.startswith("--") and len(name) > 1 and name[0] in "up":
            name, value, equals = name[0], name[1:], "="
        found[short.get(name, name)] = value if equals else left.pop(0) if left else ""
    return found, rest


def arguments_of(text: str, now_ns: int = 0) -> list[Any]:
    """JavaScript literals between brackets. Raises ShellError."""
    if not text.strip():
        return []
    quoted = re.sub(r"'((?:[^'\\]|\\.)*)'", _double, text)
    quoted = re.sub(r'ObjectId\(\s*("[0-9a-f]{24}")\s*\)', r'{"$oid": \1}', quoted)
    today = json.dumps(format_rfc3339(now_ns, digits=3))
    quoted = re.sub(r"(?:new Date|ISODate)\(\s*\)", f'{{"$date": {today}}}', quoted)
    quoted = re.sub(r'(?:new Date|ISODate)\(\s*("[^"]*")\s*\)', r'{"$date": \1}', quoted)
    quoted = re.sub(r'(?:NumberInt|NumberLong|Int32|Long|Double)\(\s*"?(-?[\d.]+)"?\s*\)', r"\1", quoted)
    quoted = re.sub(r"([:\[,]\s*)/((?:[^/\\\n]|\\.)+)/([imsx]*)", _pattern, quoted)
    quoted = _KEY.sub(r'\1"\2":', quoted)
    quoted = re.sub(r",\s*([}\]])", r"\1", quoted)
    try:
        found = json.loads(f"[{quoted}]")
    except RecursionError:
        raise ShellError("RangeError", "Maximum call stack size exceeded") from None
    except ValueError:
        raise ShellError("SyntaxError", f"Unexpected token in {text}") from None
    return list(found)


def _pattern(match: re.Match[str]) -> str:
    """A literal pattern as an operator."""
    return f'{match[1]}{{"$regex": {json.dumps(match[2])}, "$options": "{match[3]}"}}'


def chained(text: str) -> tuple[str, list[tuple[str, str]]] | None:
    """`db.NAME.method(…).method(…)`: the collection, and methods with what is between their brackets."""
    if not text.startswith("db."):
        return None
    rest = text[3:]
    names: list[str] = []
    calls: list[tuple[str, str]] = []
    while rest:
        step = re.match(r"([\w$]+)\s*", rest)
        if step is None:
            return None
        rest = rest[step.end() :]
        if not rest.startswith("("):
            if calls:
                return None
            names.append(step[1])
        else:
            inside, rest = _bracket(rest)
            if step[1] == "getCollection" and not names and not calls:
                names = [inside.strip().strip("'\"")]
            else:
                calls.append((step[1], inside))
        if rest and not rest.startswith("."):
            return None
        rest = rest[1:].lstrip()
    return (".".join(names), calls) if names and calls else None


def _bracket(text: str) -> tuple[str, str]:
    """What is between the bracket at the beginning and its end, and the rest."""
    depth, quote = 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "'\"`":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if not depth:
                return text[1:at], text[at + 1 :].lstrip()
    return text[1:], ""


def _double(match: re.Match[str]) -> str:
    """A string in single quotes as JSON."""
    return json.dumps(match[1])


def is_literal(text: str) -> bool:
    """Whether what is between brackets is literals only."""
    try:
        arguments_of(text)
    except ShellError:
        return False
    return True
