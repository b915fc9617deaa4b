from __future__ import annotations

from typing import Any

import pytest

from simcluster import tasks
from simcluster.eval.judge import judge
from simcluster.eval.judge.judge import family_of
from simcluster.eval.judge.matching import claimed
from simcluster.eval.judge.reading import mentions, read
from simcluster.eval.judge.verdicts import QUESTIONS, WEIGHTS
from simcluster.eval.judge.vocabulary import vocabulary
from simcluster.faults import registry
from simcluster.faults.cases import cases_of
from simcluster.faults.expressions import is_open
from simcluster.tasks.model import Task, Truth, _replace
from simcluster.tasks.truth import causes

SERVICES = [
    "adservice",
    "cartservice",
    "checkoutservice",
    "currencyservice",
    "emailservice",
    "frontend",
    "paymentservice",
    "productcatalogservice",
    "recommendationservice",
    "redis-cart",
    "shippingservice",
]
NODES = ("control-plane", "worker-1", "worker-2", "worker-3")
INVENTORY = [
    *(f"{kind}/{name}" for kind in ("Deployment", "Service") for name in SERVICES),
    *(f"Node/{name}" for name in NODES),
]


def load(task_id: str) -> Task:
    """The task as if `worker-2` had been chosen."""
    data = tasks.load(task_id).model_dump(by_alias=True)
    for step in data["incident"]:
        if step["target"] and step["target"]["node_of"]:
            step["target"] = {"kind": "Node", "name": "worker-2"}
    return Task.model_validate(_replace(data, "worker-2"))


def known_without_a_world(task_id: str) -> bool:
    """Whether its truth has names, values and one kind of cause already; `check` judges the answers of the others."""
    task = tasks.load(task_id)
    steps = task.incident
    kinds = {one.family for one in causes(steps, task.namespace) if one.lasting}
    return (
        len(kinds) <= 1
        and not task.beside
        and all(len(step.aims) == 1 and "*" not in step.aims[0].name for step in steps if step.fault)
        and not any(is_open(s.params) for s in steps)
    )


TASKS = {task_id: load(task_id) for task_id in tasks.ids() if known_without_a_world(task_id)}
RIGHT = [(task_id, answer) for task_id, task in TASKS.items() for answer in task.reference_diagnoses.right]
WRONG = [(i, answer) for i, task in TASKS.items() for answer in task.reference_diagnoses.plausible_but_wrong]
SELECTOR = TASKS["wrong_service_selector_online_boutique"].truth


@pytest.mark.parametrize(("task_id", "answer"), RIGHT)
def test_right_reference_diagnoses_pass(task_id: str, answer: Any) -> None:
    verdict = judge(answer, TASKS[task_id].truth, INVENTORY)
    assert verdict.yes == 9, verdict.explain()


@pytest.mark.parametrize(("task_id", "answer"), WRONG)
def test_wrong_reference_diagnoses_fail(task_id: str, answer: Any) -> None:
    verdict = judge(answer, TASKS[task_id].truth, INVENTORY)
    assert not verdict.passed, verdict.explain()


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(("task_id", "answer"), RIGHT)
def test_what_is_right_for_one_task_is_wrong_for_the_others(task_id: str, answer: Any) -> None:
    own = TASKS[task_id].truth
    for other, task in TASKS.items():
        if other == task_id:
            continue
        if (task.truth.component, family_of(task.truth)) == (own.component, family_of(own)):
            continue  # the same cause, met by another trigger
        assert not judge(answer, task.truth, INVENTORY).passed, other


@pytest.mark.slow(sample=15)
@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("answer", ["", "   ", None, {}, {"component": "", "scope": []}])
def test_an_empty_answer_is_no_nine_times(task_id: str, answer: Any) -> None:
    verdict = judge(answer, TASKS[task_id].truth, INVENTORY)
    assert verdict.yes == 0
    assert verdict.score == 0.0


@pytest.mark.slow(sample=12)
@pytest.mark.parametrize("task_id", TASKS)
def test_blaming_everything_fails(task_id: str) -> None:
    truth = TASKS[task_id].truth
    every = ", ".join([*SERVICES, *NODES])
    faults = ", ".join(task.truth.mechanism for task in TASKS.values())
    details = ", ".join(f"{k}={v}" for task in TASKS.values() for k, v in task.truth.details.items())
    for answer in (
        f"Everything is broken: {every}. Possible causes: {faults}. {details}",
        f"The components {every} are wrong: {truth.mechanism} ({details}).",
        f"{truth.component} is broken. The root cause is one of: {faults}; {details}",
        {"component": every, "mechanism": faults, "details": details, "scope": [*SERVICES, *NODES]},
        {"component": truth.component, "mechanism": faults, "details": details, "scope": list(truth.scope)},
    ):
        verdict = judge(answer, truth, INVENTORY)
        assert not verdict.passed, verdict.explain()


