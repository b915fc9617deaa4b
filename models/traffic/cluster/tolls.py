"""Which calls open a connection, and what a connection that cannot be opened costs them.

A client that keeps connections alive opens one for many requests. When opening fails, the next request
of that session tries again, and so on until one succeeds: a shortage hits few requests while it is
slight, and all of them when nothing gets through. Left out: pools that shrink and grow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from simcluster.engine import arithmetic
from simcluster.models.machine.links import tcp


class Toll(NamedTuple):
    """What full tables take from the requests of an edge that go to one place.

    Attributes:
        lost: share whose SYNs vanish until the caller gives up.
        starved: share on connections that the kernel accepts and the process never does.
        refused: share that fails at once on the caller's side; `errno` says why.
        tries: attempts to open a connection for a request.
        mean_ns, variance: what repeated SYNs add to those that succeed.
    """

    lost: float = 0.0
    starved: float = 0.0
    refused: float = 0.0
    errno: str = ""
    tries: float = 0.0
    mean_ns: float = 0.0
    variance: float = 0.0

    @property
    def kept(self) -> float:
        """Share of requests that get a connection in use."""
        return (1.0 - self.lost) * (1.0 - self.starved) * (1.0 - self.refused)


def openings(share: float, failing: float) -> float:
    """Share of requests that try to open a connection.

    Args:
        share: of requests that would, were every attempt to succeed (1 / requests of a connection).
        failing: share of attempts that fail.
    """
    if share <= 0.0 or failing <= 0.0:
        return max(0.0, share)
    if failing >= 1.0 - 1e-9:
        return 1.0
    return min(1.0, share * (1.0 - arithmetic.power(failing, 1.0 / share)) / (1.0 - failing))


def toll(share: float, dropped: float, short: float, refused: float, errno: str, timeout_ns: int) -> Toll | None:
    """What requests of which `share` opens connections pay; None if nothing.

    Args:
        dropped: share of SYNs that vanish; short: of connections no process takes.
        refused: share of attempts that fail at once.
    """
    if share <= 0.0 or not (dropped or short or refused):
        return None
    syn = tcp.repetitions(dropped, dropped, tcp.SYN_TIMEOUT_NS, tcp.SYN_RETRIES, timeout_ns)
    tries = openings(share, syn.failing)
    return Toll(
        tries * syn.failing,
        openings(share, short) * short,
        openings(share, refused) * refused,
        errno,
        tries,
        tries * syn.mean_ns,
        tries * syn.square,
    )


def mean_toll(parts: Sequence[tuple[int, Toll | None]]) -> Toll | None:
    """The toll of callers at several places: how many, and what each pays; None if nobody pays."""
    paying = [(count, part) for count, part in parts if part is not None]
    if not paying or (len(paying) == len(parts) == 1):
        return paying[0][1] if paying else None
    total = sum(count for count, _ in parts)  # integers
    lost, starved, refused, tries, mean, variance = (
        math.fsum(count * value for count, value in column) / total
        for column in (
            [(count, getattr(part, name)) for count, part in paying]
            for name in ("lost", "starved", "refused", "tries", "mean_ns", "variance")
        )
    )
    return Toll(lost, starved, refused, paying[0][1].errno, tries, mean, variance)
