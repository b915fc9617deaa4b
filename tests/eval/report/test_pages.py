"""Pages, JUnit and ATIF of hand-made runs; the agent's texts are hostile."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from simcluster.engine import SECOND
from simcluster.eval.process import measured
from simcluster.eval.process.transcript import Turn
from simcluster.eval.report.evaluationpage import evaluation_page
from simcluster.eval.report.exports import atif, junit
from simcluster.eval.report.markup import shown, tag
from simcluster.eval.report.picture import LETTER, incident_svg
from simcluster.eval.report.plots import Bar, bars
from simcluster.eval.report.runpage import RunFiles, run_page

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)> ]]> & \x1b[31m\u202e\x00\ud800"
MARKS = {"start": 0, "incident": 60 * SECOND, "paged": 62 * SECOND, "finished": 70 * SECOND}
GUIDE: dict[str, Any] = {
    "alert": f"[FIRING] {HOSTILE}",
    "marks": MARKS,
    "budget": 100,
    "paths": [[["list::pods"], ["show::deployments::cart"]]] * 2,
    "evidence": [["show::deployments::cart"], ["node::worker-1"]],
    "causes": ["deployments/cart"],
    "lures": [],
}
HEADER = {"marks": MARKS, "protects": ["cart"]}
TURNS = [
    Turn(63 * SECOND, 63 * SECOND, "kubectl", "", "get deploy cart", "", 0, False, True, HOSTILE, 9, "a"),
    Turn(63 * SECOND, 63 * SECOND, "kubectl", "", HOSTILE, "", 0, False, True, HOSTILE, 9, "a"),
    Turn(64 * SECOND, 64 * SECOND, "node", HOSTILE, HOSTILE, HOSTILE, 1, True, True, HOSTILE, 9, "b"),
    Turn(65 * SECOND, 65 * SECOND, "diagnose", "", json.dumps(HOSTILE), "", 0, False, False, "", 0, "c"),
    Turn(66 * SECOND, 66 * SECOND, "diagnose", "", json.dumps({"component": HOSTILE}), "", 0, False, False, "", 0, "d"),
]


def tick(t_s: int, availability: float = 1.0) -> dict[str, Any]:
    answer = {"reachable": availability == 1.0, "status": 200, "latency_ms": 12.5}
    return {
        "t_ns": t_s * SECOND,
        "d1": {"ready": 3, "total": 3, "availability": availability, "not_ready": [HOSTILE]},
        "d2": {"cart": 1},
        "d3": {"cart": answer},
        "d4": {"critical_failing": [] if availability == 1.0 else [HOSTILE]},
        "nodes_not_ready": [],
        "users": {"sent": 50, "ok": 25},
        "commands": [["kubectl", True, 0]],
    }


TICKS = [tick(t_s, 0.5 if t_s == 65 else 1.0) for t_s in range(5, 75, 5)]


def record(agent: str = "expert", passed: bool = True, **more: Any) -> dict[str, Any]:
    grade = {"passed": passed, "why": {} if passed else {"temporal": HOSTILE}}
    found = {
        "task": "wrong_image_tag_online_boutique", "agent": agent, "seed": 0, "noise": None, "passed": passed,
        "diagnosis": {**grade, "answers": [{"question": HOSTILE, "yes": passed, "why": HOSTILE}]}, "mitigation": grade,
        "residue": grade, "trajectory": grade, "outcome": "done", "error": "" if passed else HOSTILE, "seconds": 1.25,
        "commands": 2, "simulated_s": 30.0, "says_solved": True,
    }  # fmt: skip
    found["process"] = measured(GUIDE, TURNS, {"diagnosis": passed, "mitigation": passed, "outcome": "done"})
    return found | more


class Reader(HTMLParser):
    """Elements of a document; what is open must be closed in its order."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(document)
        assert not self.open

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += attributes
        self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += attributes

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, text: str) -> None:
        self.text += text


def harmless(document: str) -> Reader:
    """A page that runs nothing, asks nobody for anything and can be written down."""
    found = Reader(document)
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("src", "href")]
    assert not re.search("[\x00-\x08\x1b\u202e\ud800]", document)
    document.encode()
    return found


def test_the_page_of_a_run_tells_everything_and_runs_nothing() -> None:
    what_if = [{"at": 64, "user_minutes": 0.5, "why": HOSTILE}]
    page = harmless(run_page(RunFiles(record(passed=False), (HEADER, TICKS), (GUIDE, TURNS), what_if)))
    assert page.text.count("<script>alert(1)</script>") >= 8, "texts are shown as they are"
    for words in ("The page", "Signals", "Time line", "What was seen", "Verdicts", "What if", "cloudopsbench"):
        assert words in page.text
    assert "at 63.0 s by show::deployments::cart" in page.text
    assert "never" in page.text
    assert page.text.index("the incident begins") < page.text.index("the operator is paged")


