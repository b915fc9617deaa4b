"""Which kinds of cause the phrases of a clause name, and whether they are denied."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simcluster.eval.judge.lexicon import Hit
from simcluster.eval.judge.tokens import Token, tokens
from simcluster.eval.judge.vocabulary import Pattern, cue_of, lexicon, patterns_of, words

#: Patterns with their families by the phrase that they begin with.
Known = Mapping[str, Sequence[tuple[str, Pattern]]]
#: Marks that end the reach of a denial.
MARKS = frozenset(
    [",", "(", ")", ":", ";", ".", "—", "–", "-", "->", "=>", "→", "and", "but", "only", "just", "simply"]
)
#: And words with which what is denied has been said.
_CLAUSES = MARKS | {"that", "which", "whose", "where", "when", "as"}
#: A denial reaches so many words.
_REACH = 8
#: What is said of a list is looked for over so many words.
_LIST_REACH = 14
#: A member of such a list has so many words; half as many where only commas join them.
_ITEM_WORDS = 4
#: What ends something that was so: "not labelled any longer".
_ANY_MORE = frozenset(["longer", "more", "anymore"])
#: Marks that no list goes over.
_ENDS = frozenset([";", ".", "(", ")", ":", "->", "=>", "→", "—", "–", "but"])


def families_among(hits: Sequence[Hit], found: Sequence[Token], known: Known) -> list[Named]:
    """Families whose patterns are among the phrases of a part, in the order of their subjects."""
    by_phrase: dict[str, list[Hit]] = {}
    for hit in hits:
        by_phrase.setdefault(hit.phrase, []).append(hit)
    best: dict[str, Named] = {}
    longer = [hit for hit in hits if hit.end - hit.start > 1 and hit.phrase in known]
    for phrase, every in by_phrase.items():
        for family, pattern in known.get(phrase, ()):
            if not all(text in by_phrase for text in pattern.all):
                continue
            anchors = [hit for hit in every if not any(_of_another(hit, other, family, known) for other in longer)]
            if not anchors:
                continue
            rest = [by_phrase[text] for text in pattern.all[1:]]
            rest += [[hit for text in pattern.any for hit in by_phrase.get(text, ())]] if pattern.any else []
            rest = [
                [hit for hit in c if not any(_of_another(hit, other, family, known) for other in longer)] for c in rest
            ]
            if not all(rest):
                continue
            one = _whole(family, [anchors, *rest], hits, found)._replace(kinds=pattern.kinds)
            if family not in best or (best[family].denied, best[family].start) > (one.denied, one.start):
                best[family] = one
    best = {
        family: one for family, one in best.items() if not _is_doer(one, found) and not _said_of_another(one, found)
    }
    kept = [one for one in best.values() if not any(_nearer(other, one, found) for other in best.values())]
    return sorted(kept, key=lambda one: one.anchor)


def _said_of_another(one: Named, found: Sequence[Token]) -> bool:
    """Whether what is said of it is said of what stands in front: "the operator is broken and … the TidbCluster"."""
    said = one.predicate
    if said is None or said.end > one.subject.start or found[said.start].text not in words("broken"):
        return False
    copula = said.start > 1 and found[said.start - 1].text in words("copulas")
    return copula and found[said.start - 2].text not in words("relative") | words("anaphora") | {"what", "there"}


def _is_doer(one: Named, found: Sequence[Token]) -> bool:
    """Whether its subject is who does what is said: "killed by the kubelet"."""
    if one.predicate is None or one.predicate.end > one.subject.start:
        return False
    between = [token.text for token in found[one.predicate.end : one.subject.start]]
    return between[:1] == ["by"] and {*between[1:]} <= words("skipped")


class Named(NamedTuple):
    """A family that is named: its words, those of its subject and of what is said of it, whether it is denied."""

    family: str
    start: int
    end: int
    anchor: int
    denied: bool
    subject: Hit
    predicate: Hit | None
    kinds: tuple[str, ...] = ()


def _of_another(hit: Hit, longer: Hit, family: str, known: Known) -> bool:
    """Whether a word is only part of the subject of another family: the service of a service account."""
    within = longer.start <= hit.start and hit.end <= longer.end and longer.end - longer.start > hit.end - hit.start
    return within and all(name != family for name, _ in known[longer.phrase])


def _nearer(other: Named, one: Named, found: Sequence[Token]) -> bool:
    """Whether what is said of the subject of one is said of that of another, which stands between.

    A verb is no subject: "the probe is *configured* against the wrong port" speaks of the probe.
    """
    if other is one or other.family in words("general"):
        return False
    if one.family in words("carriers") and 0 <= other.subject.start - one.subject.end <= 1:
        return True  # "environment variable GOGC": what it is called says what it is
    if one.family in words("carriers") and other.subject.end <= one.subject.start:
        way = [token.text for token in found[other.subject.end : one.subject.start]]  # "GOGC=1 in their env"
        if len(way) <= _ITEM_WORDS and {*way} & words("links") and not {*way} & (words("verbs") | words("copulas")):
            return True
    said, same = one.predicate, other.predicate
    if said is None or same is None or max(said.start, same.start) >= min(said.end, same.end):
        return False
    if other.subject.end <= said.start and said.end <= one.subject.start:  # of what stands in front of it
        joined = {token.text for token in found[other.subject.end : said.start]}
        said_of = bool(joined) and joined <= words("copulas") | words("fillers")  # "forwarding is switched off there"
        return said_of or bool({token.text for token in found[said.end : one.subject.start]} & MARKS)
    if found[one.subject.start].text in words("verbal"):
        return other.subject.end <= one.subject.start
    if found[other.subject.start].text in words("verbal"):
        return False
    if not one.subject.end <= other.subject.start < said.start:
        return False
    between = {token.text for token in found[one.subject.end : other.subject.start]}
    if between & words("needs"):
        return False  # both are said: a webhook that calls a Service which does not exist
    return not between <= words("lists") or not between


def _whole(family: str, choices: Sequence[Sequence[Hit]], hits: Sequence[Hit], found: Sequence[Token]) -> Named:
    inside = frozenset(at for choice in choices for hit in choice for at in range(hit.start, hit.end))
    taken, all_denied = [], False
    anchor_at = choices[0][0].start
    for choice in choices:
        open_ones = [hit for hit in choice if not denied(hit, hits, found, inside)]
        all_denied = all_denied or not open_ones
        taken.append(min(open_ones or choice, key=lambda hit: abs(hit.start - anchor_at)))
        anchor_at = taken[0].start
    start, end = min(hit.start for hit in taken), max(hit.end for hit in taken)
    ends = {end, *(hit.end for hit in taken if not any(hit.end <= other.start for other in taken) or hit is taken[0])}
    fine = all_denied or any(acquitted(at, inside, hits, found) for at in ends)
    stop = segment(end, found)
    own = frozenset(at for hit in taken for at in range(hit.start, hit.end))
    behind = [hit for choice in choices for hit in choice if start <= hit.start < stop and hit not in taken]
    fine = fine or any(denied(hit, hits, found, own | frozenset(range(hit.start, hit.end))) for hit in behind)
    said = taken[-1] if len(taken) > 1 else None
    return Named(family, start, end, taken[0].start, fine, taken[0], said)


def denied(hit: Hit, hits: Sequence[Hit], found: Sequence[Token], inside: frozenset[int]) -> bool:
    """Whether a word in front of a phrase takes it back; words `inside` the evidence itself do not."""
    begun = hit.start
    while begun > 0 and hit.start - begun < _REACH and found[begun - 1].text not in _CLAUSES:
        begun -= 1
    before = [one for one in hits if begun <= one.start and one.end <= hit.start and one.start not in inside]
    return any({"denies", "would"} & set(cue_of().get(one.phrase, ())) and not _ended(one, found) for one in before)


def _ended(denial: Hit, found: Sequence[Token]) -> bool:
    """Whether it says that something was so and is not any more, which denies nothing: "no longer grants"."""
    behind = [token.text for token in found[denial.end : segment(denial.end, found)]]
    if denial.phrase == "no" and behind[:1] == ["longer"]:
        return True
    more = itertools.pairwise([*behind, ""])
    return any(one == "anymore" or (one == "any" and other in _ANY_MORE) for one, other in more)


def segment(end: int, found: Sequence[Token]) -> int:
    """Where the statement ends to which a word belongs: at the next mark, unless it goes on: "which", "and found …"."""
    while end < len(found) and (
        found[end].text not in MARKS or [t.text for t in found[end + 1 : end + 2]] in (["which"], ["found"])
    ):
        end += 1
    return end


def acquitted(end: int, inside: frozenset[int], hits: Sequence[Hit], found: Sequence[Token]) -> bool:
    """Whether what stands behind says that it is in order."""
    stop = segment(end, found)
    behind = [hit for hit in hits if end - 1 <= hit.start < stop and hit.end > end]
    acquits = [hit for hit in hits if "acquits" in cue_of().get(hit.phrase, ()) and not _of_a_compound(hit, found)]
    return _among_the_sound(end, acquits, found) or any(
        hit in acquits and hit.start not in inside - {end - 1} and not denied(hit, hits, found, inside)
        for hit in behind
    )


def _of_a_compound(hit: Hit, found: Sequence[Token]) -> bool:
    """Whether it is the first half of a word or of a phrase: "clean-up", "is out of date"."""
    behind = [token.text for token in found[hit.end : hit.end + 1]]
    return behind == ["up"] or (found[hit.end - 1].text == "out" and behind == ["of"])


def _among_the_sound(end: int, acquits: Sequence[Hit], found: Sequence[Token]) -> bool:
    """Whether a word is a member of a list said to be in order: "CPU and disk are fine"."""
    begins = {hit.start for hit in acquits}
    joined, item, items = False, 0, list[int]()
    for at in range(end, min(end + _LIST_REACH, len(found))):
        text = found[at].text
        if at in begins:
            items.append(item)
            return len(items) > 1 and max(items) <= (_ITEM_WORDS if joined else _ITEM_WORDS // 2)
        if text == ":" and at + 1 in begins:
            continue  # "memory and network: fine"
        if text in words("verbs") or text in _ENDS or (text[0].isdigit() and not _is_number_of(text)):
            return False
        if text in (",", "and", "or", "nor"):
            joined = joined or text != ","
            items.append(item)
            item = 0
        elif text in words("copulas"):
            joined = True
        else:
            item += 1
    return False


def _is_number_of(text: str) -> bool:
    """Whether it is the number in a name, as of "worker-2", and no value."""
    return text.isdigit() and len(text) < 3


def claimed(text: str) -> list[str]:
    """Families that a normalised clause claims, in the order of the vocabulary."""
    found = tokens(text)
    return sorted(one.family for one in families_among(lexicon().hits(found), found, patterns_of()) if not one.denied)
