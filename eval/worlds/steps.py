"""Steps of fixes, repairs and deeds, done in a world as an operator does them."""

from __future__ import annotations

from typing import Protocol

from simcluster.surface.protocols import Outcome, Shell
from simcluster.tasks.model import Step


class Hand(Protocol):
    """Who can do steps: an episode, or another hand on a live world."""

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        """Run `kubectl COMMAND`."""

    def node(self, name: str) -> Shell:
        """A root shell on a node."""

    def wait(self, duration: str) -> None:
        """Let simulated time pass."""


def perform(hand: Hand, step: Step, namespace: str = "") -> Outcome:
    """Do one step through the surface; what names no namespace is done in the given one."""
    if step.kubectl:
        where = "" if not namespace or " -n " in step.kubectl else f" -n {namespace}"
        return hand.kubectl(step.kubectl + where, step.stdin)
    if step.sh:
        return hand.node(step.node).sh(step.sh)
    hand.wait(step.wait)
    return Outcome("")
