"""The walk over a text's tokens that the grammars of awk and jq share."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Tokens(ABC):
    """A text, read token by token.

    Attributes:
        text: all of it; at: position after the present token.
        kind, value: the present token; at the end `eof` and "".
        depth: how deep in each other the constructs lie that are being read.
    """

    #: Kinds of tokens that stand for themselves.
    fixed: tuple[str, ...] = ("op", "key")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.kind, self.value = "", ""
        self._advance()

    @abstractmethod
    def _advance(self) -> None:
        """Go on to the next token."""

    @abstractmethod
    def _fail(self, near: str = "") -> Exception:
        """What to raise where the present token (or what is named) cannot stand."""

    def _is(self, *values: str) -> bool:
        return self.kind in self.fixed and self.value in values

    def _take(self, *values: str) -> bool:
        if self._is(*values):
            self._advance()
            return True
        return False

    def _expect(self, value: str) -> None:
        if not self._take(value):
            raise self._fail()
