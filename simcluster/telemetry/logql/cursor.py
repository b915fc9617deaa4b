"""A place in the tokens of a query, and the errors that Loki's parser would report there."""

from __future__ import annotations

from typing import NoReturn

from simcluster.telemetry.logql.tokens import ParseError, Token, tokens

#: `maxInputSize` of Loki's parser.
MAX_QUERY_BYTES = 131_072


class Cursor:
    """Tokens of a query, read one by one.

    Raises:
        ParseError: the query is too long.
    """

    def __init__(self, query: str) -> None:
        size = len(query.encode())
        if size >= MAX_QUERY_BYTES:
            raise ParseError(f"input size too long ({size} > {MAX_QUERY_BYTES})")
        self._tokens = tokens(query)
        self._at = 0

    @property
    def token(self) -> Token:
        """The next one."""
        return self._tokens[self._at]

    @property
    def kind(self) -> str:
        """Of the next one."""
        token = self.token
        if token.kind == "error":
            raise ParseError(token.text, token.line, token.column)
        return token.kind

    def after(self, count: int) -> str:
        """Kind of a later one."""
        return self._tokens[min(self._at + count, len(self._tokens) - 1)].kind

    def advance(self) -> Token:
        """The next one, which is thereby read."""
        token = self.token
        if token.kind not in ("$end", "error"):
            self._at += 1
        return token

    def accept(self, kind: str) -> bool:
        """Read the next one if it is of this kind."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, *kinds: str) -> Token:
        """Read one of these kinds; they are named in the order of Loki's tables.

        Raises:
            ParseError: it is of another.
        """
        if self.kind not in kinds:
            self.fail(*kinds)
        return self.advance()

    def fail(self, *expected: str) -> NoReturn:
        """What stands here cannot; more than four alternatives are not named.

        Raises:
            ParseError: always.
        """
        kind, token = self.kind, self.token
        names = f", expecting {' or '.join(expected)}" if 0 < len(expected) <= 4 else ""
        raise ParseError(f"syntax error: unexpected {kind}{names}", token.line, token.column)
