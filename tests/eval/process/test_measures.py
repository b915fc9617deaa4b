"""Steps and process measures of hand-written transcripts: paged at 10 s, a command every second from 11 s on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.eval.process import Transcript, measured
from simcluster.eval.process.measures import aggregated
from simcluster.eval.process.steps import steps_of
from simcluster.eval.process.transcript import HEAD, TAIL, Turn, read_jsonl, shortened, write_jsonl
from simcluster.session.kinds import Effect
from simcluster.session.log import Command
from simcluster.surface.protocols import Outcome

CART = ["show::deployments::cart", "show::deployments::*"]
HEADER: dict[str, Any] = {
    "paths": [[["list::pods", "show::pods::*"], CART], [["list::events"], CART]],
    "evidence": [CART],
    "causes": ["deployments/cart", "pods/cart"],
    "lures": ["deployments/frontend"],
    "marks": {"start": 0, "incident": 4 * SECOND, "paged": 10 * SECOND, "finished": 40 * SECOND},
    "budget": 100,
}
GOOD = {"diagnosis": True, "mitigation": True, "outcome": "done"}
WRITES = ("set", "patch", "scale", "delete", "rollout restart", "apply", "cordon")


def turns(*commands: str | tuple[str, int]) -> list[Turn]:
    """Commands of kubectl with their exit status; `TOOL TARGET: …` of another tool."""
    found = []
    for number, (text, code) in enumerate((one, 0) if isinstance(one, str) else one for one in commands):
        head, _, rest = text.partition(": ")
        tool, _, target = head.partition(" ") if rest else ("kubectl", "", "")
        writes = text.startswith(WRITES)
        at_ns = (11 + number) * SECOND
        found.append(Turn(at_ns, at_ns, tool, target, rest or text, "", code, writes, True, "", 0, text))
    return found


@pytest.mark.parametrize(
    ("command", "token", "aims"),
    [
        ("get pods -n shop -o wide", "list::pods", ("pods/*",)),
        ("get po,svc -A", "list::pods", ("pods/*", "services/*")),
        ("get deploy -o yaml", "show::deployments::*", ("deployments/*",)),
        ("describe deployment cart -n shop", "show::deployments::cart", ("deployments/cart",)),
        ("get pod/cart-5d4f7c9b8-x2x9k -o json", "show::pods::cart", ("pods/cart",)),
        ("logs cart-5d4f7c9b8-x2x9k -n shop --tail 5", "logs::cart", ("pods/cart",)),
        ("logs deploy/cart", "logs::cart", ("deployments/cart",)),
        ("get events -A", "list::events", ("events/*",)),
        ("top pods", "top::pods", ("pods/*",)),
        ("rollout restart deployment -n shop", "rollout-restart::deployments", ("deployments/*",)),
        ("set image deployment/cart server=x:1", "set-image::deployments::cart", ("deployments/cart",)),
        ("cordon worker-1", "cordon::nodes::worker-1", ("nodes/worker-1",)),
        ("exec cart-0 -- cat /x", "exec::cart", ("pods/cart",)),
        ("node worker-1: dmesg", "node::worker-1", ("node/worker-1",)),
        ("container shop/cart-0: ps", "exec::cart", ("pods/cart",)),
    ],
)
def test_a_look_has_one_token_however_it_is_spelled(command: str, token: str, aims: tuple[str, ...]) -> None:
    [step] = steps_of(turns(command))
    assert (step.token, step.aims, step.invalid) == (token, aims, False)


@pytest.mark.parametrize(
    "command",
    [
        ("get podss", 1),
        ("frobnicate", 1),
        "get pods --nonsense",
        ('get "', 1),
        ("node w: xyz", 127),
        ("node w: ls", 255),
    ],
)
def test_an_agents_own_mistake_is_an_invalid_step(command: str | tuple[str, int]) -> None:
    assert [step.invalid for step in steps_of(turns(command))] == [True]


def test_waits_and_what_asks_by_its_exit_status_are_no_mistakes() -> None:
    steps = steps_of(turns("wait : 5s", ("auth can-i get pods", 1), ("node w: grep x /y", 1), ("diagnose : {}", 0)))
    assert [step.invalid for step in steps] == [False, False]


def test_the_path_of_an_expert() -> None:
    found = measured(HEADER, turns("get pods", "get deploy cart", "diagnose : 1", "set env deploy/cart A=b"), GOOD)
    ops = found["cloudopsbench"]
    assert {ops[name] for name in ("exact_match", "in_order", "any_order", "relevance", "coverage")} == {1.0}
    assert (ops["steps"], ops["iac"], ops["rar"], ops["ztdr"], ops["mtti_s"]) == (2, 0, 0.0, 0.0, 3.0)
    assert found["sregym"] == {
        "diagnosis": True, "mitigation": True, "end_to_end": True, "ttd_s": 9.0, "ttm_s": 36.0, "timed_out": False,
    }  # fmt: skip
    zero = found["srezero"]
    assert (zero["success"], zero["failure_mode"], zero["penalties"]) == (True, "success", {})
    assert zero["reward"] == round(0.2 + 0.25 + 0.25 + 0.2 + 0.1 * 97 / 100, 4)


def test_a_roundabout_way() -> None:
    commands = ["get nodes", "get pods", ("get podss", 1), "get nodes", "get events", "describe deploy cart"]
    ops = measured(HEADER, turns(*commands), GOOD)["cloudopsbench"]
    assert (ops["exact_match"], ops["in_order"], ops["any_order"]) == (0.0, 1.0, 1.0)
    assert ops["relevance"] == 0.5, "of nodes, pods, events and cart two are on the better path"
    assert (ops["coverage"], ops["steps"], ops["iac"], ops["rar"]) == (1.0, 5, 1, 0.2)
    assert (ops["tcr"], ops["mtti_s"]) == (0.0, None)
    backwards = measured(HEADER, turns("describe deploy cart", "get pods"), GOOD)["cloudopsbench"]
    assert (backwards["in_order"], backwards["any_order"]) == (0.0, 1.0)


def test_a_diagnosis_without_a_look() -> None:
    found = measured(HEADER, turns("diagnose : 1"), {"diagnosis": False, "mitigation": False, "outcome": "done"})
    assert (found["cloudopsbench"]["ztdr"], found["cloudopsbench"]["coverage"]) == (1.0, 0.0)
    assert found["srezero"]["premature_resolution"]
    assert found["srezero"]["failure_mode"] == "premature_resolution"
    assert found["srezero"]["reward"] == 0.0


def test_mistakes_cost() -> None:
    wrong = ["scale deploy frontend --replicas 3", "rollout restart deployment", "delete pod cart-5d4f7c9b8-x2x9k"]
    zero = measured(HEADER, turns(*wrong, ("get x", 1), ("get x", 1), "get pods", "get pods"), GOOD)["srezero"]
    assert zero["remediation_actions"] == 3
    assert zero["wrong_remediations"] == 2
    assert zero["distractor_failures"] == 1
    assert zero["invalid_actions"] == 2
    assert zero["repeated_actions"] == 1
    assert zero["penalties"] == {
        "invalid_action": -0.05, "repeated_invalid_action": -0.1, "wrong_remediation": -0.3,
        "repeated_useless_action": -0.05, "restart_unrelated_service": -0.1,
    }  # fmt: skip
    assert zero["evidence_coverage"] == 0.0


def test_after_a_write_the_same_look_is_no_repetition() -> None:
    again = turns("get pods", "set env deploy/cart A=b", "get pods")
    assert measured(HEADER, again, GOOD)["srezero"]["repeated_actions"] == 0


def test_who_is_stopped_has_taken_the_whole_time() -> None:
    stopped = measured(HEADER, turns("get pods"), {"diagnosis": False, "mitigation": False, "outcome": "timeout"})
    assert (stopped["sregym"]["ttd_s"], stopped["sregym"]["ttm_s"]) == (1800.0, 1800.0)
    assert stopped["srezero"]["failure_mode"] == "step_budget_exhausted"


def test_means_over_runs() -> None:
    good = measured(HEADER, turns("get pods", "get deploy cart", "diagnose : 1"), GOOD)
    bad = measured(HEADER, turns("scale deploy frontend --replicas 3"), GOOD | {"diagnosis": False})
    found = aggregated([good, bad, {}])
    assert found["cloudopsbench"]["accuracy"] == round(1 / 3, 4), "a run without a record counts as 0"
    assert found["cloudopsbench"]["mtti_s"] == 3.0
    assert found["sregym"]["end_to_end"] == 0.5
    assert found["srezero"]["wrong_remediation_rate"] == 1.0
    assert found["srezero"]["failure_modes"] == {"success": 1, "wrong_remediation": 1}
    assert 0.0 < found["srezero"]["marks"] < 100.0
    assert aggregated([{}]) == {}


def test_a_transcript_is_read_as_it_was_written(tmp_path: Path) -> None:
    transcript = Transcript()
    result = Outcome("é\ud800" + "x" * 20_000 + "end", "", 3)
    transcript.add(Command(1, "kubectl", "", "get pods\u2028", "", "", 3, "abc"), Effect("read"), result, 2)
    [turn] = transcript.turns
    assert turn.answer.startswith("é\\ud800x")
    assert turn.answer.endswith("xend")
    assert len(turn.answer) < HEAD + TAIL + 50 < turn.length
    write_jsonl(tmp_path / "t", HEADER, transcript.turns)
    assert read_jsonl(tmp_path / "t") == (HEADER, [turn])
    assert shortened("x" * (HEAD + TAIL)) == "x" * (HEAD + TAIL)
    (tmp_path / "t").write_text('{"kind": "turn", "at": 1}\n')
    with pytest.raises(ValueError, match=r"t:1: this is no line of a transcript"):
        read_jsonl(tmp_path / "t")
