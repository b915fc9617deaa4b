"""How edges and servers of the cluster's plan and those of the live engine belong together."""

from __future__ import annotations

import numpy as np

from simcluster.engine import Shared
from simcluster.models.traffic.aggregate.live import LiveTraffic
from simcluster.models.traffic.cluster.causes import BROKEN, DEADLINE, KIND_INDEX, RESET, STATUS, TIMEOUT
from simcluster.models.traffic.cluster.fleet import Fleet
from simcluster.models.traffic.cluster.nodes import Node
from simcluster.models.traffic.cluster.plan import Plan
from simcluster.models.traffic.cluster.statistics import Containers
from simcluster.models.traffic.cluster.wiring import Wiring


class Table(Shared):
    """The parts of a wiring as index arrays; `rows` and `pods` are the same containers in the plan and the engine."""

    def __init__(self, wiring: Wiring, live: LiveTraffic, fleet: Fleet) -> None:
        parts, graph = wiring.parts, live.engine.graph
        self.keys = list(dict.fromkeys((part.caller, part.callee) for part in parts))
        key_row = {key: row for row, key in enumerate(self.keys)}
        self.callees = list(dict.fromkeys(callee for _, callee in self.keys))
        callee_row = {callee: row for row, callee in enumerate(self.callees)}
        self.callee_of = np.array([callee_row[callee] for _, callee in self.keys], dtype=np.int64)
        nobody = len(self.keys)
        self.key_of = np.array(
            [
                key_row.get(
                    (e.caller_name, f"{graph.nodes[e.child].service_name}/{graph.nodes[e.child].operation}"), nobody
                )
                for e in graph.edges
            ],
            dtype=np.int64,
        )
        self._places(wiring, live, fleet)
        self.edge = np.array([part.edge for part in parts], dtype=np.int64)
        self.key = np.array([key_row[part.caller, part.callee] for part in parts], dtype=np.int64)
        self.calls = np.array([part.calls for part in parts])
        self.inner = np.array([bool(part.container) for part in parts], dtype=bool)
        row_of = {name: row for row, name in enumerate(self.containers)}
        self.container = np.array([row_of.get(part.container, 0) for part in parts], dtype=np.int64)
        nobody = len(self.callees)
        self.caller_operation = np.array([callee_row.get(p.caller_operation, nobody) for p in parts], dtype=np.int64)
        self.tells = {i: None for i, node in enumerate(wiring.plan.nodes) if _tells(wiring.plan, node)}
        self._words(wiring)

    def _places(self, wiring: Wiring, live: LiveTraffic, fleet: Fleet) -> None:
        """Containers: in the groups of the wiring, in the engine, in the plan."""
        self.containers, groups, alike = [""], [0], [1.0]
        for number, names in enumerate(wiring.pods.values(), start=1):
            self.containers += names
            groups += [number] * len(names)
            alike += [1.0 / len(names)] * len(names)
        self.groups = len(wiring.pods) + 1
        self.group_of = np.array(groups, dtype=np.int64)
        self.alike = np.array(alike)
        pod_of = {name: pod for pod, name in enumerate(live.engine.layout.pod_names)}
        none = len(pod_of)
        self.pod_of_container = np.array([pod_of.get(name, none) for name in self.containers], dtype=np.int64)
        known = [
            (row, pod_of[server.container.container_id])
            for row, server in enumerate(fleet.servers)
            if server.container.container_id in pod_of
        ]
        self.rows = np.array([row for row, _ in known], dtype=np.int64)
        self.pods = np.array([pod for _, pod in known], dtype=np.int64)
        self.row_of = {row: place for place, (row, _) in enumerate(known)}
        self.names = Containers(fleet.servers[row].container.container_id for row, _ in known)

    def _words(self, wiring: Wiring) -> None:
        """Of every edge: kinds of its failures, the time-out of its calls, its latency as last evaluated."""
        edges = wiring.plan.edges
        dead = {part.edge: part.kind for part in wiring.parts if part.kind}
        kinds = []
        for edge in edges:
            silent = any(
                t.kind == TIMEOUT or (t.toll is not None and t.toll.lost > t.toll.starved) for t in edge.targets
            )
            kinds.append((TIMEOUT if silent else DEADLINE, dead.get(edge.index) or RESET, STATUS, BROKEN))
        self.kinds = np.array([[KIND_INDEX[kind] for kind in row] for row in kinds], dtype=np.int32).reshape(-1, 4)
        self.limit = np.array([float(edge.call.timeout_ns) for edge in edges])
        self.mean = np.array([edge.latency.mean for edge in edges])
        self.variance = np.array([edge.latency.variance for edge in edges])


def _tells(plan: Plan, node: Node) -> bool:
    """Whether requests of a node leave lines in a log."""
    server = plan.servers[node.server]
    if server.logger is None:
        return False
    return (
        server.counts is not None
        or bool(node.operation.log)
        or any(call.log for step in node.operation.steps for call in step)
    )
