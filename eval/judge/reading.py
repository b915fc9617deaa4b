"""Reads a diagnosis: which causes it claims, of which components, and how sure it is of them.

A text is taken sentence by sentence (`sentence`): parts are said, causes, effects, denied, supposed, taken back. A
kind of cause that is named in a part belongs to the component that the part gives it to, or to the one spoken of
before. What is not said but denied, asked, supposed, reported or long over is no claim; what only follows from a cause
earns nothing. The reader knows no truth.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import re2

from simcluster.eval.judge.blame import doers, said_to_be_broken, subject_of_the_cause
from simcluster.eval.judge.entities import Mention, Roster, roster
from simcluster.eval.judge.lexicon import telling
from simcluster.eval.judge.sentence import Evidence, Sentence, is_way_between
from simcluster.eval.judge.tokens import normal, sentences
from simcluster.eval.judge.vocabulary import cues, hints_of, patterns_of, topics_of, vocabulary, words
from simcluster.eval.judge.weighing import SURELY, in_order, said_aside, speaks_of, spoken, weighed

#: Sentences with something in them that are read; nobody needs as many to name a cause.
SENTENCES_MAX = 150
#: Characters in which values are looked for.
TEXT_MAX = 60_000
#: Characters of it as it was written that are looked at.
RAW_MAX = 20_000
#: Values of a dictionary that are read.
VALUES_MAX = 20_000
#: Longer integers are no values of anything.
_BITS_MAX = 64
#: Characters of a sentence that are read.
SENTENCE_MAX = 1_500
#: Words that an owner which nothing links counts as farther away.
_FAR = 4
#: Words of a line that only says where.
_PLACE_MAX = 14
#: From so many words on a name is no owner if there is one spoken of before.
_TOO_FAR = 9
#: Up to so many words from it a name is right beside a kind of cause.
_CLOSE = 3
#: Shorter words stand for no kind of object.
_KIND_MIN = 4


class Stated(NamedTuple):
    """A kind of cause that is claimed.

    Attributes:
        family: of the vocabulary.
        owners: names of the components to which it is given, the likeliest first.
        role: `cause` if the text says so, else `said`; `aside` in a section of evidence.
        maybe: whether it is one of several possibilities, or only possible.
        sentence: its number.
        between: whether the owners are the two ends of a way, on which it lies.
        felt: whether it is what the owners meet: "pods there see retransmissions".
        held: whether the first of the owners is said to have it: "search has a CPU limit of 10m".
        near: names of all components of its sentence of which nothing says that they are in order.
    """

    family: str
    owners: tuple[str, ...]
    role: str
    maybe: bool
    sentence: int
    between: bool = False
    felt: bool = False
    held: bool = False
    near: tuple[str, ...] = ()


@dataclass
class Reading:
    """What an answer says.

    Attributes:
        stated: causes claimed, consequences of others left out.
        accused: components that are called the cause without a kind of cause.
        mentioned: names of all components named anywhere.
        affirmed: those of them that some sentence names without saying that they are in order, or that it is not so.
        exonerated: those of which nothing is said but that they are in order.
        denied: kinds of cause that are denied, and not claimed elsewhere.
        disowned: kinds of cause that are denied anywhere.
        cleared: words of which it is said that they are in order.
        follows: kinds that only follow from others.
        unknown: whether something is called the cause that is no known kind of cause.
        unread: whether there was more than is read.
        empty: whether nothing was answered.
        text: what was read, normalised.
        ways: of kinds of cause that are told of, as `family respect way`.
        spoken: kinds of cause of which it speaks without denying them, claimed or not.
        parsed: the sentences of a free text.
        raw: its beginning, as it was written.
    """

    stated: list[Stated] = field(default_factory=list)
    accused: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)
    affirmed: list[str] = field(default_factory=list)
    exonerated: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    disowned: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    follows: list[str] = field(default_factory=list)
    unknown: bool = False
    unread: bool = False
    empty: bool = False
    text: str = ""
    ways: list[str] = field(default_factory=list)
    spoken: list[str] = field(default_factory=list)
    parsed: list[Sentence] = field(default_factory=list, repr=False)
    raw: str = field(default="", repr=False)

    @property
    def families(self) -> list[str]:
        """Kinds of cause claimed, in order."""
        return list(dict.fromkeys(one.family for one in self.stated))

    @property
    def blamed(self) -> list[str]:
        """Components claimed to be wrong, in order."""
        return list(dict.fromkeys([*(name for one in self.stated for name in one.owners), *self.accused]))

    @property
    def maybe(self) -> bool:
        """Whether no cause is claimed for sure."""
        return bool(self.stated) and all(one.maybe for one in self.stated)


def read(answer: str | Mapping[str, Any], inventory: Sequence[str]) -> Reading:
    """Read a free text, or a mapping as if its lines were `key: value`.

    Args:
        answer: of any size and depth.
        inventory: `Kind/name` of the components there are.
    """
    text = normal(given := as_text(answer))
    known = roster(tuple(inventory))
    reading = Reading(empty=not text.strip(), raw=given[:RAW_MAX])
    parsed = _parsed(text, known, reading)
    reading.parsed = parsed
    reading.text = "\n".join(one.text for one in parsed)[:TEXT_MAX]
    reading.mentioned = list(dict.fromkeys(m.name for one in parsed for m in one.mentions))
    reading.affirmed = list(dict.fromkeys(name for one in parsed for name in one.affirmed))
    fine = dict.fromkeys(name for one in parsed for name in one.exonerated)
    reading.exonerated = [name for name in fine if name not in reading.affirmed]
    reading.cleared = list(dict.fromkeys(word for one in parsed for word in one.cleared))
    reading.ways = list(dict.fromkeys(way for one in parsed for way in one.ways))
    topics = [topic for one in parsed for topic in (*one.evidence, *one.topics)]
    reading.spoken = list(dict.fromkeys(one.family for one in topics if one.role in ("cause", "said", "effect")))
    stated = _Claims(parsed, known).stated()
    _settle(reading, parsed, stated, known)
    return reading


def as_text(answer: object) -> str:
    """A text as it is, unless it is JSON; anything else flattened to lines, without recursion."""
    if isinstance(answer, str):
        bare = answer.strip()
        if bare[:1] not in ("{", "["):
            return answer
        try:
            answer = json.loads(bare)
        except (ValueError, RecursionError):
            return str(answer)
    lines: list[str] = []
    stack: list[tuple[str, object]] = [("", answer)]
    left = VALUES_MAX  # which also ends what contains itself
    while stack:
        key, value = stack.pop()
        if isinstance(value, (Mapping, list, tuple)):
            if isinstance(value, Mapping):
                value = _joined(value)
            pairs = value.items() if isinstance(value, Mapping) else ((key, item) for item in value)
            inner = [(str(name).replace("_", " "), item) for name, item in itertools.islice(pairs, left)]
            stack.extend(reversed(inner))
            left -= len(inner)
        elif isinstance(value, (str, int, float)) and not (isinstance(value, int) and value.bit_length() > _BITS_MAX):
            if isinstance(value, str) and not value.strip():
                continue
            lines.append(f"{key}: {value}" if key else str(value))
    return "\n".join(lines)


def _joined(given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A mapping in which what is wrong stands behind where, if each is a text of its own."""
    plain = {key: str(key).lower().replace("_", " ") for key, value in itertools.islice(given.items(), VALUES_MAX)
             if isinstance(value, str) and value.strip()}  # fmt: skip
    where = [key for key, name in plain.items() if name in words("where")]
    what = [key for key, name in plain.items() if name in words("what")]
    if len(where) != 1 or len(what) != 1 or len(given) > VALUES_MAX:
        return given
    left = {key: value for key, value in given.items() if key not in (*where, *what)}
    return {what[0]: f"{given[where[0]]}: {given[what[0]]}", **left}


