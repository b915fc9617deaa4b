"""What happens to a graph while it runs: triggers, and what operators do about them.

An event is at one instant and has one effect; with `for` it is undone after that time.
Factors of overlapping events multiply.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.models.traffic.graph.laws import FACTOR, NonNegative, Number, Part, Positive, Whole

#: What a rate or a speed is multiplied with.
Factor = Annotated[Number, Field(ge=0.0, le=FACTOR)]


class Capacity(Part):
    """The service works `factor` times as fast (0 stands still); work in progress is stretched at once.

    Attributes:
        replicas: indices of the replicas it concerns; None is all.
    """

    service: str
    factor: Factor
    replicas: tuple[Annotated[Whole, Field(ge=0)], ...] | None = None


class Outage(Part):
    """Nothing passes from a caller (service or load) to a callee, nor answers back.

    Attributes:
        caller: written `from`.
        messages: `held`: they are delivered at the end (as TCP retransmits); `lost`: never.
    """

    caller: str = Field(alias="from")
    to: str
    messages: Literal["held", "lost"] = "held"


class Flush(Part):
    """A cache loses all that it holds."""

    service: str
    cache: str


class LoadFactor(Part):
    """An open load's rate is multiplied."""

    name: str
    factor: Factor


class LoadRate(Part):
    """An open load's rate is set, whatever its stages say; bursts and factors still apply."""

    name: str
    rate: Annotated[Number, Field(ge=0.0, le=1e9)]


class ReplicaLoss(Part):
    """The last `replicas` of the service that are up are lost with all they hold; after `for` they come back empty.

    What was waiting or being served is never answered: callers see a connection error at once.
    """

    service: str
    replicas: Annotated[Whole, Field(ge=1)]


class Restart(Part):
    """All replicas lose what they hold (callers see errors at once) and serve again after `for`, or at once."""

    service: str


class RetryChange(Part):
    """Calls on an edge make at most so many attempts (1 switches retries off); those already begun too."""

    caller: str = Field(alias="from")
    to: str
    attempts: Annotated[Whole, Field(ge=1, le=1000)]


class Event(Part):
    """One event; exactly one effect beside `at` and `for`."""

    at: NonNegative
    lasts: Positive | None = Field(default=None, alias="for")
    capacity: Capacity | None = None
    outage: Outage | None = None
    flush: Flush | None = None
    load: LoadFactor | None = None
    rate: LoadRate | None = None
    loss: ReplicaLoss | None = None
    restart: Restart | None = None
    retries: RetryChange | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Event:
        kinds = [name for name in type(self).model_fields if name not in ("at", "lasts")]
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"an event has exactly one of {', '.join(kinds)}; here: {', '.join(given) or 'none'}")
        if self.outage is not None and self.lasts is None:
            raise ValueError("an outage needs an end: say for")
        if self.flush is not None and self.lasts is not None:
            raise ValueError("a flush happens at one instant: it takes no for")
        return self

    @property
    def kind(self) -> str:
        """Which effect it has."""
        return next(
            name for name in type(self).model_fields if name not in ("at", "lasts") and getattr(self, name) is not None
        )
