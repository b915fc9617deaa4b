"""Signs by which a text that tells of the right cause differs from one that tells of another: numbers, no words.

Of each clause: of which kinds of cause it speaks, as was learned, whether it says that something is wrong or in order,
whom it names, and which names, words and amounts in it are those of the incident, and which are others of their sort.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from simcluster.eval.judge.learned import NO_CAUSE, fine_in, spoken_in
from simcluster.eval.judge.particulars import Particulars, particulars
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.sentence import Clause, Sentence
from simcluster.eval.judge.tokens import QUOTE, normal, sentences, tokens
from simcluster.eval.judge.values import amounts, says_value
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.eval.judge.weighing import families_of
from simcluster.tasks.model import Truth

#: Clauses that are looked at, and sentences in which nothing is named.
_CLAUSES_MAX, _REST_MAX = 160, 40
_CLAIMING = ("cause", "said", "aside")
#: A clause that speaks of a kind of cause with such a share is about it.
_ABOUT = 250
#: From such a share on it says that all is in order.
_FINE = 700
_MANY = 9
_WORD = re.compile(r"[a-z0-9_*][a-z0-9_./:%*@-]*[a-z0-9_%*]|[a-z0-9]")
_AMOUNT = re.compile(r"[-+]?\d+(?:\.\d+)?[a-z%]{0,7}")
_NAME = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]*|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_CAPS = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4,}")
#: Longer words are no names.
_NAME_MAX = 60
_QUOTED = re.compile(r"[`\"“'‘]([^`\"”'’\n]{2,40})[`\"”'’]")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
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
_ACQUIT = re.compile(
    r"\b(?:plays? no|nothing to do|not (?:involved|the cause|related|affected|wrong|touched|changed)|unrelated|"
    r"innocent|ruled out|exonerat\w+|verified|checked|fine|healthy|correct|untouched|unchanged|as it should|"
    r"as always|default|normal|intact|ok|okay|works|good)\b"
)
_NOT = re.compile(
    r"\b(?:no|not|never|without|nothing|none|isn't|wasn't|aren't|weren't|doesn't|don't|didn't|hasn't|nor|neither|off|"
    r"nicht|kein\w*|pas|sin)\b"
)
#: A longer word of the parameters is not met by chance.
_MARK = 5
#: So many words behind a setting stands what it is set to.
_NEAR = 4
_SWITCHES = frozenset(["on", "off", "true", "false", "none"])
_ONLY = re.compile(r"\b(?:only|just|alone|itself|all|every|whole|any|each|both|nothing|none|nobody|no)\b")


class Heard(NamedTuple):
    """A clause: the words of it, what it speaks of, and how likely it says that all is in order."""

    sentence: Sentence
    clause: Clause
    text: str
    families: Mapping[str, int]
    classes: Mapping[str, int]
    fine: int
    names: tuple[str, ...]

    @property
    def claims(self) -> bool:
        """Whether it is said, and not that all is in order."""
        return self.clause.role in _CLAIMING and self.fine < _FINE


class Known(NamedTuple):
    """What a text is held against."""

    truth: Truth
    family: str
    own: Collection[str]
    victims: Collection[str]
    params: Particulars
    allowed: Collection[str]
    also: Collection[str] = ()


def heard(reading: Reading) -> list[Heard]:
    """The clauses of a text, each weighed."""
    found: list[Heard] = []
    for sentence in reading.parsed:
        for clause in sentence.clauses:
            if len(found) == _CLAUSES_MAX:
                return found
            words = sentence.words_of(clause)
            shares = spoken_in(words)
            begun, ended = sentence.found[clause.start].start, sentence.found[clause.end - 1].end
            names = tuple(m.name for m in sentence.mentions if clause.start <= m.start < clause.end and not m.address)
            fine = fine_in(words)
            text = sentence.text[begun:ended].replace(QUOTE, " ")
            found.append(Heard(sentence, clause, text, families_of(shares), shares, fine, names))
    return found


def signs(reading: Reading, known: Known) -> dict[str, int]:
    """All signs of a text, held against what is so."""
    said = heard(reading)
    found: dict[str, int] = {}
    found |= _of_kinds(said, known)
    found |= _of_components(said, known, reading)
    found |= _of_particulars(said, known, reading)
    found |= _of_what_is_so(said, known)
    found |= _of_settings(said, known)
    found |= _of_remedies(said, known)
    found |= _of_manner(said, known, reading)
    return found


def _percent(part: int, whole: int) -> int:
    return 100 * part // whole if whole else 0


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
    about = [one for one in claims if one.families.get(right, 0) >= _ABOUT]
    apart = [one for one in claims if one.families.get(strange, 0) >= _ABOUT] if strange else []
    peak = max(said, key=lambda one: one.families.get(right, 0), default=None)
    far = max(said, key=lambda one: one.families.get(strange, 0), default=None) if strange else None
    first = next(
        (
            one
            for one in claims
            if max(one.families.values(), default=0) >= _ABOUT
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
        "share": _percent(sums.get(right, 0), sums.get(right, 0) + sum(others.values())),  # integers
        "share with consequences": _percent(
            sums.get(right, 0) + allowed, sums.get(right, 0) + allowed + sum(others.values())
        ),  # integers
        "first is right": -1 if first is None else int(first.families.get(right, 0) >= _ABOUT),
        "first is other": -1
        if first is None
        else max((s for n, s in first.families.items() if n in others), default=0),
        "right clauses": min(len(about), _MANY),
        "other clauses": min(len(apart), _MANY),
        "right place": -1 if peak is None else _percent(said.index(peak), len(said)),
        "right in cause": max((one.families.get(right, 0) for one in causes), default=-1),
        "other in cause": max((s for one in causes for n, s in one.families.items() if n in others), default=-1),
        "symptom share": _percent(sums.get("symptom", 0), sum(sums.values())),  # integers
        "vague share": _percent(sums.get("vague", 0), sum(sums.values())),  # integers
        "advice share": _percent(sums.get("advice", 0), sum(sums.values())),  # integers
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
        "own named": min(len(mine), _MANY),
        "own first": -1 if not named else int(named[0][1] in own),
        "own first accused": -1 if not accused else int(accused[0] in own),
        "own at": -1 if not mine else _percent(mine[0][0], len(said)),
        "own among first three": sum(name in own for _, name, _ in named[:3]),  # integers
        "own most": -1 if not named else int(most in own),
        "own share": _percent(len(mine), len(named)),
        "own least fine": min((one.fine for _, _, one in mine), default=-1),
        "own most fine": max((one.fine for _, _, one in mine), default=-1),
        "own denied": sum(one.sentence.denies_within(one.clause) for _, _, one in mine),  # integers
        "own acquitted": sum(one.sentence.acquits_within(one.clause) for _, _, one in mine),  # integers
        "own with right": max((one.families.get(known.family, 0) for _, _, one in mine if one.claims), default=-1),
        "own in cause": sum(one.clause.role == "cause" for _, _, one in mine),  # integers
        "own whole scope": _percent(
            sum(name in counts for name in known.truth.scope), len(known.truth.scope)
        ),  # integers
        "own parts": _share_of_words(known.truth.ref.name, reading.text),
        "victims named": min(sum(name in counts for name in victims), _MANY),  # integers
        "victim first": -1 if not named else int(named[0][1] in victims),
        "strange named": min(len({name for _, name, _ in strange}), _MANY),
        "strange first": -1 if not named else int(named[0][1] not in own | victims),
        "foreign named": min(len({name for _, name, _ in foreign}), _MANY),
        "foreign accused": min(len({name for _, name, one in foreign if one.claims}), _MANY),
        "foreign with right": max(
            (one.families.get(known.family, 0) for _, _, one in foreign if one.claims and not own & {*one.names}),
            default=0,
        ),
        "foreign in cause": min(sum(one.clause.role == "cause" for _, _, one in foreign), _MANY),  # integers
        "foreign more": max((counts[n] for _, n, _ in foreign), default=0)
        - max((counts[n] for n in own if n in counts), default=0),
        "told named": min(sum(name in pieces for name in counts if name not in own), _MANY),  # integers
        "kind beside own": min(beside[True], 3),
        "kind beside other": min(beside[False], 3),
        "kind named": int(kind in reading.text),
    }


def _share_of_words(name: str, text: str) -> int:
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower()) if len(part) > 2]
    return _percent(sum(part in text for part in parts), len(parts))  # integers


def _of_particulars(said: Sequence[Heard], known: Known, reading: Reading) -> dict[str, int]:
    """Names, words and amounts of the text that are those of the incident, and others of their sort."""
    params, raw = known.params, reading.raw
    written = marked(raw)
    names = {m.name.lower() for sentence in reading.parsed for m in sentence.mentions}
    tallies = {
        f"{sort} {fits} {where}": 0
        for sort in ("amount", "port", "word", "marked")
        for fits in ("agrees", "differs")
        for where in ("about", "said", "fine")
    }
    seen: set[tuple[str, str]] = set()
    for one in said:
        place = (
            "fine"
            if not one.claims or one.sentence.acquits_within(one.clause)
            else "about"
            if one.families.get(known.family, 0) >= _ABOUT
            else "said"
        )
        for match in _WORD.finditer(one.text):
            word = match.group()
            sort = _sort(word, one.text[max(0, match.start() - 10) : match.start()], written)
            bare = re.sub(r"-[a-z0-9]{4,10}-[a-z0-9]{5}$", "", word)
            if not sort or (place, word) in seen or bare in names or word in known.own:
                continue
            seen.add((place, word))
            tallies[f"{sort} {'agrees' if _agrees(word, sort, params) else 'differs'} {place}"] += 1
    found = {name: min(count, 6) for name, count in tallies.items()}
    text = reading.text
    whole = [word for word in params.whole if not word.isdigit()]
    lower = " ".join(tokens_of(text))
    details = known.truth.details
    found |= {
        "told words": _percent(sum(word in lower for word in whole), len(whole)),  # integers
        "told numbers": len({*params.numbers}),
        "told number said": int(any(_agrees(w, "amount", params) for w in _AMOUNT.findall(text)))
        if params.numbers
        else -1,
        "keys said": min(sum(key in lower for key in params.keys), 4),  # integers
        "keys": min(len(params.keys), 8),
        "key fine": min(
            sum(key in one.text for one in said if one.fine >= _FINE for key in params.keys), 4
        ),  # integers
        "details said": _percent(sum(says_value(text, k, v) for k, v in details.items()), len(details))
        if details
        else -1,  # integers
        "detail fine": min(
            sum(says_value(one.text, "", v) for one in said if one.fine >= _FINE for v in details.values()), 3
        ),  # integers
        "detail about": min(sum(says_value(one.text, "", v) for one in said if one.claims for v in details.values()), 3)
        if details
        else -1,  # integers
    }
    return found


def marked(raw: str) -> frozenset[str]:
    """Words that a text writes as names, in lower case: in quotes, with capitals inside, in capitals."""
    names = (word for word in _NAME.findall(raw) if len(word) <= _NAME_MAX)
    found = {word.lower() for word in names if _CAMEL.fullmatch(word) or _CAPS.fullmatch(word)}
    return frozenset(found | {word.strip().lower() for word in _QUOTED.findall(raw) if " " not in word.strip()})


def _of_what_is_so(said: Sequence[Heard], known: Known) -> dict[str, int]:
    """What is said where the text names what was changed: that it is wrong, or in order, or not so."""
    values = [value.lower() for value in known.truth.details.values() if len(value) > 1]
    marks = [word for word in known.params.whole | known.params.keys if len(word) > _MARK and word not in known.own]
    found: dict[str, int] = {}
    groups = (
        ("value", values),
        ("mark", marks),
        ("key", [*known.params.keys]),
        ("own", [name.lower() for name in known.own]),
    )
    for name, wanted in groups:
        over = [one for one in said if any(word in one.text for word in wanted)]
        found |= {
            f"{name} clauses": min(len(over), _MANY),
            f"{name} least fine": min((one.fine for one in over), default=-1),
            f"{name} most fine": max((one.fine for one in over), default=-1),
            f"{name} mean fine": sum(one.fine for one in over) // len(over) if over else -1,  # integers
            f"{name} denied": min(sum(one.sentence.denies_within(one.clause) for one in over), 4),  # integers
            f"{name} acquitted": min(sum(one.sentence.acquits_within(one.clause) for one in over), 4),  # integers
            f"{name} negated": min(sum(bool(_NOT.search(one.text)) for one in over), 4),  # integers
            f"{name} cleared": min(sum(bool(_ACQUIT.search(one.text)) for one in over), 4),  # integers
            f"{name} right": max((one.families.get(known.family, 0) for one in over), default=-1),
            f"{name} first": min((_percent(said.index(one), len(said)) for one in over), default=-1),
        }
    blamed = [one for one in said if one.sentence.blames or one.sentence.label == "cause"]
    strange = [
        max((s for n, s in one.families.items() if n not in known.allowed and n not in NO_CAUSE), default=0)
        for one in blamed
    ]
    names = {name for one in blamed for name in one.names}
    others = [
        one
        for one in said
        if one.claims
        and max((s for n, s in one.families.items() if n not in known.allowed and n not in NO_CAUSE), default=0) >= 500
    ]
    rights = [said.index(one) for one in said if one.claims and one.families.get(known.family, 0) >= 500]
    return found | {
        "blamed right": max((one.families.get(known.family, 0) for one in blamed), default=-1),
        "blamed other": max(strange, default=-1),
        "blamed own": -1 if not names else int(bool(names & {*known.own})),
        "blamed foreign": -1 if not names else len(names - {*known.own} - {*known.victims}),
        "other before right": -1 if not others or not rights else int(said.index(others[0]) < rights[0]),
        "first right": rights[0] if rights else -1,
        "first other": said.index(others[0]) if others else -1,
        "right negated": sum(
            bool(_NOT.search(one.text)) for one in said if one.families.get(known.family, 0) >= _ABOUT
        ),  # integers
        "right cleared": sum(
            bool(_ACQUIT.search(one.text)) for one in said if one.families.get(known.family, 0) >= _ABOUT
        ),  # integers
        "only about": sum(
            len(_ONLY.findall(one.text)) for one in said if one.families.get(known.family, 0) >= _ABOUT
        ),  # integers
    }


def _of_settings(said: Sequence[Heard], known: Known) -> dict[str, int]:
    """What is said to stand where something was changed, and whether all causes and all places are told of."""
    places = {word for word in known.params.keys | known.params.whole if len(word) >= _MARK and not word.isdigit()}
    found = {f"set {fits} {where}": 0 for fits in ("agrees", "differs") for where in ("said", "fine")}
    for one in said:
        where = "said" if one.claims and not one.sentence.acquits_within(one.clause) else "fine"
        words = _WORD.findall(one.text)
        for at, word in enumerate(words):
            if word not in places:
                continue
            behind = [each for each in words[at + 1 : at + 1 + _NEAR] if _AMOUNT.fullmatch(each) or each in _SWITCHES]
            for value in behind[:1]:
                fits = _agrees(value, "amount" if _AMOUNT.fullmatch(value) else "word", known.params)
                found[f"set {'agrees' if fits else 'differs'} {where}"] += 1
    names = {name for one in said for name in one.names}
    own = {name for name in known.own if "*" not in name}
    much = {
        family: max((one.families.get(family, 0) for one in said if one.claims), default=0) for family in known.also
    }
    return {
        **{name: min(count, 4) for name, count in found.items()},
        "own all": _percent(len(own & names), len(own)),
        "own many": min(len(own & names), _MANY),
        "own there": min(len(own), _MANY),
        "causes also": len(known.also),
        "causes also least": min(much.values(), default=-1),
    }


def _of_remedies(said: Sequence[Heard], known: Known) -> dict[str, int]:
    """What is to be done, which tells what is meant."""
    over = [
        one
        for one in said
        if one.sentence.label == "action" or one.classes.get("advice", 0) >= _ABOUT or one.sentence.advises
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


def tokens_of(text: str) -> list[str]:
    """Words of a normalised text as they stand, with the marks inside them."""
    return _WORD.findall(text)


def _sort(word: str, before: str, marked: Collection[str]) -> str:
    """Of what sort a word is: an amount, a port, a word with marks inside or one that is written as a name."""
    if _CLOCK.fullmatch(word):
        return ""
    if _AMOUNT.fullmatch(word):
        return "port" if re.search(r"(?:port|dport|:|dpt:)\W{0,3}$", before) else "amount"
    if word in marked:
        return "marked"
    if re.search(r"[_/:.]", word) and re.search(r"[a-z]", word):
        return "word"
    return ""


def _agrees(word: str, sort: str, params: Particulars) -> bool:
    if word in params.pieces or word in params.keys:
        return True
    if sort in ("amount", "port"):
        return any(
            abs(one - other) <= 1e-9 * max(abs(one), abs(other)) for one in amounts(word) for other in params.numbers
        )
    pieces = [piece for piece in re.split(r"[/:@.=]+", word) if len(piece) > 1]
    hits = sum(piece in params.pieces or piece in params.keys for piece in pieces)  # integers
    return bool(pieces) and hits >= len(pieces) - (len(pieces) > 3)


def _of_manner(said: Sequence[Heard], known: Known, reading: Reading) -> dict[str, int]:
    """How sure it is, how long, what it denies, and which way it says that something went."""
    plain = normal(reading.raw).replace(QUOTE, " ")
    read = {one.text for one in reading.parsed}
    rest = [one for one in sentences(normal(reading.raw)) if one not in read][:_REST_MAX]
    shares = [spoken_in(tuple(token.text for token in tokens(one))) for one in rest]
    about = " ; ".join(one.text for one in said if one.claims and one.families.get(known.family, 0) >= _ABOUT)
    claimed = " ; ".join(one.text for one in said if one.claims)
    roles = [one.clause.role for one in said]
    return {
        "hedges": min(len(_HEDGE.findall(plain)), 8),
        "hedges about": min(len(_HEDGE.findall(about)), 4),
        "acquittals": min(len(_ACQUIT.findall(plain)), 8),
        "only": min(len(_ONLY.findall(plain)), 8),
        "up": min(len(_UP.findall(about)), 4),
        "down": min(len(_DOWN.findall(about)), 4),
        "direction": max(-4, min(4, len(_UP.findall(claimed)) - len(_DOWN.findall(claimed)))),
        "words": min(len(plain.split()), 400),
        "sentences": min(len(rest) + len(reading.parsed), 40),
        "clauses": min(len(said), 60),
        "foreign letters": _percent(sum(not letter.isascii() for letter in plain), len(plain)),  # integers
        "digits": _percent(sum(letter.isdigit() for letter in plain), len(plain)),  # integers
        "effects": _percent(roles.count("effect"), len(roles)),
        "causes": _percent(roles.count("cause"), len(roles)),
        "denials": min(sum(one.sentence.denies_within(one.clause) for one in said), 8),  # integers
        "in order": _percent(sum(one.fine >= _FINE for one in said), len(said)),  # integers
        "void": _percent(sum(role in ("void", "denied") for role in roles), len(roles)),  # integers
        "maybe": sum(one.maybe for one in reading.parsed),  # integers
        "questions": sum(one.question for one in reading.parsed),  # integers
        "rest symptom": _percent(sum(one.get("symptom", 0) for one in shares), 1000 * len(shares)),  # integers
        "rest right": max((families_of(one).get(known.family, 0) for one in shares), default=0),
        "rest other": max(
            (s for one in shares for n, s in families_of(one).items() if n not in known.allowed and n not in NO_CAUSE),
            default=0,
        ),
    }


def held_against(
    truth: Truth,
    family: str,
    own: Collection[str],
    victims: Collection[str],
    params: Sequence[tuple[str, str]],
    also: Collection[str] = (),
) -> Known:
    """What is so, ready to hold texts against it; `also` are other kinds of cause at work in the same incident."""
    given = particulars([*params, *truth.details.items()])
    allowed = {family, *vocabulary().families[family].consequences, *also}
    return Known(truth, family, own, victims, given, allowed, sorted({*also} - {family}))
