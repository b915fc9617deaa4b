"""EVAL, EVALSHA and SCRIPT: scripts that return a value, or what one command answers.

`return redis.call('get', KEYS[1])` and the like, with KEYS, ARGV, texts and numbers. Left out: the rest of
Lua; functions.
Source: eval.c and script.c of Redis 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha1

#: Runs a command: its words to what `redis-cli` prints.
Run = Callable[[list[str]], str]

_CALL = re.compile(r"\s*return\s+(?:redis|server)\.p?call\s*\((.*)\)\s*;?\s*", re.DOTALL)
_VALUE = re.compile(r"\s*return\s+(.*?)\s*;?\s*", re.DOTALL)
_TERM = re.compile(r"\s*(?:'([^']*)'|\"([^\"]*)\"|(-?\d+)(?:\.\d+)?|(KEYS|ARGV)\[(\d+)\]|(nil|false|true))\s*(,|$)")
_NO_SCRIPT = "NOSCRIPT No matching script. Please use EVAL."
_NO_NUMBER = "ERR value is not an integer or out of range"


def run(known: dict[str, str], name: str, words: list[str], command: Run) -> str:
    """EVAL, EVALSHA, their read-only forms, or SCRIPT; `known`: scripts by their digests."""
    if name == "SCRIPT":
        return _script(known, words)
    if len(words) < 2:
        return f"ERR wrong number of arguments for '{name.lower()}' command"
    if not words[1].removeprefix("-").isdigit():
        return _NO_NUMBER
    count = int(words[1])
    if count < 0:
        return "ERR Number of keys can't be negative"
    if count > len(words) - 2:
        return "ERR Number of keys can't be greater than number of args"
    text: str | None = words[0]
    if name.startswith("EVALSHA"):
        text = known.get(words[0].lower())
        if text is None:
            return _NO_SCRIPT
    else:
        known[_digest(words[0])] = words[0]
    return _evaluated(text or "", words[2 : 2 + count], words[2 + count :], command)


def _script(known: dict[str, str], words: list[str]) -> str:
    sub = words[0].upper() if words else ""
    match sub:
        case "LOAD" if len(words) == 2:
            known[_digest(words[1])] = words[1]
            return _digest(words[1])
        case "EXISTS" if len(words) > 1:
            return "".join(f"{int(each.lower() in known)}\n" for each in words[1:])
        case "FLUSH":
            known.clear()
            return "OK"
        case "KILL":
            return "NOTBUSY No scripts in execution right now."
        case _:
            return f"ERR unknown subcommand or wrong number of arguments for '{sub.lower()}'. Try SCRIPT HELP."


def _digest(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _evaluated(text: str, keys: list[str], arguments: list[str], command: Run) -> str:
    called = _CALL.fullmatch(text)
    if called is not None:
        words = _terms(called[1], keys, arguments)
        if words is not None and words and None not in words:
            return _answer(command([word for word in words if word is not None]), text)
    value = _VALUE.fullmatch(text)
    inside = value[1] if value is not None else ""
    if inside.startswith("{") and inside.endswith("}"):
        listed = _terms(inside[1:-1], keys, arguments)
        if listed is not None:
            return "".join(f"{word or ''}\n" for word in listed)
    single = _terms(inside, keys, arguments)
    if single is not None and len(single) == 1:
        return single[0] or ""
    near = (text.split() or ["<eof>"])[-1]
    return f"ERR Error compiling script (new function): user_script:1: '=' expected near '{near}'"


def _answer(said: str, text: str) -> str:
    """An error of a command names the script."""
    kind = said.partition(" ")[0]
    if kind in ("ERR", "WRONGTYPE", "OOM", "MISCONF", "NOPERM") and not said.endswith("\n"):
        return f"{said} script: {_digest(text)}, on @user_script:1."
    return said


def _terms(text: str, keys: list[str], arguments: list[str]) -> list[str | None] | None:
    """Values of terms with commas between them; None: there is something else."""
    found: list[str | None] = []
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None:
            return None
        single, double, number, table, index, word, _ = term.groups()
        if table is not None:
            chosen, place = keys if table == "KEYS" else arguments, int(index)
            found.append(chosen[place - 1] if 1 <= place <= len(chosen) else None)
        elif word is not None:
            found.append("1" if word == "true" else None)
        else:
            found.append(next(each for each in (single, double, number) if each is not None))
        at = term.end()
    return found
