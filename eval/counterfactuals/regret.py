"""Regret in user-minutes, deed by deed, and in words.

A user-minute is lost when all users fail for a minute. All worlds that are compared live on to the same instant, so
that losses can be subtracted: what a deed cost is the loss of the world that stops after it, less that of the world
that stops before it; the sum over all deeds is what the work cost or saved. What was avoidable is the loss less that
of the world that was repaired at the page, and splits into looking and waiting, deeds, and what is wanting at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Fewer user-minutes are nothing that anybody would speak of.
NOTICED = 0.05


@dataclass(frozen=True)
class Deed:
    """A write, or several in a row where there were very many.

    Attributes:
        text: what was typed.
        after_s: simulated seconds from the page until it began.
        left_before, left: user-minutes lost if nobody does anything from before it on, and from after it on.
        repaired_before, repaired: the same if the reference repair is made right before it, and right after it; where
            it is better to leave it alone by then, what that loses.
        evidence: what users and programs met with it and without it, a sentence each.
    """

    text: str
    after_s: float
    left_before: float
    left: float
    repaired_before: float
    repaired: float
    evidence: tuple[str, ...] = ()

    @property
    def harm(self) -> float:
        """User-minutes that it cost; below zero it saved them."""
        return round(self.left - self.left_before, 3)

    @property
    def lasting_harm(self) -> float:
        """Those that a repair right after it would not have saved any more."""
        return round(self.repaired - self.repaired_before, 3)

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "text": self.text,
            "after_s": self.after_s,
            "harm": self.harm,
            "lasting_harm": self.lasting_harm,
            "left": self.left,
            "repaired": self.repaired,
            "evidence": list(self.evidence),
        }

    def explain(self) -> str:
        """One sentence."""
        head = f"{self.text} ({self.after_s:.0f} s after the page)"
        if abs(self.harm) < NOTICED:
            return f"{head} changed nothing that users noticed"
        said = f"cost {self.harm:.2f}" if self.harm > 0 else f"saved {-self.harm:.2f}"
        why = f": {'; '.join(self.evidence)}" if self.evidence else ""
        lasting = ""
        if self.harm > 0 and self.lasting_harm >= NOTICED:
            lasting = f"; a repair right after it would have lost {self.lasting_harm:.2f} more than one right before"
        return f"{head} {said} user-minutes{why}{lasting}"


@dataclass(frozen=True)
class Counterfactuals:
    """What would have become of an incident under other hands.

    Attributes:
        until_s: simulated seconds from the page for which all worlds are compared.
        untouched: user-minutes lost if nobody does anything.
        repaired: if the reference repair is made at the page, where that is better.
        deeds: what was done, in order.
    """

    until_s: float
    untouched: float
    repaired: float
    deeds: tuple[Deed, ...]

    @property
    def lost(self) -> float:
        """User-minutes that were lost."""
        return self.deeds[-1].left if self.deeds else self.untouched

    @property
    def regret(self) -> float:
        """Those that the reference repair at the page would have avoided."""
        return round(self.lost - self.repaired, 3)

    @property
    def causes(self) -> dict[str, float]:
        """The regret, split: `waiting` before deeds, `deeds` (their lasting harm), `wanting` a repair at the end."""
        last = self.repaired
        waiting = []
        for deed in self.deeds:
            waiting.append(deed.repaired_before - last)
            last = deed.repaired
        deeds = math.fsum(deed.lasting_harm for deed in self.deeds)
        return {
            "waiting": round(math.fsum(waiting), 3),
            "deeds": round(deeds, 3),
            "wanting": round(self.lost - last, 3),
        }

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "until_s": self.until_s,
            "lost": self.lost,
            "untouched": self.untouched,
            "repaired": self.repaired,
            "regret": self.regret,
            "causes": self.causes,
            "deeds": [deed.to_dict() for deed in self.deeds],
        }

    def explain(self) -> str:
        """Several sentences, a line each."""
        lines = [
            f"users lost {self.lost:.2f} user-minutes in the {self.until_s:.0f} s from the page on; "
            f"{self.untouched:.2f} if nobody had done anything, {self.repaired:.2f} with the reference repair at once",
        ]
        if self.regret < NOTICED:
            lines.append("nothing of that was avoidable by it")
        else:
            found = self.causes
            lines.append(
                f"avoidable were {self.regret:.2f}: {found['waiting']:.2f} by looking and waiting, "
                f"{found['deeds']:.2f} by what was done, {found['wanting']:.2f} because a repair was wanting at the end"
            )
        return "\n".join([*lines, *(deed.explain() for deed in self.deeds)])
