"""Tasks without a fault: the right answer is that there is none."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.eval.episode.start import start
from simcluster.eval.judge import judge_faultless

INVENTORY = ("Deployment/frontend", "Service/frontend", "Deployment/cartservice", "Namespace/boutique", "Node/worker-1")
TASK = "wrong_service_selector_online_boutique@calm"


@pytest.mark.parametrize(
    "answer",
    [
        "There is no fault: nothing is wrong, and nothing has to be repaired.",
        "No fault found. All pods are healthy; the alert was a false alarm.",
        "It recovered on its own; the incident is over.",
        {"component": "namespace/boutique", "family": "no_fault"},
    ],
)
def test_who_says_that_there_is_none_is_right(answer: str) -> None:
    assert judge_faultless(answer, INVENTORY).passed


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "The CPU limit of Deployment frontend is too low: it is throttled.",
        "I found no fault in the Service frontend, but the Deployment cartservice has a wrong image tag.",
        "Nothing is wrong with frontend. Root cause: cartservice crashes because of a memory limit.",
        "The alert fired because of CPU steal by a noisy neighbour and healed by itself.",
        {"component": "deployment/frontend", "family": "cpu_limit"},
    ],
)
def test_who_names_a_cause_is_wrong(answer: str) -> None:
    assert not judge_faultless(answer, INVENTORY).passed


def test_what_is_over_may_be_named() -> None:
    answer = "The alert fired because of CPU steal by a noisy neighbour and healed by itself."
    assert judge_faultless(answer, INVENTORY, ["noisy_neighbour"]).passed


def test_who_changes_nothing_passes_and_who_harms_does_not() -> None:
    quiet, harming = start(TASK), start(TASK)
    quiet.wait("30s")
    quiet.diagnose("There is no fault.")
    assert quiet.report.passed
    harming.kubectl("scale deployment --all --replicas=0 -n boutique")
    harming.diagnose("There is no fault.")
    assert harming.report.diagnosis.passed
    assert not harming.report.passed


def test_the_suite_has_both_kinds() -> None:
    kinds = {one.rpartition("@")[2] for one in tasks.suite("no-fault")}
    assert kinds == {"calm", "healed"}
