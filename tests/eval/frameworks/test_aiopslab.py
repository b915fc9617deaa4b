"""AIOpsLab's shape: an agent as its clients are, four questions about one incident, replies that make no sense."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from simcluster import tasks
from simcluster.engine.content import UnknownName
from simcluster.eval.episode import start
from simcluster.eval.frameworks.aiopslab import Orchestrator, ReplyError, ids, parsed
from simcluster.eval.frameworks.aiopslab.actions import _span, deduplicated
from simcluster.eval.frameworks.aiopslab.problems import LEVELS, TYPES, analysed, problem

TASK = "wrong_service_selector_online_boutique"
MEND = """kubectl patch service cartservice -n boutique --type=merge -p '{"spec":{"selector":{"version":null}}}'"""


class Scripted:
    """An agent as those of AIOpsLab are: it is statement once, and asked for one action after the other."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.read: list[str] = []

    def init_context(self, problem_desc: str, instructions: str, apis: dict[str, str]) -> None:
        self.statement = (problem_desc, instructions, apis)

    async def get_action(self, input: str) -> str:
        self.read.append(input)
        return self.replies.pop(0)


def call(text: str) -> str:
    return f"I do this.\n```\n{text}\n```"


def played(orchestrator: Orchestrator, kind: str, *calls: str, steps: int = 20) -> tuple[Scripted, dict[str, Any]]:
    agent = Scripted(*map(call, calls))
    orchestrator.register_agent(agent, name="scripted")
    agent.init_context(*orchestrator.init_problem(f"{TASK}-{kind}-1"))
    return agent, asyncio.run(orchestrator.start_problem(max_steps=steps))


def test_an_incident_is_mended_and_the_session_written(tmp_path: Path) -> None:
    orchestrator = Orchestrator(tmp_path)
    lines = ("kubectl get endpoints -n boutique", MEND, "sleep 30")
    agent, found = played(orchestrator, "mitigation", *(f"exec_shell({line!r})" for line in lines), "submit()")
    results = found["results"]
    assert results["success"], results["why"]
    assert (results["steps"], results["TTM"] > 30) == (4, True)
    assert "cartservice" in agent.read[1]
    assert agent.read[0] == "Please take the next action"
    ours = start(TASK, 0)
    for line in lines:
        ours.sh(line)
    ours.finish()
    assert results["digest"] == ours.digest
    (file,) = tmp_path.glob("*.json")
    session = json.loads(file.read_text())
    assert set(session) == {"agent", "session_id", "problem_id", "start_time", "end_time", "trace", "results"}
    assert session["trace"][-1] == {"role": "env", "content": "1"}


def test_the_questions_about_what_is_wrong() -> None:
    orchestrator = Orchestrator()
    asked = [
        ("detection", 'submit("Yes")', {"Detection Accuracy": "Correct", "success": True}),
        ("detection", 'submit("perhaps")', {"Detection Accuracy": "Invalid Format", "success": False}),
        ("localization", 'submit(["cartservice"])', {"Localization Accuracy": 100.0, "is_subset": True}),
        ("localization", 'submit(["frontend", "cartservice"])', {"Localization Accuracy": 50.0, "success": False}),
        ("localization", "submit([])", {"Localization Accuracy": 0.0, "is_subset": False}),
        (
            "analysis",
            'submit({"system_level": "Virtualization", "fault_type": "Misconfiguration"})',
            {"system_level_correct": True, "fault_type_correct": True, "success": True},
        ),
        ("analysis", 'submit("dunno")', {"system_level_correct": False, "success": False}),
    ]
    for kind, said, expected in asked:
        _, found = played(orchestrator, kind, said)
        assert expected.items() <= found["results"].items()
    statement, _, actions = orchestrator.init_problem(f"{TASK}-detection-1")
    assert "page" not in statement
    assert list(actions)[-2:] == ["exec_shell", "submit"]


