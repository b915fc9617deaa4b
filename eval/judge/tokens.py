"""Texts as words: sentences, and the words and marks in each, in one pass over the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

#: Words of scripts without spaces are their characters.
_WORD = re.compile(
    r"v?\d+(?:[.,]\d+)+\w*|[぀-ヿ一-鿿가-힯]|[^\W぀-ヿ一-鿿가-힯]+(?:'[a-z]+)?"
    r"|->|=>|→|\*{2,}|[.,:;?!()=—–]|(?<!\S)-+(?!\S)"
)
_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n+")
#: The line of a manifest that belongs to the one above it.
_VALUE = re.compile(r"\n[ \t]{0,40}(value:)")
#: Texts of so many characters are not folded: one letter may become eighteen.
_FOLDED_MAX = 20_000
#: Stands for a backtick: what is between two is a name.
QUOTE = "\x01"
#: Stands for the star of a group of names: `mongodb-*`, `*-service`.
STAR = "\x02"
_GROUP = re.compile(r"(?<=[\w]-)\*|(?<![\w*])\*(?=-[a-z])")
#: One spelling of what is typed in several ways.
_SAME = str.maketrans({"’": "'", "‘": "'", "`": QUOTE, "*": " ", '"': " ", "“": " ", "”": " ", "，": ",", "：": ":"})
_SPELLED = {"catalogue": "catalog", "neighbor": "neighbour", "ctr": "container"}


class Token(NamedTuple):
    """A word or a mark.

    Attributes:
        text: in lower case, without a possessive ending.
        start, end: where it stands in the sentence.
        own: whether it has a possessive ending.
    """

    text: str
    start: int
    end: int
    own: bool = False


def normal(text: str) -> str:
    """Lower case, one form of each letter, marks of emphasis and quotation as spaces, backticks as `QUOTE`.

    Lone surrogates are `?`.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
        text = unicodedata.normalize("NFKC", text) if len(text) <= _FOLDED_MAX else text
    return _GROUP.sub(STAR, text).translate(_SAME).lower()


def sentences(text: str) -> Iterator[str]:
    """Sentences and lines of a normalised text, each once.

    >>> list(sentences(normal("It is 0.5 cores.  Too few!\\n\\nYes; no")))
    ['it is 0.5 cores.', 'too few!', 'yes;', 'no']
    """
    parts = _SENTENCE.split(_VALUE.sub(r" \1", text))
    return iter(dict.fromkeys(part.strip() for part in parts if part and not part.isspace()))


def tokens(sentence: str) -> list[Token]:
    """Words and marks of a normalised sentence.

    >>> [token.text for token in tokens("worker-2's clock (v0.10.4) isn't right.")]
    ['worker', '2', 'clock', '(', 'v0.10.4', ')', "isn't", 'right', '.']
    """
    found = []
    for match in _WORD.finditer(sentence):
        text, own = match.group(), False
        if text.endswith("'s"):
            text, own = text[:-2], True
        found.append(Token(_SPELLED.get(text, text), match.start(), match.end(), own))
    return found