def _parsed(text: str, known: Roster, reading: Reading) -> list[Sentence]:
    """The sentences that are read, each with the section in which it stands."""
    parsed: list[Sentence] = []
    section = ""
    for sentence in _read(sentences(text), known):
        if len(parsed) == SENTENCES_MAX:
            reading.unread = True
            break
        one = Sentence(sentence[:SENTENCE_MAX], known, section)
        reading.unread |= len(sentence) > SENTENCE_MAX
        if one.heading:
            section = one.label
            continue
        if one.hits or one.mentions or spoken(one):
            one.evidence, fine = weighed(one), in_order(one)
            one.affirmed = tuple(name for name in one.affirmed if name not in fine)
            one.exonerated = (*one.exonerated, *fine)
            parsed.append(one)
    return parsed


def _read(said: Iterable[str], known: Roster) -> Iterator[str]:
    """Sentences that may name a component or a kind of cause, or are labels: found in one pass over all of them."""
    for match in _telling(known).finditer("\n".join(said)):
        yield match.group()


@functools.lru_cache(maxsize=16)
def _telling(known: Roster) -> re2._Regexp[str]:
    anywhere, heads = _telling_anyhow()
    some, first = ("|".join(sorted(parts)) for parts in (anywhere | set(map(re2.escape, known.begun)), heads))
    return re2.compile(rf"(?m)^(?:\W*(?:{first})|.*(?:{some})).*$")


