"""Signs of names, words and amounts: which of a text are those of the incident, and what is said where they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from simcluster.eval.judge.clauses import ABOUT, ACQUIT, FINE, MANY, NOT, ONLY, Heard, Known, percent
from simcluster.eval.judge.learned import NO_CAUSE
from simcluster.eval.judge.particulars import Particulars
from simcluster.eval.judge.reading import Reading
from simcluster.eval.judge.values import amounts, same, says_value

_WORD = re.compile(r"[a-z0-9_*][a-z0-9_./:%*@-]*[a-z0-9_%*]|[a-z0-9]")
_AMOUNT = re.compile(r"[-+]?\d+(?:\.\d+)?[a-z%]{0,7}")
_NAME = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]*|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_CAPS = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4,}")
#: Longer words are no names.
_NAME_MAX = 60
_QUOTED = re.compile(r"[`\"“'‘]([^`\"”'’\n]{2,40})[`\"”'’]")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
#: A longer word of the parameters is not met by chance.
_MARK = 5
#: So many words behind a setting stands what it is set to.
_NEAR = 4
_SWITCHES = frozenset(["on", "off", "true", "false", "none"])


def of_particulars(said: Sequence[Heard], known: Known, reading: Reading) -> dict[str, int]:
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
            if one.families.get(known.family, 0) >= ABOUT
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
        "told words": percent(sum(word in lower for word in whole), len(whole)),  # integers
        "told numbers": len({*params.numbers}),
        "told number said": int(any(_agrees(w, "amount", params) for w in _AMOUNT.findall(text)))
        if params.numbers
        else -1,
        "keys said": min(sum(key in lower for key in params.keys), 4),  # integers
        "keys": min(len(params.keys), 8),
        "key fine": min(sum(key in one.text for one in said if one.fine >= FINE for key in params.keys), 4),  # integers
        "details said": percent(sum(says_value(text, k, v) for k, v in details.items()), len(details))
        if details
        else -1,  # integers
        "detail fine": min(
            sum(says_value(one.text, "", v) for one in said if one.fine >= FINE for v in details.values()), 3
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


def of_what_is_so(said: Sequence[Heard], known: Known) -> dict[str, int]:
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
            f"{name} clauses": min(len(over), MANY),
            f"{name} least fine": min((one.fine for one in over), default=-1),
            f"{name} most fine": max((one.fine for one in over), default=-1),
            f"{name} mean fine": sum(one.fine for one in over) // len(over) if over else -1,  # integers
            f"{name} denied": min(sum(one.sentence.denies_within(one.clause) for one in over), 4),  # integers
            f"{name} acquitted": min(sum(one.sentence.acquits_within(one.clause) for one in over), 4),  # integers
            f"{name} negated": min(sum(bool(NOT.search(one.text)) for one in over), 4),  # integers
            f"{name} cleared": min(sum(bool(ACQUIT.search(one.text)) for one in over), 4),  # integers
            f"{name} right": max((one.families.get(known.family, 0) for one in over), default=-1),
            f"{name} first": min((percent(said.index(one), len(said)) for one in over), default=-1),
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
            bool(NOT.search(one.text)) for one in said if one.families.get(known.family, 0) >= ABOUT
        ),  # integers
        "right cleared": sum(
            bool(ACQUIT.search(one.text)) for one in said if one.families.get(known.family, 0) >= ABOUT
        ),  # integers
        "only about": sum(
            len(ONLY.findall(one.text)) for one in said if one.families.get(known.family, 0) >= ABOUT
        ),  # integers
    }


def of_settings(said: Sequence[Heard], known: Known) -> dict[str, int]:
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
        "own all": percent(len(own & names), len(own)),
        "own many": min(len(own & names), MANY),
        "own there": min(len(own), MANY),
        "causes also": len(known.also),
        "causes also least": min(much.values(), default=-1),
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
        return any(same(one, other) for one in amounts(word) for other in params.numbers)
    pieces = [piece for piece in re.split(r"[/:@.=]+", word) if len(piece) > 1]
    hits = sum(piece in params.pieces or piece in params.keys for piece in pieces)  # integers
    return bool(pieces) and hits >= len(pieces) - (len(pieces) > 3)
