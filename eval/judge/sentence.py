"""One sentence of a diagnosis: what it names, and which of its parts are said, denied, supposed or follow."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from simcluster.eval.judge.entities import Roster
from simcluster.eval.judge.lexicon import Hit
from simcluster.eval.judge.matching import MARKS, Known, Named, acquitted, denied, families_among, segment
from simcluster.eval.judge.tokens import Token, tokens
from simcluster.eval.judge.vocabulary import (
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

Role = Literal["cause", "said", "effect", "aside", "denied", "void"]

#: A key of several words before its value is a name: `atlas-disk-full=true`.
_KEY = re.compile(r"(?<![\w./-])\w+(?:-\w+)+(?==)")
#: What makes a count of what is ready of it: "0/1".
_OF_SEVERAL = re.compile(r"/[1-9]")
#: Marks behind which another clause begins.
_PAUSES = frozenset(["—", "–", "-", ";", "."])
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
_ARROWS = frozenset(["->", "=>", "→"])
_LABEL_WORDS = 6
#: Words that may follow a label's own: "effect on the shop", "kernel log of worker-2".
_LABEL_MORE = 4
#: Kinds of objects that run or lead to what runs.
_WORKLOADS = frozenset(["Deployment", "Service", "StatefulSet", "DaemonSet"])
#: Marks between which a clause stands.
BREAKS = frozenset([",", "(", ")", ":", ";", ".", "—", "–", "-", "->", "=>", "→", "but"])
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


class Clause(NamedTuple):
    """What stands between two marks of a part: from a word to before another, and what the part is."""

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
        self._named = [
            (m.start, m.end, roster.kinds[m.name])
            for m in self.mentions
            if m.end > m.start + 1 and roster.kinds[m.name] <= words("specific")
        ]
        self._stands_for = {m.name: _word_for(roster.kinds[m.name]) for m in self.mentions}
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
            if not self._other_said(one) and not self._only_its_kind(one)
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

    @property
    def clauses(self) -> list[Clause]:
        """What stands between the marks of its parts."""
        found = []
        for span in self.spans:
            begun = span.start
            for at in range(span.start, span.end + 1):
                if at == span.end or self.found[at].text in BREAKS:
                    found += [Clause(begun, at, span.role)] if at > begun else []
                    begun = at + 1
        return found

    @property
    def advises(self) -> bool:
        """Whether it begins by saying what is to be done."""
        return self._advises()

    def denies_within(self, clause: Clause) -> bool:
        """Whether a clause has a word of denial."""
        return any(clause.start <= hit.start < clause.end for name in ("denies", "would") for hit in self._cue(name))

    def acquits_within(self, clause: Clause) -> bool:
        """Whether a clause says that something is in order."""
        return any(
            clause.start <= hit.start < clause.end and not denied(hit, self.hits, self.found, frozenset())
            for hit in self._cue("acquits")
        )

    def words_of(self, clause: Clause) -> tuple[str, ...]:
        """Its words, nodes as `nodex` and workloads as `appx`, without other objects."""
        named = {mention.start: mention for mention in self.mentions}
        words, at = [], clause.start
        while at < clause.end:
            mention = named.get(at)
            words += [self.found[at].text] if mention is None else self._stands_for[mention.name]
            at = at + 1 if mention is None else max(mention.end, at + 1)
        return tuple(words)

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
        return bool(opened) and not any(self.found[at].text in MARKS for at in range(opened[-1], hit.start))

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
        return acquitted(end, own, self.hits, self.found) or denied(Hit(start, end, ""), self.hits, self.found, own)

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
        return self._advised_from(-1) and not self._cue("because")

    def _advised_from(self, at: int) -> bool:
        """Whether advice begins behind a mark: "- add a startupProbe"."""
        if at >= 0 and self.found[at].text not in _PAUSES:
            return False
        first = [token.text for token in self.found[at + 1 : at + 4]]
        noun = {*first[1:]} & (words("copulas") | words("verbs") | {":", "of"})
        return first[:1] != [] and first[0] in words("advises") and not noun

    def _salad(self) -> bool:
        """Whether it is a row of words that says nothing."""
        texts = {token.text for token in self.found}
        return len(self.found) >= _SALAD and not texts & (words("function") | MARKS) and self.text.isascii()

    def _cut(self, body: int, cause: bool) -> list[Span]:
        """The parts between words that say what follows from what."""
        because = self._cue("because")
        therefore = [hit for hit in self._cue("therefore") if not self._refers_back(hit)]
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
        advice = next((at for at in range(max(begun - 1, body), len(self.found)) if self._advised_from(at)), None)
        if advice is not None:
            spans.append(Span(begun, max(begun, advice), role))
            begun, role = max(begun, advice), "aside"
        spans.append(Span(begun, len(self.found), role))
        return [self._withdrawn(span) for span in spans if span.end > span.start]

    def _refers_back(self, hit: Hit) -> bool:
        """Whether it ends what only follows from what was said before: "no pod comes up because of it"."""
        ends = all(token.text in MARKS for token in self.found[hit.end :])
        return ends and hit.start > 0 and self.found[hit.start].text == "because"

    def _opens(self, hit: Hit) -> bool:
        """Whether another thought begins there: "now" within a clause ("is now mandatory") begins none."""
        return hit.phrase not in words("adverbs") or self.found[hit.start - 1].text in MARKS

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
            if not self._is_a_piece(one)
        ]

    def _only_its_kind(self, one: Evidence) -> bool:
        """Whether nothing but the kind of an object speaks of it, where it is said to crash: no role does."""
        crashes = any(other.family == "crash" for other in self.evidence)
        return crashes and any(begun <= one.start and one.end <= end for begun, end, _ in self._named)

    def _is_a_piece(self, one: Named) -> bool:
        """Whether it is a piece of the name of an object that cannot have it: the limit of "memory-limit-quota"."""
        can = {*(one.kinds or vocabulary().families[one.family].kinds)}
        return any(
            begun <= one.start and one.end <= end and (one.start, one.end) != (begun, end) and can and not can & kinds
            for begun, end, kinds in self._named
        )

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
        stop = segment(one.end, self.found)
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
        arrows = [at for at in range(before.anchor + 1, one.anchor) if self.found[at].text in _ARROWS]
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


def _word_for(kinds: Collection[str]) -> list[str]:
    """The word by which components of a kind are learned; none of objects, whose kinds would tell the cause."""
    return ["nodex"] if "Node" in kinds else ["appx"] if {*kinds} & _WORKLOADS else []


def _label_role(head: Sequence[Token]) -> str:
    """What a label makes of what follows: the role of the words that begin it, or else that end it."""
    kept = [token for token in head if token.text not in (".", ")", "-", "(", "=", "the") and not token.text.isdigit()]
    if any(token.text == "," for token in kept):
        return ""
    ends = [
        (len(kept) - hit.end, role)
        for role, known in labels().items()
        for hit in known.hits(kept)
        if _is_its_end(hit, len(kept))
        or (
            hit.start == 0
            and len(kept) - hit.end <= (_LABEL_MORE if hit.end > 1 or hit.phrase not in words("bare") else 0)
        )
    ]
    return min(ends)[1] if ends else ""


def _is_its_end(hit: Hit, length: int) -> bool:
    """Whether a label ends with several words that make it one: "things we looked at and dismissed"."""
    return hit.end == length and hit.end - hit.start > 2


def is_way_between(sentence: Sentence, owners: Sequence[str]) -> bool:
    """Whether two names stand for the ends of a way: "between a and b", "from a to b"."""
    for one, other in itertools.pairwise(sentence.mentions):
        if {one.name, other.name} == set(owners):
            before = {token.text for token in sentence.found[max(0, one.start - 2) : one.start]}
            joined = {token.text for token in sentence.found[one.end : other.start]}
            return bool(("between" in before and joined & {"and"}) or joined & {"to", "->", "<->", "→"})
    return False
