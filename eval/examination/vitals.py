"""What users and programs of a namespace met in a stretch of time, and how that compares with another world.

A flow is what one kind of caller asks of others: users, or a program by the name of what it runs, and an operation.
It is not named by pods, Services or addresses, because a right repair may have changed those.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from simcluster.models.traffic.cluster.nodes import EdgeKey
    from simcluster.world import World

#: Share of failures that may be above the other world's (the pager asks for 99 % of the users, too).
FAILING = 0.01
#: Fewer failures than this are chance; fewer calls than this in the other world say nothing.
FAILURES_MIN, CALLS_MIN = 5, 30
#: Of the calls that the other world makes for as many requests of users at least such a share is made.
MADE = 0.3
#: By so many milliseconds the 95th percentile of users' latency may be above the other world's.
SLOWER_MS = 1000.0


class Flow(NamedTuple):
    """Who asks (`users` of a Service, or a program), and for what."""

    caller: str
    operation: str

    def __str__(self) -> str:
        return f"{self.operation} of {self.caller}"


class Count(NamedTuple):
    """Calls that began, that ended well, and that ended badly."""

    sent: int
    ok: int
    failed: int

    @property
    def failing(self) -> float:
        """Share of those that ended which failed; 0.0 if none ended."""
        return self.failed / (self.ok + self.failed) if self.ok + self.failed else 0.0


@dataclass(frozen=True)
class Vitals:
    """A stretch of a world's life.

    Attributes:
        requests: of users that began in it.
        flows: what happened to calls.
        p95_ms: of users' requests that succeeded, by `namespace/name` of the users.
    """

    requests: int
    flows: dict[Flow, Count]
    p95_ms: dict[str, float]

    def worse_than(self, other: Vitals) -> list[str]:
        """In which ways it is worse, one sentence each; users come first."""
        found = []
        share = self.requests / other.requests if other.requests else 0.0
        for flow, there in sorted(other.flows.items(), key=_users_first):
            if there.sent < CALLS_MIN:
                continue
            here, due = self.flows.get(flow, Count(0, 0, 0)), int(share * there.sent)
            if here.sent < MADE * due:
                found.append(f"{flow}: {here.sent} calls are made, and {due} without the incident")
            elif here.failed >= FAILURES_MIN and here.failing > there.failing + FAILING:
                ended = here.ok + here.failed
                found.append(
                    f"{flow}: {here.failed} of {ended} calls fail, and {there.failing:.1%} without the incident"
                )
        for name, there_ms in other.p95_ms.items():
            here_ms = self.p95_ms.get(name, 0.0)
            if here_ms > there_ms + SLOWER_MS:
                found.append(
                    f"users of {name}: 95 % wait up to {here_ms:.0f} ms, and {there_ms:.0f} ms without the incident"
                )
        return found

    @property
    def collapsed(self) -> bool:
        """Whether hardly a user is served."""
        users = [count for flow, count in self.flows.items() if flow.caller.startswith(USERS)]
        served, ended = sum(c.ok for c in users), sum(c.ok + c.failed for c in users)  # integers
        return ended > 0 and served < 0.5 * ended


USERS = "users of "


def _users_first(item: tuple[Flow, Count]) -> tuple[bool, Flow]:
    return not item[0].caller.startswith(USERS), item[0]


def vitals(world: World, namespace: str, lasts_ns: int) -> Vitals:
    """What happened in the last nanoseconds, up to now."""
    history, now = world.traffic.history, world.sim.now
    programs = {server.identity: server.spec.name for server in world.traffic.servers.values()}
    flows: dict[Flow, Count] = {}
    layout, sums = None, np.zeros((3, 0), dtype=np.int64)
    for tick in history.samples(now - lasts_ns, now):
        if tick.layout is not layout:
            _add(flows, layout or (), sums, namespace, programs)
            layout, sums = tick.layout, np.zeros((3, len(tick.layout)), dtype=np.int64)
        sums[0] += np.frombuffer(tick.sent, dtype=np.int32)
        sums[1] += np.frombuffer(tick.ok, dtype=np.int32)
        failures = array("i", tick.failures)
        for edge, count in zip(failures[::3], failures[2::3], strict=True):
            sums[2, edge] += count
    _add(flows, layout or (), sums, namespace, programs)
    met = {name: load.window(now - lasts_ns, now) for name, load in world.traffic.users.items()}
    here = {name: stats for name, stats in met.items() if name.startswith(f"{namespace}/")}
    requests = sum(stats.sent for stats in here.values())  # integers
    return Vitals(requests, flows, {name: stats.latency_ms_p95 for name, stats in here.items() if stats.ok})


def _add(
    flows: dict[Flow, Count],
    layout: tuple[EdgeKey, ...],
    sums: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    namespace: str,
    programs: dict[tuple[str, str, str], str],
) -> None:
    """Add what was counted on the edges of a layout to their flows."""
    for key, (sent, ok, failed) in zip(layout, sums.T.tolist(), strict=True):
        if key.namespace != namespace:
            continue
        if key.container:
            caller = programs.get((key.namespace, key.pod, key.container), key.pod.rsplit("-", 2)[0])
        else:
            caller = f"{USERS}{key.host}"
        flow = Flow(caller, key.operation)
        before = flows.get(flow, Count(0, 0, 0))
        flows[flow] = Count(before.sent + sent, before.ok + ok, before.failed + failed)
