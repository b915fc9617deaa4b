"""`sed` as busybox has it, and POSIX patterns for it and `grep`.

Commands `s`, `d`, `p`, `q` with lines, `$`, patterns and ranges before them. Left out: labels, the hold space, `y`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.models.machine.imagetools.call import Outcome, ToolCall, usage_error
from simcluster.models.machine.shell.files import FileError

_COMMAND = re.compile(r"\s*(?:(\d+|\$|/(?:\\.|[^/])*/)(?:,(\d+|\$|/(?:\\.|[^/])*/))?)?\s*([a-z=]?)", re.DOTALL)
_BRACKET = re.compile(r"\[\^?\]?(?:\[:\w+:\]|[^\]])*\]")
_CLASSES = {
    "alnum": "A-Za-z0-9", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
    "space": r"\s", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip


class BadScript(Exception):
    """What sed says of a script that it does not understand."""


def pattern_of(text: str, *, extended: bool = False, ignore_case: bool = False) -> re.Pattern[str]:
    r"""A POSIX pattern, basic or extended. Raises re.error.

    >>> pattern_of(r"\(a\)b+").fullmatch("ab+")[1]
    'a'
    """
    output, at = [], 0
    while at < len(text):
        bracket = _BRACKET.match(text, at)
        if bracket is not None:
            inner = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], ""), bracket[0][1:-1])
            output.append("[" + re.sub(r"\\(?![\[s])", r"\\\\", inner).replace("[", r"\[") + "]")
            at = bracket.end()
            continue
        char, switched = text[at], False
        if char == "\\" and at + 1 < len(text):
            at, char, switched = at + 1, text[at + 1], True
        if char in "(){}+?|":
            output.append(char if switched != extended else "\\" + char)
        elif char == "*" and not output and not switched:
            output.append(r"\*")
        elif switched:
            output.append({"<": r"\b", ">": r"\b", "n": "\n", "t": "\t"}.get(char, "\\" + char))
        else:
            output.append(char)
        at += 1
    return re.compile("".join(output), re.IGNORECASE if ignore_case else 0)


class _Step(NamedTuple):
    first: str
    last: str
    what: str
    pattern: re.Pattern[str] | None = None
    text: str = ""
    flags: str = ""


def sed(call: ToolCall) -> Outcome:
    """sed [-n] [-E] [-i] SCRIPT|-e SCRIPT... [FILE...]."""
    scripts, names, words = [], [], iter(call.argv[1:])
    for word in words:
        if word in ("-e", "--expression"):
            scripts.append(next(words, ""))
        elif not word.startswith("-") or word == "-":
            names.append(word)
    if not scripts and names:
        scripts = [names.pop(0)]
    if not scripts:
        return usage_error(call, "no script specified")
    try:
        steps = _steps("\n".join(scripts), call.has("E") or call.has("r"))
    except BadScript as problem:
        return usage_error(call, str(problem))
    except re.error as problem:
        return usage_error(call, f"bad regex '{scripts[0]}': {problem.msg}")
    in_place = next((word for word in call.argv[1:] if re.match(r"-[nEr]*i|--in-place", word)), "")
    if not in_place:
        texts, errors = call.inputs(names)
        return Outcome(_edited("".join(texts), steps, call.has("n")), errors, 1 if errors else 0)
    errors = ""
    for name in names:
        try:
            before = call.files.read(call.path(name))
            call.files.write(call.path(name), _edited(before, steps, "n" in in_place or "-n" in call.argv))
        except FileError as problem:
            errors += f"sed: {name}: {problem}\n"
    return Outcome("", errors, 1 if errors else 0)


def _steps(script: str, extended: bool) -> list[_Step]:
    """Raises BadScript, re.error."""
    steps = []
    while script := script.lstrip("; \n\t"):
        match = _COMMAND.match(script)
        assert match is not None  # all of it is optional
        first, last, what = match[1] or "", match[2] or "", match[3]
        script = script[match.end() :]
        if what == "s":
            parts = re.match(r"(.)((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([gpiI0-9]*)", script, re.DOTALL)
            if parts is None:
                raise BadScript(f"unmatched '{script[:1]}'")
            source = parts[2].replace("\\" + parts[1], parts[1])
            pattern = pattern_of(source, extended=extended, ignore_case="i" in parts[4].lower())
            steps.append(_Step(first, last, what, pattern, parts[3].replace("\\" + parts[1], parts[1]), parts[4]))
            script = script[parts.end() :]
        elif what in ("d", "p", "q"):
            steps.append(_Step(first, last, what))
        else:
            raise BadScript(f"unsupported command {what or script[:1]}" if what or script else "missing command")
        for address in (first, last):
            if address.startswith("/"):
                pattern_of(address[1:-1], extended=extended)
    return steps


def _edited(text: str, steps: list[_Step], quiet: bool) -> str:
    lines, out = text.split("\n"), []
    lines = lines if lines[-1] else lines[:-1]
    inside: dict[int, bool] = {}
    for number, line in enumerate(lines, 1):
        kept, ended = True, False
        for index, step in enumerate(steps):
            if not _addressed(step, index, inside, (number, len(lines), line)):
                continue
            if step.what == "d":
                kept = False
                break
            if step.what == "p":
                out.append(line)
            elif step.what == "q":
                ended = True
                break
            elif step.pattern is not None:
                changed = _substituted(step, line)
                if "p" in step.flags and changed != line:
                    out.append(changed)
                line = changed
        if kept and not quiet:
            out.append(line)
        if ended:
            break
    return "".join(line + "\n" for line in out)


def _addressed(step: _Step, index: int, inside: dict[int, bool], line: tuple[int, int, str]) -> bool:
    if not step.last:
        return not step.first or _is_at(step.first, line)
    if inside.get(index):
        inside[index] = not _is_at(step.last, line) and not (step.last.isdigit() and line[0] >= int(step.last))
        return not step.last.isdigit() or line[0] <= int(step.last)
    found = _is_at(step.first, line)
    inside[index] = found and not (step.last.isdigit() and line[0] >= int(step.last))
    return found


def _is_at(address: str, line: tuple[int, int, str]) -> bool:
    number, count, text = line
    if address.startswith("/"):
        return pattern_of(address[1:-1]).search(text) is not None
    return number == (count if address == "$" else int(address))


def _substituted(step: _Step, line: str) -> str:
    assert step.pattern is not None
    which = int("".join(c for c in step.flags if c.isdigit()) or 1)
    out, last = [], 0
    for number, match in enumerate(step.pattern.finditer(line), 1):
        if number >= which:
            out += [line[last : match.start()], _filled(step.text, match)]
            last = match.end()
            if "g" not in step.flags:
                break
    return "".join(out) + line[last:]


def _filled(text: str, match: re.Match[str]) -> str:
    """The replacement with what `&` and `\\1` to `\\9` stand for; a group that is not there is empty."""

    def part(found: re.Match[str]) -> str:
        if found[0] == "&":
            return match[0]
        if found[1].isdigit():
            number = int(found[1])
            return (match[number] or "") if number <= (match.re.groups) else ""
        return {"n": "\n", "t": "\t"}.get(found[1], found[1])

    return re.sub(r"\\(.)|&", part, text, flags=re.DOTALL)