@functools.cache
def _telling_anyhow() -> tuple[frozenset[str], frozenset[str]]:
    """Expressions of what tells something anywhere in a sentence, and at its head, whatever components there are."""
    anywhere = telling([*patterns_of(), *topics_of(), *hints_of(), *cues().blames])
    return frozenset(anywhere), frozenset(telling(one for phrases in cues().labels.values() for one in phrases))


class _Claims:
    """Gives each kind of cause to the components that have it."""

    def __init__(self, parsed: Sequence[Sentence], known: Roster) -> None:
        self._parsed = parsed
        self._known = known

    def stated(self) -> list[Stated]:
        found = self._given([sentence.evidence for sentence in self._parsed])
        found = [one for one in found if one.owners or not vocabulary().families[one.family].names] or found
        fit = {one.family for one in found if one.role in ("cause", "said") and self._fits(one)}
        found = [one._replace(role="aside") if one.role in ("cause", "said") and self._strays(one, fit) else one
                 for one in found]  # fmt: skip
        found = self._from_what(self._by_the_way(found))
        if any(one.role in ("cause", "said", "aside") and one.family != "crash" for one in found):
            return found
        for tier in ("learned", "topics", "hints"):
            heard = self._given([spoken(one) if tier == "learned" else getattr(one, tier) for one in self._parsed])
            denied = {one.family for one in (*found, *heard) if one.role == "denied"}
            said = [one for one in heard if one.role in ("cause", "said") and one.family not in denied]
            said = said or [one for one in heard if one.role == "aside" and one.family not in denied]
            said = [one for one in said if self._has(one)]
            meant = _most({one.family: sum(other.family == one.family for other in said) for one in said})  # integers
            if meant and not (tier == "topics" and len({one.family for one in said}) > 1):
                return [*found, *(one for one in said if one.family == meant)]
        return found

    def _by_the_way(self, found: list[Stated]) -> list[Stated]:
        """What is claimed, without what the text hardly speaks of beside another."""
        few = said_aside(self._parsed, {one.family for one in found if one.role in ("cause", "said")})
        return [one._replace(role="aside") if one.role == "said" and one.family in few else one for one in found]

    def _from_what(self, found: list[Stated]) -> list[Stated]:
        """What is claimed, and what a clause surely speaks of without naming it, if all that follows from it."""
        claimed = {one.family for one in found if one.role in ("cause", "said")}
        denied = {one.family for one in found if one.role == "denied"}
        surely = self._given([spoken(one, SURELY) for one in self._parsed]) if claimed else []
        families = vocabulary().families
        known = {name for name, one in families.items() if {*one.kinds} and {*one.kinds} <= words("specific")}
        origins = [
            one for one in surely if one.role in ("cause", "said") and one.family not in claimed | denied | known
        ]
        much = speaks_of(self._parsed)
        return [
            *found,
            *(
                one
                for one in origins
                if claimed <= {*families[one.family].consequences}
                and one.owners
                and all(much.get(one.family, 0) >= much.get(name, 0) for name in claimed)
            ),
        ]

    def _given(self, named: Sequence[Sequence[Evidence]]) -> list[Stated]:
        found, first = [], dict[str, tuple[str, ...]]()
        for number, evidence in enumerate(named):
            sentence = self._parsed[number]
            for one in evidence:
                if self._of_a_kind(sentence, one) or self._its_own(sentence, one):
                    continue
                owners, close = self._owners(number, one)
                if one.role in ("cause", "said"):
                    owners = owners if close else first.get(one.family, owners)
                    if owners:
                        first.setdefault(one.family, owners)
                between = len(owners) == 2 and is_way_between(sentence, owners)
                felt = _felt(sentence, owners, one)
                maybe = sentence.maybe or self._is_alternative(number)
                held = _held(sentence, owners, one)
                found.append(
                    Stated(one.family, owners, one.role, maybe, number, between, felt, held, sentence.affirmed)
                )
        lived = {one.family for one in found if one.role in ("cause", "said") and one.owners and not one.felt}
        return [one._replace(role="effect") if one.felt and one.family in lived else one for one in found]

    def _is_alternative(self, number: int) -> bool:
        """Whether it, or one of the two behind it, begins with "or"."""
        texts = [[token.text for token in one.found[:1]] for one in self._parsed[number : number + 3]]
        return ["or"] in texts

    def _fits(self, one: Stated) -> bool:
        """Whether one of those to whom it is given is of a kind that can have it."""
        can = set(vocabulary().families[one.family].kinds)
        return not can or any(can & self._known.kinds[name] for name in one.owners)

    def _has(self, one: Stated) -> bool:
        """Whether something is named that alone can have it: a Job, by its name or its kind."""
        can = set(vocabulary().families[one.family].kinds)
        if not can or not can <= words("specific"):
            return True
        spoken = {token.text.rstrip("s") for each in self._parsed for token in each.found}
        return bool({kind.lower() for kind in can} & spoken) or any(can & self._known.kinds[m] for m in one.owners)

    def _strays(self, one: Stated, meant: Collection[str]) -> bool:
        """Whether nobody named can have it, and what is meant follows from it: a packet filter in a workload's pod."""
        follows = meant if one.family in words("general") else vocabulary().families[one.family].consequences
        return not self._fits(one) and bool({*meant} & {*follows})

    def _of_a_kind(self, sentence: Sentence, one: Evidence) -> bool:
        """Whether it is said of an object that is named and cannot have it: a ClusterRole is "the role".

        So is what only those of certain names can have, if none of these is named: a ClusterRole's grants, no store's.
        """
        family, word = vocabulary().families[one.family], sentence.found[one.anchor].text.rstrip("s")
        mentions = [m for each in self._parsed for m in each.mentions if m.sure]
        named = {kind for m in mentions for kind in self._known.kinds[m.name]} & words("specific")
        if not named or {*family.kinds} & named:
            return False
        if family.names and not any(fnmatchcase(m.name, pattern) for m in mentions for pattern in family.names):
            return True
        return len(word) >= _KIND_MIN and any(kind.lower().endswith(word) for kind in named)

    def _its_own(self, sentence: Sentence, one: Evidence) -> bool:
        """Whether what only a node can have is said to be done by a workload: "frontend uses 380 % CPU"."""
        spends = {at for at in range(one.start, one.end) if sentence.found[at].text in words("spends")}
        doing = [m for m in sentence.mentions if m.end in spends and m.sure and not m.address]
        return vocabulary().families[one.family].kinds == ("Node",) and any(
            "Node" not in self._known.kinds[m.name] for m in doing
        )

    def _owners(self, number: int, one: Evidence) -> tuple[tuple[str, ...], bool]:
        """Names of the components that have it, and whether it stands right beside them."""
        sentence = self._parsed[number]
        if any(token.text == "it" for token in sentence.found[one.start : one.end + 1]):
            for mentions in self._earlier(number):  # "the kernel kills it"
                meant = [m for m in self._fitting(mentions, one.kinds) if _is_called(m.name, one.family)]
                its = [m for m in sentence.mentions if {*one.kinds} & words("specific") & self._known.kinds[m.name]]
                if meant and not its and not any(m.end <= one.start for m in sentence.mentions):
                    return (meant[0].name,), True
        span = next(span for span in sentence.spans if span.start <= one.anchor < span.end)
        inside = [m for m in sentence.mentions if span.start <= m.start < span.end and not m.address]
        own = self._fitting(inside, one.kinds)
        active = self._fitting([m for m in inside if not _done_to(sentence, m)], one.kinds)
        such = [m for each in self._parsed for m in each.mentions if m.name in self._such(one)]
        own, active = ([m for m in some if not such or m in such] for some in (own, active))
        if any(m.start == one.anchor for m in own) and "Node" in vocabulary().families[one.family].kinds:
            own = [m for m in own if "Node" in self._known.kinds[m.name]]  # a component of nodes, such as kube-proxy
            active = [m for m in active if m in own]
        nearest = min((self._distance(sentence, m, one) for m in active), default=_TOO_FAR)
        if nearest < _TOO_FAR:
            return self._nearest(sentence, active, one), nearest <= _CLOSE
        before = [m for m in sentence.mentions if m.start < span.start and not m.address]
        behind = [m for m in sentence.mentions if m.start >= span.end and not m.address]
        if vocabulary().families[one.family].names and not such:
            return (), False
        for mentions in (before, *self._earlier(number), active, own, behind, *self._later(number), such):
            fitting = self._fitting(mentions, one.kinds)
            fitting = [m for m in fitting if not such or m in such]
            if fitting:
                return (fitting[0].name,), False
        if such or vocabulary().families[one.family].names:
            return (), False
        for kinds in (one.kinds, ()):  # the only one of whom the text speaks, of whatever kind
            alone = {m.name for each in self._parsed for m in self._fitting(each.mentions, kinds) if not m.address}
            if len(alone) == 1:
                return tuple(alone), False
        return (), False

    def _earlier(self, number: int) -> list[list[Mention]]:
        """Names in sentences before, the last first; those of victims after all others."""
        before = [self._parsed[i] for i in range(number - 1, -1, -1)]
        kept = [s for s in before if s.spans[0].role not in ("effect", "denied", "void")]
        rest = [s for s in before if s not in kept]
        ill = [[m for m in s.mentions if not m.address and m.name in s.affirmed] for s in kept]
        return [*ill, *([m for m in s.mentions if not m.address] for s in (*kept, *rest))]

    def _later(self, number: int) -> list[list[Mention]]:
        """Names in lines behind that only say where: "Node: worker-2"."""
        behind = [s for s in self._parsed[number + 1 :] if s.spans[0].role not in ("effect", "denied", "void")]
        behind = [s for s in behind if s.blames or (":" in s.text and len(s.found) <= _PLACE_MAX)]
        return [[m for m in s.mentions if not m.address] for s in behind]

    def _fitting(self, mentions: Sequence[Mention], can: Collection[str]) -> list[Mention]:
        """Those whose kind can have such a cause; sure ones before names that are everyday words."""
        kinds = set(can)
        fitting = [m for m in mentions if not kinds or kinds & self._known.kinds[m.name]]
        return [m for m in fitting if m.sure] or fitting

    def _such(self, one: Evidence) -> frozenset[str]:
        """Components whose names or kinds say that they have it: a database, a NetworkPolicy."""
        patterns = vocabulary().families[one.family].names
        own = set(one.kinds) & words("specific")
        return frozenset(
            name
            for name, kinds in self._known.kinds.items()
            if own & kinds or any(fnmatchcase(name, pattern) for pattern in patterns)
        )

    def _nearest(self, sentence: Sentence, own: Sequence[Mention], one: Evidence) -> tuple[str, ...]:
        first = min(own, key=lambda mention: self._distance(sentence, mention, one))
        start = end = own.index(first)
        while start > 0 and _listed(sentence, own[start - 1], own[start]):
            start -= 1
        while end + 1 < len(own) and _listed(sentence, own[end], own[end + 1]):
            end += 1
        return tuple(dict.fromkeys(mention.name for mention in own[start : end + 1]))

    @staticmethod
    def _distance(sentence: Sentence, mention: Mention, one: Evidence) -> int:
        if (
            mention.start == 0
            and sentence.found[mention.end : mention.end + 1]
            and sentence.found[mention.end].text == ":"
        ):
            return 0  # what the sentence is about
        if mention.start <= one.anchor < mention.end:
            return 0  # what is named is what has it
        if mention.end <= one.anchor:
            return (
                one.anchor - mention.end - (3 if mention.own else 0) + (_FAR if _of_else(sentence, mention, one) else 0)
            )
        before = mention.start - 1
        while before >= 0 and sentence.found[before].text in words("skipped"):
            before -= 1
        linked = before >= 0 and sentence.found[before].text in words("links")
        return max(0, mention.start - one.end) + (0 if linked else _FAR)


