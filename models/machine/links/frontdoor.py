"""The load balancer in front of the nodes: through which of them users from outside come in.

It asks every node for the health of its kube-proxy (port 10256) every ten seconds. A node that does not answer three
times gets no more connections, one that answers twice gets some again; if none answers, all do. Until then
connections that it sends to a dead node are lost. Left out: nodes that answer although they cannot serve, and
connections that stand already.
Source: defaults of cloud load balancers' target health checks (10 s; 3 failures, 2 to 3 successes; fail open).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcluster.engine import SECOND
from simcluster.models.machine.links.nic import Nic

#: A failure begins somewhere between two checks: half a period, then two more; likewise for what works again.
GIVEN_UP_NS, TAKEN_BACK_NS = 25 * SECOND, 15 * SECOND


class FrontDoor:
    """The load balancer of one cluster.

    Args:
        nics: the interface of each node.
        changed: called when connections begin to go elsewhere.

    Attributes:
        closed: nodes that it has given up.
    """

    def __init__(self, nics: Mapping[str, Nic], changed: Callable[[], None]) -> None:
        self._nics = nics
        self._changed = changed
        self.closed: dict[str, None] = {}
        self._doubted: dict[str, int] = {}  # node -> state of its link (a counter) for which a verdict is due

    def open_of(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the nodes that get connections."""
        if not self.closed:
            return nodes
        return tuple(node for node in nodes if node not in self.closed) or nodes

    def answers(self, node: str) -> bool:
        """Whether packets from outside reach a node at all."""
        nic = self._nics.get(node)
        return nic is None or nic.carrier

    def look(self) -> None:
        """Links have changed: checks of some nodes will come out otherwise from now on."""
        for node, nic in self._nics.items():
            if nic.carrier == (node not in self.closed):
                self._doubted.pop(node, None)
            elif self._doubted.get(node) != nic.carrier_changes:
                self._doubted[node] = nic.carrier_changes
                after = TAKEN_BACK_NS if nic.carrier else GIVEN_UP_NS
                nic.sim.after(after, self._verdict, node, nic.carrier_changes)

    def _verdict(self, node: str, changes: int) -> None:
        if self._doubted.get(node) != changes:
            return
        del self._doubted[node]
        if self._nics[node].carrier:
            self.closed.pop(node, None)
        else:
            self.closed[node] = None
        self._changed()
