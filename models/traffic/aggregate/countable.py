"""What counts cannot tell: parts of the language that this engine refuses, with place and reason."""

from __future__ import annotations

from pathlib import Path

from simcluster.engine.content import ContentError
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Call, Step
from simcluster.models.traffic.graph.spec import GraphSpec


def check_countable(spec: GraphSpec) -> None:
    """Refuse what only `exact` can run.

    Raises:
        ContentError: naming the part of the spec and the reason.
    """
    priorities: dict[str, dict[int | None, None]] = {}
    for name, load in spec.load.items():
        _check(f"load.{name}.call", load.call)
        for reference in load.targets():
            _note(priorities, reference.partition("/")[0], load.call)
    for name, service in spec.services.items():
        for key, operation in service.operations.items():
            for call in _calls(operation.steps):
                _check(f"services.{name}.operations.{key}", call)
                _note(priorities, call.service, call)
    for name, service in spec.services.items():
        if service.queue.discipline == "priority" and len(priorities.get(name, {})) > 1:
            _refuse(f"services.{name}.queue.discipline", "queues of several priorities are not counted")


def _note(found: dict[str, dict[int | None, None]], service: str, policy: Policy) -> None:
    here = found.setdefault(service, {})
    here[policy.priority] = None
    if policy.attempts > 1:
        here[policy.retry_priority if policy.retry_priority is not None else policy.priority] = None


def _check(place: str, policy: Policy) -> None:
    if policy.patience is not None and policy.patience.law != "exponential":
        _refuse(f"{place}.patience", "only exponential patience is counted")
    if policy.patience is not None and policy.timeout is not None:
        _refuse(f"{place}.patience", "patience beside a timeout is not counted")


def _calls(steps: tuple[Step, ...]) -> list[Call]:
    found: list[Call] = []
    for step in steps:
        if step.call is not None:
            found.append(step.call)
        for inside in (step.parallel, step.sequence):
            found += _calls(inside or ())
        for chance in step.choose or ():
            found += _calls(chance.steps)
        if step.cached is not None:
            found += _calls(step.cached.miss)
    return found


def _refuse(place: str, reason: str) -> None:
    raise ContentError(Path("aggregate"), 0, f"{place}: {reason}; run it with --engine exact")
