"""The digest of a run: a hash chain over everything that was committed or answered.

Two runs with the same digest had the same API writes, container transitions, samples,
commands and answers, in the same order at the same instants.
"""

from __future__ import annotations

import hashlib


class Digest:
    """A hash chain that can be pickled (it holds bytes, no hash object)."""

    __slots__ = ("count", "state")

    def __init__(self) -> None:
        self.state = bytes(16)
        self.count = 0

    def add(self, t_ns: int, kind: str, payload: bytes) -> None:
        """Chain one record. `payload` is canonical: equal facts must give equal bytes."""
        self.count += 1
        head = f"{t_ns}\0{kind}\0".encode()
        self.state = hashlib.blake2b(self.state + head + payload, digest_size=16).digest()

    def hex(self) -> str:
        """The digest so far, 32 hexadecimal characters."""
        return self.state.hex()
