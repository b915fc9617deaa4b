"""The words in which mechanisms of failure are told, family by family."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from simcluster.engine.content import Content, ContentError, UnknownName, load_content, read_document
from simcluster.eval.judge.lexicon import Lexicon, begins_with, words_of
from simcluster.faults import registry


class Pattern(Content):
    """Every phrase of `all`, and one of `any` if there are any.

    `a|b` in `all` is either of them, `@row` in `any` is every word of that row of the predicates. `kinds` are those of
    the objects that can have it, where they are fewer than the family's.
    """

    all: tuple[str, ...]
    any: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def plain(self) -> Iterator[Pattern]:
        """The patterns without `|` and `@` that it stands for."""
        rows = ((cues().predicates[text[1:]] if text.startswith("@") else (text,)) for text in self.any)
        either = tuple(dict.fromkeys(itertools.chain.from_iterable(rows)))
        for chosen in itertools.product(*(text.split("|") for text in self.all)):
            yield Pattern(all=chosen, any=either, kinds=self.kinds)


class Way(Content):
    """One of several ways in which a kind of cause comes about: a role that was taken, a user that was dropped.

    Attributes:
        faults: ids of those that do it in this way.
        says: ways to say so; a text that tells of others of its sort alone tells of another cause.
    """

    faults: tuple[str, ...]
    says: tuple[Pattern, ...]


class Family(Content):
    """One mechanism of failure.

    Attributes:
        means: it in a few words.
        kinds: of objects that can have it; any if empty.
        names: patterns of those that have it, where one is named; others only meet it.
        consequences: what may follow from it without being a cause of its own.
        patterns: ways to say it.
        topics: phrases that say it only in a text that claims nothing else: what is spoken of in no other case.
        hints: phrases that speak of it. Where nothing else is claimed, the family of which a text speaks most is meant.
        ways: by the respect in which they differ, those in which it comes about, by name.
    """

    means: str
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...]
    topics: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    ways: dict[str, dict[str, Way]] = Field(default_factory=dict)


class Vocabulary(Content):
    """Families, those among them that only the reader knows, and words for what is seen without being a mechanism."""

    families: dict[str, Family]
    others: dict[str, Family] = Field(default_factory=dict)
    symptoms: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def published(self) -> list[str]:
        """The families that a claim may name."""
        return [name for name in self.families if name not in self.others]


@functools.cache
def vocabulary() -> Vocabulary:
    """The words of all families of faults, those of families that no mechanism owns, and symptoms.

    Raises:
        ContentError: a file is wrong, tells of a family that another tells of, or names an unknown consequence.
    """
    files = [Path(__file__).with_name("vocabulary.yaml")]
    files += [registry.folder_of(family) / "words.yaml" for family in registry.families()]
    read = {path: load_content(path, Vocabulary) for path in files if path.is_file()}
    families: dict[str, Family] = {}
    symptoms = {name: words for one in read.values() for name, words in one.symptoms.items()}
    for path, one in read.items():
        for name in one.families:
            if name in families:
                raise ContentError(path, read_document(path).line(("families", name)), f"{name} is told of elsewhere")
        families |= one.families | one.others
    for path, one in read.items():
        for name, family in (one.families | one.others).items():
            for index, other in enumerate(family.consequences):
                if other not in families and other not in symptoms:
                    line = read_document(path).line(("families", name, "consequences", index))
                    raise ContentError(path, line, str(UnknownName("consequence", other, [*families, *symptoms])))
    others = {name: family for one in read.values() for name, family in one.others.items()}
    return Vocabulary(families=dict(sorted(families.items())), others=others, symptoms=symptoms)


class Cues(Content):
    """Words that say what a clause is: `cues.yaml`."""

    denies: tuple[str, ...]
    acquits: tuple[str, ...]
    because: tuple[str, ...]
    therefore: tuple[str, ...]
    turns: tuple[str, ...]
    reported: tuple[str, ...]
    withdrawn: tuple[str, ...]
    questioned: tuple[str, ...]
    supposed: tuple[str, ...]
    would: tuple[str, ...]
    ended: tuple[str, ...]
    maybe: tuple[str, ...]
    blames: tuple[str, ...]
    suffers: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    predicates: dict[str, tuple[str, ...]]
    words: dict[str, tuple[str, ...]]


@functools.cache
def cues() -> Cues:
    """The words of `cues.yaml`. Raises ContentError."""
    return load_content(Path(__file__).with_name("cues.yaml"), Cues)


@functools.cache
def words(use: str) -> frozenset[str]:
    """Single words of a use."""
    return frozenset(cues().words[use])


@functools.cache
def lexicon() -> Lexicon:
    """Every phrase of every family, and every cue."""
    both = itertools.chain(patterns_of().values(), topics_of().values(), hints_of().values(), ways_of().values())
    patterns = [pattern for known in both for _, pattern in known]
    phrases = (phrase for pattern in patterns for phrase in (*pattern.all, *pattern.any))
    return Lexicon([*phrases, *cue_of()], words("fillers"))


@functools.cache
def labels() -> dict[str, Lexicon]:
    """Labels and headings by what they make of what follows."""
    return {role: Lexicon(words) for role, words in cues().labels.items()}


@functools.cache
def cue_of() -> dict[str, tuple[str, ...]]:
    """What each phrase is a cue of."""
    found: dict[str, tuple[str, ...]] = {}
    for name, phrases in cues():
        if name not in ("labels", "predicates", "words"):
            for phrase in phrases:
                found[phrase] = (*found.get(phrase, ()), name)
    return found


@functools.cache
def topics_of() -> dict[str, tuple[tuple[str, Pattern], ...]]:
    """Topics with their families, in the form of patterns."""
    found: dict[str, tuple[tuple[str, Pattern], ...]] = {}
    for name, family in vocabulary().families.items():
        for topic in family.topics:
            found[topic] = (*found.get(topic, ()), (name, Pattern(all=(topic,))))
    return found


@functools.lru_cache(maxsize=64)
def phrases_for(kind: str) -> tuple[str, ...]:
    """Phrases of one word that the name of a kind of object fits, `configmap*`, and of which patterns say something."""
    stem = kind.lower()
    fitting = [phrase for phrase in patterns_of() if _begins(phrase, stem)]
    return tuple(one for one in fitting if all(len(p.all) > 1 or p.any for _, p in patterns_of()[one]))


def _begins(phrase: str, stem: str) -> bool:
    word, *more = words_of(phrase)
    if more or not word.endswith("*"):
        return not more and word == stem
    return stem.startswith(word[:-1]) and len(word) > len(stem) // 2


@functools.lru_cache(maxsize=1024)
def predicates_of(family: str, word: str) -> frozenset[str]:
    """What patterns of a family say of subjects that begin with a word."""
    plain = itertools.chain.from_iterable(one.plain() for one in vocabulary().families[family].patterns)
    return frozenset(phrase for one in plain if begins_with(one.all[0], word) for phrase in (*one.all[1:], *one.any))


@functools.cache
def hints_of() -> dict[str, tuple[tuple[str, Pattern], ...]]:
    """Hints with their families, in the form of patterns."""
    found: dict[str, tuple[tuple[str, Pattern], ...]] = {}
    for name, family in vocabulary().families.items():
        for hint in family.hints:
            found[hint] = (*found.get(hint, ()), (name, Pattern(all=(hint,))))
    return found


@functools.cache
def ways_of() -> dict[str, tuple[tuple[str, Pattern], ...]]:
    """What says a way, with `family respect way`, by the phrase that it begins with."""
    found: dict[str, tuple[tuple[str, Pattern], ...]] = {}
    for name, family in vocabulary().families.items():
        for respect, ways in family.ways.items():
            for way, each in ways.items():
                for pattern in itertools.chain.from_iterable(one.plain() for one in each.says):
                    known = found.get(pattern.all[0], ())
                    found[pattern.all[0]] = (*known, (f"{name} {respect} {way}", pattern))
    return found


@functools.cache
def patterns_of() -> dict[str, tuple[tuple[str, Pattern], ...]]:
    """Patterns with their families by the phrase that they begin with."""
    found: dict[str, tuple[tuple[str, Pattern], ...]] = {}
    for name, family in vocabulary().families.items():
        for pattern in itertools.chain.from_iterable(each.plain() for each in family.patterns):
            found[pattern.all[0]] = (*found.get(pattern.all[0], ()), (name, pattern))
    return found
