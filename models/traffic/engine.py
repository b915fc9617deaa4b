"""The traffic of a cluster: requests as counts on one global tick grid.

Each tick covers the half second before it: users' requests arrive, run through the call
graph, queue, fail or succeed, and cost CPU. Changes of routes, servers or load take effect
at the next grid point. A request's outcome is credited to the tick in which it was sent,
however long it takes. A finer engine may replace this one behind the same methods.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from simcluster.engine import MILLISECOND, Simulation
from simcluster.models.machine.network import Network
from simcluster.models.machine.program import Answer
from simcluster.models.traffic.evaluation import evaluate
from simcluster.models.traffic.flow import Flow, FlowWalk
from simcluster.models.traffic.operations import OperationSpec
from simcluster.models.traffic.plan import Node, Plan, PlanBuilder
from simcluster.models.traffic.request import send_request
from simcluster.models.traffic.server import Server
from simcluster.models.traffic.statistics import History, Latencies, SharedTick
from simcluster.models.traffic.users import UserLoad

#: Length of a tick. Fine enough for probes (1 s) and observation windows (5 s).
TICK_NS = 500 * MILLISECOND
#: A plan with listeners the traffic does not know is made anew after so many ticks.
OPAQUE_TICKS = 10


class TrafficEngine:
    """All requests of one cluster.

    Attributes:
        network: over which they travel.
        servers: running servers by container id.
        users: user loads by `namespace/name`.
        history: what happened on every edge, tick by tick.
    """

    def __init__(self, sim: Simulation, network: Network) -> None:
        self._sim = sim
        self.network = network
        self.servers: dict[str, Server] = {}
        self.users: dict[str, UserLoad] = {}
        self.history = History()
        self._plan = Plan([])
        self._latencies = Latencies()
        self._wired = (-1, -1)  # versions of the network and of the servers the plan was made for
        self._version = 0
        self._age = 0
        self._stale = True  # whether some server has published something new
        self._ticks = 0
        sim.every(TICK_NS, self._tick)

    def join(self, server: Server) -> None:
        """A server starts to answer."""
        self.servers[server.container.container_id] = server
        self._version += 1

    def leave(self, server: Server) -> None:
        """A server is gone."""
        if self.servers.pop(server.container.container_id, None) is not None:
            self._version += 1

    def rewire(self) -> None:
        """Something changed that the network does not know of (whom a server calls, who enters where)."""
        self._version += 1

    def add_users(
        self,
        name: str,
        namespace: str,
        service: str,
        port: int | None = None,
        *,
        rps: float = 1.0,
        mix: Mapping[str, float] | None = None,
        from_node: str | None = None,
        concurrency: int | None = None,
    ) -> UserLoad:
        """Send users to a Service.

        Args:
            name: unique in the namespace.
            port: by default the lowest port of the Service.
            rps: requests a second while answers come at once.
            mix: weights of operations; by default as the application's description says.
            from_node: node through which they enter; by default all alike.
            concurrency: number of users who wait for their answers; by default they do not wait.

        Raises:
            ValueError: users of that name exist.
        """
        identity = f"{namespace}/{name}"
        if identity in self.users:
            raise ValueError(f"users {identity} exist already")
        load = UserLoad(
            self.history,
            name,
            namespace,
            service,
            port=port,
            rps=rps,
            mix=mix,
            from_node=from_node,
            concurrency=concurrency,
        )
        self.users[identity] = load
        self._version += 1
        return load

    def remove_users(self, load: UserLoad) -> None:
        """These users go home."""
        if self.users.pop(f"{load.namespace}/{load.name}", None) is not None:
            self._version += 1

    def try_request(
        self, node: str, namespace: str, host: str, port: int, path: str = "/", kind: str = "http"
    ) -> Answer:
        """What one request sent now by a process on `node` would meet. Changes nothing.

        `outcome` is that of `Answer`, or `no such host`, or `timeout`.
        """
        return send_request(self._sim, self.network, (node, namespace), (host, port), kind, path)

    def fate(self, server: Server, operation: int) -> Node | None:
        """How requests of an operation fared at the last tick; None before its first one."""
        return self._plan.node_of(server.container.container_id, operation)

    def _tick(self) -> None:
        now = self._sim.now
        self._ticks += 1
        self._age += 1
        wired = (self.network.version, self._version)
        if wired != self._wired or (self._plan.opaque and self._age >= OPAQUE_TICKS):
            users = list(self.users.values())
            self._plan = PlanBuilder(self._sim.streams, self.network, self.servers.values(), users).build()
            self._wired, self._age, self._stale = wired, 0, True
        if self._stale:
            self._latencies = evaluate(self._plan)
            self._stale = False
        flow = FlowWalk(self._plan, self._ticks).run(list(self.users.values()), TICK_NS)
        self._record(now, flow)
        self._work_off(flow)
        self._write_logs(now, flow)

    def _record(self, now: int, flow: Flow) -> None:
        if any(flow.sent):
            sent = array("i", flow.sent).tobytes()
            self.history.append(SharedTick(now, self._plan.layout, self._latencies, sent, tuple(flow.failures)))

    def _work_off(self, flow: Flow) -> None:
        """Give every server its share of the tick. A server may die of it (out of memory)."""
        plan, arrived = self._plan, flow.arrived
        for index, server in enumerate(plan.servers):
            if not server.accepting:
                continue
            requests, work, square, busy = 0, 0, 0.0, 0.0
            first = plan.first_node[index]
            for offset in range(len(server.spec.operations)):
                count = arrived[first + offset]
                if count:
                    node = plan.nodes[first + offset]
                    requests += count
                    work += count * node.operation.cpu_ns
                    square += count * _mean_square(node.operation)
                    busy += count * node.stay_ns
            refused = flow.refused.get(index, 0)
            if requests or refused:
                changed = server.advance(TICK_NS, requests, work, square, busy, refused)
            else:
                changed = server.settle(TICK_NS)
            self._stale = self._stale or changed

    def _write_logs(self, now: int, flow: Flow) -> None:
        for index in sorted(dict.fromkeys([*flow.served, *flow.failed])):
            server = self._plan.servers[index]
            if server.logger is not None and server.accepting:
                server.logger.log_requests(now, flow.served.get(index, ()), flow.failed.get(index, ()))


def _mean_square(operation: OperationSpec) -> float:
    cost = float(operation.cpu_ns)
    return cost * cost * (1.0 + operation.cpu_cv * operation.cpu_cv)
