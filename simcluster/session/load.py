"""A sandbox's users: who they are, and what they met."""

from __future__ import annotations

from simcluster.engine import parse_duration
from simcluster.world import UserLoad, UserStats, World


class Load:
    """Users of a Service of a sandbox, as `Sandbox.load` makes them.

    Attributes:
        world: the cluster they ask.
        users: the load in its traffic.
    """

    def __init__(self, world: World, users: UserLoad) -> None:
        self.world = world
        self.users = users

    @property
    def rps(self) -> float:
        """Requests a second that they send while answers come at once; may be changed."""
        return self.users.rps

    @rps.setter
    def rps(self, rate: float) -> None:
        if not 0.0 <= rate < float("inf"):
            raise ValueError(f"rps must be zero or more, not {rate}")
        self.users.rps = float(rate)

    def window(self, last: str | int = "1h", until_ns: int | None = None) -> UserStats:
        """What happened to them lately.

        Args:
            last: a duration such as `10m`, up to now; or an instant, with `until_ns`. An hour is remembered.

        Returns:
            `sent`, `succeeded`, `failed` (requests that ended in the window, whenever they were sent), `in_flight`
            at its end and `in_flight_before` at its begin, `errors` by kind, `attempts`, `mean_ms`, `quantile_ms(q)`.
            Always in_flight_before + sent = succeeded + failed + in_flight.

        Raises:
            ValueError: no duration, or one that is not above zero.
        """
        now = self.world.now
        if not isinstance(last, str):
            return self.users.window(last, now if until_ns is None else until_ns)
        span = parse_duration(last)
        if span <= 0:
            raise ValueError(f"a window is longer than nothing, not {last}")
        return self.users.window(now - span, now)

    def __repr__(self) -> str:
        return f"Load({self.users.namespace}/{self.users.service}, rps={self.users.rps:g})"
