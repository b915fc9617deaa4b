"""Spans of traced requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """One attempt of one call, as its caller saw it.

    Attributes:
        parent: index of the span it belongs to; -1 for the user's own.
        host, operation: whom it asked, and for what; `pod` is where it ended ("" if nowhere).
        attempt: 1 for the first.
        start_ns: since the request began; `duration_ns` until the caller knew the outcome.
        error: why it failed, or "".
        wait_ns, service_ns: in the pod's queue, and of its own work.
    """

    parent: int
    host: str
    operation: str
    pod: str
    attempt: int
    start_ns: int
    duration_ns: int
    error: str = ""
    wait_ns: int = 0
    service_ns: int = 0