def test_actions_and_what_makes_no_sense() -> None:
    calls = [
        'get_logs("boutique", "cartservice")',
        'get_logs("boutique", "nobody")',
        'get_metrics("boutique", 2)',
        'get_traces("boutique")',
        'read_traces("nowhere")',
        'exec_shell("kubectl edit svc x")',
        'exec_shell("kubectl logs -f x")',
        'exec_shell("kubectl get podz")',
        "frobnicate(1)",
        "get_logs()",
        "get_logs(1 + x)",
    ]
    orchestrator = Orchestrator()
    agent, found = played(orchestrator, "localization", *calls, steps=len(calls))
    assert found["results"]["Localization Accuracy"] == 0.0
    given = [
        text.removesuffix("\nPlease take the next action")
        for text in (*agent.read[1:], found["history"][-1]["content"])
    ]
    expected = ["", "no pod of service nobody", "kpi_container_", "Traces data exported to: trace_output/", "no file"]
    expected += ["needs an editor", "do not end", "[ERROR] Command execution failed: error", "no action frobnicate"]
    expected += ["missing 2 required", "Error parsing response: arguments are constants"]
    assert [one for one, text in zip(expected, given, strict=True) if one not in text] == []
    actions: Any = orchestrator._actions
    head = actions.read_metrics(given[2].splitlines()[0]).splitlines()[0]
    assert head == "timestamp,cmdb_id,kpi_name,value"
    spans = actions.read_traces(given[3].rpartition(" ")[2]).splitlines()
    assert spans[0].startswith("trace_id,span_id,parent_span,service_name")


def test_an_agent_that_dies_is_judged_as_far_as_it_came(tmp_path: Path) -> None:
    orchestrator = Orchestrator(tmp_path)
    orchestrator.register_agent(Scripted(call('exec_shell("kubectl get pods -n boutique")')))  # then nothing is left
    orchestrator.init_problem(f"{TASK}-localization-1")
    found = asyncio.run(orchestrator.start_problem())["results"]
    assert (found["success"], found["steps"], found["error"][:11]) == (False, 1, "IndexError:")
    (file,) = tmp_path.glob("*.json")
    assert json.loads(file.read_text())["results"]["error"] == found["error"]


def test_replies_and_arguments_of_any_kind_are_answered() -> None:
    odd: list[Any] = [None, 5, b"x", "```" * 50_000, "x" * 300_000]
    calls = ('get_metrics("boutique", 1e999)', "get_logs('boutique frontend','x')", "get_logs(\"bou'tique\", 'x')")
    calls += ("get_logs(None, 5)", "exec_shell(5)", "read_metrics({})", "exec_shell('\\ud800')", "call('x', [], {})")
    odd += map(call, calls)
    orchestrator, agent = Orchestrator(), Scripted(*odd)
    orchestrator.register_agent(agent)
    orchestrator.init_problem(f"{TASK}-localization-1")
    found = asyncio.run(orchestrator.start_problem(max_steps=len(odd)))
    assert (found["results"]["success"], found["results"]["steps"]) == (False, len(odd))
    assert "error" not in found["results"]
    assert sum("rror" in text for text in agent.read) >= len(odd) - 2


def test_a_span_as_a_row() -> None:
    span = {"traceID": "t", "spanID": "b", "processID": "p1", "operationName": "get", "startTime": 5, "duration": 7}
    above = {**span, "references": [{"refType": "CHILD_OF", "spanID": "a"}], "tags": [{"key": "error", "value": True}]}
    trace = {"processes": {"p1": {"serviceName": "cart"}}}
    assert _span(span, trace) == ("t", "b", "ROOT", "cart", "get", 5, 7, False, "")
    assert _span(above, trace)[2::5] == ("a", True)


def test_replies() -> None:
    assert parsed(call('exec_shell("echo \\"a\\"")')).arguments == ['echo "a"']
    assert parsed(call("exec_shell('awk '{print $1}' x')")).arguments == ["awk '{print $1}' x"]
    for wrong in ("no block", call("submit()") * 2, call("x = 1"), call("f(**{})"), call("(" * 500)):
        with pytest.raises(ReplyError):
            parsed(wrong)
    assert deduplicated("12:01 a\n12:02 a\nb") == "12:01 a\nb"


def test_every_problem_has_a_task_and_an_answer() -> None:
    known = ids()
    assert len(set(known)) == len(known)
    assert problem("revoke_auth_mongodb-mitigation-2").task == "revoke_auth_mongodb_rate_hotel_reservation"
    for name in known:
        if "-analysis-" in name:
            asked = problem(name)
            level, kind = analysed(asked, tasks.load(asked.task))
            assert (level in LEVELS, kind in TYPES) == (True, True), name
    with pytest.raises(UnknownName):
        problem("revoke_auth_mongodb-mitigation-3")