def _is_called(name: str, family: str) -> bool:
    """Whether a component of that name can have such a cause."""
    patterns = vocabulary().families[family].names
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _most(counts: Mapping[str, int]) -> str:
    """The one that counts most; empty if several do."""
    first = sorted(counts, key=lambda name: -counts[name])[:2]
    return first[0] if first and (len(first) == 1 or counts[first[0]] > counts[first[1]]) else ""


def _done_to(sentence: Sentence, mention: Mention) -> bool:
    """Whether a component is the object of what another does."""
    before = mention.start - 1
    while before >= 0 and sentence.found[before].text in words("skipped"):
        before -= 1
    if before > 0 and sentence.found[before].text in words("towards"):
        before -= 1
    text = sentence.found[before].text if before >= 0 else ""
    return text.startswith(tuple(words("done_to"))) and not text.endswith(("ion", "ions"))


def _of_else(sentence: Sentence, mention: Mention, one: Evidence) -> bool:
    """Whether something else is said to be the component's: "a slowdown of inventory"."""
    before = mention.start - 1
    while before >= 0 and sentence.found[before].text in words("skipped"):
        before -= 1
    if before < 1 or sentence.found[before].text != "of":
        return False
    return sentence.found[before - 1].text not in words("beside") and not one.start <= before - 1 < one.end


