"""One named check with arguments, and what it may look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from simcluster.api.objects import ApiObject
from simcluster.engine.content import Content
from simcluster.eval.oracles.baseline import Baseline
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ObjectRef

if TYPE_CHECKING:
    from simcluster.world import World


class CheckResult(NamedTuple):
    """What a check found; `why` says what failed, or what it saw."""

    name: str
    passed: bool
    why: str = ""


@dataclass
class Context:
    """What checks may look at.

    Attributes:
        world: the cluster now.
        namespace: of the application.
        baseline: what was there before the incident.
        mechanisms: what the incident did.
        opened_ns: start of the acceptance window.
        memo: notes of checks that compare the window's start with its end, by index of the check.
    """

    world: World
    namespace: str
    baseline: Baseline
    mechanisms: tuple[Mechanism, ...]
    opened_ns: int
    memo: dict[int, Any] = field(default_factory=dict)

    def deployment(self, name: str) -> ApiObject | None:
        """A Deployment of the application as it is stored now."""
        return self.world.api.store.get("deployments.apps", self.namespace, name)


class Check(ABC):
    """A check with its arguments.

    Attributes:
        Args: the model of its arguments.
        lasting: whether it must hold at every sample of the window (state), or is asked once
            at its end (what happened during the window).
        stands_in: whether it stands in for an examination: it decides only where nothing that is examined would show
            what it looks for.
    """

    Args: ClassVar[type[Content]]
    lasting: ClassVar[bool] = True
    stands_in: ClassVar[bool] = False

    def __init__(self, name: str, args: Any, index: int = 0) -> None:
        self.name = name
        self.args = args
        self.index = index

    @property
    def refs(self) -> list[ObjectRef]:
        """Objects that its arguments name by kind."""
        return []

    def begin(self, ctx: Context) -> None:
        """The window opens. For checks that compare its end with its start."""

    @abstractmethod
    def why_not(self, ctx: Context) -> str:
        """Why it does not hold now, or an empty text."""

    def evaluate(self, ctx: Context) -> CheckResult:
        """The result at the present instant."""
        reason = self.why_not(ctx)
        return CheckResult(self.name, not reason, reason)
