"""What a process reads on a descriptor: a text that is taken from the front, shared by all who inherited it."""

from __future__ import annotations


class Stream:
    """A file or a pipe that is being read."""

    __slots__ = ("at", "seekable", "text")

    def __init__(self, text: str, *, seekable: bool = False) -> None:
        self.text = text
        self.at = 0
        self.seekable = seekable

    def take(self) -> str:
        """All that is left."""
        rest, self.at = self.text[self.at :], len(self.text)
        return rest

    def rest(self) -> str:
        """All that is left, which stays."""
        return self.text[self.at :]

    def line(self, end: str = "\n") -> str | None:
        """The next line with its end (a last one may have none); None after the last."""
        if self.at >= len(self.text):
            return None
        stop = self.text.find(end, self.at) if end else len(self.text) - 1
        stop = len(self.text) if stop < 0 else stop + 1
        found, self.at = self.text[self.at : stop], stop
        return found

    def characters(self, count: int) -> str:
        """So many characters, or as many as there are."""
        found = self.text[self.at : self.at + count]
        self.at += len(found)
        return found
