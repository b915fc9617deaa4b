"""Every request recorded against a real kube-apiserver 1.32, replayed against ours.

Status, headers and body are compared; what two runs of the same server do not share is folded
(see `simcluster.testing.golden.requests`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.testing.golden.requests import Replayed, differences, replay
from simcluster.testing.recordings import beside_checkout, recordings

#: Recordings of documentation (OpenAPI) are not part of a checkout, but may lie beside one.
DOCUMENTATION = range(25, 38)
BESIDE = beside_checkout()
FOLDER = (recordings() if BESIDE is None else BESIDE / "golden") / "kubernetes-http" / "raw-1.32"
NUMBERS = [number for number in range(1, 159) if BESIDE is not None or number not in DOCUMENTATION]
needs_documentation = pytest.mark.skipif(BESIDE is None, reason="the recorded documentation is not at hand")

#: Recordings of which something is left out of the comparison below, and why.
PARTLY = {
    25: "the group of metrics-server, and the order in which version 2 prints keys",
    26: "two builds of 1.32.13 stamp the document of /version differently",
    132: "the message quotes the whole object with its versions and times",
    150: "a real server finds bindings in no certain order",
}


@pytest.fixture(scope="module", name="answers")
def replayed() -> dict[int, Replayed]:
    return {answer.recording.number: answer for answer in replay(FOLDER)}


def test_all_are_there(answers: dict[int, Replayed]) -> None:
    assert list(answers) == NUMBERS


@pytest.mark.parametrize("number", [n for n in NUMBERS if n not in PARTLY])
def test_answers_as_recorded(answers: dict[int, Replayed], number: int) -> None:
    assert differences(answers[number]) == []


@needs_documentation
def test_open_api_v2(answers: dict[int, Replayed]) -> None:
    found = [text for text in differences(answers[25]) if not text.endswith("order of keys")]
    rest = [text for text in found if "metrics" not in text and not text.startswith("header Etag")]
    # Definitions of which only metrics-server speaks.
    unused = ("meta.v1.Duration", "meta.v1.ListMeta_v2", "meta.v1.ShardInfo", "shardInfo", "shardSelector")
    assert [text for text in rest if not any(name in text for name in unused)] == []


@needs_documentation
def test_open_api_index(answers: dict[int, Replayed]) -> None:
    (text,) = differences(answers[26])
    assert text.startswith(".paths.version.serverRelativeURL")


def test_wrong_type_in_a_merge_patch(answers: dict[int, Replayed]) -> None:
    answer = answers[132]
    assert answer.code == answer.recording.code
    got, wanted = json.loads(answer.body), json.loads(answer.recording.body)
    assert got["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert got["message"].rsplit(": ", 1)[1] == wanted["message"].rsplit(": ", 1)[1]
    assert list(got["details"]) == list(wanted["details"])


def test_rules_of_an_administrator(answers: dict[int, Replayed]) -> None:
    answer = answers[150]
    assert answer.code == answer.recording.code

    def rules(body: str, key: str) -> list[Any]:
        return sorted(map(str, json.loads(body)["status"][key]))

    for key in ("resourceRules", "nonResourceRules"):
        assert rules(answer.body, key) == rules(answer.recording.body, key)
