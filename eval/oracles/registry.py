"""The checks there are, by the names that tasks use."""

from __future__ import annotations

from functools import cache

from pydantic import ValidationError

from simcluster.engine.content import nearest
from simcluster.engine.discovery import registered
from simcluster.eval.oracles.check import Check
from simcluster.tasks.model import Task


@cache
def checks() -> dict[str, type[Check]]:
    """All checks: classes of `eval/oracles/checks`, and of the entry points `simcluster.checks`.

    Raises:
        PluginError: one cannot be imported, or two have one name.
    """
    return registered("simcluster.eval.oracles.checks", "simcluster.checks", Check)


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
        kind = checks().get(spec.check)
        if kind is None:
            close = nearest(spec.check, checks()) or sorted(checks())
            raise WrongCheck(index, f"unknown check {spec.check!r}; did you mean {', '.join(close)}?")
        try:
            args = kind.Args.model_validate(spec.args)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(["args", *map(str, first["loc"])])
            raise WrongCheck(index, f"check {spec.check}: {place}: {first['msg']}") from None
        found.append(kind(spec.check, args, index))
    return found
