"""Alerts: what fires, since when. Rules in other rooms hand in what they find at every evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simcluster.engine import format_rfc3339


class Alert(NamedTuple):
    """One firing alert.

    Attributes:
        since_ns: the evaluation at which it began to fire.
        rule: its name; `object` is what it is about.
        text: as of the last evaluation.
    """

    since_ns: int
    rule: str
    object: str
    text: str

    def __str__(self) -> str:
        return f"[FIRING] {self.rule} {self.object} since {format_rfc3339(self.since_ns)}: {self.text}"


class AlertStore:
    """What fires now, by rule and object."""

    def __init__(self) -> None:
        self.firing: dict[tuple[str, str], Alert] = {}

    def evaluated(self, found: Iterable[Alert]) -> None:
        """Rules have been evaluated: these fire, with the instant of now; what fired before keeps its own."""
        before = self.firing
        self.firing = {}
        for alert in found:
            known = before.get((alert.rule, alert.object), alert)
            self.firing[alert.rule, alert.object] = alert._replace(since_ns=known.since_ns)

    def text(self) -> str:
        """All firing alerts, one a line, oldest first."""
        return "\n".join(str(alert) for alert in sorted(self.firing.values()))
