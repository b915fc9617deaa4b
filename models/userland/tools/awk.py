"""awk: what a program does with its input. Source: POSIX awk; complaints are mawk's (Debian's awk) and BusyBox'."""

from __future__ import annotations

import re

from simcluster.models.userland.backtrack import TooHard
from simcluster.models.userland.escapes import unescaped
from simcluster.models.userland.grammar import compile_script
from simcluster.models.userland.lexer import ShellSyntaxError
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call
from simcluster.models.userland.regex import RegexError
from simcluster.models.userland.tools.awkmachine import Machine
from simcluster.models.userland.tools.awkparser import AwkError, Parser

_USAGE_GNU = "usage: {name} [-F value] [-v var=value] [--] 'program text' [file ...]\n"


def awk(call: Call) -> Outcome:
    """Run a program over lines."""
    words, separator, assigned, text = list(call.args), None, [], None
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        letter, value = word[1], word[2:]
        if word in ("--version", "-W", "--help"):
            return Outcome("mawk 1.3.4 20200120\n" if call.gnu else "BusyBox v1.36.1\n")
        if letter not in "Fvf":
            return Outcome(stderr=f"{call.name}: not an option: {word}\n", code=2)
        if not value:
            if not words:
                return Outcome(stderr=f"{call.name}: option requires an argument -- {letter}\n", code=2)
            value = words.pop(0)
        if letter == "F":
            separator = "\t" if value == "t" else unescaped(value)
        elif letter == "v":
            assigned.append(value)
        else:
            try:
                text = (text + "\n" if text else "") + call.read(value)
            except FileError as problem:
                return Outcome(stderr=f"{call.name}: couldn't open file {value}: {problem}\n", code=2)
    if text is None:
        if not words:
            return Outcome(stderr=_USAGE_GNU.format(name=call.name), code=2)
        text = words.pop(0)
    return _run(call, text, separator, assigned, words)


def _run(call: Call, text: str, separator: str | None, assigned: list[str], words: list[str]) -> Outcome:
    machine = None
    try:
        parser = Parser(text)
        rules = parser.program()
        machine = Machine(call, rules, parser.functions)
        if separator is not None:
            machine.variables["FS"] = separator
        for each in assigned:
            name, equals, value = each.partition("=")
            if not equals or re.fullmatch(r"[A-Za-z_]\w*", name) is None:
                return Outcome(stderr=f"{call.name}: improper assignment: -v {each}\n", code=2)
            machine.assign_text(name, unescaped(value))
        code = machine.run(words)
    except (AwkError, RegexError) as problem:
        printed = "" if machine is None else machine.output()[0]  # what it had said before
        return Outcome(printed, stderr=f"{call.name}: {problem}\n", code=2 if call.gnu else 1)
    except TooHard:
        return Outcome(stderr=f"{call.name}: regular expression too hard\n", code=2)
    except RecursionError:
        return Outcome(stderr=f"{call.name}: function call nesting too deep\n", code=2)
    out, errors = machine.output()
    tail = tuple(machine.commands)
    if tail:
        return Outcome(stderr=errors, code=code, runs=_commands(call, tail, out, code))
    return Outcome(out, "".join(call.said) + errors, code or ((2 if call.gnu else 1) if call.said else 0))


def _commands(
    call: Call, commands: tuple[tuple[int, str, str], ...], out: str, code: int
) -> tuple[tuple[object, ...], ...]:
    """What is printed and started, in its order, as code of the shell: (place in the output, command, its input)."""
    made: list[tuple[object, ...]] = []
    at = 0
    for place, command, text in commands:
        made.append(("emit", 1, out[at:place]))
        at = place
        try:
            inner = compile_script(f"({command}\n)", call.place.face.shell)
        except ShellSyntaxError:
            made.append(("emit", 2, f"sh: 1: Syntax error in {command}\n"))
            continue
        fed = [("redir", ((0, "<<", (("lit", text, True),)),), len(inner) + 1)] if text else []
        made += [*fed, *inner, *([("unredir",)] if text else [])]
    return (*made, ("emit", 1, out[at:]), ("status", code))
