"""What an answer says of the outcome: that users are served again, or that they are not.

Sentences are read for words of success and of failure; a denial takes a word of success back. Left out: irony, and
languages other than English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Characters of an answer that are read, and how deep.
_TEXT_MAX, _DEPTH_MAX = 20_000, 8
_SOLVED = re.compile(
    r"\b(?:(?:is|are|was|were|been|now|fully|successfully)\s+(?:\w+\s+)?)?"
    r"(?:resolved|fixed|solved|mitigated|restored|recovered|remediated|repaired|healthy again|back to normal)\b"
)
_NOT = re.compile(
    r"\b(?:not|never|no|cannot|can't|couldn't|could not|won't|unable|impossible|isn't|aren't|wasn't|hasn't|haven't|"
    r"must be|has to be|have to be|needs to be|should be|to be|until|once|when|if|would|will|may|might|un)\b"
)
_UNSOLVED = re.compile(
    r"\b(?:unresolved|not (?:been )?(?:resolved|fixed|solved|mitigated)|cannot be (?:resolved|fixed|solved|mitigated)|"
    r"could not (?:resolve|fix|solve|mitigate)|unable to|beyond (?:my|our|the) (?:reach|control|permissions?|rights?)|"
    r"out of (?:my|our) (?:reach|control|hands)|escalat\w+|nobody here can|provider(?:'s)? (?:must|has to|outage))\b"
)


def says_solved(answer: object) -> bool | None:
    """Whether an answer claims success: True, or False where it says that there is none; None where it says neither.

    >>> says_solved("The selector was wrong; I fixed it and users are served."), says_solved("I could not fix it.")
    (True, False)
    >>> says_solved("The cause is steal time.") is None
    True
    """
    if isinstance(answer, Mapping):
        for key in ("resolved", "solved", "fixed"):
            if isinstance(answer.get(key), bool):
                return bool(answer[key])
    text = "\n".join(_texts(answer, 0))[:_TEXT_MAX].lower()
    if _UNSOLVED.search(text):
        return False
    return True if any(map(_claims_success, re.split(r"[.!?;\n]", text))) else None


def _claims_success(sentence: str) -> bool:
    """Whether a sentence has a word of success and no denial before it or in it."""
    claim, denial = _SOLVED.search(sentence), _NOT.search(sentence)
    return claim is not None and (denial is None or denial.start() >= claim.end())


def _texts(value: object, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value[:_TEXT_MAX]]
    if depth >= _DEPTH_MAX:
        return []
    inside: Sequence[Any] = ()
    if isinstance(value, Mapping):
        inside = list(value.values())[:100]
    elif isinstance(value, (list, tuple)):
        inside = value[:100]
    return [text for item in inside for text in _texts(item, depth + 1)]