def test_the_page_of_a_run_that_left_nothing() -> None:
    page = harmless(run_page(RunFiles(record(process=None))))
    assert "This run left no record." in page.text
    assert "What if" not in page.text


def test_the_page_of_an_evaluation() -> None:
    runs = [record(), record("noop", False, process=None), record(HOSTILE, False, task="mine.yaml", outcome="killed")]
    page = harmless(evaluation_page(runs))
    for words in ("Leaderboard", "Comparison", "family wrong_image", "mode single", "noise none", "no difference"):
        assert words in page.text, words
    harmless(evaluation_page([]))


class Box:
    """Where a text of a picture stands, by an upper bound of its width."""

    def __init__(self, element: ElementTree.Element, size: float) -> None:
        size = float(element.get("font-size", size))
        width = LETTER * size * len(element.text or "")
        x, self.low = float(element.get("x", 0)), float(element.get("y", 0))
        self.left = x - {"start": 0.0, "middle": width / 2, "end": width}[element.get("text-anchor", "start")]
        self.right, self.high, self.text = self.left + width, self.low - 0.8 * size, element.text

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.high < other.low and other.high < self.low


def boxes(svg: str) -> list[Box]:
    root = ElementTree.fromstring(svg)
    return [Box(one, 12) for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text]


@pytest.mark.parametrize("every_depth", [False, True])
@pytest.mark.parametrize("last_s", [20, 75, 1000, 90_000])
@pytest.mark.parametrize("gap_s", [0, 1, 5])
def test_labels_of_a_picture_never_meet(every_depth: bool, last_s: int, gap_s: int) -> None:
    marks = {"start": 0, **{name: (last_s - 2 * gap_s + n * gap_s) * SECOND for n, name in enumerate(list(MARKS)[1:])}}
    svg = incident_svg({"marks": marks}, [tick(t_s) for t_s in (5, last_s)], "An <incident>", every_depth=every_depth)
    found = boxes(svg)
    assert not [(a.text, b.text) for a, b in itertools.combinations(found, 2) if a.meets(b)]
    assert all(box.left >= 0 and box.right <= 910 for box in found)
    assert sum(box.text in ("0 %", "0 ms", "0") for box in found) == (4 if every_depth else 2), "axes begin at 0"


def test_labels_of_bars_never_meet_and_axes_begin_at_0() -> None:
    svg = bars([Bar(f"agent {n} " + "x" * n, 10.0 * n, 9.0 * n, 11.0 * n) for n in range(12)], " %")
    found = boxes(svg)
    assert not [(a.text, b.text) for a, b in itertools.combinations(found, 2) if a.meets(b)]
    assert found[0].text == "0 %"


def test_junit() -> None:
    runs = [record(), record("noop", False), record("noop", False, outcome="error", seed=1)]
    root = ElementTree.fromstring(junit(runs))
    counts = [(one.get("name"), one.get("tests"), one.get("failures"), one.get("errors")) for one in root]
    assert counts == [("expert", "1", "0", "0"), ("noop", "2", "1", "1")]
    [failure] = root.iter("failure")
    assert failure.get("message") == "failed: diagnosis, mitigation, residue, trajectory; ended: done"
    assert "<script>" in (failure.text or "")


def test_atif() -> None:
    found = json.loads(json.dumps(atif(record(), GUIDE, TURNS)))
    assert sorted(found) == [
        "agent", "extra", "final_metrics", "schema_version", "session_id", "steps", "trajectory_id",
    ]  # fmt: skip
    assert [step["step_id"] for step in found["steps"]] == [1, 2, 3, 4, 5, 6]
    assert [step["source"] for step in found["steps"]] == ["user", *["agent"] * 5]
    step = found["steps"][3]
    assert step["observation"]["results"][0]["source_call_id"] == step["tool_calls"][0]["tool_call_id"]
    assert found["steps"][5]["tool_calls"][0]["arguments"] == {"answer": {"component": HOSTILE}}


def test_anything_can_be_shown() -> None:
    assert shown([{"a": 1, "b": [True]}, {"a": "<"}]).count("<tr>") == 3
    assert shown({}) == "-"
    assert tag("td", "<", class_='"') == '<td class="&quot;">&lt;</td>'
