"""Components that a sentence accuses without naming a kind of cause: who harms, is broken, or does what causes it."""

from __future__ import annotations

import itertools

from simcluster.eval.judge.sentence import Sentence
from simcluster.eval.judge.vocabulary import words


def doers(sentence: Sentence) -> list[str]:
    """Components that do something to others: "hogged by recommendationservice", "geo eats all CPU"."""
    found = []
    for mention in sentence.mentions:
        behind = [token.text for token in sentence.found[mention.end : mention.end + 1]]
        if {*behind} & words("harms") and mention.sure and not mention.address and mention.start == 0:
            found.append(mention.name)
        before = mention.start - 1
        while before >= 0 and sentence.found[before].text in words("skipped"):
            before -= 1
        texts = [token.text for token in sentence.found[max(0, before - 1) : before + 1]]
        if len(texts) > 1 and texts[0] in words("harmed") and texts[1] == "by" and not mention.address and mention.sure:
            found.append(mention.name)
    return found


def said_to_be_broken(sentence: Sentence) -> list[str]:
    """Components of which a clause begins by saying that they are broken: "CoreDNS is broken - …"."""
    found = []
    for mention in sentence.mentions:
        behind = [token.text for token in sentence.found[mention.end : mention.end + 2]]
        begins = mention.start == 0 or sentence.found[mention.start - 1].text in (",", ":", ";", "(", "the")
        said = len(behind) > 1 and behind[0] in words("copulas") and behind[1] in words("broken")
        if said and begins and mention.sure and not mention.address:
            found.append(mention.name)
    return found


def subject_of_the_cause(sentence: Sentence) -> list[str]:
    """Who does what is said behind "because": "because redis-cart spawns threads without end"."""
    found = []
    for before, span in itertools.pairwise(sentence.spans):
        if span.role != "cause" or before.role != "effect":
            continue
        at = span.start
        while at < span.end and sentence.found[at].text in words("skipped"):
            at += 1
        does = [m for m in sentence.mentions if m.start == at and m.sure and not m.address and not m.own]
        if does and does[0].name in sentence.affirmed and sentence.found[does[0].end : does[0].end + 1]:
            verb = sentence.found[does[0].end].text
            found += [does[0].name] if verb.isalpha() and verb not in words("beside") else []
    return found
