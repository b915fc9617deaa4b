"""Who talks to whom on the network now, as far as models know: what a capture of packets shows."""

from __future__ import annotations

from typing import NamedTuple

OK, REFUSED, TIMEOUT = "ok", "refused", "timeout"


class Conversation(NamedTuple):
    """Requests of one caller to one place.

    Attributes:
        source: the caller's address.
        asked: address and port that it connects to (that of a Service).
        answering: address and port where that leads.
        per_s: requests a second.
        opening: share of them that open a connection; the others go over one that stays.
        outcome: `ok`, `refused` (a reset comes back) or `timeout` (nobody answers).
        request_bytes, answer_bytes: their sizes.
        took_ns: from the request to the answer.
        begins_ns: an instant at which one is sent, where they come by a clock; below zero: at random.
        path: of HTTP, where it is known.
    """

    source: str
    asked: tuple[str, int]
    answering: tuple[str, int]
    per_s: float
    opening: float = 1.0
    outcome: str = OK
    request_bytes: int = 0
    answer_bytes: int = 0
    took_ns: int = 0
    begins_ns: int = -1
    path: str = ""
