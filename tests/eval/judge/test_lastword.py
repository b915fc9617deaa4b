"""The last word on texts: integers only, told with its reasons, and over signs that know what the faults were told."""

from __future__ import annotations

import time

import pytest

from simcluster.eval.judge.judge import Asked, questioned, reading_of
from simcluster.eval.judge.lastword import WORDS, Model, Sign, model, parsed
from simcluster.eval.judge.particulars import leaves, particulars
from simcluster.eval.judge.signs import signs
from simcluster.eval.judge.verdicts import DiagnosisVerdict
from tests.eval.judge.labelled_set import Case, met

#: Seconds of CPU; five times what is promised, as the machines of tests are shared.
SOON = 1.0
PORT = met("service_port_conflict_hotel_reservation", {"victims": ["frontend"]})
RIGHT = (
    "recommendation can't be scheduled: hostPort 9100 was added to its container, and 9100 is taken by node-exporter."
)


def judged(text: str, case: Case = PORT) -> DiagnosisVerdict:
    return questioned(reading_of(text, (*case.inventory, case.truth.component)), case.truth, case.beside)


def signs_of(text: str, case: Case = PORT) -> dict[str, int]:
    reading = reading_of(text, (*case.inventory, case.truth.component))
    return signs(reading, Asked(reading, case.truth, case.beside).known())


def test_a_model_is_read_as_it_is_written() -> None:
    scores = "accept\t5\noverturn\t9\nrefuse\t4\nbase\t7\nwords\t0\n"
    read = parsed(f"{scores}\na\t1000\t500\t100\n\n0:2 =-10 =30\n\nx\t2000\nfault||\ny\t-500\n\ny\t-500\n")
    assert read == Model(
        5, 9, 4, 7, 0, {"x": 2000, "fault||y": -500, "y": -500}, [Sign("a", 1000, 500, 100)], [(0, 2, -10, 30)]
    )
    assert read.of_words([["x"], ["y"]]) == 150
    assert read.says({"a": 2}) == (7 + 200 + 30, [(200, "a")])
    assert read.says({})[0] == 7 - 200 - 10


def test_it_knows_the_signs_that_there_are() -> None:
    names = {one.name for one in model().signs}
    reading = reading_of(RIGHT, PORT.inventory)
    rules = Asked(reading, PORT.truth, PORT.beside).signs(judged(RIGHT))
    assert names <= {*signs_of(RIGHT), *rules, WORDS}
    assert not names & {"words", "sentences", "clauses", "digits", "foreign letters"}


def test_parameters_of_faults() -> None:
    params = particulars(leaves({"set": {"spec.ports[0].hostPort": 9100}, "delay_ms": 1500, "image": "busybox:1.36"}))
    assert "hostport" in params.keys
    assert {"9100", "busybox", "busybox:1.36"} <= params.pieces
    assert {9100.0, 1.5} <= {*params.numbers}


@pytest.mark.parametrize(("sign", "right", "wrong"), [("set agrees said", 1, 0), ("set differs said", 0, 1)])
def test_another_port_is_seen(sign: str, right: int, wrong: int) -> None:
    assert signs_of(RIGHT)[sign] == right
    assert signs_of(RIGHT.replace("9100", "9090"))[sign] == wrong


def test_the_reason_stands_there() -> None:
    verdict = judged("Something is slow. It might be recommendation, or the disk of worker-1; I am not sure.")
    assert not verdict.passed
    assert "against it" in verdict.why
    assert verdict.why in verdict.explain()
    assert judged(RIGHT).passed, judged(RIGHT).explain()


@pytest.mark.parametrize(
    "text",
    [
        "recommendation",
        "Deployment/recommendation",
        "Root cause: Deployment recommendation is broken.",
        "Something is wrong with recommendation.",
    ],
)
def test_names_alone_are_no_diagnosis(text: str) -> None:
    assert not judged(text).passed
    assert judged(text).last is None


def test_a_second_cause_elsewhere_is_one_too_many() -> None:
    second = "The Service search selects labels that no pod has, so search has no endpoints."
    verdict = judged(f"1. {RIGHT} 2. {second}")
    assert not verdict.passed, verdict.explain()


@pytest.mark.parametrize("bad", ["a", ".", "aB", "hostPort 9100 ", "'", "`x` ", "recommendation, ", "not "])
def test_bad_input_is_weighed_soon(bad: str) -> None:
    judged("warm")
    begun = time.process_time()
    judged("recommendation: hostPort. " + bad * (100_000 // len(bad)))
    assert time.process_time() - begun < SOON


def test_claims_are_none_of_its_business() -> None:
    claim = {"component": "deployment/recommendation", "family": "port_conflict", "where": "hostPort"}
    reading = reading_of(claim, PORT.inventory)
    assert questioned(reading, PORT.truth, PORT.beside).last is None
