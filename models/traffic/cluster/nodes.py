"""What a plan is made of: nodes (an operation of a container), edges (a call of one), targets (where it may arrive)."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from simcluster.engine import Shared
from simcluster.models.machine.links.quality import FREE
from simcluster.models.traffic.cluster.causes import Cause
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.operations import CallSpec, OperationSpec
from simcluster.models.traffic.cluster.resolve import Destination
from simcluster.models.traffic.cluster.tolls import Toll

_NOTHING = Latency(0.0, 0.0)
P = TypeVar("P", "Target", "Edge", "Node")


class EdgeKey(NamedTuple):
    """What an edge is, for statistics.

    Attributes:
        namespace, pod, container: the caller; users have their name as `pod` and no container.
        host, port: whom it calls, as written.
        operation: what it asks for.
    """

    namespace: str
    pod: str
    container: str
    host: str
    port: int
    operation: str


class Layout(tuple[EdgeKey, ...], Shared):
    """The edges of a plan, in the order of a tick's numbers."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Layout], tuple[list[EdgeKey]]]:
        return (Layout, (list(self),))


class Failure(NamedTuple):
    """One way to fail: its probability, why, and how long it takes (nanoseconds)."""

    probability: float
    cause: Cause
    after_ns: float


class Target:
    """One place where a call may arrive: a node of the plan, or something that answers by itself."""

    __slots__ = (
        "answer_ns", "fail", "failures", "kind", "later", "node", "round_trip_ns", "text", "toll", "way", "weight",
    )  # fmt: skip

    def __init__(self, destination: Destination, node: int, round_trip_ns: int) -> None:
        self.node = node  # index of the node, or -1
        self.kind = destination.kind  # "" if it answers
        self.weight = destination.weight
        self.round_trip_ns = round_trip_ns
        self.way = FREE  # what a bad link adds
        self.toll: Toll | None = None  # what full tables of kernels take
        self.answer_ns = destination.answer_ns
        self.fail = 0.0  # probability that a call that goes here fails
        self.failures: list[Failure] = []
        self.text = ""  # what the server answers to whom it does not serve
        self.later = False  # a message that arrives in the next tick


class Edge:
    """One call of a node, or one operation of a user load."""

    __slots__ = ("address", "call", "causes", "host", "index", "key", "latency", "ok", "port", "reached", "targets")

    def __init__(self, index: int, call: CallSpec, host: str, port: int, address: str, key: int) -> None:
        self.index = index
        self.call = call
        self.host = host
        self.port = port
        self.address = address
        self.key = key
        self.targets: list[Target] = []
        self.ok = 1.0  # of one call with its retries
        self.reached = 1.0  # attempts of one call, on average
        self.latency = _NOTHING  # of a call that succeeds
        self.causes: list[Failure] = []


class Node:
    """One operation of one server.

    Attributes:
        patience_ns: after so long its most patient caller has gone, and the request with him.
        stay_ns: how long a request is in the server on average, failed ones included; `held_ns` without its wait there.
    """

    __slots__ = ("failures", "held_ns", "latency", "ok", "operation", "patience_ns", "server", "stay_ns", "steps")

    def __init__(self, server: int, operation: OperationSpec) -> None:
        self.server = server
        self.operation = operation
        self.steps: list[list[Edge]] = []
        self.ok = 1.0
        self.latency = _NOTHING
        self.failures: list[Failure] = []
        self.patience_ns = 0
        self.stay_ns = self.held_ns = 0.0


def twin(part: P) -> P:
    """A node, edge or target with the same attributes."""
    twin = object.__new__(type(part))
    for name in part.__slots__:
        setattr(twin, name, getattr(part, name))
    return twin
