"""The runbook's rule about retries, on logs and objects as kubectl shows them."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.agents.runbook.reading import Reading
from simcluster.agents.runbook.retries import amplification, retry_storms
from simcluster.surface.protocols import Outcome

STORM = "noise\n2026-03-02T09:06:25Z info: last 10s: requests=584 errors=531 attempts=2228 attempts_per_request=3.82\n"
CALM = STORM + "2026-03-02T09:06:35Z info: last 10s: requests=584 errors=0 attempts=590 attempts_per_request=1.01\n"


class Asked(Reading):
    """A reading of given objects whose logs are given."""

    def __init__(self, log: str, *env: tuple[str, str]) -> None:
        self.namespaces = ["shop"]
        self.session: Any = self
        self.alert = "[FIRING] EntrySuccessLow shop/front since ..."
        self.log = log
        self.commands: list[str] = []
        entries = [{"name": name, "value": value} for name, value in env]
        self._lists = {
            ("deployments", "shop"): [_deployment("web", entries), _deployment("front", [])],
            ("services", "shop"): [{"metadata": {"name": "front"}, "spec": {"selector": {"app": "front"}}}],
        }

    def kubectl(self, command: str, stdin: str = "") -> Outcome:
        self.commands.append(command)
        return Outcome(self.log)


def _deployment(name: str, env: list[dict[str, str]]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "server", "env": env}]}}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"replicas": 2, "template": template}}


@pytest.mark.parametrize(("variable", "value", "once"), [("DB_ATTEMPTS", "4", "1"), ("HTTP_MAX_RETRIES", "3", "0")])
def test_retries_are_switched_off_where_a_variable_sets_them(variable: str, value: str, once: str) -> None:
    found = retry_storms(Asked(STORM, (variable, value)))

    assert [finding.component for finding in found] == ["Deployment/web"]
    assert found[0].details == {variable: value}
    assert found[0].acts[0].kubectl == f"set env deployment/web -n shop {variable}={once}"


def test_a_caller_that_asks_once_is_left_alone() -> None:
    assert retry_storms(Asked(CALM, ("DB_ATTEMPTS", "4"))) == []


def test_the_door_is_closed_where_retries_are_off_already_and_the_storm_goes_on() -> None:
    found = retry_storms(Asked(STORM, ("DB_ATTEMPTS", "1")))

    done = [act.kubectl or f"wait {act.wait}" for act in found[0].acts]
    scale = "scale deployment/front -n shop --replicas="
    assert done == [f"{scale}0", "wait 30s", f"{scale}2"]


def test_logs_are_not_read_where_nothing_is_said_of_attempts() -> None:
    asked = Asked(STORM, ("PORT", "8080"))

    assert retry_storms(asked) == []
    assert asked.commands == []


def test_the_last_line_counts() -> None:
    assert amplification(CALM) == 1.01
    assert amplification("requests=10 attempts=40") == 4.0
    assert amplification("nothing of the kind") == 0.0
