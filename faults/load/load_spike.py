"""More users for a while: the trigger of many collapses, gone before anybody looks."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from simcluster.api.objects import name_of, namespace_of
from simcluster.engine.content import Content, Nanoseconds
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget


class SpikeParams(Content):
    """Users send `factor` times as many requests, for so long (`lasts`)."""

    factor: float = Field(gt=1.0, le=100.0)
    lasts: Nanoseconds = Field(gt=0)


class LoadSpike(Mechanism):
    """The users of a Service come more often for a while, and then as often as before.

    Symptoms: while it lasts, queues in front of what is busiest, slow answers, time-outs. Afterwards
    nothing, unless something in the application keeps the overload going.
    Shows in: requests, latency, `top`, callers' logs, users. No object is changed.
    Ends by itself.
    """

    sheet = DataSheet(
        layer="load",
        family="load",
        changes=("[*].rps",),
        follows="While it lasts, queues in front of what is busiest; afterwards nothing, unless something keeps "
        "the overload going.",
        undone_by=("itself",),
        units={"factor": "times the usual rate", "lasts": "ns"},
        source="Bronson et al., Metastable Failures in Distributed Systems (HotOS 2021)",
    )
    Params = SpikeParams
    kinds = ("Service",)
    lasting = False
    params: SpikeParams

    def check(self, target: FaultTarget) -> None:
        """The Service must have users."""
        super().check(target)
        if not self._users(target):
            raise ImpossibleTarget(f"{self.ref} has no users")

    def inject(self, target: FaultTarget) -> None:
        """Let more of them come."""
        for users in self._users(target):
            target.traffic.schedule_rate(users, users.rps * self.params.factor, 0, self.params.lasts)

    def still_present(self, target: FaultTarget) -> str:
        """Nothing of it stays."""
        return ""

    def _users(self, target: FaultTarget) -> list[Any]:
        service = self.object(target)
        where = (namespace_of(service), name_of(service))
        return [u for u in target.traffic.users.values() if (u.namespace, u.service) == where and u.rps > 0.0]
