"""How the shells of MongoDB are called and what they are given: options, files of scripts, `use` and `show`."""

from __future__ import annotations

import json
import re
import shlex

from simcluster.models.userland.javascript import Script, ScriptError

_FLAGS = ("quiet", "norc", "nodb", "shell", "verbose", "ipv6", "tls", "ssl", "json", "retryWrites",
          "tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames")  # fmt: skip
_COMMAND = re.compile(r"""(?m)(^|;)[ \t]*(use|show)[ \t]+['"]?([\w.\-]+)['"]?[ \t]*(?=;|$)""")
#: What `use X` and `show X` are called where they stand in a script.
CALLED = "_{}_".format


def prepared(source: str) -> str:
    """A script in which `use X` and `show X`, which are no JavaScript, are calls.

    >>> prepared("use shop; db.getName()"), prepared("print('; use it;')")
    ('_use_("shop"); db.getName()', "print('; use it;')")
    """
    called = _COMMAND.sub(lambda found: f"{found[1]}{CALLED(found[2])}({json.dumps(found[3])})", source)
    if called == source:
        return source
    try:
        Script({}, 0).parsed(source)
    except ScriptError:
        return called
    return source


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
        if name in _FLAGS:
            continue
        if not word.startswith("--") and len(name) > 1 and name[0] in "up":
            name, value, equals = name[0], name[1:], "="
        found[short.get(name, name)] = value if equals else left.pop(0) if left else ""
    return found, rest
