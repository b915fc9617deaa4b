"""Pod garbage collection: pods that no kubelet will ever finish.

Every 20 s: pods bound to nodes that have been gone for 40 s, deleted pods that were never
bound, pods terminating on nodes taken out of service, and the oldest ended pods beyond a
threshold.
Source: kubernetes pkg/controller/podgc/gc_controller.go.
"""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, is_terminating, name_of, namespace_of, uid_of
from simcluster.api.server import Api
from simcluster.control.controller import Controller
from simcluster.control.nodelifecycle.tainteviction import with_disruption
from simcluster.control.nodes.readiness import ready_status
from simcluster.control.nodes.taints import OUT_OF_SERVICE, taints_of
from simcluster.control.pods.status import is_terminal
from simcluster.engine import SECOND, Simulation

#: gcCheckPeriod, quarantineTime, --terminated-pod-gc-threshold.
PERIOD_NS = 20 * SECOND
QUARANTINE_NS = 40 * SECOND
TERMINATED_THRESHOLD = 12_500


class PodGarbageCollector(Controller):
    """Removes dead pods. Work-queue keys are names of nodes that do not exist."""

    name = "pod-garbage-collector"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self._looked_at = -1  # version of the pods that were looked at
        self._holders: dict[str, None] = {}  # nodes of pods that live
        self._doubtful: list[ApiObject] = []  # all other pods
        sim.every(PERIOD_NS, self._collect)

    def _look(self) -> None:
        """Sort the pods, if one has changed since: those that live are only held by their nodes."""
        changed = self.client.cache.changed_at("pods")
        if changed == self._looked_at:
            return
        self._looked_at, self._holders, self._doubtful = changed, {}, []
        for pod in self.client.cache.objects("pods"):
            node = pod["spec"].get("nodeName")
            if node and not is_terminating(pod) and not is_terminal(pod):
                self._holders[node] = None
            else:
                self._doubtful.append(pod)

    def _collect(self) -> None:
        self._look()
        terminated: list[ApiObject] = []
        missing = {node: None for node in self._holders if self.client.cache.get("nodes", "", node) is None}
        for pod in self._doubtful:
            node = pod["spec"].get("nodeName")
            if is_terminal(pod):
                terminated.append(pod)
            if not node:
                if is_terminating(pod):
                    self._remove(pod)
                continue
            holder = self.client.cache.get("nodes", "", node)
            if holder is None:
                missing[node] = None
            elif is_terminating(pod) and self._is_out_of_service(holder):
                self._remove(pod)
        for node in missing:
            self.queue.add_after(f"/{node}", QUARANTINE_NS)
        surplus = len(terminated) - TERMINATED_THRESHOLD
        for pod in sorted(terminated, key=_age)[: max(0, surplus)]:
            self._remove(pod)

    def sync(self, namespace: str, name: str) -> None:
        """Remove the pods of a node that is still gone."""
        if self.client.cache.get("nodes", "", name) is not None:
            return
        for pod in self.client.cache.pods_on(name):
            if not is_terminal(pod):
                changed = with_disruption(pod, "DeletionByPodGC", "PodGC: node no longer exists", self.sim.now)
                changed["status"]["phase"] = "Failed"
                patch = {"status": changed["status"]}
                self.client.patch("pods", namespace_of(pod), name_of(pod), patch, kind="merge", subresource="status")
            self._remove(pod)

    def _is_out_of_service(self, node: ApiObject) -> bool:
        return ready_status(node) != "True" and any(entry["key"] == OUT_OF_SERVICE for entry in taints_of(node))

    def _remove(self, pod: ApiObject) -> None:
        key = f"{namespace_of(pod)}/{name_of(pod)}"
        self.log.note("gc_controller.go:343", "PodGC is force deleting Pod", logger=self.name, pod=key)
        try:
            self.client.delete("pods", namespace_of(pod), name_of(pod), uid=uid_of(pod), grace_period_s=0)
        except ApiError as error:
            if error.code not in (404, 409):
                raise


def _age(pod: ApiObject) -> tuple[str, str, str]:
    return (pod["metadata"]["creationTimestamp"], namespace_of(pod), name_of(pod))
