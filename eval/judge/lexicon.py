"""Many phrases found in one pass over the words of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import re2

from simcluster.eval.judge.tokens import Token, normal, tokens


class Hit(NamedTuple):
    """A phrase that stands in a sentence: the numbers of its first word and of the one behind its last."""

    start: int
    end: int
    phrase: str


class Lexicon:
    """Phrases, ready to be found.

    A phrase is words in order; `*` ends or begins a word freely; a space also stands for a hyphen or a slash.

    Args:
        phrases: each may occur several times.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for phrase in dict.fromkeys(phrases):
            words = words_of(phrase)
            self._first.setdefault(words[0], []).append((words, phrase))
        self._stems = sorted({len(word) - 1 for word in self._first if word.endswith("*")})
        self._ends = sorted({len(word) - 1 for word in self._first if word.startswith("*")})

    def hits(self, found: Sequence[Token]) -> list[Hit]:
        """All phrases in a sentence, in the order in which they begin."""
        texts = [token.text for token in found]
        hits = []
        for at, text in enumerate(texts):
            keys = [text, *(f"{text[:n]}*" for n in self._stems if n <= len(text))]
            keys += [f"*{text[-n:]}" for n in self._ends if n <= len(text)]
            for key in keys:
                for words, phrase in self._first.get(key, ()):
                    rest = texts[at + 1 : at + len(words)]
                    if len(rest) == len(words) - 1 and all(map(_fits, words[1:], rest)):
                        hits.append(Hit(at, at + len(words), phrase))
        return hits


def telling(phrases: Iterable[str]) -> set[str]:
    """For each phrase an expression of the longest of its words: where that is not found, the phrase is not."""
    longest = {max(words_of(phrase), key=len) for phrase in phrases}
    return {
        ("" if word.startswith("*") or not word.isascii() else r"\b") + re2.escape(word.strip("*")) for word in longest
    }


def words_of(phrase: str) -> tuple[str, ...]:
    """The words of a phrase.

    >>> words_of("dev/shm is full*"), words_of("*_addr")
    (('dev', 'shm', 'is', 'full*'), ('*_addr',))
    """
    ended, begun = phrase.replace("*", "\x00").split(" "), []
    for word in ended:
        pieces = [token.text for token in tokens(normal(word.replace("\x00", "")))]
        if not pieces:
            raise ValueError(f"the phrase {phrase!r} has a word without letters")
        pieces[0] = ("*" if word.startswith("\x00") else "") + pieces[0]
        pieces[-1] += "*" if word.endswith("\x00") else ""
        begun += pieces
    return tuple(begun)


def _fits(word: str, text: str) -> bool:
    if word.endswith("*"):
        return text.startswith(word[:-1])
    return text.endswith(word[1:]) if word.startswith("*") else text == word
