"""How two outputs of one command compare: equal, equal but for what runs do not fix, different."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from simcluster.testing.golden.reasons import reason
from simcluster.testing.golden.transcripts import Output

_NUMBERED = re.compile(r"<(SFX|UID|HEX64_)\d+>")


class Verdict(Enum):
    """From best to worst."""

    EQUAL = "equal"
    NORMALISED = "equal after normalisation"
    LINES = "the same lines in another order"
    SET = "the same set of lines without counts"
    DIFFERENT = "different"
    MISSING = "not recorded"

    @property
    def reproduced(self) -> bool:
        """Whether two real runs could differ as much."""
        return self in (Verdict.EQUAL, Verdict.NORMALISED, Verdict.LINES, Verdict.SET)


@dataclass(frozen=True)
class Comparison:
    """One command's result; `diff` is of the normalised texts."""

    name: str
    command: str
    verdict: Verdict
    diff: str = ""

    @property
    def reason(self) -> str:
        """Why it is not equal; empty if it is."""
        if not self.diff:
            return ""
        return reason(self.diff, reordered=self.verdict in (Verdict.LINES, Verdict.SET))


def compare(expected: Output | None, got: Output, normalise: Callable[[str], str]) -> tuple[Verdict, str]:
    """The verdict, and a diff if it is neither equal nor normalised."""
    if expected is None:
        return Verdict.MISSING, ""
    before, after = expected.text(), got.text()
    if before == after:
        return Verdict.EQUAL, ""
    before, after = normalise(before), normalise(after)
    if before == after:
        return Verdict.NORMALISED, ""
    diff = "\n".join(
        difflib.unified_diff(before.split("\n"), after.split("\n"), "recorded", "simulated", lineterm="", n=1)
    )
    lines = [sorted(_NUMBERED.sub(r"<\1>", text).split("\n")) for text in (before, after)]
    if lines[0] == lines[1]:
        return Verdict.LINES, diff
    return (Verdict.SET if set(lines[0]) == set(lines[1]) else Verdict.DIFFERENT), diff


def totals(comparisons: list[Comparison]) -> Mapping[str, int]:
    """How many there are of each verdict."""
    return {verdict.name.lower(): sum(c.verdict is verdict for c in comparisons) for verdict in Verdict}
