"""More users for a while: the trigger of many collapses, gone before anybody looks."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from simcluster.api.objects import name_of, namespace_of
from simcluster.engine.content import Content, Nanoseconds, UnknownName
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget

#: A ramp is climbed in so many steps.
STEPS = 10


class SpikeParams(Content):
    """Users send `factor` times as many requests, for so long (`lasts`).

    Attributes:
        ramp: until there are so many; 0: at once.
        mix: weights of the operations that those who come ask for; as the others do if empty.
        concurrency: so many come, who each wait for an answer before they ask again (a closed loop); else nobody waits.
    """

    factor: float = Field(gt=1.0, le=100.0)
    lasts: Nanoseconds = Field(gt=0)
    ramp: Nanoseconds = Field(default=0, ge=0)
    mix: dict[str, float] = Field(default_factory=dict)
    concurrency: int | None = Field(default=None, ge=1)

    @property
    def strangers(self) -> bool:
        """Whether those who come behave in another way than those who are there."""
        return bool(self.mix) or self.concurrency is not None


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
        units={"factor": "times the usual rate", "lasts": "ns", "ramp": "ns", "concurrency": "users"},
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
        for name in self.params.mix:
            known = [one for users in self._users(target) for one, _ in (*users.mix, *users.described)]
            if name not in known:
                raise ImpossibleTarget(f"{self.ref}: {UnknownName('operation', name, known)}")

    def inject(self, target: FaultTarget) -> None:
        """Let more of them come."""
        params = self.params
        for users in self._users(target):
            more = users.rps * (params.factor - 1.0)
            load, base = users, users.rps
            if params.strangers:
                load, base = self._strangers(target, users), 0.0
            if not params.ramp:
                target.traffic.schedule_rate(load, base + more, 0, params.lasts)
                continue
            for step in range(1, STEPS + 1):
                target.traffic.schedule_rate(load, base + more * step / STEPS, params.ramp * (step - 1) // STEPS)
            target.traffic.schedule_rate(load, base, params.ramp + params.lasts)

    def _strangers(self, target: FaultTarget, users: Any) -> Any:
        """Others, who ask for other things or wait for their answers."""
        params, name = self.params, f"{users.name}-others"
        known = target.traffic.users.get(f"{users.namespace}/{name}")
        if known is not None:
            return known
        mix = params.mix or dict(users.mix)
        return target.traffic.add_users(
            name, users.namespace, users.service, rps=0.0, mix=mix, concurrency=params.concurrency
        )

    def still_present(self, target: FaultTarget) -> str:
        """Nothing of it stays."""
        return ""

    def _users(self, target: FaultTarget) -> list[Any]:
        service = self.object(target)
        where = (namespace_of(service), name_of(service))
        return [u for u in target.traffic.users.values() if (u.namespace, u.service) == where and u.rps > 0.0]
