"""The model as a judge, against an endpoint that answers as one did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from simcluster import tasks
from simcluster.eval.llm import Endpoint, EndpointError, SecondJudge, agreement, ask
from simcluster.eval.report import evaluation_object
from tests.eval.llm.recorded import YES, Recorded, recorded

TRUTH = {"component": "Service/cartservice", "mechanism": "selector has a label that no pod carries"}
NO_CORE = json.dumps({"answers": [{"yes": i != 3, "why": ""} for i in range(9)]})


@pytest.fixture
def server() -> Iterator[Recorded]:
    with recorded() as found:
        yield found


def endpoint(server: Recorded, pauses: list[float] | None = None) -> Endpoint:
    waited = [] if pauses is None else pauses
    return Endpoint("a-model", server.url, key="secret", prices=(1.0, 10.0), sleep=waited.append)


def test_nine_answers_make_a_verdict(server: Recorded) -> None:
    server.answers = [f"```json\n{YES}\n```", NO_CORE]
    model = endpoint(server)
    verdict = ask(model, "the selector is wrong", TRUTH)
    assert (verdict.passed, verdict.to_dict()["yes"], verdict.model) == (True, 9, "a-model")
    assert not ask(model, {"component": "service/cartservice"}, TRUTH).passed  # eight of nine, without the core
    assert model.usage.requests == 2
    assert model.cost == pytest.approx(2 * (1000 * 1.0 + 200 * 10.0) / 1e6)
    first = server.asked[0]
    assert (first["path"], first["key"], first["temperature"]) == ("/v1/chat/completions", "Bearer secret", 0)
    assert "names the mechanism" in first["messages"][1]["content"]
    assert "secret" not in repr(model)


def test_a_busy_endpoint_is_asked_again_and_one_that_refuses_is_not(server: Recorded) -> None:
    pauses: list[float] = []
    server.answers = [429, 503, YES]
    assert ask(endpoint(server, pauses), "x", TRUTH).passed
    assert pauses == [1.0, 2.0]
    server.answers = [401]
    with pytest.raises(EndpointError, match="401 not now"):
        ask(endpoint(server), "x", TRUTH)
    server.answers = [500] * 4
    with pytest.raises(EndpointError, match="500"):
        ask(endpoint(server), "x", TRUTH)


def test_an_answer_in_another_form_is_asked_for_again(server: Recorded) -> None:
    server.answers = ["yes to all", json.dumps({"answers": [{"yes": True}]}), YES]
    assert ask(endpoint(server), "x", TRUTH).passed
    assert len(server.asked[2]["messages"]) == 4
    server.answers = ["no"] * 3
    with pytest.raises(ValueError, match="did not answer in the form"):
        ask(endpoint(server), "x", TRUTH)


def record(outcome: str) -> dict[str, Any]:
    passed = {"passed": True}
    head = {"task": "x", "agent": "a", "seconds": 1.0, "outcome": "done", "passed": outcome == "right"}
    diagnosis = {"passed": outcome == "right", "outcome": outcome}
    return {**head, "diagnosis": diagnosis, "mitigation": passed, "residue": passed, "trajectory": passed}


def test_a_second_judge_decides_what_is_unclear_and_nothing_else(server: Recorded) -> None:
    judge = SecondJudge.named("llm:a-model", server.url, (1.0, 10.0))
    task = tasks.load("metastable_load_spike_storefront")
    budget = task.sustained_by[0].model_copy(update={"component": "Deployment/gateway"})
    task = task.model_copy(update={"sustained_by": (*task.sustained_by, budget)})
    server.answers = [YES, YES, NO_CORE, 401]
    runs = [judge.judged(record(outcome), "it retries", task) for outcome in ("unclear", "wrong", "right", "unclear")]
    assert [run["passed"] for run in runs] == [True, False, True, False]
    assert runs[0]["diagnosis"]["decided_by"] == "llm:a-model"
    assert "decided_by" not in runs[1]["diagnosis"]
    assert runs[0]["judge"]["usd"] == pytest.approx(0.003)
    assert (runs[0]["judge"]["prompt_tokens"], runs[0]["judge"]["requests"]) == (1000, 1)
    assert "401" in runs[3]["judge"]["error"]
    assert "or instead" in server.asked[0]["messages"][1]["content"]
    assert judge.judged(record("wrong"), None, task) == record("wrong")  # nothing was submitted: nobody is asked
    found = evaluation_object(runs)["judge"]
    assert found == {
        "models": ["a-model"], "runs": 4, "failed": 1, "kappa": -1.0, "compared": 2, "unclear": 1,
        "unclear_passed": 1, "requests": 4, "usd": 0.009,
    }  # fmt: skip
    assert agreement([record("right")]) is None
    assert "judge" not in evaluation_object([record("right")])


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("gpt", "http://x", "a judge is llm:MODEL, not 'gpt'"),
        ("llm:", "http://x", "a judge is llm:MODEL"),
        ("llm:m", "", "where does m answer"),
        ("llm:m", "ftp://x", "where does m answer"),
    ],
)
def test_a_judge_that_is_none_is_refused(name: str, url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SIMCLUSTER_JUDGE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ValueError, match=message):
        SecondJudge.named(name, url)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there/v1")
    assert SecondJudge.named("llm:m").url == "http://there/v1"
