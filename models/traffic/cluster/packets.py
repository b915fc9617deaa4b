"""What the traffic is at the interfaces of pods: packets and bytes a second.

A virtual interface counts what its sockets write, before it is cut into segments: a packet for each write. A request
is one, an answer as many as its server's library makes (`ServiceSpec.writes`). An answer is acknowledged by the next
request on the same connection, or by a packet of its own if none follows within the delayed acknowledgement. Source:
net/ipv4/tcp_output.c (TCP_DELACK_MIN), generic segmentation offload of veth. Left out: handshakes, losses, and the
connections of people.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.links.veth import Passing
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
        self._reported: dict[str, tuple[Sandbox, Passing]] = {}  # by the pod's uid
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
        wanted: dict[str, tuple[Sandbox, Passing]] = {}
        for server, row in zip(plan.servers, rows.tolist(), strict=True):
            sandbox = server.container.sandbox
            if sandbox.veth is not None:
                before = wanted.get(sandbox.pod_uid)
                if before is not None:
                    row = [a + b for a, b in zip(row, before[1], strict=True)]
                wanted[sandbox.pod_uid] = (sandbox, Passing(*row))
        for uid, (sandbox, _) in self._reported.items():
            if uid not in wanted and sandbox.veth is not None:
                sandbox.veth.report(now_ns, Passing())
        reported: dict[str, tuple[Sandbox, Passing]] = {}
        for uid, (sandbox, now) in wanted.items():
            known = self._reported.get(uid)
            if known is not None and known[0] is sandbox and _alike(now, known[1]):
                reported[uid] = known
            elif sandbox.veth is not None:
                reported[uid] = (sandbox, now)
                sandbox.veth.report(now_ns, now)
        self._reported = reported


def _calls(spec: ServiceSpec) -> float:
    """Calls that a request of a server makes: the mean of its operations."""
    found = [math.fsum(call.count for step in op.steps for call in step) for op in spec.operations]
    return math.fsum(found) / max(1, len(found))


def _alike(now: Passing, before: Passing) -> bool:
    a, b, c, d = now
    e, f, g, h = before
    return abs(a - e) <= ALIKE * e and abs(b - f) <= ALIKE * f and abs(c - g) <= ALIKE * g and abs(d - h) <= ALIKE * h