def _held(sentence: Sentence, owners: Sequence[str], one: Evidence) -> bool:
    """Whether a component is said to have it: the subject, and right behind it "has"."""
    names = [m for m in sentence.mentions if m.name in owners[:1] and m.end <= one.anchor <= m.end + _CLOSE]
    return any(token.text in words("has") for m in names for token in sentence.found[m.end : m.end + 1])


def _felt(sentence: Sentence, owners: Sequence[str], one: Evidence) -> bool:
    """Whether a component meets it: "frontend sees packet loss"."""
    names = [m for m in sentence.mentions if m.name in owners and m.end <= one.anchor]
    return bool(names) and any(token.text in words("meets") for token in sentence.found[names[-1].end : one.end])


def _because_of_it(parsed: Sequence[Sentence], sentence: Sentence, known: Roster) -> list[Stated]:
    """What an object is that the sentence in front names, if that is called the cause by "because of it"."""
    number = parsed.index(sentence)
    its = {"of", "it", "this", "that", ".", ",", "!"}
    called = any(
        span.role == "cause" and {token.text for token in sentence.found[span.start : span.end]} <= its
        for span in sentence.spans
    )
    before = parsed[number - 1].mentions if called and number else []
    meant = [m for m in before if m.name in parsed[number - 1].affirmed]
    return [
        Stated(family, (mention.name,), "cause", sentence.maybe, number)
        for mention in meant[:1]
        for family, each in vocabulary().families.items()
        if {*each.kinds[:1]} & known.kinds[mention.name] & words("specific")
    ]


