"""The taint manager: evicts pods from nodes with NoExecute taints they do not tolerate.

A toleration with `tolerationSeconds` delays the eviction; if the taint goes before, the
eviction is cancelled. Eviction here is a plain deletion: no PodDisruptionBudget is asked.
Source: kubernetes pkg/controller/tainteviction/taint_eviction.go, 1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, is_terminating, name_of, namespace_of, thaw, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller
from simcluster.control.nodes.taints import NO_EXECUTE, Taint, taints_of, tolerates
from simcluster.control.pods.status import is_terminal
from simcluster.engine import SECOND, Simulation, Timer, format_rfc3339

EVICTION = "TaintManagerEviction"


def eviction_delay_s(taints: Sequence[Taint], tolerations: Sequence[Mapping[str, Any]]) -> int | None:
    """Seconds until a pod must go; 0 for at once, None for never.

    The shortest `tolerationSeconds` among the tolerations that are in use counts.

    >>> taint = {"key": "k", "effect": "NoExecute"}
    >>> eviction_delay_s([taint], []), eviction_delay_s([taint], [{"operator": "Exists"}])
    (0, None)
    >>> eviction_delay_s([taint], [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}])
    300
    """
    used: list[Mapping[str, Any]] = []
    for taint in taints:
        matching = [entry for entry in tolerations if tolerates(entry, taint)]
        if not matching:
            return 0
        used.append(matching[0])
    limits = [max(0, entry["tolerationSeconds"]) for entry in used if entry.get("tolerationSeconds") is not None]
    return min(limits, default=None)


class _Pending:
    """An eviction that is due at an instant."""

    __slots__ = ("due_ns", "started_ns", "timer", "uid")

    def __init__(self, uid: str, started_ns: int, due_ns: int, timer: Timer) -> None:
        self.uid = uid
        self.started_ns = started_ns
        self.due_ns = due_ns
        self.timer = timer


class TaintEvictionController(Controller):
    """Evicts pods. Work-queue keys are pods."""

    name = "taint-eviction-controller"
    workers = 8

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._pending: dict[str, _Pending] = {}
        self.watch("nodes", self._on_node)
        self.watch("pods", self._on_pod)

    def _on_node(self, change: Change) -> None:
        node, old = change.object, change.previous
        if change.kind == "DELETED" or _executing(node) == (_executing(old) if old is not None else []):
            return
        for pod in self.client.cache.pods_on(name_of(node)):
            self.enqueue(namespace_of(pod), name_of(pod))

    def _on_pod(self, change: Change) -> None:
        pod, old = change.object, change.previous
        key = f"{namespace_of(pod)}/{name_of(pod)}"
        if change.kind == "DELETED":
            pending = self._pending.pop(key, None)
            if pending is not None:
                pending.timer.cancel()
            return
        if not pod["spec"].get("nodeName"):
            return
        if old is None or (old["spec"].get("nodeName"), old["spec"].get("tolerations")) != (
            pod["spec"]["nodeName"],
            pod["spec"].get("tolerations"),
        ):
            self.enqueue_object(change)

    def sync(self, namespace: str, name: str) -> None:
        """Plan, keep or cancel the eviction of one pod."""
        key = f"{namespace}/{name}"
        pod = self.client.cache.get("pods", namespace, name)
        if pod is None or is_terminating(pod) or is_terminal(pod):
            self._cancel(key, None)
            return
        node = self.client.cache.get("nodes", "", pod["spec"].get("nodeName", ""))
        taints = _executing(node) if node is not None else []
        delay = eviction_delay_s(taints, pod["spec"].get("tolerations") or ()) if taints else None
        if delay is None:
            self._cancel(key, pod)
        else:
            self._plan(key, pod, delay)

    def _plan(self, key: str, pod: ApiObject, delay_s: int) -> None:
        pending, now = self._pending.get(key), self.sim.now
        if pending is not None and pending.uid == uid_of(pod):
            # Further taints do not restart the clock of an eviction that is already running.
            due = pending.started_ns + delay_s * SECOND
            if due >= pending.due_ns and delay_s:
                return
            started = pending.started_ns
            pending.timer.cancel()
        else:
            due, started = now + delay_s * SECOND, now
        due = max(now, due)
        self._pending[key] = _Pending(uid_of(pod), started, due, self.sim.at(due, self._evict, key, uid_of(pod)))

    def _cancel(self, key: str, pod: ApiObject | None) -> None:
        pending = self._pending.pop(key, None)
        if pending is None:
            return
        pending.timer.cancel()
        if pod is not None:
            self.recorder.event(pod, "Normal", EVICTION, f"Cancelling deletion of Pod {key}")

    def _evict(self, key: str, uid: str) -> None:
        self._pending.pop(key, None)
        namespace, _, name = key.partition("/")
        pod = self.client.cache.get("pods", namespace, name)
        if pod is None or uid_of(pod) != uid or is_terminating(pod):
            return
        self.recorder.event(pod, "Normal", EVICTION, f"Marking for deletion Pod {key}")
        self.log.note("taint_eviction.go:113", "Deleting pod", logger=self.name, controller=self.name, pod=key)
        message = "Taint manager: deleting due to NoExecute taint"
        try:
            self.client.update_status("pods", with_disruption(pod, "DeletionByTaintManager", message, self.sim.now))
            self.client.delete("pods", namespace, name, uid=uid)
        except ApiError as error:
            if error.code != 404:
                self.enqueue(namespace, name)


def with_disruption(pod: ApiObject, reason: str, message: str, now_ns: int) -> Json:
    """A copy of the pod with the condition DisruptionTarget."""
    changed = thaw(pod)
    conditions = changed.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [entry for entry in conditions if entry.get("type") != "DisruptionTarget"]
    conditions.append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_rfc3339(now_ns),
            "reason": reason,
            "message": message,
        }
    )
    return changed


def _executing(node: ApiObject) -> list[Taint]:
    return [entry for entry in taints_of(node) if entry["effect"] == NO_EXECUTE]
