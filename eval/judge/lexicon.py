"""Many phrases found in one pass over the words of a sentence."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import re2

from simcluster.eval.judge.tokens import Token, normal, tokens

#: What these deny is that something works, which denies no fault.
_MODAL = frozenset(["can't", "cannot", "couldn't", "won't"])
#: So many fillers in a row stand between two words of one phrase.
_SKIPPED_MAX = 2


class Hit(NamedTuple):
    """A phrase that stands in a sentence: the numbers of its first word and of the one behind its last."""

    start: int
    end: int
    phrase: str


class Lexicon:
    """Phrases, ready to be found.

    A phrase is words in order; `*` ends or begins a word freely; a space also stands for a hyphen or a slash;
    `not` also for "doesn't" and its like.

    Args:
        phrases: each may occur several times.
        fillers: words that may stand between those of a phrase: "does not *currently* exist".
    """

    def __init__(self, phrases: Iterable[str], fillers: Container[str] = ()) -> None:
        self._fillers = fillers
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
            keys += ["not"] if _denies(text) else []
            for key in keys:
                for words, phrase in self._first.get(key, ()):
                    if phrase == "not" and text in _MODAL:
                        continue
                    end = self._end(words, texts, at)
                    if end:
                        hits.append(Hit(at, end, phrase))
        return hits

    def _end(self, words: Sequence[str], texts: Sequence[str], at: int) -> int:
        """The number behind the last word of a phrase that begins at one; 0 if it does not stand there."""
        at += 1
        for word in words[1:]:
            skipped = 0
            while at < len(texts) and not _fits(word, texts[at]) and self._skips(texts[at]) and skipped < _SKIPPED_MAX:
                at, skipped = at + 1, skipped + 1
            if at >= len(texts) or not _fits(word, texts[at]):
                return 0
            at += 1
        return at

    def _skips(self, text: str) -> bool:
        """Whether a word may stand between those of a phrase: a filler or a number, "uses 380 % CPU"."""
        return text in self._fillers or text.isdigit()


def telling(phrases: Iterable[str]) -> set[str]:
    """For each phrase an expression of the longest of its words: where that is not found, the phrase is not."""
    longest = {max(words_of(phrase), key=len) for phrase in phrases}
    return {_begun(word) + re2.escape(word.strip("*")) + _ended(word) for word in longest}


def _begun(word: str) -> str:
    return "" if word.startswith("*") or not word.isascii() else r"\b"


def _ended(word: str) -> str:
    return "" if word.endswith("*") or not word.isascii() else r"\b"


@functools.cache  # of the vocabulary, which has some thousands
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


def begins_with(phrase: str, word: str) -> bool:
    """Whether a word may be the first of a phrase."""
    return _fits(words_of(phrase)[0], word)


def _denies(text: str) -> bool:
    return text.endswith("n't") or text == "cannot"


def _fits(word: str, text: str) -> bool:
    if word == "not" and _denies(text):
        return True
    if word.endswith("*"):
        return text.startswith(word[:-1])
    return text.endswith(word[1:]) if word.startswith("*") else text == word
