"""Texts made of others: what is right of one incident said beside, against or instead of what is right of another.

Who names two causes, leaves a choice, or denies the right one is wrong whatever the words; who only rules out another
is right. A right text of one incident is wrong for another. Drawn by a fixed seed from right texts of tasks.
"""

from __future__ import annotations

from random import Random

from tests.eval.judge.labelled_set import Case

#: In place of `$a` stands what is right, in place of `$b` what is right elsewhere.
WRONG = """1. $a 2. $b|Two root causes. First: $a Second: $b|$a Besides that, independently: $b|Causes: (a) $b (b) $a
It is one of two things. $a Or: $b I could not tell which.|Either this: $a Or that: $b|Possibly: $a Possibly: $b
Not sure yet. One hypothesis: $a The other: $b|$a Or maybe it is rather this: $b
I suspected this and ruled it out: $a The real cause: $b|This was checked and is in order, so it is not it: $a Cause: $b
False lead: $a Root cause: $b|My first guess was wrong: "$a" What it is instead: $b|$b It is not so that: $a
Already excluded: $a Verdict: $b|$b|$b|$b|$b|$b|$b"""
WRONGS = WRONG.replace("\n", "|").split("|")
RIGHT = """I suspected this and ruled it out: $b The real cause: $a|False lead: $b Root cause: $a
My first guess was wrong: "$b" What it is instead: $a|Already excluded: $b Verdict: $a|Root cause: $a|Verdict: $a
This was checked and is in order, so it is not it: $b Cause: $a|$a It is not so that: $b|$a|1. $a"""
RIGHTS = RIGHT.replace("\n", "|").split("|")
#: Longer texts are not put together.
_LENGTH_MAX = 400
#: Of such as are wrong, and as are right, so many for each text.
_WRONG_EACH, _RIGHT_EACH = 2, 1


def composed(given: list[Case], apps: dict[str, str]) -> list[Case]:
    """Cases made of right ones.

    Args:
        given: labelled texts.
        apps: application by incident.
    """
    rights = [case for case in given if case.label == "right" and len(case.text) <= _LENGTH_MAX and case.beside.params]
    drawn, found = Random(1), []
    for case in rights:
        others = [
            other
            for other in rights
            if apps[other.incident] == apps[case.incident]
            and other.truth.component != case.truth.component
            and other.truth.family != case.truth.family
            and other.truth.family not in case.beside.families
            and other.truth.ref.name not in case.beside.own
        ]
        if not others:
            continue
        for label, forms, many in (("wrong", WRONGS, _WRONG_EACH), ("right", RIGHTS, _RIGHT_EACH)):
            for form in drawn.sample(forms, many):
                other = drawn.choice(others)
                text = form.replace("$a", case.text.strip()).replace("$b", other.text.strip())
                found.append(case._replace(label=label, text=text))
    return found