@pytest.mark.slow(sample=12)
@pytest.mark.parametrize("task_id", TASKS)
def test_chatter_without_substance_fails(task_id: str) -> None:
    truth = TASKS[task_id].truth
    for answer in (
        "I do not know.",
        "Users get errors from the frontend.",
        f"{truth.ref.name}",
        f"{truth.ref.kind}/{truth.ref.name}",
        f"Root cause: {truth.ref.kind} {truth.ref.name} is broken",
        f"Something is wrong with {truth.ref.name}.",
        truth.mechanism,
        "All pods are healthy, everything is fine.",
    ):
        assert not judge(answer, truth, INVENTORY).passed, answer


@pytest.mark.parametrize(
    "answer",
    [
        "svc/cart-service: selector mismatch (version=v2 is carried by no pod).",
        "Users see 500s because the cart service Service's selector contains version=v2, which matches no pods.",
        "Root cause: the `cartservice` Service selects `version: v2`, labels that no pod has. redis-cart is healthy.",
        "It is not an image problem. The selector of Service cartservice has the wrong label version: v2.",
        "Service cartservice selector has an extra label version=v2; therefore frontend and checkoutservice fail.",
    ],
)
def test_other_spellings_of_the_right_answer_pass(answer: str) -> None:
    verdict = judge(answer, SELECTOR, INVENTORY)
    assert verdict.passed, verdict.explain()


REPORTS = [(one.task, one.answer) for family in registry.families() for one in cases_of(family).reports]


@pytest.mark.parametrize(("task_id", "answer"), REPORTS)
def test_reports_in_the_words_of_others_pass(task_id: str, answer: str) -> None:
    verdict = judge(answer, TASKS[task_id].truth, INVENTORY)
    assert verdict.yes == 9, verdict.explain()
    own = TASKS[task_id].truth
    others = [
        one.truth for one in TASKS.values() if (one.truth.component, one.truth.family) != (own.component, own.family)
    ]
    assert not any(judge(answer, truth, INVENTORY).passed for truth in others)


def test_every_answer_is_explained_and_weighted() -> None:
    verdict = judge("Service cartservice selector mismatch", SELECTOR, INVENTORY)
    assert [(a.dimension, a.question) for a in verdict.answers] == list(QUESTIONS)
    assert all(a.why for a in verdict.answers)
    assert verdict.yes == 8
    assert verdict.score == round((0.33 * 3 + 0.33 * 2 + 0.34 * 3) / 3, 2)
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)
    assert verdict.to_dict()["dimensions"] == {"localization": 3, "characterization": 2, "scope": 3}
    assert "lacks version=v2" in verdict.explain()


def test_names_in_addresses_and_images_blame_nobody() -> None:
    names = ["paymentservice", "redis-cart", "cartservice"]
    assert mentions("it dials paymentservice:50052", names) == []
    assert mentions("it dials paymentservice:50052", names, addresses=True) == ["paymentservice"]
    assert mentions("the cart service and redis cart", names) == ["cartservice", "redis-cart"]
    assert mentions("pod cartservice-6d5f7c9b8-x2x9k", names) == ["cartservice"]
    assert mentions("cart_service_addr", names) == []


def test_victims_and_acquitted_components_are_not_blamed() -> None:
    text = (
        "The image tag of currencyservice does not exist, so frontend and checkoutservice fail. "
        "paymentservice itself is healthy. Fix: set image of deployment emailservice."
    )
    reading = read(text, INVENTORY)
    assert reading.blamed == ["currencyservice"]
    assert reading.families == ["wrong_image"]


def test_denied_mechanisms_are_not_claimed() -> None:
    assert claimed("this is not a selector mismatch") == []
    assert claimed("the selector does not match any pod") == ["service_selector"]
    assert claimed("no oom kill was seen") == []


def test_a_truth_must_name_one_mechanism() -> None:
    for task in TASKS.values():
        assert family_of(task.truth) in vocabulary().families
    vague = Truth(component="Service/cartservice", mechanism="it is broken", scope=("cartservice",))
    with pytest.raises(ValueError, match="no mechanism of the vocabulary"):
        family_of(vague)
