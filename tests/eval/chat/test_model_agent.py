"""A model as the agent, against an endpoint that gives the answers it is given."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import simcluster
from simcluster.cli.group import group
from simcluster.eval.chat.agent import CALLS_MAX, SILENT_MAX, ModelAgent
from simcluster.eval.chat.context import fitting, shown
from simcluster.eval.chat.endpoint import Endpoint, EndpointError
from simcluster.eval.chat.instructions import nearest
from simcluster.eval.chat.options import ModelOptions
from simcluster.eval.chat.tools import ARGUMENTS_MAX, Toolkit, schema
from simcluster.eval.episode import Episode, replay
from simcluster.eval.runner import PlanError, RunDirectory, evaluate
from simcluster.eval.runner.past import others
from simcluster.surface.protocols import BudgetExceeded
from tests.eval.llm.recorded import Answer, Recorded, recorded
from tests.kiosk import LIBRARY, OPTIONS, TASK, plan, started

CAUSE = "Deployment kiosk: the image tag v9 does not exist, so that it cannot be pulled."
MEND = "rollout undo deployment/kiosk -n kiosk"


def call(name: object, arguments: object, number: int = 0) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}


def says(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


SOLVES: list[Answer] = [
    says(call("kubectl", {"command": "kubectl get endpoints -n kiosk"})),
    says(call("kubectl", {"command": MEND}), call("diagnose", {"diagnosis": CAUSE}, 1)),
    says(call("wait", {"duration": "30s"})),
    says(call("finish", {})),
]


@pytest.fixture
def server() -> Iterator[Recorded]:
    with recorded() as found:
        yield found


@pytest.fixture(scope="module")
def paged() -> Episode:
    """The incident just after its page; tests fork it."""
    return started()


@pytest.fixture(scope="module")
def observed() -> Episode:
    """One whose cluster is watched."""
    return simcluster.start("wrong_service_selector_online_boutique", seed=0)


def work(episode: Episode, server: Recorded, *answers: Answer, **policies: Any) -> list[dict[str, Any]]:
    """Let the model work; what was noted."""
    server.answers[:] = answers
    noted: list[dict[str, Any]] = []
    endpoint = Endpoint("m", server.url, sleep=lambda _: None, tries=1)
    ModelAgent(endpoint, ModelOptions(**policies), noted.append).run(episode)
    return noted


def results(noted: list[dict[str, Any]]) -> list[str]:
    sent = [message for line in noted[1:] for message in line["messages"]]
    return [message["content"] for message in sent]


def test_a_model_solves_an_incident_and_its_run_repeats_without_the_endpoint(server: Recorded, tmp_path: Path) -> None:
    server.answers = list(SOLVES)
    live = replace(plan("llm:org/m"), model=ModelOptions(server.url, (1.0, 10.0), tries=1))
    live.check()
    with RunDirectory(tmp_path / "live", live) as directory:
        (first,) = evaluate(live, directory, jobs=1)
    assert (first["passed"], first["outcome"]) == (True, "done"), first["error"]
    assert first["model"] == {"replies": 4, "prompt": 4000, "completion": 800, "dollars": 0.012}
    assert {one["path"] for one in server.asked} == {"/v1/chat/completions"}
    assert server.asked[1]["messages"][-1]["role"] == "tool"
    name = f"{TASK}.llm-org-m.0"
    assert replay(tmp_path / "live" / "runs" / f"{name}.log.jsonl", LIBRARY).same
    again = replace(live, model=replace(live.model, url="http://127.0.0.1:1", replies=str(tmp_path / "live")))
    with RunDirectory(tmp_path / "again", again) as directory:
        (second,) = evaluate(again, directory, jobs=1)
    assert (second["digest"], second["model"]) == (first["digest"], first["model"])
    files = [(tmp_path / folder / "runs" / f"{name}.model.jsonl").read_text() for folder in ("live", "again")]
    assert files[0] == files[1]


def test_a_run_whose_endpoint_fails_counts_for_nobody_and_is_made_later(server: Recorded, tmp_path: Path) -> None:
    server.answers = [SOLVES[0], 500, b"data: {garbage", *SOLVES]
    made = replace(plan("llm:m", "noop"), model=ModelOptions(server.url, tries=1))
    with RunDirectory(tmp_path, made) as directory:
        assert [one["agent"] for one in evaluate(made, directory, jobs=1)] == ["noop"]
        assert directory.unmade == 1
        assert directory.reasons == {"garbled": 1}
    (unmade,) = [json.loads(line) for line in (tmp_path / "unmade.jsonl").read_text().splitlines()]
    assert unmade["outcome"] == "endpoint"
    with RunDirectory(tmp_path, made, resume=True) as directory:
        assert [one["passed"] for one in evaluate(made, directory, jobs=1)] == [True, False]
        assert directory.unmade == 0


def test_an_endpoint_that_hangs_never_counts_against_the_model(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # takes connections and says nothing
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        made = replace(plan("llm:m", wall_limit_s=1.0), model=ModelOptions(url))
        with RunDirectory(tmp_path, made) as directory:
            assert evaluate(made, directory, jobs=1) == []
            assert directory.reasons == {"timeout": 1}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(401, "unauthorized"), (404, "no such model"), (429, "rate limit"), (400, "bad request"), (503, "server error"),
     (b"<html>", "garbled")],
)  # fmt: skip
def test_what_keeps_an_endpoint_from_answering_has_a_name(server: Recorded, answer: Answer, kind: str) -> None:
    server.answers = [answer]
    with pytest.raises(EndpointError, match=f"^{kind}: ") as failed:
        Endpoint("m", server.url, tries=1).chat([])
    assert failed.value.kind == kind
    with pytest.raises(EndpointError, match=r"^unreachable: "):
        Endpoint("m", "http://127.0.0.1:1", tries=1).chat([])


def test_run_takes_a_model(server: Recorded, tmp_path: Path) -> None:
    server.answers = [*SOLVES, 401]
    said = ["run", TASK, *OPTIONS, "--agent", "llm:m", "--base-url", server.url, "--json"]
    runner = CliRunner()
    shown = runner.invoke(group, [*said, "--out", str(tmp_path)])
    found = json.loads(shown.stdout)
    assert (found["passed"], found["model"]["replies"]) == (True, 4)
    assert (tmp_path / f"{TASK}.llm-m.0.model.jsonl").exists()
    refused = runner.invoke(group, said, standalone_mode=False)
    assert refused.return_value == 1
    assert "unauthorized: " in refused.stderr
    assert len(server.asked) == 5


def test_a_loop_over_the_sdk_of_openai_does_the_same(paged: Episode, server: Recorded) -> None:
    openai = pytest.importorskip("openai")
    server.answers = list(SOLVES)
    theirs = paged.fork()
    with openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        kit, messages = Toolkit(theirs), [{"role": "user", "content": theirs.alert}]
        while not kit.finished:
            answer = client.chat.completions.create(model="m", messages=messages, tools=schema())
            message = answer.choices[0].message
            assert (answer.choices[0].finish_reason, answer.usage.total_tokens) == ("tool_calls", None)
            messages.append(message.model_dump(exclude_none=True))
            for one in message.tool_calls:
                text = kit.call(one.function.name, one.function.arguments)
                messages.append({"role": "tool", "tool_call_id": one.id, "content": text})
        for status, kind in ((429, openai.RateLimitError), (401, openai.AuthenticationError)):
            server.answers = [status]
            with pytest.raises(kind):
                client.chat.completions.create(model="m", messages=messages)
    ours = paged.fork()
    work(ours, server, *SOLVES)
    assert ours.digest == theirs.digest
    assert server.asked[0]["key"] == "Bearer k"


def test_what_did_not_help_is_taken_back(paged: Episode, server: Recorded) -> None:
    wrong = says(call("kubectl", {"command": "scale deployment kiosk -n kiosk --replicas=3"}))
    undo = says(call("undo", {}))
    episode = paged.fork()
    noted = work(episode, server, wrong, undo, undo, says(call("finish", {})), strategy="undo")
    assert "Work by trial" in server.asked[0]["messages"][0]["content"]
    assert results(noted)[1].startswith("taken back: kubectl scale")
    assert results(noted)[2] == "there is nothing to take back"
    replicas = episode.kubectl("get deployment kiosk -n kiosk -o jsonpath={.spec.replicas}").stdout
    assert replicas == paged.fork().kubectl("get deployment kiosk -n kiosk -o jsonpath={.spec.replicas}").stdout
    assert "unknown tool 'undo'" in results(work(paged.fork(), server, undo, says(call("finish", {}))))[0]


def test_courses_of_other_tasks_that_passed_are_shown(paged: Episode, server: Recorded, tmp_path: Path) -> None:
    server.answers = list(SOLVES)
    made = replace(plan("llm:m", "noop"), model=ModelOptions(server.url, tries=1))
    with RunDirectory(tmp_path, made) as directory:
        evaluate(made, directory, jobs=1)
    past = others(str(tmp_path), "another")
    assert [(MEND in text, TASK in text) for _, text in past] == [(True, False)]
    assert others(str(tmp_path), TASK) == []
    server.asked.clear()
    server.answers = [says(call("finish", {}))]
    ModelAgent(Endpoint("m", server.url, tries=1), ModelOptions(), lambda line: None, past).run(paged.fork())
    assert past[0][1] in server.asked[0]["messages"][0]["content"]


def test_whatever_a_model_writes_is_answered(paged: Episode, server: Recorded) -> None:
    odd = [
        call("rm", {}, 0),
        call(None, {}, 1),
        call("kubectl", "{", 2),
        call("kubectl", [1], 3),
        call("kubectl", {"cmd": "get pods"}, 4),
        call("kubectl", {}, 5),
        call("kubectl", "x" * (ARGUMENTS_MAX + 1), 6),
        call("wait", {"duration": "soon"}, 7),
        call("node_shell", {"node": "nowhere", "command": "ls"}, 8),
        "no call",
        *(call("kubectl", {"command": "version"}, number) for number in range(10, 30)),
    ]
    episode = paged.fork()
    noted = work(episode, server, says(*odd), says(call("finish", {})))
    found = results(noted)
    assert len(found) == len(odd) + 1
    expected = ["unknown tool 'rm'; there are kubectl", "unknown tool 'None'", "no JSON", "a list, not an object"]
    expected += ["no such argument: cmd; there are command, stdin", "command is missing", "at most 200000"]
    expected += ["soon", "Could not resolve hostname nowhere", "unknown tool 'None'"]
    assert [one for one, text in zip(expected, found, strict=False) if text not in found or one not in text] == []
    assert sum("calls in one message" in text for text in found) == len(odd) - CALLS_MAX
    assert episode.inbox.used == 1 + CALLS_MAX - 10
    assert len(json.dumps(server.asked[-1])) < ARGUMENTS_MAX


def test_the_queries_reach_what_observes_the_cluster(observed: Episode) -> None:
    kit = Toolkit(observed.fork())
    assert json.loads(kit.call("promql", {"query": "count(up)"}))["status"] == "success"
    assert "BadRequest" in kit.call("promql", {"query": "sum("})
    assert json.loads(kit.call("logql", {"query": '{namespace="boutique"}', "limit": 3}))["data"]["result"]
    assert json.loads(kit.call("alerts", {}))
    assert json.loads(kit.call("traces", {"service": "frontend"}))["data"] == observed.fork().traces(service="frontend")
    assert kit.call("traces", {"service": ""}).startswith("Error from server")


def test_plain_text_where_tools_are_refused(paged: Episode, server: Recorded) -> None:
    words = [
        'I look: {"tool": "kubectl", "arguments": {"command": "get pods -n kiosk"}} and then',
        '{"tool":"finish"}',
    ]
    noted = work(paged.fork(), server, 400, *words)
    assert "tools" in server.asked[0]
    assert "tools" not in server.asked[1]
    assert '"tool": "kubectl"' in server.asked[1]["messages"][0]["content"]
    assert results(noted)[0].startswith("Result of kubectl:\nNAME")


def test_a_model_that_calls_nothing_has_ended(paged: Episode, server: Recorded) -> None:
    assert len(work(paged.fork(), server, *["hm"] * SILENT_MAX)) == SILENT_MAX


def test_after_the_budget_a_diagnosis_is_still_taken(paged: Episode, server: Recorded) -> None:
    look = says(call("kubectl", {"command": "get pods"}))
    episode = paged.fork()
    episode.inbox.budget = episode.inbox.budget.model_copy(update={"commands": 1})
    noted = work(episode, server, look, look, says(call("diagnose", {"diagnosis": CAUSE})), says(call("finish", {})))
    assert "Only diagnose and finish" in results(noted)[1]
    assert episode.submission == CAUSE
    with pytest.raises(BudgetExceeded):
        work(episode, server, look, look)


def test_thinking_takes_time_by_tokens_and_is_no_command(paged: Episode, server: Recorded) -> None:
    slow, quick = paged.fork(), paged.fork()
    for episode, rate in ((slow, 50.0), (quick, 0.0)):
        work(episode, server, *SOLVES, think_rate=rate)
    assert slow.now_s - quick.now_s == pytest.approx(4 * 200 / 50)  # four replies of 200 tokens
    assert slow.inbox.used == quick.inbox.used


def test_an_endpoint_that_hangs_or_says_to_wait_is_given_up(server: Recorded) -> None:
    waits: list[float] = []
    endpoint = Endpoint("m", "http://10.255.255.1:9", sleep=waits.append, tries=2, timeout_s=0.1)
    began_s = time.monotonic()
    with pytest.raises(EndpointError, match="gave no answer"):
        endpoint.chat([])
    assert time.monotonic() - began_s < 30
    server.answers = [429, b'{"choices": [{"message": {"content": 5}}]}', b"\xff", b"[]", b'{"choices": []}']
    with pytest.raises(EndpointError) as failed:
        Endpoint("m", server.url, sleep=waits.append, tries=5).chat([])
    assert failed.value.status == 0
    with pytest.raises(EndpointError) as failed:
        Endpoint("m", server.url, sleep=waits.append, tries=2).chat([])
    assert failed.value.status == 429


def test_what_is_old_is_forgotten_first() -> None:
    head = [{"role": "system", "content": "s"}, {"role": "user", "content": "page"}]
    turns = [
        [{"role": "assistant", "content": f"a{n}"}, {"role": "tool", "tool_call_id": "x", "content": str(n) * 4000}]
        for n in range(5)
    ]
    assert fitting(head, turns, 10_000) == [*head, *(message for turn in turns for message in turn)]
    some = fitting(head, turns, 2_500)
    assert [len(one["content"]) > 100 for one in some[3::2]] == [False, False, False, True, True]
    least = fitting(head, turns, 1)
    assert least == [*head, *turns[-1]]
    assert len(turns[0][1]["content"]) == 4000
    assert shown("x" * 50_000).count("x") == 12_000


def test_runbooks_near_to_the_page_are_shown(tmp_path: Path, paged: Episode, server: Recorded) -> None:
    (tmp_path / "cart.md").write_text("nobody buys at the kiosk: compare its image with what the registry has")
    (tmp_path / "disk.md").write_text("smartctl shows pending sectors")
    assert [text.split()[3] for text in nearest(tmp_path, "kiosk image")] == ["cart.md:"]
    work(paged.fork(), server, says(call("finish", {})), strategy="few-shot", runbooks=str(tmp_path))
    assert "track=blue" in server.asked[0]["messages"][0]["content"]


def test_a_model_has_to_be_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(PlanError, match="where does it answer"):
        plan("llm:m").check()
    with pytest.raises(PlanError, match="an agent is llm:MODEL"):
        replace(plan("llm:"), model=ModelOptions("http://x")).check()
    assert [one["function"]["name"] for one in schema()][-1] == "finish"
