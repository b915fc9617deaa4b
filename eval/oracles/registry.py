"""The checks there are, by the names that tasks use."""

from __future__ import annotations

from pydantic import ValidationError

from simcluster.engine.content import nearest
from simcluster.eval.oracles.check import Check
from simcluster.eval.oracles.checks.behaviour import AttemptsPerRequest, NotThrottled, ServiceReachable, UsersSucceed
from simcluster.eval.oracles.checks.state import (
    CauseGone,
    CpuLimitAtLeast,
    DeploymentAvailable,
    EndpointsAre,
    EnvValueIs,
    ImageIsNot,
    NodeReady,
    NothingWorse,
    RolloutComplete,
    UnitActive,
)
from simcluster.tasks.model import Task

CHECKS: dict[str, type[Check]] = {
    "attempts_per_request": AttemptsPerRequest,
    "cause_gone": CauseGone,
    "cpu_limit_at_least": CpuLimitAtLeast,
    "deployment_available": DeploymentAvailable,
    "endpoints_are": EndpointsAre,
    "env_value_is": EnvValueIs,
    "image_is_not": ImageIsNot,
    "node_ready": NodeReady,
    "not_throttled": NotThrottled,
    "nothing_worse_than_before": NothingWorse,
    "rollout_complete": RolloutComplete,
    "service_reachable": ServiceReachable,
    "unit_active": UnitActive,
    "users_succeed": UsersSucceed,
}


class WrongCheck(ValueError):
    """A task names a check that does not exist, or gives it wrong arguments.

    Attributes:
        index: which entry of `accepted_when`.
    """

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(problem)
        self.index = index


def checks_of(task: Task) -> list[Check]:
    """The checks of a task. Raises WrongCheck."""
    found = []
    for index, spec in enumerate(task.accepted_when):
        kind = CHECKS.get(spec.check)
        if kind is None:
            close = nearest(spec.check, CHECKS) or sorted(CHECKS)
            raise WrongCheck(index, f"unknown check {spec.check!r}; did you mean {', '.join(close)}?")
        try:
            args = kind.Args.model_validate(spec.args)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(["args", *map(str, first["loc"])])
            raise WrongCheck(index, f"check {spec.check}: {place}: {first['msg']}") from None
        found.append(kind(spec.check, args, index))
    return found
