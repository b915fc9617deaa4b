"""Patience of any law, by counts: how many of those who wait give up in a tick.

An attempt that has a patience beside its timeout gives up at the earlier of both: its patience then has
the law of the shorter one, and the timeout is none. Of requests that wait in a queue whose oldest is `w` old, the
ages are as the chance to have stayed so long, P(patience > a); so of those waiting (1 - P(patience > w)) /
(integral of P(patience > a) up to w) leave in a unit of time: always the same if patience is exponential.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.models.traffic.aggregate.durations import VALUES, values_of
from simcluster.models.traffic.graph.laws import Law
from simcluster.models.traffic.graph.service import Step, step_of
from simcluster.models.traffic.graph.spec import GraphSpec
from simcluster.models.traffic.graph.steps import Change

Array = NDArray[np.float64]


class Patience:
    """The patience of one edge's attempts, not exponential.

    Args:
        law: of the patience; tick_ns: the unit of all times.
    """

    def __init__(self, law: Law, tick_ns: int) -> None:
        self.values = values_of(law) / tick_ns
        self._before = np.concatenate(([0.0], np.cumsum(self.values)))

    def stays(self, age: float) -> float:
        """Chance to wait longer than that."""
        return 1.0 - float(np.searchsorted(self.values, age, side="right")) / VALUES

    def leaves(self, age: float) -> float:
        """Which part of those who wait, the oldest of them so old, leaves in a tick; as a rate."""
        age = max(age, 0.5)
        rank = int(np.searchsorted(self.values, age, side="right"))
        waited = (float(self._before[rank]) + age * (VALUES - rank)) / VALUES
        return rank / VALUES / max(waited, 1e-9)


def with_patience(spec: GraphSpec) -> GraphSpec:
    """The graph with one law of patience in place of a patience beside a timeout; the same object if there is none."""
    made = spec.with_calls(_impatient)
    if not any(_is_mixed(load.call) for load in spec.load.values()):
        return made
    loads = {name: load.model_copy(update={"call": _shorter(load.call)}) for name, load in spec.load.items()}
    return made.model_copy(update={"load": loads})


def _impatient(service: str) -> Change:
    return _step


def _is_mixed(policy: Any) -> bool:
    return policy.patience is not None and policy.timeout is not None


def _shorter(policy: Any) -> Any:
    if not _is_mixed(policy):
        return policy
    values = np.minimum(values_of(policy.patience), float(policy.timeout))
    whole = tuple(max(1, value) for value in values.astype(np.int64).tolist())
    law = Law.model_construct(law="empirical", values=whole)  # nanoseconds, as a checked one has them
    cancel = "queued" if policy.propagate and policy.cancel == "no" else policy.cancel
    return policy.model_copy(update={"patience": law, "timeout": None, "cancel": cancel})


def _step(step: Step) -> Step:
    return step_of(call=_shorter(step.call)) if step.call is not None and _is_mixed(step.call) else step
