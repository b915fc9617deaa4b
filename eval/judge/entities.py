"""Components of the world as people write them: in pieces, without `service`, as a pod, within an address."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from simcluster.eval.judge.tokens import QUOTE, STAR, Token
from simcluster.eval.judge.vocabulary import words

#: A stem so long is no word of everyday English.
_LONG = 12
#: A shorter one may be a component's where a clause begins with it.
_SHORT = 6
_BEGINS = frozenset([",", ":", ";", "(", "->", "→", "and", "but", "that", "because"])
#: Between the ends of a way.
_ARROWS = frozenset(["->", "→", "=>"])
_PIECES_MAX = 4
#: Kinds whose only object is named by the kind.
SOLE = ("Namespace", "Ingress", "CronJob")
#: "all of the … nodes" has so many words.
_GROUP_WORDS = 3
#: A part of a name that stands for it has so many letters.
_PART_MIN = 5
#: Letters of a name that are looked for first.
_BEGUN = 4
#: Words for many machines, and how the names of those begin.
_MANY = {"nodes": "", "workers": "worker", "machines": "", "hosts": ""}
#: And for all that runs.
_RUNNING, _RUN = ("services", "workloads", "microservices"), frozenset(["Deployment", "StatefulSet"])
#: What stands behind a name in that of a pod: hashes have no vowels (rand.SafeEncodeString of apimachinery).
_POD = re.compile(
    r"-(?:(?:(?=[a-z]*\d)[a-z0-9]{5,10}|[b-df-hj-np-tv-xz]{5,10})-[a-z0-9]{5}|\d+|pods?|deployment|service|deploy)(?![\w-])"
)
#: A piece of a name is shortened to no fewer letters.
_CUT_MIN = 3
#: What a component is called by a part that only it has.
_ALSO = {"corefile": "coredns"}
#: What makes a longer name of it.
_LONGER = re.compile(r"-[^\s>-]")
#: A part of a machine, in front of its name: "sda@worker-1".
_PART = re.compile(r"(?<![\w])(?:sd[a-z]|nvme\d+n\d+|vd[a-z]|eth\d+|ens\d+|eno\d+|cpu\d*|fan\d*|disk|drive|nic)@$")
_ADDRESS = re.compile(r":\d|\.[a-z]")


class Mention(NamedTuple):
    """A component that is named.

    Attributes:
        start, end: numbers of its first word, and of the one behind its last.
        name: as in the inventory.
        sure: whether it can be nothing else.
        address: within an address, or what something is set to, which says nothing of the component itself.
        own: possessive: "worker-2's".
    """

    start: int
    end: int
    name: str
    sure: bool = True
    address: bool = False
    own: bool = False


class Roster:
    """The names of a world.

    Attributes:
        kinds: of the objects of a name.
        begun: the letters with which names begin.

    Args:
        inventory: `Kind/name`.
    """

    def __init__(self, inventory: Sequence[str]) -> None:
        self.kinds: dict[str, set[str]] = {}
        for entry in inventory:
            kind, _, name = entry.partition("/")
            self.kinds.setdefault(name, set()).add(kind)
        self._whole = {_letters(name): name for name in self.kinds}
        self._whole |= {f"{_letters(name)}s": name for name in self.kinds if name.endswith("*")}  # all workers
        self._whole |= {word: name for word, name in _ALSO.items() if name in self.kinds}
        self._short: dict[str, str] = {}
        for name in self.kinds:
            stem = _letters(name.removesuffix("service"))
            if stem and stem not in self._whole:
                self._short[stem] = name
        self._parts = _parts(self.kinds)
        every = [*self._whole, *self._short, *self._parts]
        self.begun = frozenset(word[:_BEGUN] for word in every)
        sole = {kind.lower(): [name for name in self.kinds if kind in self.kinds[name]] for kind in SOLE}
        self._sole = {word: names[0] for word, names in sole.items() if len(names) == 1}
        nodes = sorted(name for name in self.kinds if "Node" in self.kinds[name])
        self._many = {word: [name for name in nodes if name.startswith(stem)] for word, stem in _MANY.items()}
        run = [name for name in self.kinds if {*self.kinds[name]} & _RUN and not name.endswith("*")]
        self._many |= dict.fromkeys(_RUNNING, run)
        self._begun = {word[:n] for word in (*self._whole, *self._short) for n in range(1, len(word) + 1)}

    def mentions(self, sentence: str, found: Sequence[Token]) -> list[Mention]:
        """Components named in a normalised sentence, in order."""
        mentions, at = [], 0
        while at < len(found):
            group = self._group(sentence, found, at)
            if group:
                mentions += group
                at += 1
                continue
            mention = self._at(sentence, found, at) if found[at].text in self._begun else None
            mention = mention or self._cut_short(sentence, found, at)
            if mention is None and found[at].text in self._parts:
                mention = self._by_part(sentence, found, at)
            if mention is None and found[at].text in self._sole:
                mention = Mention(at, at + 1, self._sole[found[at].text])
            if mention is None and found[at].text in self._many and _all_of(found, at):
                mentions += [Mention(at, at + 1, name) for name in self._many[found[at].text]]
            if mention is not None:
                mentions.append(mention)
            at = at + 1 if mention is None else mention.end
        return _sure_in_lists(self._spelled_out(mentions, found), found)

    def _group(self, sentence: str, found: Sequence[Token], at: int) -> list[Mention]:
        """All whose names begin so, or end so: "mongodb-*", "*-service"."""
        begun, end = found[at].start, found[at].end
        if sentence[max(0, begun - 2) : begun] == f"{STAR}-" and not _LONGER.match(sentence, end):
            return [Mention(at, at + 1, name) for name in self.kinds if name.endswith(f"-{found[at].text}")]
        if sentence[end : end + 2] != f"-{STAR}" or sentence[max(0, found[at].start - 1) : found[at].start] == "-":
            return []
        return [Mention(at, at + 1, name) for name in self.kinds if name.startswith(f"{found[at].text}-")]

    def _spelled_out(self, mentions: list[Mention], found: Sequence[Token]) -> list[Mention]:
        """Names in brackets behind such a group, which only say how those of the group end: "mongodb-* (geo, rate)"."""
        groups = [one for one, other in itertools.pairwise(mentions) if one.start == other.start]
        for group in groups[:1]:
            stem = found[group.start].text
            for at, one in enumerate(mentions):
                if one.start > group.start and f"{stem}-{one.name}" in self.kinds:
                    mentions[at] = one._replace(name=f"{stem}-{one.name}", sure=True)
        return mentions

    def _cut_short(self, sentence: str, found: Sequence[Token], at: int) -> Mention | None:
        """The only component whose name that may be with pieces cut short: "ctl-plane", "payment-svc"."""
        end = at + 1
        while end < min(at + _PIECES_MAX, len(found)) and sentence[found[end - 1].end : found[end].start] == "-":
            end += 1
        begun = found[at].start
        if end == at + 1 or sentence[max(0, begun - 1) : begun] in ("-", ".", "_", "@", "/"):
            return None
        pieces = [token.text for token in found[at:end]]
        meant = [name for name in self.kinds if _is_cut(pieces, name.lower().split("-"))]
        if len(meant) != 1 or _LONGER.match(sentence, found[end - 1].end):
            return None
        return Mention(at, end, meant[0], own=found[end - 1].own)

    def _by_part(self, sentence: str, found: Sequence[Token], at: int) -> Mention | None:
        """A component that a part of its name stands for, beside its kind: "the archiver CronJob"."""
        name = self._parts[found[at].text]
        kinds = {kind.lower() for kind in self.kinds[name]}
        beside = [one for one in (at - 1, at + 1) if 0 <= one < len(found) and found[one].text.rstrip("s") in kinds]
        if not beside or "-" in (sentence[found[at].start - 1 : found[at].start], sentence[found[at].end :][:1]):
            return None
        return Mention(at, at + 1, name)

    def _at(self, sentence: str, found: Sequence[Token], at: int) -> Mention | None:
        begun = found[at].start
        if sentence[max(0, begun - 1) : begun] in ("-", ".", "_", "@") and not _PART.search(sentence, 0, begun):
            return None
        best, word = None, ""
        for end in range(at, min(at + _PIECES_MAX, len(found))):
            if end > at and sentence[found[end - 1].end : found[end].start] not in ("", " ", "-"):
                break
            word += found[end].text
            if word not in self._begun:
                break
            if word in self._whole or word in self._short:
                best = self._mention(sentence, found, at, end + 1, word) or best
        return best

    def _mention(self, sentence: str, found: Sequence[Token], start: int, end: int, word: str) -> Mention | None:
        behind = found[end - 1].end
        own = found[end - 1].own
        pod = _POD.match(sentence, behind)
        if pod is None and _LONGER.match(sentence, behind):
            return None
        if pod is not None:
            end += sum(1 for token in found[end : end + 3] if token.end <= pod.end())
        beside = own or _beside(found, start - 1) or _beside(found, end)
        beside = beside or QUOTE in (
            sentence[max(0, found[start].start - 1) : found[start].start],
            sentence[behind : behind + 1],
        )
        follows = found[end].text if end < len(found) else ""
        beside = beside or (_begins(found, start) and (follows == ":" or follows in words("states")))
        name = self._whole.get(word)
        sure = name is not None and (word not in words("everyday") or beside)
        if name is None:
            if not beside and len(word) < (_SHORT if _begins(found, start) else _LONG):
                return None
            name, sure = self._short[word], beside or len(word) >= _LONG
        value = _ADDRESS.match(sentence, behind) is not None or _is_value(sentence, found, start)
        return Mention(start, end, name, sure, value, own)


@functools.lru_cache(maxsize=16)
def roster(inventory: tuple[str, ...]) -> Roster:
    """The names of an inventory."""
    return Roster(inventory)


def _parts(names: Collection[str]) -> dict[str, str]:
    """Parts of names that stand for them: long, of letters alone, and of one name only."""
    found: dict[str, list[str]] = {}
    for name in names:
        for part in dict.fromkeys(name.lower().split("-")):
            found.setdefault(part, []).append(name)
    return {
        part: of[0]
        for part, of in found.items()
        if len(of) == 1 and len(part) >= _PART_MIN and part.isalpha() and "-" in of[0]
    }


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_cut(pieces: Sequence[str], name: Sequence[str]) -> bool:
    """Whether pieces are those of a name, some with letters left out.

    >>> _is_cut(["ctl", "plane"], ["control", "plane"]), _is_cut(["cart", "db"], ["cart", "redis"])
    (True, False)
    """
    return len(pieces) == len(name) and all(
        short == whole or (len(short) >= _CUT_MIN and short[0] == whole[0] and _within(short, whole))
        for short, whole in zip(pieces, name, strict=True)
    )


def _within(short: str, whole: str) -> bool:
    """Whether the letters of one stand in another, in order."""
    letters = iter(whole)
    return short.isalpha() and all(letter in letters for letter in short)


def _begins(found: Sequence[Token], at: int) -> bool:
    """Whether a clause begins with a word."""
    return at == 0 or found[at - 1].text in _BEGINS


def _all_of(found: Sequence[Token], at: int) -> bool:
    """Whether all of them are meant: "all nodes", "every one of the workers"."""
    return any(token.text in words("groups") for token in found[max(0, at - _GROUP_WORDS) : at])


def _sure_in_lists(mentions: list[Mention], found: Sequence[Token]) -> list[Mention]:
    """Names that are everyday words are sure in a list with one that is sure: "frontend, rate and search"."""
    for order in (range(1, len(mentions)), range(len(mentions) - 2, -1, -1)):
        for at in order:
            other = mentions[at - 1 if order.step > 0 else at + 1]
            first, second = sorted((mentions[at], other), key=lambda mention: mention.start)
            between = {token.text for token in found[first.end : second.start]}
            if other.sure and between and (between <= words("lists") or between <= _ARROWS):
                mentions[at] = mentions[at]._replace(sure=True)
    return mentions


def _is_value(sentence: str, found: Sequence[Token], at: int) -> bool:
    """Whether a quoted name is what something is set to: "its command is `geo`"."""
    if sentence[max(0, found[at].start - 1) : found[at].start] != QUOTE or at < 2:
        return False
    return found[at - 1].text in words("copulas") and found[at - 2].text in words("settings")


def _beside(found: Sequence[Token], at: int) -> bool:
    return 0 <= at < len(found) and found[at].text in words("beside")
