"""Tasks, faults and noise spoiled in every place: every error word for word."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from simcluster import tasks
from simcluster.engine.content import load_content
from simcluster.faults import registry, steps
from simcluster.models.userland.outcome import Outcome
from simcluster.noise import plan
from tests.spoiling import refusals, spoilings
from tests.transcripts import check

_HERE = Path(__file__).parent
_NOISE = Path(plan.__file__).parent / "profiles"


@cache
def _steps() -> dict[str, dict]:
    """Fault -> the first step of a task that has it."""
    found: dict[str, dict] = {}
    for task_id in tasks.ids():
        for step in yaml.safe_load(tasks.path_of(task_id).read_text())["incident"]:
            if "fault" in step:
                found.setdefault(step["fault"], step)
    return dict(sorted(found.items()))


def _said_of(step: dict) -> str:
    """What the mechanism says of each spoiled parameter."""
    lines = []
    for where, value, changed in spoilings(step.get("params", {})):
        target = step.get("target") or {}
        named = {"kind": target.partition("/")[0]} if isinstance(target, str) else target
        named = {"kind": "Deployment", "name": "cart", **named}
        named.pop("node_of", None)
        try:
            steps.mechanism_of(steps.IncidentStep.model_validate({**step, "target": named, "params": changed}), "shop")
            said = "taken"
        except ValueError as error:
            said = str(error)
        lines.append(f"{'.'.join(map(str, where))} {value!r}: {' / '.join(said.splitlines())}\n")
    return "".join(lines)


def test_every_refusal(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    def run(line: str) -> Outcome:
        kind, name = line.split()
        path = tmp_path / f"{name}.yaml"
        if kind == "task":
            data = yaml.safe_load(tasks.path_of(name).read_text())
            return Outcome(refusals(path, data, lambda at: tasks.load(str(at)), (..., "nonsense", -7, [])))
        if kind == "spec":
            source = registry.folder_of(registry.family_of(name)) / "specs" / f"{name}.yaml"
            return Outcome(refusals(path, yaml.safe_load(source.read_text()), _spec))
        if kind == "noise":
            data = yaml.safe_load((_NOISE / f"{name}.yaml").read_text())
            return Outcome(refusals(path, data, lambda at: load_content(at, plan.Profile)))
        assert kind == "fault"
        return Outcome(_said_of(_steps()[name]))

    check(request, _HERE / "refusals.transcript", run, {})


def _spec(path: Path) -> object:
    return load_content(path, registry.FaultSpec)
