"""Agents by name, and agents of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.agents import registry
from simcluster.agents.expert import Expert, ReferenceStep
from simcluster.engine.content import UnknownName
from simcluster.surface.protocols import Outcome, Session


class Quiet:
    """A session that answers nothing and remembers everything."""

    alert = ""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        self.done.append(("kubectl", command + stdin))
        return Outcome("namespace/kube-system\nnamespace/shop\n" if "namespaces" in command else "")

    def node(self, name: str) -> Quiet:
        return self

    def sh(self, command: str) -> Outcome:
        self.done.append(("sh", command))
        return Outcome("")

    def wait(self, duration: str) -> None:
        self.done.append(("wait", duration))

    def diagnose(self, answer: str | dict[str, object]) -> None:
        self.done.append(("diagnose", str(answer)))


def act(name: str) -> list[tuple[str, str]]:
    session = Quiet()
    handed: Session = session
    registry.create(name).run(handed)
    return session.done


def test_every_agent_has_a_name_and_a_line() -> None:
    for name in registry.names():
        assert registry.create(name).name == name
        assert registry.describe(name)


def test_unknown_agents_list_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown agent 'runbok'; did you mean runbook\?"):
        registry.create("runbok")


def test_noop_only_waits() -> None:
    assert {tool for tool, _ in act("noop")} == {"wait"}


def test_restarter_restarts_applications_and_never_touches_nodes() -> None:
    done = act("restarter")
    assert ("kubectl", "rollout restart deployment -n shop") in done
    assert not [text for tool, text in done if tool == "sh" or "kube-system" in text]


def test_an_expert_who_finds_nothing_says_nothing_and_touches_nothing() -> None:
    session = Quiet()
    steps = [ReferenceStep(kubectl="apply -f -", stdin="kind: X"), ReferenceStep(node="n", sh="rm -rf /data")]
    Expert(steps).run(session)
    assert not [tool for tool, _ in session.done if tool == "diagnose"]
    assert not [text for _, text in session.done if "apply" in text or "rm" in text]


def test_agents_of_others_are_named_by_module_and_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours.py").write_text(
        "class Mine:\n    name = 'mine'\n    def run(self, session):\n        session.wait('1s')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.create("ours:Mine").name == "mine"
