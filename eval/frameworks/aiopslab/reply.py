"""What an agent may say: exactly one fenced block with one call, as AIOpsLab reads it."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

_BLOCK = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)

#: The longest reply that is read, characters.
REPLY_MAX = 200_000


class ReplyError(Exception):
    """A reply without exactly one call that makes sense."""


class Call(NamedTuple):
    """A call: its name, what stands in its parentheses."""

    name: str
    arguments: list[Any]
    named: dict[str, Any]


def parsed(reply: object) -> Call:
    """The call of a reply.

    Raises:
        ReplyError: there is no block or there are several, it is no call, or its arguments are no constants.

    >>> parsed('I look.\\n```\\nget_logs("shop", service="cart")\\n```')
    Call(name='get_logs', arguments=['shop'], named={'service': 'cart'})
    """
    if not isinstance(reply, str):
        raise ReplyError(f"a reply is a text, not a {type(reply).__name__}")
    if len(reply) > REPLY_MAX:
        raise ReplyError(f"a reply of {len(reply)} characters: at most {REPLY_MAX} are taken")
    blocks = _BLOCK.findall(reply)
    if len(blocks) != 1:
        raise ReplyError(f"a reply has exactly one block between ``` and ```, not {len(blocks)}")
    text = blocks[0].strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return _shell(text, problem)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ReplyError(f"no call of an action: {text[:200]}")
    try:
        arguments = [ast.literal_eval(one) for one in tree.args]
        named = {one.arg: ast.literal_eval(one.value) for one in tree.keywords if one.arg}
    except (ValueError, TypeError, RecursionError):
        raise ReplyError("arguments are constants, lists and dictionaries") from None
    if len(named) < len(tree.keywords):
        raise ReplyError("arguments cannot be unpacked")
    return Call(tree.func.id, arguments, named)


def _shell(text: str, problem: Exception) -> Call:
    """`exec_shell("…")` whose quotes are only right for a shell: what stands between the outer ones is the command."""
    found = re.fullmatch(r"""exec_shell\(\s*(?:command\s*=\s*)?(["'])(.*)\1\s*\)""", text, re.DOTALL)
    if found is None:
        raise ReplyError(f"no call: {problem}") from None
    return Call("exec_shell", [found[2].replace('\\"', '"').replace("\\'", "'")], {})
