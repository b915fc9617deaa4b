"""All links of a cluster: interfaces by node, queueing disciplines, partitions.

The way between two places is what their interfaces, disciplines and the fabric between them
leave of it. While everything is healthy the answer is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simcluster.models.machine.links.nic import Nic
from simcluster.models.machine.links.quality import (
    CUT,
    HEALTHY,
    HEALTHY_INSIDE,
    OTHER_NODE_NS,
    SAME_NODE_NS,
    PathQuality,
)
from simcluster.models.machine.links.shaping import Shaping


class Partition(NamedTuple):
    """Two sides (names of nodes, addresses of pods) that do not reach each other, or only through a discipline.

    Attributes:
        one_way: only what the first side opens to the second is meant, as with a filter that looks at the state of
            connections: those that the second opens, and the answers in them, pass (iptables, conntrack state NEW). A
            filter without state ends the connections of both, whichever direction it drops.
    """

    side_a: tuple[str, ...]
    side_b: tuple[str, ...]
    shaping: Shaping | None = None
    one_way: bool = False

    def divides(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Whether two places, by node and address, are on different sides."""
        ways = ((one, other),) if self.one_way else ((one, other), (other, one))
        return any(_among(here, self.side_a) and _among(there, self.side_b) for here, there in ways)


def _among(place: tuple[str, str], side: tuple[str, ...]) -> bool:
    return any(name and name in side for name in place)


