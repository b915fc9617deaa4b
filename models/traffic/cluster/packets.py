"""What the traffic is at the interfaces of pods: packets and bytes a second.

A virtual interface counts what its sockets write, before it is cut into segments: a packet for each write. A request
is one, an answer as many as its server's library makes (`ServiceSpec.writes`). An answer is acknowledged by the next
request on the same connection, or by a packet of its own if none follows within the delayed acknowledgement. Source:
net/ipv4/tcp_output.c (TCP_DELACK_MIN), generic segmentation offload of veth. Left out: handshakes, losses, and the
connections of people.
"""

from __future__ import annotations

import math
from operator import is_

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.machine.links.veth import Passing, Veth
from simcluster.models.traffic.cluster.operations import ServiceSpec
from simcluster.models.traffic.cluster.plan import ANSWER_BYTES, REQUEST_BYTES, Plan

Array = NDArray[np.float64]
#: `TCP_DELACK_MIN`: 40 ms.
DELAYED_S = 0.04
#: What an answer is in bytes without its payload: headers of Ethernet, IP and TCP with timestamps.
HEADER_BYTES = 66
#: A change that is not worth a report, as a share.
ALIKE = 0.02


def alone(per_s: Array) -> Array:
    """Share of answers that are acknowledged by a packet of their own, at so many requests a second on a connection."""
    found: Array = arithmetic.exp_array(np.maximum(-700.0, -DELAYED_S * per_s))
    return found


class PodPackets:
    """Tells pods' interfaces what passes through them."""

    def __init__(self) -> None:
        self._of_servers: list[Veth | None] = []  # each server's interface; None in the network of its host
        self._veths: list[Veth] = []  # each of them once
        self._places = np.zeros(0, dtype=np.int64)  # which of these is each server's; after them all who have none
        self._reported = np.zeros((0, 4))  # what they were told last
        self._plan: Plan | None = None
        self._calls = np.zeros(0)  # calls that a request of each server of that plan makes

    def walked(self, plan: Plan, now_ns: int, pairs: dict[tuple[int, int], float]) -> None:
        """Requests a second by caller (-1: users) and callee."""
        count = len(plan.servers)
        callers = np.array([caller for caller, _ in pairs], dtype=np.int64)
        callees = np.array([callee for _, callee in pairs], dtype=np.int64)
        per_s = np.array(list(pairs.values()), dtype=np.float64)
        acks = np.where(callers < 0, 1.0, alone(per_s))  # people think longer than that
        writes = np.array([server.spec.writes for server in plan.servers], dtype=np.float64)
        there = callers >= 0
        parts = np.column_stack((per_s, per_s * acks, per_s * writes[callees] if len(per_s) else per_s))
        asked = np.array([np.bincount(callees, column, count) for column in parts.T])
        asks = np.array([np.bincount(callers[there], column[there], count) for column in parts.T])
        self._tell(plan, now_ns, asked, asks)

    def averaged(self, plan: Plan, now_ns: int, per_s: Array) -> None:
        """Requests a second at every server of a large plan; what they call follows from what they do."""
        if plan is not self._plan:
            self._plan, self._calls = plan, np.array([_calls(server.spec) for server in plan.servers])
        writes = np.array([server.spec.writes for server in plan.servers], dtype=np.float64)
        acks, calls = alone(per_s), per_s * self._calls
        self._tell(
            plan, now_ns, np.array((per_s, per_s * acks, per_s * writes)), np.array((calls, calls * acks, calls))
        )

    def _tell(self, plan: Plan, now_ns: int, asked: Array, asks: Array) -> None:
        """Requests, acknowledgements of their own and packets of answers a second, in and out, by server."""
        requests, acks, answers = asked
        calls, own, answered = asks
        rows = np.column_stack(
            (
                requests * REQUEST_BYTES + calls * ANSWER_BYTES + HEADER_BYTES * (requests + acks + answered),
                requests + acks + answered,
                requests * ANSWER_BYTES + calls * REQUEST_BYTES + HEADER_BYTES * (answers + calls + own),
                answers + calls + own,
            )
        )
        of_servers = [server.container.sandbox.veth for server in plan.servers]
        if len(of_servers) != len(self._of_servers) or not all(map(is_, of_servers, self._of_servers)):
            self._meet(now_ns, of_servers)
        wanted = np.zeros((len(self._veths) + 1, 4))
        np.add.at(wanted, self._places, rows)
        wanted, reported = wanted[:-1], self._reported
        alike = (np.abs(wanted - reported) <= ALIKE * reported).all(axis=1)  # nobody is like who was told nothing
        for place in np.nonzero(~alike)[0].tolist():
            reported[place] = wanted[place]
            self._veths[place].report(now_ns, Passing(*wanted[place].tolist()))

    def _meet(self, now_ns: int, of_servers: list[Veth | None]) -> None:
        """Other pods are there: who has gone is passed by nothing any more."""
        before = dict(zip(self._veths, self._reported, strict=True))
        there: dict[Veth, int] = {}
        veths = list[Veth]()
        for veth in of_servers:
            if veth is not None and veth not in there:
                there[veth] = len(veths)
                veths.append(veth)
        for veth in self._veths:
            if veth not in there:
                veth.report(now_ns, Passing())
        nothing = np.full(4, np.nan)
        self._reported = np.array([before.get(veth, nothing) for veth in veths]).reshape(-1, 4)
        self._places = np.array([len(veths) if veth is None else there[veth] for veth in of_servers], dtype=np.int64)
        self._of_servers, self._veths = of_servers, veths


def _calls(spec: ServiceSpec) -> float:
    """Calls that a request of a server makes: the mean of its operations."""
    found = [math.fsum(call.count for step in op.steps for call in step) for op in spec.operations]
    return math.fsum(found) / max(1, len(found))
