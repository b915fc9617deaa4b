"""Structured submissions: what they may hold, how a wrong one is answered, and how they are graded."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.eval.judge import Claim, judge, parse_claims
from tests.eval.judge.labelled_set import inventory, resolved

SELECTOR = resolved("wrong_service_selector_online_boutique").truth
THERE = inventory("online-boutique")
RIGHT = {
    "component": "service/cartservice",
    "family": "service_selector",
    "where": "spec.selector.version",
    "values": ["v2"],
    "scope": ["cartservice"],
}


def test_a_claim_is_read() -> None:
    claim = Claim("service/cartservice", "service_selector", "spec.selector.version", ("v2",), ("cartservice",))
    assert parse_claims(RIGHT) == (claim,)
    assert parse_claims({"claims": [RIGHT, {"component": "node/worker-1", "family": "clock"}]}) == (
        claim,
        Claim("node/worker-1", "clock"),
    )
    assert parse_claims(RIGHT | {"resolved": True}) == (claim,)
    words = {"component": "Service/x", "mechanism": "selector matches no pods", "details": {"version": "v2"}}
    assert parse_claims(words) == (Claim("Service/x", "service_selector", values=("version=v2",)),)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"componnent": "x"}, "unknown field componnent; did you mean component"),
        ({"component": ""}, "component is missing"),
        ({"component": 3}, "component is a text, not int"),
        ({"family": "service_selektor"}, "family 'service_selektor' is unknown; did you mean service_selector"),
        ({"where": ["a"]}, "where is a text, not list"),
        ({"values": [[1]]}, "values is a list of texts and numbers"),
        ({"values": ["x"] * 21}, "values has at most 20 entries"),
        ({"mechanism": "no pod matches"}, "mechanism and family say the same"),
        ({"scope": object()}, "scope is a list of texts"),
        ({"resolved": "yes"}, "resolved is true or false"),
        ({"where": "x" * 2001}, "where has 2001 characters"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_right(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_claims(RIGHT | changed)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"claims": []}, "at least one"),
        ({"claims": [RIGHT] * 21}, "at most 20"),
        ({"claims": ["x"]}, r"claims\[0\] is a dictionary with component"),
        ({"claims": [RIGHT | {"famly": "x"}]}, r"unknown field claims\[0\].famly; did you mean family"),
        ({"claims": [RIGHT], "scope": []}, "'scope' stands beside claims"),
    ],
)
def test_several_claims_are_checked_one_by_one(answer: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_claims(answer)


def test_a_claim_is_graded_like_the_text_that_says_the_same() -> None:
    assert judge(RIGHT, SELECTOR, THERE).yes == 9
    assert not judge(RIGHT | {"component": "service/frontend"}, SELECTOR, THERE).passed
    assert not judge(RIGHT | {"family": "service_port"}, SELECTOR, THERE).passed
    besides = {"claims": [RIGHT, {"component": "deployment/redis-cart", "family": "crash"}]}
    assert not judge(besides, SELECTOR, THERE).passed
    alone = judge({"component": "service/cartservice"}, SELECTOR, THERE)
    assert (alone.passed, alone.outcome) == (False, "unclear")