class Links:
    """The links of one cluster.

    Args:
        changed: called after every change.

    Attributes:
        nics: the interface of each node.
        shapes: disciplines by node name or pod address.
        partitions: by a name of the caller's choice; those with a discipline cut nothing.
        calm: whether every way is healthy.
        listeners: called after every change besides.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.nics: dict[str, Nic] = {}
        self.shapes: dict[str, Shaping] = {}
        self.partitions: dict[str, Partition] = {}
        self.unrouted: dict[str, None] = {}  # nodes that forward nothing
        self.lacking: dict[str, tuple[str, ...]] = {}  # node -> those to whose pods it has no route
        self.removed: dict[str, tuple[str, ...]] = {}  # the same, where somebody took routes away by hand
        self.calm = True
        self.listeners: list[Callable[[], None]] = []

    def changed(self) -> None:
        """Something is better or worse than before."""
        healthy = not (self.shapes or self.partitions or self.unrouted or self.lacking or self.removed) and all(
            nic.is_healthy for nic in self.nics.values()
        )
        if self.calm and healthy:
            return
        self.calm = healthy
        self._changed()
        for listener in list(self.listeners):
            listener()

    def partition(
        self,
        name: str,
        side_a: Iterable[str],
        side_b: Iterable[str],
        shaping: Shaping | None = None,
        *,
        one_way: bool = False,
    ) -> None:
        """Cut the ways between two sides (nodes by name, pods by address), or put a discipline there.

        Args:
            one_way: only for what the first side opens; otherwise for both.

        Raises:
            ValueError: a side is empty, or something is on both.
        """
        one, other = tuple(side_a), tuple(side_b)
        both = [place for place in one if place in other]
        if not one or not other or both:
            raise ValueError(f"{both[0]} is on both sides" if both else "a partition has two sides")
        self.partitions[name] = Partition(one, other, shaping, one_way)
        self.changed()

    def heal(self, name: str) -> None:
        """End a partition. Harmless when there is none."""
        if self.partitions.pop(name, None) is not None:
            self.changed()

    def shape(self, place: str, shaping: Shaping) -> None:
        """Put a discipline at the way out of a node (by name) or of a pod (by address)."""
        self.shapes[place] = shaping
        self.changed()

    def unshape(self, place: str) -> None:
        """Remove the discipline. Harmless when there is none."""
        if self.shapes.pop(place, None) is not None:
            self.changed()

    def forward(self, node: str, forwards: bool) -> None:
        """Whether a node forwards packets that are not its own: those of its pods (`net.ipv4.ip_forward`)."""
        if forwards == (node in self.unrouted):
            if forwards:
                del self.unrouted[node]
            else:
                self.unrouted[node] = None
            self.changed()

    def lack(self, node: str, others: tuple[str, ...]) -> None:
        """A node has no routes to the pods of these others, or (if there are none) to everybody's again."""
        self._without(self.lacking, node, others)

    def remove(self, node: str, others: tuple[str, ...]) -> None:
        """Somebody took a node's routes to the pods of these others away, or (if there are none) gave all back."""
        self._without(self.removed, node, others)

    def _without(self, routes: dict[str, tuple[str, ...]], node: str, others: tuple[str, ...]) -> None:
        if others == routes.get(node, ()):
            return
        if others:
            routes[node] = others
        else:
            del routes[node]
        self.changed()

    def path(self, source_node: str, destination_node: str, source: str = "", destination: str = "") -> PathQuality:
        """The way between processes on two nodes (and with these addresses), now."""
        inside = source_node == destination_node and bool(source_node)
        if self.calm:
            return HEALTHY_INSIDE if inside else HEALTHY
        ends = (source_node, source), (destination_node, destination)
        parted = [one.shaping for one in self.partitions.values() if one.divides(*ends)]
        if None in parted:
            return CUT
        forwarding = self.unrouted or self.lacking or self.removed
        if forwarding and not self._routed(source_node, destination_node, source, destination):
            return CUT
        shapes = [self.shapes[place] for place in (source, destination) if place in self.shapes]
        shapes += [shape for shape in parted if shape is not None]
        nics: list[Nic] = []
        if not inside:
            shapes += [self.shapes[node] for node in (source_node, destination_node) if node in self.shapes]
            nics = [self.nics[node] for node in (source_node, destination_node) if node in self.nics]
        if not all(nic.carrier for nic in nics):
            return CUT
        return _combined(shapes, nics, SAME_NODE_NS if inside else OTHER_NODE_NS)

    def _routed(self, source_node: str, destination_node: str, source: str, destination: str) -> bool:
        """Whether nodes forward between two places: a node sends to its own pods without forwarding."""
        hosts = [nic.address for nic in self.nics.values()]
        pod = {end: end not in ("", *hosts) for end in (source, destination)}
        if source_node == destination_node:
            return not (pod[source] and source_node in self.unrouted)
        for routes in (self.lacking, self.removed):
            if pod[destination] and destination_node in routes.get(source_node, ()):
                return False
            if pod[source] and source_node in routes.get(destination_node, ()):
                return False  # the answers have no way back
        through = [source_node] if pod[source] or pod[destination] else []
        through += [destination_node] if pod[destination] else []
        return not any(node in self.unrouted for node in through)


def _combined(shapes: list[Shaping], nics: list[Nic], round_trip_ns: int) -> PathQuality:
    """One way as a sequence of its parts; a discipline meets packets of one direction only, so half of it each way."""
    kept = small = 1.0
    delay, jitter, rates, utilisation = 0, 0, [], 0.0
    for nic in nics:
        kept, small = kept * (1.0 - nic.loss), small * (1.0 - nic.big_loss)
        delay, jitter = delay + nic.delay_ns, jitter + nic.jitter_ns
        if nic.bounded:
            rates.append(nic.bandwidth_bps)
            utilisation = max(utilisation, nic.utilisation())
    for shape in shapes:
        # Both directions together lose 1 - (1 - loss): one way is taken as half of that.
        kept *= 1.0 - shape.loss / 2.0 if shape.loss < 1.0 else 0.0
        delay, jitter = delay + shape.delay_ns // 2, jitter + shape.jitter_ns // 2
        if shape.rate_bps:
            rates.append(shape.rate_bps)
    if kept <= 0.0:
        return CUT
    return PathQuality(delay, jitter, 1.0 - kept, 1.0 - small, min(rates, default=0), utilisation, False, round_trip_ns)
