"""Signs by which a text that tells of the right cause differs from one that tells of another: numbers, no words.

Of each clause: of which kinds of cause it speaks, as was learned, whether it says that something is wrong or in order,
whom it names, and which names, words and amounts in it are those of the incident, and which are others of their sort.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simcluster.eval.judge.clauses import ABOUT, ACQUIT, FINE, MANY, ONLY, Heard, Known, heard, percent
from simcluster.eval.judge.learned import NO_CAUSE, spoken_in
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.specifics import of_particulars, of_settings, of_what_is_so
from simcluster.eval.judge.tokens import QUOTE, normal, sentences, tokens
from simcluster.eval.judge.values import says_value
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.eval.judge.weighing import families_of

#: Sentences in which nothing is named that are looked at.
_REST_MAX = 40
_UP = re.compile(
    r"\b(?:raised|increased|higher|ahead|too (?:high|many|much|large|big|long)|bumped|added|more|fast|future|enabled|"
    r"doubled|above|exceeds?|on|true|up to)\b"
)
_DOWN = re.compile(
    r"\b(?:lowered|reduced|decreased|lower|behind|too (?:low|few|little|small|short|tight)|cut|removed|deleted|less|"
    r"fewer|past|slow|disabled|halved|below|missing|gone|off|false|down|lost|dropped)\b"
)
_HEDGE = re.compile(
    r"\b(?:maybe|might|may|could|perhaps|possibly|probably|unsure|not (?:sure|certain|clear)|unclear|unknown|either|or|"
    r"whichever|whatever|guess\w*|suspect\w*|suspicio\w+|seems?|looks? like|no idea|couldn't|further|investigat\w+|"
    r"not yet|needs? to|would need|if|don't know|do not know|cannot say|can't say|can't tell|open question|"
    r"not conclusive|vielleicht|quizás|peut)\b|\?"
)


def signs(reading: Reading, known: Known) -> dict[str, int]:
    """All signs of a text, held against what is so."""
    said = heard(reading)
    found: dict[str, int] = {}
    found |= _of_kinds(said, known)
    found |= _of_components(said, known, reading)
    found |= of_particulars(said, known, reading)
    found |= of_what_is_so(said, known)
    found |= of_settings(said, known)
    found |= _of_remedies(said, known)
    found |= _of_manner(said, known, reading)
    return found


def _of_kinds(said: Sequence[Heard], known: Known) -> dict[str, int]:
    """Of which kinds of cause clauses speak, and what else they say of the right one."""
    claims = [one for one in said if one.claims]
    sums: dict[str, int] = {}
    most: dict[str, int] = {}
    for one in claims:
        for name, share in one.families.items():
            sums[name] = sums.get(name, 0) + share
            most[name] = max(most.get(name, 0), share)
    right = known.family
    others = {name: total for name, total in sums.items() if name not in known.allowed and name not in NO_CAUSE}
    strange = max(others, key=lambda name: others[name], default="")
    allowed = sum(sums.get(name, 0) for name in known.allowed if name != right)  # integers
    about = [one for one in claims if one.families.get(right, 0) >= ABOUT]
    apart = [one for one in claims if one.families.get(strange, 0) >= ABOUT] if strange else []
    peak = max(said, key=lambda one: one.families.get(right, 0), default=None)
    far = max(said, key=lambda one: one.families.get(strange, 0), default=None) if strange else None
    first = next(
        (
            one
            for one in claims
            if max(one.families.values(), default=0) >= ABOUT
            and max(one.families, key=lambda n: one.families[n]) not in NO_CAUSE
        ),
        None,
    )
    causes = [one for one in claims if one.clause.role == "cause"]
    ranked = sorted((name for name in sums if name not in NO_CAUSE), key=lambda name: -sums[name])
    found = {
        "right sum": min(sums.get(right, 0), 9000),
        "right most": most.get(right, 0),
        "right rank": ranked.index(right) if right in ranked else 20,
        "other sum": min(others.get(strange, 0), 9000),
        "other most": max((most[name] for name in others), default=0),
        "lead": sums.get(right, 0) - others.get(strange, 0),
        "share": percent(sums.get(right, 0), sums.get(right, 0) + sum(others.values())),  # integers
        "share with consequences": percent(
            sums.get(right, 0) + allowed, sums.get(right, 0) + allowed + sum(others.values())
        ),  # integers
        "first is right": -1 if first is None else int(first.families.get(right, 0) >= ABOUT),
        "first is other": -1
        if first is None
        else max((s for n, s in first.families.items() if n in others), default=0),
        "right clauses": min(len(about), MANY),
        "other clauses": min(len(apart), MANY),
        "right place": -1 if peak is None else percent(said.index(peak), len(said)),
        "right in cause": max((one.families.get(right, 0) for one in causes), default=-1),
        "other in cause": max((s for one in causes for n, s in one.families.items() if n in others), default=-1),
        "symptom share": percent(sums.get("symptom", 0), sum(sums.values())),  # integers
        "vague share": percent(sums.get("vague", 0), sum(sums.values())),  # integers
        "advice share": percent(sums.get("advice", 0), sum(sums.values())),  # integers
        "right in fine": max((one.families.get(right, 0) for one in said if not one.claims), default=0),
        "right in order": max((one.families.get(right, 0) * one.fine // 1000 for one in said), default=0),
    }
    for name, top, family in (("right", peak, right), ("other", far, strange)):
        found |= _of_peak(name, top if top is not None and top.families.get(family, 0) else None, known)
    return found | _of_ways(claims, known)


def _of_peak(name: str, one: Heard | None, known: Known) -> dict[str, int]:
    """What else the clause says that speaks most of a kind of cause."""
    if one is None:
        return {
            f"{name} peak {what}": -1
            for what in ("fine", "denied", "acquitted", "own", "strange", "victim", "effect", "void", "maybe")
        }
    sentence, clause = one.sentence, one.clause
    sen = {m.name for m in sentence.mentions if not m.address}
    return {
        f"{name} peak fine": one.fine,
        f"{name} peak denied": int(sentence.denies_within(clause)),
        f"{name} peak acquitted": int(sentence.acquits_within(clause)),
        f"{name} peak own": 2 * bool({*one.names} & {*known.own}) + bool(sen & {*known.own}),
        f"{name} peak strange": sum(
            n not in known.own and n not in known.victims and n not in known.params.pieces
            for n in dict.fromkeys(one.names)
        ),  # integers
        f"{name} peak victim": sum(
            n in known.victims and n not in known.own for n in dict.fromkeys(one.names)
        ),  # integers
        f"{name} peak effect": int(clause.role == "effect"),
        f"{name} peak void": int(clause.role in ("void", "denied")),
        f"{name} peak maybe": int(sentence.maybe or sentence.question),
    }


def _of_ways(claims: Sequence[Heard], known: Known) -> dict[str, int]:
    """Of the ways of the right kind of cause, of the right one and of others."""
    right, wrong = set[str](), set[str]()
    for ways in vocabulary().families[known.family].ways.values():
        mine = {name for name, way in ways.items() if {*way.faults} & {*known.truth.faults}}
        right |= mine
        wrong |= {*ways} - mine if mine else set()
    wrong -= right
    own = max(
        (
            s
            for one in claims
            for n, s in one.classes.items()
            if n.startswith(f"{known.family} ") and {*n.split(" ")[1:]} & right
        ),
        default=0,
    )
    other = max(
        (
            s
            for one in claims
            for n, s in one.classes.items()
            if n.startswith(f"{known.family} ") and {*n.split(" ")[1:]} & wrong and not {*n.split(" ")[1:]} & right
        ),
        default=0,
    )
    return {
        "way right": own if right else -1,
        "way other": other if right else -1,
        "way lead": own - other if right else 0,
    }


def _of_components(said: Sequence[Heard], known: Known, reading: Reading) -> dict[str, int]:
    """Whom the text names, where, and in what clauses."""
    own, victims, pieces = {*known.own}, {*known.victims} - {*known.own}, known.params.pieces
    named = [(at, name, one) for at, one in enumerate(said) for name in one.names]
    counts: dict[str, int] = {}
    for _, name, _ in named:
        counts[name] = counts.get(name, 0) + 1
    mine = [each for each in named if each[1] in own]
    strange = [each for each in named if each[1] not in own and each[1] not in victims]
    foreign = [each for each in strange if each[1] not in pieces]
    accused = [name for _, name, one in named if one.claims]
    most = max(counts, key=lambda name: counts[name], default="")
    kind = known.truth.ref.kind.lower()
    beside: dict[bool, int] = {True: 0, False: 0}
    for sentence in reading.parsed:
        for m in sentence.mentions:
            near = [
                t.text for t in (*sentence.found[max(0, m.start - 1) : m.start], *sentence.found[m.end : m.end + 1])
            ]
            if any(text.rstrip("s") == kind for text in near):
                beside[m.name in own] += 1
    return {
        "own named": min(len(mine), MANY),
        "own first": -1 if not named else int(named[0][1] in own),
        "own first accused": -1 if not accused else int(accused[0] in own),
        "own at": -1 if not mine else percent(mine[0][0], len(said)),
        "own among first three": sum(name in own for _, name, _ in named[:3]),  # integers
        "own most": -1 if not named else int(most in own),
        "own share": percent(len(mine), len(named)),
        "own least fine": min((one.fine for _, _, one in mine), default=-1),
        "own most fine": max((one.fine for _, _, one in mine), default=-1),
        "own denied": sum(one.sentence.denies_within(one.clause) for _, _, one in mine),  # integers
        "own acquitted": sum(one.sentence.acquits_within(one.clause) for _, _, one in mine),  # integers
        "own with right": max((one.families.get(known.family, 0) for _, _, one in mine if one.claims), default=-1),
        "own in cause": sum(one.clause.role == "cause" for _, _, one in mine),  # integers
        "own whole scope": percent(
            sum(name in counts for name in known.truth.scope), len(known.truth.scope)
        ),  # integers
        "own parts": _share_of_words(known.truth.ref.name, reading.text),
        "victims named": min(sum(name in counts for name in victims), MANY),  # integers
        "victim first": -1 if not named else int(named[0][1] in victims),
        "strange named": min(len({name for _, name, _ in strange}), MANY),
        "strange first": -1 if not named else int(named[0][1] not in own | victims),
        "foreign named": min(len({name for _, name, _ in foreign}), MANY),
        "foreign accused": min(len({name for _, name, one in foreign if one.claims}), MANY),
        "foreign with right": max(
            (one.families.get(known.family, 0) for _, _, one in foreign if one.claims and not own & {*one.names}),
            default=0,
        ),
        "foreign in cause": min(sum(one.clause.role == "cause" for _, _, one in foreign), MANY),  # integers
        "foreign more": max((counts[n] for _, n, _ in foreign), default=0)
        - max((counts[n] for n in own if n in counts), default=0),
        "told named": min(sum(name in pieces for name in counts if name not in own), MANY),  # integers
        "kind beside own": min(beside[True], 3),
        "kind beside other": min(beside[False], 3),
        "kind named": int(kind in reading.text),
    }


def _share_of_words(name: str, text: str) -> int:
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower()) if len(part) > 2]
    return percent(sum(part in text for part in parts), len(parts))  # integers


def _of_remedies(said: Sequence[Heard], known: Known) -> dict[str, int]:
    """What is to be done, which tells what is meant."""
    over = [
        one
        for one in said
        if one.sentence.label == "action" or one.classes.get("advice", 0) >= ABOUT or one.sentence.advises
    ]
    names = {name for one in over for name in one.names}
    text = " ; ".join(one.text for one in over)
    values = [value for value in known.truth.details.values() if value]
    return {
        "remedies": min(len(over), 5),
        "remedy right": max((one.families.get(known.family, 0) for one in over), default=-1),
        "remedy other": max(
            (s for one in over for n, s in one.families.items() if n not in known.allowed and n not in NO_CAUSE),
            default=-1,
        ),
        "remedy own": -1 if not names else int(bool(names & {*known.own})),
        "remedy foreign": -1
        if not names
        else min(len({n for n in names if n not in known.own and n not in known.params.pieces}), 4),
        "remedy value": -1 if not over else sum(says_value(text, "", value) for value in values),  # integers
        "remedy keys": -1 if not over else min(sum(key in text for key in known.params.keys), 4),  # integers
    }


def _of_manner(said: Sequence[Heard], known: Known, reading: Reading) -> dict[str, int]:
    """How sure it is, how long, what it denies, and which way it says that something went."""
    plain = normal(reading.raw).replace(QUOTE, " ")
    read = {one.text for one in reading.parsed}
    rest = [one for one in sentences(normal(reading.raw)) if one not in read][:_REST_MAX]
    shares = [spoken_in(tuple(token.text for token in tokens(one))) for one in rest]
    about = " ; ".join(one.text for one in said if one.claims and one.families.get(known.family, 0) >= ABOUT)
    claimed = " ; ".join(one.text for one in said if one.claims)
    roles = [one.clause.role for one in said]
    return {
        "hedges": min(len(_HEDGE.findall(plain)), 8),
        "hedges about": min(len(_HEDGE.findall(about)), 4),
        "acquittals": min(len(ACQUIT.findall(plain)), 8),
        "only": min(len(ONLY.findall(plain)), 8),
        "up": min(len(_UP.findall(about)), 4),
        "down": min(len(_DOWN.findall(about)), 4),
        "direction": max(-4, min(4, len(_UP.findall(claimed)) - len(_DOWN.findall(claimed)))),
        "words": min(len(plain.split()), 400),
        "sentences": min(len(rest) + len(reading.parsed), 40),
        "clauses": min(len(said), 60),
        "foreign letters": percent(sum(not letter.isascii() for letter in plain), len(plain)),  # integers
        "digits": percent(sum(letter.isdigit() for letter in plain), len(plain)),  # integers
        "effects": percent(roles.count("effect"), len(roles)),
        "causes": percent(roles.count("cause"), len(roles)),
        "denials": min(sum(one.sentence.denies_within(one.clause) for one in said), 8),  # integers
        "in order": percent(sum(one.fine >= FINE for one in said), len(said)),  # integers
        "void": percent(sum(role in ("void", "denied") for role in roles), len(roles)),  # integers
        "maybe": sum(one.maybe for one in reading.parsed),  # integers
        "questions": sum(one.question for one in reading.parsed),  # integers
        "rest symptom": percent(sum(one.get("symptom", 0) for one in shares), 1000 * len(shares)),  # integers
        "rest right": max((families_of(one).get(known.family, 0) for one in shares), default=0),
        "rest other": max(
            (s for one in shares for n, s in families_of(one).items() if n not in known.allowed and n not in NO_CAUSE),
            default=0,
        ),
    }
