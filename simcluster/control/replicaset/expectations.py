"""What a controller has asked for and has not yet seen happen.

Watch events arrive late; until all expected ones have arrived a controller must not count
what it sees, or it would create or delete too much.
Source: kubernetes pkg/controller/controller_utils.go (ControllerExpectations).
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine import MINUTE, Simulation

#: ExpectationsTimeout: afterwards the controller trusts what it sees.
EXPECTATIONS_TIMEOUT_NS = 5 * MINUTE


class _Expectation:
    __slots__ = ("at_ns", "creations", "deletions")

    def __init__(self, at_ns: int) -> None:
        self.at_ns = at_ns
        self.creations = 0
        self.deletions: dict[str, None] = {}


class Expectations:
    """Pending creations (a count) and deletions (pod uids) per key of a controller's queue."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self._pending: dict[str, _Expectation] = {}

    def expect_creations(self, key: str, count: int) -> None:
        """Begin to expect `count` pods to appear."""
        expectation = self._pending[key] = _Expectation(self.sim.now)
        expectation.creations = count

    def expect_deletions(self, key: str, uids: Sequence[str]) -> None:
        """Begin to expect these pods to be marked for deletion or to disappear."""
        expectation = self._pending[key] = _Expectation(self.sim.now)
        expectation.deletions = dict.fromkeys(uids)

    def creation_observed(self, key: str) -> None:
        """A pod has appeared, or its creation has failed."""
        expectation = self._pending.get(key)
        if expectation is not None and expectation.creations:
            expectation.creations -= 1

    def deletion_observed(self, key: str, uid: str) -> None:
        """A pod is being deleted, or its deletion has failed."""
        expectation = self._pending.get(key)
        if expectation is not None:
            expectation.deletions.pop(uid, None)

    def forget(self, key: str) -> None:
        """The object itself is gone."""
        self._pending.pop(key, None)

    def satisfied(self, key: str) -> bool:
        """Whether everything expected was seen (or the time for it is over)."""
        expectation = self._pending.get(key)
        if expectation is None:
            return True
        if self.sim.now - expectation.at_ns > EXPECTATIONS_TIMEOUT_NS:
            return True
        return not expectation.creations and not expectation.deletions
