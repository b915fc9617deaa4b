"""Regular expressions of matchers and functions: RE2, anchored, matching in linear time whatever the expression."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_MESSAGES = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid escape sequence": "invalid escape sequence",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid character class range": "invalid character class range",
    "trailing \\": "trailing backslash at end of expression",
}


class RegexError(ValueError):
    """No expression; the message is that of Go's regexp package."""


def compiled(pattern: str) -> Any:
    """What matches a whole value.

    Raises:
        RegexError: the pattern is no expression.
    """
    return anywhere(f"^(?s:{pattern})$")


@lru_cache(maxsize=1024)
def anywhere(pattern: str) -> Any:
    """What finds an expression in a text.

    Raises:
        RegexError: the pattern is no expression.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise RegexError(_message(error.args[0])) from None


def _message(raised: Any) -> str:
    text = raised.decode() if isinstance(raised, bytes) else str(raised)
    words, _, part = text.partition(": ")
    shown = _MESSAGES.get(words, words)
    return f"error parsing regexp: {shown}: `{part}`" if part else f"error parsing regexp: {shown}"


def expand(template: str, match: Any) -> str:
    """Go's `Regexp.Expand`: `$1`, `$name`, `${name}` and `$$`; what does not exist is empty.

    >>> expand("a-$1-$$", compiled("x(.*)").match("xyz"))
    'a-yz-$'
    """
    out, at = [], 0
    while at < len(template):
        dollar = template.find("$", at)
        if dollar < 0:
            out.append(template[at:])
            break
        out.append(template[at:dollar])
        name, at = _reference(template, dollar + 1)
        if name is None:
            out.append("$")
        elif name.isdigit():
            out.append((match.group(int(name)) or "") if int(name) <= match.re.groups else "")
        else:
            out.append((match.group(name) or "") if name in match.re.groupindex else "")
    return "".join(out)


def _reference(template: str, at: int) -> tuple[str | None, int]:
    if template[at : at + 1] == "$":
        return None, at + 1
    if template[at : at + 1] == "{":
        end = template.find("}", at)
        name = template[at + 1 : end] if end > 0 else ""
        return (name, end + 1) if name.replace("_", "a").isalnum() else (None, at)
    end = at
    while end < len(template) and (template[end].isalnum() or template[end] == "_"):
        end += 1
    return (template[at:end], end) if end > at else (None, at)