def _listed(sentence: Sentence, one: Mention, other: Mention) -> bool:
    """Whether two names are members of one list."""
    between = sentence.found[one.end : other.start]
    if between and {token.text for token in between} <= {"->", "→"}:
        return True  # the ends of a way
    if one.start == other.start:
        return True  # "all nodes"
    return (
        bool(between)
        and all(token.text in words("lists") for token in between)
        and {",", "and", "or", "/"} & {t.text for t in between} != set()
    )


def _done_by(sentence: Sentence, one: Stated, known: Roster) -> Stated:
    """What only follows, given to who does that from which it follows: "a opens connections, so b's table is full"."""
    can = set(vocabulary().families[one.family].kinds)
    spans = [span for span in sentence.spans if span.role == "cause"]
    does = [m for m in sentence.mentions for span in spans if span.start <= m.start < span.end and m.sure]
    doer = next((m.name for m in does if not m.address and can & known.kinds[m.name]), "")
    return one._replace(owners=(doer,)) if doer else one


def _settle(reading: Reading, parsed: Sequence[Sentence], stated: Sequence[Stated], known: Roster) -> None:
    """What is claimed in the end: the causes, without what follows from them."""
    said = [one for one in stated if one.role in ("cause", "said")]
    said = said or [one for one in stated if one.role == "aside"]
    families = vocabulary().families
    follows = {
        c
        for one in said
        for c in families[one.family].consequences
        if one.family not in families.get(c, families[one.family]).consequences
    }
    reading.stated = [one for one in said if one.family not in follows]
    if not reading.stated:
        # what is said to follow from something that is no known kind of cause
        reading.stated = [
            _done_by(parsed[one.sentence], one, known)
            for one in stated
            if one.role == "effect" and not one.felt and one.family not in words("general")
        ]
    claimed = {one.family for one in stated if one.role in ("cause", "said")}
    reading.disowned = sorted({one.family for one in stated if one.role == "denied"})
    reading.denied = sorted({one.family for one in stated if one.role == "denied"} - claimed)
    reading.follows = sorted(
        {one.family for one in stated if one.role == "effect" or one.family in follows} - set(reading.families)
    )
    for sentence in parsed:
        if sentence.spans[0].role in ("cause", "said") and not sentence.maybe:
            harming = [*doers(sentence), *said_to_be_broken(sentence)]
            reading.accused += [name for name in dict.fromkeys(harming) if name not in reading.accused]
            reading.stated += _because_of_it(parsed, sentence, known)
        if not sentence.maybe:
            doing = subject_of_the_cause(sentence)
            reading.accused += [name for name in doing if name not in reading.accused]
        if sentence.blames and not any(one.role in ("cause", "said") for one in sentence.evidence):
            named = [m.name for m in sentence.mentions if not m.address and m.sure]
            if not named:
                spoken = {one.family for one in (*sentence.topics, *sentence.hints)}  # "the quota is the cause"
                reading.unknown = reading.unknown or not spoken & set(reading.families)
            elif not any(one.role == "denied" for one in sentence.evidence):
                reading.accused += [name for name in named[:1] if name not in reading.accused]


def mentions(text: str, names: Sequence[str], *, addresses: bool = False) -> list[str]:
    """Components named in a text, in order of first mention; within addresses only if `addresses`."""
    known = roster(tuple(f"Component/{name}" for name in names))
    found = [m for sentence in sentences(normal(text)) for m in Sentence(sentence, known).mentions]
    return list(dict.fromkeys(m.name for m in found if addresses or not m.address))
