"""Whether a text says anything besides names: "ConfigMap/geo-config", "Root cause: Deployment geo is broken"."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from simcluster.eval.judge.learned import STOP, stem
from simcluster.eval.judge.sentence import Sentence
from simcluster.eval.judge.vocabulary import vocabulary

#: Words that say that something is wrong and not what.
_VAGUE = """root cause reason problem issue fault failure culprit origin source broken bad wrong something here there
    faulty failing fails failed down unhealthy suspect trouble incident guilty not working work ok due because component
    object service pod deployment node workload namespace name kind answer diagnosis fix it restart restarted"""


@functools.cache
def _nothing() -> frozenset[str]:
    kinds = {kind.lower() for family in vocabulary().families.values() for kind in family.kinds}
    return frozenset(stem(word) for word in (*STOP, *_VAGUE.split(), *kinds))


def says_something(parsed: Sequence[Sentence]) -> bool:
    """Whether some word of some sentence is no name and says more than that something is wrong."""
    nothing = _nothing()
    for sentence in parsed:
        named = {at for mention in sentence.mentions for at in range(mention.start, mention.end)}
        for at, token in enumerate(sentence.found):
            if at not in named and token.text[0].isalnum() and stem(token.text) not in nothing:
                return True
    return False
