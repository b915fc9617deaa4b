"""One sentence of a diagnosis: what it names, and which of its parts are said, denied, supposed or follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from simcluster.eval.judge.entities import Roster
from simcluster.eval.judge.lexicon import Hit
from simcluster.eval.judge.tokens import Token, tokens
from simcluster.eval.judge.vocabulary import (
    Pattern,
    cue_of,
    cues,
    hints_of,
    labels,
    lexicon,
    patterns_of,
    phrases_for,
    predicates_of,
    topics_of,
    vocabulary,
    ways_of,
    words,
)

#: Patterns with their families by the phrase that they begin with.
Known = Mapping[str, Sequence[tuple[str, Pattern]]]
Role = Literal["cause", "said", "effect", "aside", "denied", "void"]

#: A key of several words before its value is a name: `atlas-disk-full=true`.
_KEY = re.compile(r"(?<![\w./-])\w+(?:-\w+)+(?==)")
#: What makes a count of what is ready of it: "0/1".
_OF_SEVERAL = re.compile(r"/[1-9]")
#: Marks that end the reach of a denial.
_MARKS = frozenset(
    [",", "(", ")", ":", ";", ".", "—", "–", "-", "->", "=>", "→", "and", "but", "only", "just", "simply"]
)
#: And words with which what is denied has been said.
_CLAUSES = _MARKS | {"that", "which", "whose", "where", "when", "as"}
#: A denial reaches so many words.
_REACH = 8
#: Where a clause begins.
_CLAUSE_BEGINS = frozenset(
    [
        ",",
        ";",
        ":",
        ".",
        "(",
        ")",
        "->",
        "→",
        "and",
        "but",
        "that",
        "which",
        "when",
        "whenever",
        "once",
        "because",
        "since",
        "so",
    ]
)
#: So far in front of a word the clause in which it stands begins, if it is one about what was named.
_ASIDE = 5
#: So many words before "so" may be nothing but a greeting.
_HEY = 3
#: What is said of a list is looked for over so many words.
_LIST_REACH = 14
#: A member of such a list has so many words; half as many where only commas join them.
_ITEM_WORDS = 4
#: Marks that no list goes over.
_ENDS = frozenset([";", ".", "(", ")", ":", "->", "=>", "→", "—", "–", "but"])
_ARROWS = frozenset(["->", "=>", "→"])
_LABEL_WORDS = 6
#: Words that may follow a label's own: "effect on the shop", "kernel log of worker-2".
_LABEL_MORE = 4
#: A line of so many words without a mark or any of these is no sentence.
_SALAD = 9


class Evidence(NamedTuple):
    """A kind of cause that is named.

    Attributes:
        family: of it.
        start, end: the words between which its phrases stand.
        anchor: the word at which the first of its phrases begins.
        role: of the part in which it stands.
        kinds: of the objects that can have it; any if empty.
    """

    family: str
    start: int
    end: int
    anchor: int
    role: Role
    kinds: tuple[str, ...] = ()


class Span(NamedTuple):
    """A part of a sentence: from a word to before another, and what it is."""

    start: int
    end: int
    role: Role


class Sentence:
    """What one normalised sentence says.

    Attributes:
        found: its words.
        mentions: components that it names.
        spans: its parts.
        evidence: kinds of cause that it names; topics, hints: those that it speaks of, a hint for each phrase.
        ways: of kinds of cause that it tells of, as `family respect way`.
        label: what a label in front of a colon, or a heading, makes of it; empty without one.
        heading: whether it is a heading alone.
        maybe, question: how sure it is.
        blames: whether it says in so many words that something is the cause.
        affirmed: names of components in parts that are said or follow, of which it does not say that they are in order.
        exonerated, cleared: components and words of which it does.
    """

    def __init__(self, text: str, roster: Roster, section: str = "") -> None:
        self.text = text
        self.found = tokens(text)
        self.mentions = roster.mentions(text, self.found)
        self._keys = [match.span() for match in _KEY.finditer(text)]
        self.hits = sorted([*lexicon().hits(self.found), *self._kinds(roster)])
        self._cues: dict[str, list[Hit]] = {}
        for hit in self.hits:
            for name in cue_of().get(hit.phrase, ()):
                self._cues.setdefault(name, []).append(hit)
        self.label, body, self.heading = self._labelled()
        self.question = text.rstrip().endswith("?")
        self.maybe = any(not self._in_aside(hit) for hit in self._cue("maybe"))
        whole = self._whole_role(self.label or section)
        self.spans = [Span(0, len(self.found), whole)] if whole else self._cut(body, (self.label or section) == "cause")
        self.evidence = self._beside([one for span in self.spans for one in self._evidence_in(span, patterns_of())])
        spoken = [one for span in self.spans for one in self._evidence_in(span, topics_of())]
        self.topics = [
            one
            for one in spoken
            if not any(m.start <= one.anchor < m.end for m in self.mentions) and not self._other_said(one)
        ]
        self.hints = [
            one
            for span in self.spans
            for name in dict.fromkeys(hit.phrase for hit in self.hits if hit.phrase in hints_of())
            for one in self._evidence_in(span, {name: hints_of()[name]})
            if not self._other_said(one)
        ]
        if self._hollow(roster):
            self.evidence, self.topics, self.hints = [], [], []
        self.ways = [one.family for span in self.spans if span.role in ("cause", "said") for one in self._ways_in(span)]
        self.blames = whole in ("", "cause") and self._blames()
        self.affirmed = self._affirmed()
        acquits = bool(self._cue("acquits"))
        fine = [m.name for m in self.mentions if acquits and not m.address and self._is_fine(m.start, m.end)]
        self.exonerated = tuple(dict.fromkeys(fine))
        self.cleared = [one.text for at, one in enumerate(self.found) if acquits and self._cleared(at, at + 1)]

    def _kinds(self, roster: Roster) -> list[Hit]:
        """Words for the kinds of objects that are named and whose kind says what they are: ConfigMaps, policies."""
        return [
            Hit(mention.start, mention.end, phrase)
            for mention in self.mentions
            if not mention.address and mention.sure and len(roster.kinds[mention.name]) == 1
            for kind in roster.kinds[mention.name] & words("specific")
            for phrase in phrases_for(kind)
        ]

    def _in_aside(self, hit: Hit) -> bool:
        """Whether a word stands in a clause about what was named just before: "the number that it may have"."""
        opened = [at for at in range(max(0, hit.start - _ASIDE), hit.start) if self.found[at].text in words("relative")]
        return bool(opened) and not any(self.found[at].text in _MARKS for at in range(opened[-1], hit.start))

    def _affirmed(self) -> tuple[str, ...]:
        """Components that it names in a part that is said, a cause or an effect, and does not acquit or deny."""
        spans = [span for span in self.spans if span.role not in ("denied", "void")]
        inside = [m for m in self.mentions for span in spans if span.start <= m.start < span.end and not m.address]
        return tuple(dict.fromkeys(m.name for m in inside if not self._cleared(m.start, m.end)))

    def _is_fine(self, start: int, end: int) -> bool:
        """Whether it says of a component as a whole, not of a part or the process of it, that it is in order."""
        of = start > 0 and self.found[start - 1].text in words("links") | words("skipped")
        copula = end < len(self.found) and self.found[end].text in words("copulas")
        return (
            copula
            and not of
            and any(hit.start in (end, end + 1, end + 2) for hit in self._cue("acquits"))
            and (self._cleared(start, end))
        )

    def _cleared(self, start: int, end: int) -> bool:
        """Whether it says that what stands there is in order, or that it is not that."""
        own = frozenset(range(start, end))
        return _acquitted(end, own, self.hits, self.found) or denied(Hit(start, end, ""), self.hits, self.found, own)

    def _hollow(self, roster: Roster) -> bool:
        """Whether it only names objects, or says of them only that something is wrong: of no kind of cause."""
        empty = {kind.lower() for mention in self.mentions for kind in roster.kinds[mention.name]} | words("vague")
        inside = {at for mention in self.mentions for at in range(mention.start, mention.end)}
        return bool(inside) and all(at in inside or one.text in empty for at, one in enumerate(self.found))

    def _cue(self, name: str) -> list[Hit]:
        return self._cues.get(name, [])

    def _labelled(self) -> tuple[str, int, bool]:
        """The role of the label, the word behind it, and whether there is nothing behind it."""
        colon = next((i for i, token in enumerate(self.found[: _LABEL_WORDS + 4]) if token.text == ":"), None)
        words = [
            token for token in self.found if token.text not in (".", ")", "-", "#", "=") and not token.text.isdigit()
        ]
        heading = colon is None and len(words) <= _LABEL_WORDS and not self.mentions
        if colon is None and not heading:
            return "", 0, False
        if any(mention.start == 0 and mention.sure for mention in self.mentions):
            return "", 0 if colon is None else colon + 1, False  # "recommendationservice: …"
        head = self.found if colon is None else self.found[:colon]
        role = _label_role(head)
        bare = colon is not None and all(token.text in (":", ".", "-", "=") for token in self.found[colon:])
        return role, 0 if colon is None else colon + 1, bool(role) and (heading or bare)

    def _whole_role(self, label: str) -> Role | Literal[""]:
        """The role of the sentence if it has but one."""
        if label == "denial":
            return "denied"
        if label in ("effect", "aside"):
            return "effect" if label == "effect" else "aside"
        if self._advises():
            return "aside"
        if (
            self._salad()
            or label == "action"
            or self.question
            or self._cue("reported")
            or self._cue("questioned")
            or self._cue("ended")
        ):
            return "void"
        supposed = [hit for hit in self._cue("supposed") if hit.phrase != "had" or hit.start == 0]
        supposed = [hit for hit in supposed if hit.phrase not in ("were", "had") or hit.start == 0]
        return "void" if supposed and self._cue("would") else ""

    def _advises(self) -> bool:
        """Whether it begins by saying what is to be done: "drop the quota"; "drop rates are high" does not."""
        first = [token.text for token in self.found[:3]]
        noun = {*first[1:]} & (words("copulas") | words("verbs") | {":", "of"})
        return first[:1] != [] and first[0] in words("advises") and not noun and not self._cue("because")

    def _salad(self) -> bool:
        """Whether it is a row of words that says nothing."""
        texts = {token.text for token in self.found}
        return len(self.found) >= _SALAD and not texts & (words("function") | _MARKS) and self.text.isascii()

    def _cut(self, body: int, cause: bool) -> list[Span]:
        """The parts between words that say what follows from what."""
        because, therefore = self._cue("because"), self._cue("therefore")
        if (
            therefore
            and therefore[0].start == body
            and not cause
            and therefore[0].end > body + 1
            and not self._cue("blames")
        ):
            return [Span(body, len(self.found), "effect")]  # "as a result …"
        first = [token.text for token in self.found[body : body + 2]]
        if not cause and len(first) == 2 and first[0] in words("anaphora") and first[1] in words("makes"):
            return [Span(body, len(self.found), "effect")]  # "it makes …"
        marks: list[tuple[int, int, str]] = [
            (hit.start, hit.end, "therefore")
            for hit in therefore
            if hit.start > body + 1 and not self._nobody_knows(body, hit.start)
        ]
        inside = {at for start, end, _ in marks for at in range(start, end)}
        marks += [(hit.start, hit.end, "because") for hit in because if hit.start not in inside]
        marks += [
            (hit.start, hit.end, "turns")
            for hit in self._cue("turns")
            if hit.start not in inside and hit.start > body and self._opens(hit)
        ]
        role: Role = "cause" if cause else "said"
        spans: list[Span] = []
        begun = 0
        for start, end, kind in sorted(marks):
            if start < begun:
                continue
            if kind == "because":
                if start > body:
                    spans.append(Span(begun, start, "effect"))
                role = "cause"
                if start <= body:
                    comma = next((i for i in range(end, len(self.found)) if self.found[i].text == ","), None)
                    if comma is not None:
                        spans.append(Span(end, comma, "cause"))
                        end, role = comma, "effect"
            elif kind == "therefore":
                spans.append(Span(begun, start, "cause" if role == "said" else role))
                role = "effect"
            else:
                spans.append(Span(begun, start, role))
                role = "said" if role != "cause" else role
            begun = end
        spans.append(Span(begun, len(self.found), role))
        return [self._withdrawn(span) for span in spans if span.end > span.start]

    def _opens(self, hit: Hit) -> bool:
        """Whether another thought begins there: "now" within a clause ("is now mandatory") begins none."""
        return hit.phrase not in words("adverbs") or self.found[hit.start - 1].text in _MARKS

    def _nobody_knows(self, begun: int, end: int) -> bool:
        """Whether what does it is only "something", or nothing ("hey, so …"): then what it does is what is said."""
        texts = [token.text for token in self.found[begun:end]]
        if len(texts) <= _SALAD and texts and texts[0] in words("indefinite"):
            return True
        spoken = any(hit.start < end and hit.phrase not in cue_of() for hit in self.hits)
        return not spoken and not any(mention.start < end for mention in self.mentions) and len(texts) <= _HEY

    def _withdrawn(self, span: Span) -> Span:
        gone = any(span.start <= hit.start < span.end for hit in self._cue("withdrawn"))
        return span._replace(role="void") if gone else span

    def _evidence_in(self, span: Span, known: Known) -> list[Evidence]:
        hits = [hit for hit in self.hits if span.start <= hit.start and hit.end <= span.end and not self._in_name(hit)]
        return [
            Evidence(
                one.family,
                one.start,
                one.end,
                one.anchor,
                "denied" if one.denied and span.role != "void" else span.role,
                one.kinds or vocabulary().families[one.family].kinds,
            )
            for one in families_among(hits, self.found, known)
        ]

    def _ways_in(self, span: Span) -> list[Named]:
        """Ways of causes, as `family respect way`, that a part tells of and does not deny."""
        hits = [hit for hit in self.hits if span.start <= hit.start and hit.end <= span.end]
        return [one for one in families_among(hits, self.found, ways_of()) if not one.denied and not self._of_what(one)]

    def _of_what(self, one: Named) -> bool:
        """Whether what is said is said of something in between: "CART_ADDR is set to a host that does not exist"."""
        said = one.predicate
        begun = 0 if said is None else said.start - 1
        return one.subject.end < begun and self.found[begun].text in words("relative")

    def _other_said(self, one: Evidence) -> bool:
        """Whether it is said of what is spoken of that it is gone, which is another cause than the family is."""
        stop = _segment(one.end, self.found)
        gone = [hit for hit in self.hits if one.end <= hit.start < stop and hit.phrase in cues().predicates["gone"]]
        return any(hit.phrase not in predicates_of(one.family, self.found[one.anchor].text) for hit in gone)

    def _beside(self, evidence: list[Evidence]) -> list[Evidence]:
        """Evidence, what stands in a clause on another cause, or on a condition, marked as said by the way.

        "An image *that* asks a wrong port", "*when* users exceed it".
        """
        kept: list[Evidence] = []
        for one in evidence:
            before = next((other for other in reversed(kept) if other.role in ("cause", "said")), None)
            begun = next((i for i in range(one.anchor, -1, -1) if self.found[i].text in _CLAUSE_BEGINS), None)
            opener = "" if begun is None else self.found[begun].text
            related = opener in words("relative") and before is not None and before.end <= (begun or 0)
            related = related and before is not None and self._span_of(before.anchor) == self._span_of(one.anchor)
            condition = opener in words("conditions")
            led = any(self._led_to(other, one) for other in kept if other.role in ("cause", "said"))
            if one.role in ("cause", "said") and led:
                one = one._replace(role="effect")
            kept.append(one._replace(role="aside") if one.role in ("cause", "said") and (related or condition) else one)
        return kept

    def _span_of(self, at: int) -> Span | None:
        return next((span for span in self.spans if span.start <= at < span.end), None)

    def _led_to(self, before: Evidence, one: Evidence) -> bool:
        """Whether an arrow leads from one kind of cause to another: "the label is gone -> no routes"."""
        arrows = [at for at in range(before.end, one.start) if self.found[at].text in _ARROWS]
        return before.family != one.family and any(not self._is_way(at) for at in arrows)

    def _is_way(self, at: int) -> bool:
        """Whether an arrow stands between two names: the way of a call."""
        ends = {m.end for m in self.mentions}, {m.start for m in self.mentions}
        return at in ends[0] and at + 1 in ends[1]

    def _in_name(self, hit: Hit) -> bool:
        """Whether the word is a name, or a piece of one (`user-service`) or of a term (`node selector`)."""
        if any(begun <= self.found[hit.start].start < end for begun, end in self._keys):
            return True
        behind = self.found[hit.end].text if hit.end < len(self.found) else ""
        if self.found[hit.end - 1].text == "service" and behind in ("account", "accounts"):
            return True  # of another thing
        if hit.end - hit.start > 1:
            return False
        if hit.phrase == "0" and _OF_SEVERAL.match(self.text, self.found[hit.start].end):
            return True  # "0/1": of those that are wanted none is ready
        if hit.start > 0 and self.found[hit.start - 1].text in words("naming"):
            return "*" in hit.phrase and len(self.found[hit.start].text) > len(hit.phrase)
        if hit.phrase == "selector*":
            return hit.start > 0 and self.found[hit.start - 1].text in ("node", "affinity")
        if hit.phrase in ("account", "accounts") and hit.start > 0 and self.found[hit.start - 1].text == "service":
            return True
        if hit.phrase not in ("service", "services", "svc", "user", "account"):
            return False
        return any(m.start <= hit.start < m.end and m.end - m.start > 1 for m in self.mentions)

    def _blames(self) -> bool:
        said = [hit for hit in self._cue("blames") if not denied(hit, self.hits, self.found, frozenset())]
        return any(hit.start == 0 or self.found[hit.start - 1].text not in words("anaphora") for hit in said)


def _label_role(head: Sequence[Token]) -> str:
    """What a label makes of what follows: the role of the words that begin it, or else that end it."""
    kept = [token for token in head if token.text not in (".", ")", "-", "(", "=", "the") and not token.text.isdigit()]
    if any(token.text == "," for token in kept):
        return ""
    ends = [
        (len(kept) - hit.end, role)
        for role, known in labels().items()
        for hit in known.hits(kept)
        if hit.start == 0
        and len(kept) - hit.end <= (_LABEL_MORE if hit.end > 1 or hit.phrase not in words("bare") else 0)
    ]
    return min(ends)[1] if ends else ""


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
        return said_of or bool({token.text for token in found[said.end : one.subject.start]} & _MARKS)
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
    acquitted = all_denied or any(_acquitted(at, inside, hits, found) for at in ends)
    stop = _segment(end, found)
    own = frozenset(at for hit in taken for at in range(hit.start, hit.end))
    behind = [hit for choice in choices for hit in choice if start <= hit.start < stop and hit not in taken]
    acquitted = acquitted or any(denied(hit, hits, found, own | frozenset(range(hit.start, hit.end))) for hit in behind)
    said = taken[-1] if len(taken) > 1 else None
    return Named(family, start, end, taken[0].start, acquitted, taken[0], said)


def denied(hit: Hit, hits: Sequence[Hit], found: Sequence[Token], inside: frozenset[int]) -> bool:
    """Whether a word in front of a phrase takes it back; words `inside` the evidence itself do not."""
    begun = hit.start
    while begun > 0 and hit.start - begun < _REACH and found[begun - 1].text not in _CLAUSES:
        begun -= 1
    return any(
        begun <= other.start and other.end <= hit.start and other.start not in inside and not _ended(other, found)
        for other in hits
        if {"denies", "would"} & set(cue_of().get(other.phrase, ()))
    )


def _ended(denial: Hit, found: Sequence[Token]) -> bool:
    """Whether it says that something was so and is not any more, which denies nothing: "no longer grants"."""
    return denial.phrase == "no" and [token.text for token in found[denial.end : denial.end + 1]] == ["longer"]


def _segment(end: int, found: Sequence[Token]) -> int:
    """Where the statement ends to which a word belongs: at the next mark, unless it goes on: "which", "and found …"."""
    while end < len(found) and (
        found[end].text not in _MARKS or [t.text for t in found[end + 1 : end + 2]] in (["which"], ["found"])
    ):
        end += 1
    return end


def _acquitted(end: int, inside: frozenset[int], hits: Sequence[Hit], found: Sequence[Token]) -> bool:
    """Whether what stands behind says that it is in order."""
    stop = _segment(end, found)
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
