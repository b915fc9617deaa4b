"""The grade of a diagnosis where there is no fault: whether it says so, and accuses nobody.

What was at work for a while and is over may be told of; any other kind of cause that is claimed, or component that is
called the cause, is a false alarm.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from simcluster.eval.judge.judge import reading_of
from simcluster.eval.judge.reading import as_text
from simcluster.eval.judge.tokens import normal
from simcluster.eval.judge.verdicts import QUESTIONS, DiagnosisVerdict, QuestionAnswer
from simcluster.tasks.model import NO_FAULT

#: How people say that nothing is wrong, or not any more.
_NOTHING = re.compile(
    r"\bno (?:\w+ ){0,2}(?:fault|incident|problem|root cause|issue|outage|action)s?\b|\bnothing (?:\w+ ){0,2}wrong\b"
    r"|\bnothing (?:has )?to (?:be )?(?:repair|fix|do|mitigat)\w*|\bfalse (?:alarm|positive)s?\b"
    r"|\b(?:healed|recovered|resolved|ended|over|gone|passed|cleared)\b[^.;\n]{0,30}"
    r"\b(?:by|on) (?:itself|its own|their own|themselves)\b"
    r"|\beverything (?:is|looks|was) (?:\w+ )?(?:healthy|fine|well|normal)\b|\bself-heal\w+"
)


def judge_faultless(
    answer: str | Mapping[str, Any] | None, inventory: Sequence[str], over: Collection[str] = ()
) -> DiagnosisVerdict:
    """Grade an answer of any form about a world without a fault.

    Args:
        inventory: `Kind/name` of the components there are.
        over: kinds of cause that were at work and are over.
    """
    reading = reading_of(answer, inventory)
    says_so = NO_FAULT in reading.families or bool(_NOTHING.search(normal(as_text(answer or "")).lower()))
    strange = [one for one in reading.families if one != NO_FAULT and one not in over]
    if reading.empty:
        right, why = False, "nothing was answered"
    elif strange or reading.unknown:
        right, why = False, f"claims {', '.join(strange) or 'a cause'} where there is no fault"
    else:
        right, why = says_so, "says that there is no fault" if says_so else "does not say that there is no fault"
    return DiagnosisVerdict(tuple(QuestionAnswer(*question, right, why) for question in QUESTIONS))
