"""The node lifecycle controller.

Every 5 s it looks at each node's Lease and status; a node that renewed neither for 50 s gets
its conditions set to Unknown, its pods marked not ready, and, one look later and at a
limited rate, the NoExecute taint that lets the taint manager evict them. Conditions and
cordons are mirrored as NoSchedule taints at once.
Leaves out the taint-based eviction of nodes excluded from disruption checks.
Source: kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, condition, is_pod_ready, name_of, namespace_of, thaw
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.nodelifecycle.zones import FULL_DISRUPTION, eviction_interval_ns, zone_of, zone_state
from simcluster.control.nodes import taints as t
from simcluster.control.nodes.readiness import ready_status
from simcluster.engine import MILLISECOND, SECOND, Simulation, format_rfc3339

#: --node-monitor-period, --node-monitor-grace-period (50 s since 1.32), --node-startup-grace-period.
MONITOR_PERIOD_NS = 5 * SECOND
GRACE_PERIOD_NS = 50 * SECOND
STARTUP_GRACE_PERIOD_NS = 60 * SECOND
#: What a look takes: a list from the cache, and some work on each node.
LOOK_NS, LOOK_NODE_NS = 2 * MILLISECOND, 200_000
#: nodeEvictionPeriod: how often the queue of nodes to taint is served.
EVICTION_PERIOD_NS = 100 * MILLISECOND
#: From one pod of a silent node to the next that is marked not ready; two recorded ones lay 51 ms apart.
MARK_NS = (30 * MILLISECOND, 70 * MILLISECOND)

NODE_STATUS_UNKNOWN = "NodeStatusUnknown"
NODE_STATUS_NEVER_UPDATED = "NodeStatusNeverUpdated"
STOPPED_POSTING = "Kubelet stopped posting node status."
NEVER_POSTED = "Kubelet never posted node status."

#: Conditions that turn Unknown with Ready (updateNodeFunc in tryUpdateNodeHealth).
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

#: Condition type -> status -> key of the NoSchedule taint (nodeConditionToTaintKeyStatusMap).
_CONDITION_TAINTS = {
    "Ready": {"False": t.NOT_READY, "Unknown": t.UNREACHABLE},
    "MemoryPressure": {"True": t.MEMORY_PRESSURE},
    "DiskPressure": {"True": t.DISK_PRESSURE},
    "NetworkUnavailable": {"True": t.NETWORK_UNAVAILABLE},
    "PIDPressure": {"True": t.PID_PRESSURE},
}
_MIRRORED = (
    t.NOT_READY,
    t.UNREACHABLE,
    t.MEMORY_PRESSURE,
    t.DISK_PRESSURE,
    t.NETWORK_UNAVAILABLE,
    t.PID_PRESSURE,
    t.UNSCHEDULABLE,
)


def wanted_no_schedule(node: Mapping[str, Any]) -> list[str]:
    """Keys of the NoSchedule taints that conditions and cordon call for."""
    keys = []
    for kind, by_status in _CONDITION_TAINTS.items():
        entry = condition(node, kind)
        key = by_status.get(str(entry.get("status"))) if entry is not None else None
        if key:
            keys.append(key)
    if (node.get("spec") or {}).get("unschedulable"):
        keys.append(t.UNSCHEDULABLE)
    return keys


class _Health:
    """What the controller last saw of a node.

    Attributes:
        probe_ns: when it last saw a sign of life (a new heartbeat or Lease renewal).
    """

    __slots__ = ("heartbeat", "probe_ns", "renewed")

    def __init__(self, heartbeat: str, renewed: str, now_ns: int) -> None:
        self.heartbeat = heartbeat
        self.renewed = renewed
        self.probe_ns = now_ns


class _Facts(NamedTuple):
    """What a version of a node says, read once.

    Attributes:
        ready: whether its condition Ready is True and no NoExecute taint of this controller is on it.
    """

    node: ApiObject
    observed: str
    heartbeat: str
    has_condition: bool
    zone: str
    ready: bool


def _facts_of(node: ApiObject) -> _Facts:
    entry, observed = condition(node, "Ready"), ready_status(node)
    keys = [taint["key"] for taint in t.taints_of(node) if taint["effect"] == t.NO_EXECUTE]
    ready = observed == "True" and t.NOT_READY not in keys and t.UNREACHABLE not in keys
    heartbeat = str((entry or {}).get("lastHeartbeatTime") or "")
    return _Facts(node, observed, heartbeat, entry is not None, zone_of(node), ready)


class NodeLifecycleController(Controller):
    """Watches over nodes. Work-queue keys are nodes whose NoSchedule taints may be wrong."""

    name = "node-controller"
    workers = 8

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._health: dict[str, _Health] = {}
        self._facts: dict[str, _Facts] = {}
        self._known: dict[str, str] = {}  # node -> uid
        self._unmarked: dict[str, None] = {}  # nodes whose pods could not all be marked
        self._to_taint: dict[str, dict[str, None]] = {}  # zone -> nodes waiting for NoExecute
        self._tainted_at: dict[str, int] = {}  # zone -> last time a node of it was tainted
        self._interval: dict[str, int | None] = {}
        self._zones: dict[str, str] = {}  # their states at the last look
        self._all_down = False
        self._marking = sim.stream("node-lifecycle", "marking")
        self.watch("nodes", self._on_node)
        self._period_ns = sim.parameter("node.monitor", MONITOR_PERIOD_NS)
        sim.after(self._period_ns, self._monitor)
        self._serving = False

    # NoSchedule taints.

    def _on_node(self, change: Change) -> None:
        if change.kind != "DELETED":
            self.enqueue_object(change)

    def sync(self, namespace: str, name: str) -> None:
        """Mirror conditions and cordon as NoSchedule taints."""
        node = self.client.cache.get("nodes", "", name)
        if node is None:
            return
        wanted = wanted_no_schedule(node)
        current = t.taints_of(node)
        kept = [
            thaw(entry)
            for entry in current
            if entry["effect"] != t.NO_SCHEDULE or entry["key"] not in _MIRRORED or entry["key"] in wanted
        ]
        have = {entry["key"] for entry in kept if entry["effect"] == t.NO_SCHEDULE}
        added: list[Json] = []
        for key in wanted:
            if key not in have:
                added.append({"key": key, "effect": t.NO_SCHEDULE, "timeAdded": format_rfc3339(self.sim.now)})
        if added or len(kept) != len(current):
            self._write_taints(node, [*kept, *added])

    def _write_taints(self, node: ApiObject, taints: list[Json]) -> None:
        spec = dict(node["spec"])
        if taints:
            spec["taints"] = taints
        else:
            del spec["taints"]
        self.client.update("nodes", {**node, "spec": spec})

    # The look every 5 s.

    def _monitor(self) -> None:
        nodes = self.client.cache.objects("nodes")
        self._notice_new_and_gone(nodes)
        ready: dict[str, list[bool]] = {}
        for node in nodes:
            facts = self._facts.get(name_of(node))
            if facts is None or facts.node is not node:
                facts = self._facts[name_of(node)] = _facts_of(node)
            try:
                observed, current = self._update_health(facts)
                if facts.ready and current == "True":
                    self._to_taint.setdefault(facts.zone, {}).pop(name_of(node), None)
                else:
                    self._queue_no_execute(node, observed)
                    self._mark_pods(name_of(node), observed, current)
            except ApiError:
                continue  # somebody else changed the node: the next look repairs it
            ready.setdefault(facts.zone, []).append(current == "True")
        self._set_rates(ready)
        # wait.Until starts the period when the look is over: the tenth look after a renewal comes later than 50 s.
        self.sim.after(self._period_ns + LOOK_NS + len(nodes) * LOOK_NODE_NS, self._monitor)

    def _notice_new_and_gone(self, nodes: list[ApiObject]) -> None:
        present = {name_of(node): node for node in nodes}
        for name, node in present.items():
            if name not in self._known:
                message = f"Node {name} event: Registered Node {name} in Controller"
                self.recorder.event(node, "Normal", "RegisteredNode", message)
                self._known[name] = node["metadata"]["uid"]
        for name in [name for name in self._known if name not in present]:
            uid = self._known.pop(name)
            gone: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid}}
            message = f"Node {name} event: Removing Node {name} from Controller"
            self.recorder.event(gone, "Normal", "RemovingNode", message)
            self._health.pop(name, None)
            self._facts.pop(name, None)
            for waiting in self._to_taint.values():
                waiting.pop(name, None)

    def _update_health(self, facts: _Facts) -> tuple[str, str]:
        """(Ready as the kubelet reported it, Ready after this look)."""
        name, now, observed, heartbeat = name_of(facts.node), self.sim.now, facts.observed, facts.heartbeat
        lease = self.client.cache.get("leases.coordination.k8s.io", "kube-node-lease", name)
        renewed = str((lease.get("spec") or {}).get("renewTime") or "") if lease is not None else ""
        health = self._health.get(name)
        if health is None:
            health = self._health[name] = _Health(heartbeat, renewed, now)
            self._say(886, "Missing timestamp for Node. Assuming now as a timestamp", node=name)
        elif renewed != health.renewed or heartbeat != health.heartbeat:
            # Our own change to Unknown touches no heartbeat, so it is no sign of life.
            health.heartbeat, health.renewed, health.probe_ns = heartbeat, renewed, now
        usual_ns = self.sim.parameter("node.grace", GRACE_PERIOD_NS)
        grace = usual_ns if facts.has_condition else STARTUP_GRACE_PERIOD_NS
        if now <= health.probe_ns + grace:
            return observed, observed
        self._set_unknown(facts.node)
        return observed, "Unknown"

    def _set_unknown(self, node: ApiObject) -> None:
        now = format_rfc3339(self.sim.now)
        changed = thaw(node)
        conditions = changed.setdefault("status", {}).setdefault("conditions", [])
        by_type = {entry.get("type"): entry for entry in conditions}
        for kind in _WATCHED:
            entry = by_type.get(kind)
            if entry is None:
                created = node["metadata"]["creationTimestamp"]
                conditions.append(
                    {
                        "type": kind,
                        "status": "Unknown",
                        "lastHeartbeatTime": created,
                        "lastTransitionTime": now,
                        "reason": NODE_STATUS_NEVER_UPDATED,
                        "message": NEVER_POSTED,
                    }
                )
            elif entry.get("status") != "Unknown":
                entry.update(
                    status="Unknown", reason=NODE_STATUS_UNKNOWN, message=STOPPED_POSTING, lastTransitionTime=now
                )
        if changed["status"] != (node.get("status") or {}):
            self.client.update_status("nodes", changed)

    # NoExecute taints.

    def _queue_no_execute(self, node: ApiObject, observed: str) -> None:
        """Queue the node for its taint, swap it, or take it away (processTaintBaseEviction)."""
        fresh = self.client.cache.get("nodes", "", name_of(node)) or node
        zone, name = zone_of(node), name_of(node)
        waiting = self._to_taint.setdefault(zone, {})
        have = {entry["key"] for entry in t.taints_of(fresh) if entry["effect"] == t.NO_EXECUTE}
        if observed == "True":
            waiting.pop(name, None)
            if have & {t.NOT_READY, t.UNREACHABLE}:
                self._set_no_execute(fresh, None)
            return
        wanted, other = (t.NOT_READY, t.UNREACHABLE) if observed == "False" else (t.UNREACHABLE, t.NOT_READY)
        if other in have:
            self._set_no_execute(fresh, wanted)
        elif wanted not in have:
            waiting[name] = None
            self._serve_soon()

    def _set_no_execute(self, node: ApiObject, key: str | None) -> None:
        kept = [
            thaw(entry)
            for entry in t.taints_of(node)
            if entry["effect"] != t.NO_EXECUTE or entry["key"] not in (t.NOT_READY, t.UNREACHABLE)
        ]
        added: list[Json] = []
        if key is not None:
            added.append({"key": key, "effect": t.NO_EXECUTE, "timeAdded": format_rfc3339(self.sim.now)})
        self._write_taints(node, [*kept, *added])

    def _set_rates(self, ready: dict[str, list[bool]]) -> None:
        states = {zone: zone_state(entries) for zone, entries in ready.items()}
        all_down = bool(states) and all(state == FULL_DISRUPTION for state in states.values())
        for zone, state in states.items():
            before = self._zones.get(zone)
            if before is None:
                self._say(1234, "Initializing eviction metric for zone", zone=zone)
            if before != state and (before is not None or state != "Normal" or not self._zones):
                self._say(1080, "Controller detected that zone is now in new state", zone=zone, newState=state)
            self._zones[zone] = state
        if all_down and not self._all_down:
            self._say(1038, "Controller detected that all Nodes are not-Ready. Entering master disruption mode")
            self._enter_disruption()
        elif self._all_down and not all_down:
            self._say(1065, "Controller detected that some Nodes are Ready. Exiting master disruption mode")
            # Nobody was heard while the fault lasted: every node gets its full grace period again.
            for health in self._health.values():
                health.probe_ns = self.sim.now
        self._all_down = all_down
        for zone, state in states.items():
            self._interval[zone] = eviction_interval_ns(state, len(ready[zone]), all_down)

    def _say(self, line: int, message: str, **values: str) -> None:
        """A line of the log; a zone without labels has no name."""
        if "zone" in values:
            values["zone"] = "" if values["zone"] == ":" else values["zone"]
        self.log.note(f"node_lifecycle_controller.go:{line}", message, logger="node-lifecycle-controller", **values)

    def _enter_disruption(self) -> None:
        """No node is heard of: the fault is our own, so nothing is evicted any more (handleDisruption)."""
        for waiting in self._to_taint.values():
            waiting.clear()
        for node in self.client.cache.objects("nodes"):
            if any(e["effect"] == t.NO_EXECUTE and e["key"] in (t.NOT_READY, t.UNREACHABLE) for e in t.taints_of(node)):
                try:
                    self._set_no_execute(node, None)
                except ApiError:
                    continue  # somebody else changed the node; its kubelet takes the taint away in the end

    def _serve_soon(self) -> None:
        if not self._serving:
            self._serving = True
            self.sim.after(EVICTION_PERIOD_NS, self._serve_taint_queue)

    def _serve_taint_queue(self) -> None:
        """Taint at most one node of each zone per interval (doNoExecuteTaintingPass)."""
        now = self.sim.now
        self._serving = False
        self._taint_next(now)
        if any(self._to_taint.values()):
            self._serve_soon()

    def _taint_next(self, now: int) -> None:
        for zone, waiting in self._to_taint.items():
            interval = self._interval.get(zone)
            if not waiting or interval is None:
                continue
            last = self._tainted_at.get(zone)
            if last is not None and now - last < interval:
                continue
            name = next(iter(waiting))
            del waiting[name]
            node = self.client.cache.get("nodes", "", name)
            if node is None or ready_status(node) == "True":
                continue
            key = t.NOT_READY if ready_status(node) == "False" else t.UNREACHABLE
            try:
                self._set_no_execute(node, key)
            except ApiError:
                waiting[name] = None
                continue
            self._tainted_at[zone] = now

    # Pods of nodes that are not ready.

    def _mark_pods(self, name: str, observed: str, current: str) -> None:
        if current != "True" and observed == "True":
            self._report_not_ready(name)
        elif not (name in self._unmarked and observed != "True"):
            return
        self._unmarked.pop(name, None)
        ready = [(namespace_of(pod), name_of(pod)) for pod in self.client.cache.pods_on(name) if is_pod_ready(pod)]
        if ready:
            self._mark_next(name, ready)

    def _mark_next(self, node: str, pods: list[tuple[str, str]]) -> None:
        """Mark one pod and go on with the others; they are the worker's, one after another."""
        (namespace, name), rest = pods[0], pods[1:]
        pod = self.client.cache.get("pods", namespace, name)
        if pod is not None and pod["spec"].get("nodeName") == node and is_pod_ready(pod):
            self._mark(node, pod)
        if rest:
            self.sim.after(self._marking.uniform_ns(*MARK_NS), self._mark_next, node, rest)

    def _mark(self, node: str, pod: ApiObject) -> None:
        changed = thaw(pod)
        for entry in changed["status"]["conditions"]:
            if entry.get("type") == "Ready":
                entry["status"] = "False"
                entry["lastTransitionTime"] = format_rfc3339(self.sim.now)
        try:
            self.client.update_status("pods", changed)
        except ApiError as error:
            if error.code != 404:
                self._unmarked[node] = None
            return
        self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    def _report_not_ready(self, name: str) -> None:
        node = self.client.cache.get("nodes", "", name)
        if node is not None:
            self.recorder.event(node, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
