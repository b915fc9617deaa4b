"""What a model is reminded of: the whole talk as long as it fits, then ever less of what is old.

A token is taken for four characters of JSON. The instructions, the page and the last turn always stay. Over the limit
the results of the oldest turns are replaced by one line each, and where that is not enough the oldest turns go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
#: Characters of a token: a usual mean for English and JSON.
CHARACTERS = 4
#: Characters of one result that are shown, from its beginning and its end alike.
RESULT_MAX = 12_000
_FORGOTTEN = "(forgotten: this result is too long ago)"


def shown(text: str, most: int = RESULT_MAX) -> str:
    """A result as the model reads it: the middle of a long one is left out, and that is said."""
    if len(text) <= most:
        return text
    left = len(text) - most
    return f"{text[: most // 2]}\n... ({left} characters left out) ...\n{text[-(most // 2) :]}"


def fitting(head: Sequence[Message], turns: Sequence[Sequence[Message]], limit: int) -> list[Message]:
    """The messages of a request.

    Args:
        head: instructions and page.
        turns: what the model said, each with the results that followed.
        limit: tokens.
    """
    left = [list(turn) for turn in turns]
    size = _size(head) + sum(map(_size, left))
    for turn in left[:-1]:
        for index, message in enumerate(turn[1:], start=1):
            if size <= limit * CHARACTERS:
                break
            brief = {**message, "content": _FORGOTTEN}
            size -= max(0, _size([message]) - _size([brief]))
            turn[index] = brief
    while len(left) > 1 and size > limit * CHARACTERS:
        size -= _size(left.pop(0))
    return [*head, *(message for turn in left for message in turn)]


def _size(messages: Sequence[Message]) -> int:
    return sum(len(json.dumps(message)) for message in messages)
