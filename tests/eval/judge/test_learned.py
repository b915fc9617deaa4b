"""What was learned: of which classes, and what it says of clauses of whose words the families' own know none."""

from __future__ import annotations

import pytest

from simcluster.eval.judge.learned import NO_CAUSE, order, weights
from simcluster.eval.judge.tokens import normal, tokens
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.eval.judge.weighing import families_of


def words(text: str) -> list[str]:
    return [token.text for token in tokens(normal(text))]


def test_every_class_is_a_family_or_no_cause() -> None:
    families = {name.split(" ")[0] for name in weights().classes} - {*NO_CAUSE}
    assert families <= {*vocabulary().families}
    assert {*vocabulary().published} - families == {"no_fault"}
    assert order().classes == ("fine", "wrong")


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("the box thinks it is next week", "clock"),
        ("nobody ever built such a version", "wrong_image"),
        ("whoever calls is sent to a grave in the old data centre by the slice", "service_routing"),
    ],
)
def test_clauses_in_new_words(text: str, family: str) -> None:
    shares = families_of(weights().shares(words(text)))
    assert max(shares, key=lambda name: shares[name]) == family


@pytest.mark.parametrize("thing", ["the selector", "nodex", "its clock", "the retry policy"])
def test_order_is_said_of_anything(thing: str) -> None:
    fine, wrong = (order().shares(words(f"{thing} {says}"))["fine"] for says in ("is as it should be", "is wrong"))
    assert wrong < 500 < fine
