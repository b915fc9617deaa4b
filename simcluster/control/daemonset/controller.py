"""The DaemonSet controller.

Keeps one pod on every node that suits, bound by the default scheduler through a node
affinity, and rolls new templates out node by node.
Source: kubernetes pkg/controller/daemon.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.objects import (
    ApiObject,
    is_pod_ready,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    thaw,
    uid_of,
)
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller, Informer
from simcluster.control.controllerref import PodClaims, PodWatch, controlling_reference
from simcluster.control.daemonset import rolling
from simcluster.control.daemonset.placement import REVISION, Placement, by_node, is_updated, new_pod, should_run
from simcluster.control.daemonset.status import calculate_status
from simcluster.control.history import RevisionHistory, revision_data, revision_patch
from simcluster.control.history.hashing import plain_template, template_hash
from simcluster.control.history.revisions import revision_object
from simcluster.control.pods.creation import pod_template, slow_start_batches
from simcluster.control.pods.status import is_available, is_terminal, phase_of
from simcluster.engine import MICROSECOND, MINUTE, SECOND, Simulation

DAEMON_SETS = "daemonsets.apps"
#: BurstReplicas: the most pods created or deleted in one sync.
BURST_REPLICAS = 250
#: What a sync takes for each node, three evaluations of a made-up pod: an estimate from the
#: work done. On a big cluster the changes that arrive meanwhile share the next sync.
NODE_COST_NS = 40 * MICROSECOND
#: Failed daemon pods of one node are replaced at most this fast: 1 s, doubling.
FAILED_BACKOFF_BASE_NS = 1 * SECOND
FAILED_BACKOFF_MAX_NS = 15 * MINUTE


class NodeWatch(Informer):
    """Changes of nodes that move daemon pods: existence, labels and taints, not heartbeats."""

    def __init__(self, sim: Simulation, api: Api, name: str, handler: Callable[[Change], None]) -> None:
        super().__init__(sim, name, "nodes", handler)
        self.store = api.store
        self.store.subscribe("nodes", self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if not self.store.count(DAEMON_SETS):
            return
        node, before = change.object, change.previous
        if change.kind == "MODIFIED" and before is not None:
            same_taints = (node.get("spec") or {}).get("taints") == (before.get("spec") or {}).get("taints")
            if same_taints and labels_of(node) == labels_of(before):
                return
        super().notify(change)


class DaemonSetController(Controller):
    """Reconciles DaemonSets."""

    name = "daemonset-controller"
    workers = 2

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.history = RevisionHistory(self.client)
        #: Back-off of failed pods by DaemonSet uid and node: (delay, instant of the last deletion).
        self._failed: dict[str, dict[str, tuple[int, int]]] = {}
        self.watch(DAEMON_SETS, self._on_daemon_set)
        self.nodes = NodeWatch(sim, api, self.name, self._on_node)
        self.pods = PodWatch(sim, api, self.name, DAEMON_SETS, "DaemonSet", self._on_pod)
        self.claims = PodClaims(self.client, self.pods)

    # Watches.

    def _on_daemon_set(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._failed.pop(uid_of(change.object), None)
        self.enqueue_object(change)

    def _on_node(self, change: Change) -> None:
        node, before = change.object, change.previous
        for daemon_set in self.client.cache.objects(DAEMON_SETS):
            if change.kind == "MODIFIED" and before is not None:
                if should_run(daemon_set, node) == should_run(daemon_set, before):
                    continue
            elif not should_run(daemon_set, node)[0]:
                continue
            self._enqueue(daemon_set)

    def _on_pod(self, change: Change) -> None:
        pod, before = change.object, change.previous
        if before is not None and controlling_reference(before) != controlling_reference(pod):
            former = self.claims.owner_of(before)
            if former is not None:
                self._enqueue(former)
        owner = self.claims.owner_of(pod)
        if owner is None:
            if controlling_reference(pod) is None and change.kind != "DELETED" and not is_terminating(pod):
                for daemon_set in self.claims.owners_matching(pod):
                    self._enqueue(daemon_set)
            return
        self._enqueue(owner)
        seconds = owner["spec"].get("minReadySeconds", 0)
        if seconds and change.kind == "MODIFIED" and is_pod_ready(pod):
            # One second more, because condition times are cut to whole seconds.
            self.queue.add_after(f"{namespace_of(owner)}/{name_of(owner)}", (seconds + 1) * SECOND)

    def _enqueue(self, daemon_set: ApiObject) -> None:
        self.enqueue(namespace_of(daemon_set), name_of(daemon_set))

    # Reconciling.

    def _process(self, key: str) -> int:
        return super()._process(key) + NODE_COST_NS * self.client.cache.count("nodes")

    def sync(self, namespace: str, name: str) -> None:
        """Bring one DaemonSet's pods and status to what its spec and the nodes say."""
        daemon_set = self.client.cache.get(DAEMON_SETS, namespace, name)
        if daemon_set is None or is_terminating(daemon_set):
            return
        if not daemon_set["spec"].get("selector"):
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.recorder.event(daemon_set, "Warning", "SelectingAll", message)
            return
        current, old = self._revisions(daemon_set)
        daemon_set = self.client.cache.get(DAEMON_SETS, namespace, name) or daemon_set
        digest = labels_of(current).get(REVISION, "")
        Rollout(self, daemon_set, digest).run()
        limit = daemon_set["spec"].get("revisionHistoryLimit", 10)
        if len(old) > limit:
            pods = self.claims.owned(daemon_set)
            live = {name_of(entry): None for entry in old for pod in pods if _has_hash(pod, entry)}
            self.history.truncate(old, live, limit)

    def _revisions(self, daemon_set: ApiObject) -> tuple[ApiObject, list[ApiObject]]:
        """The revision of the present template, made if it is new, and the others."""
        revisions = self.history.of(daemon_set)
        data = revision_patch(pod_template(daemon_set))
        equal = [entry for entry in revisions if entry.get("data") == data]
        old = [entry for entry in revisions if entry.get("data") != data]
        number = max((entry["revision"] for entry in old), default=0) + 1
        if equal:
            current = equal[-1]
            return (self.history.renumber(current, number) if current["revision"] < number else current), old
        created: ApiObject | None = None
        while created is None:
            collisions = (daemon_set.get("status") or {}).get("collisionCount")
            digest = template_hash(plain_template(pod_template(daemon_set)), collisions)
            labels = {**(pod_template(daemon_set)["metadata"].get("labels") or {}), REVISION: digest}
            data = revision_data(pod_template(daemon_set))
            created = self.history.create(daemon_set, revision_object(daemon_set, labels, data, number, digest))
            if created is None:
                status = {**thaw(daemon_set.get("status") or {}), "collisionCount": (collisions or 0) + 1}
                daemon_set = self.client.update_status(DAEMON_SETS, {**thaw(daemon_set), "status": status})
        return created, old

    def backs_off(self, daemon_set: ApiObject, node: str) -> bool:
        """Whether a failed pod of the node has to stay for now; notes that it may go otherwise."""
        known = self._failed.setdefault(uid_of(daemon_set), {})
        delay_ns, since_ns = known.get(node, (0, 0))
        if delay_ns and self.sim.now - since_ns < delay_ns:
            self.queue.add_after(f"{namespace_of(daemon_set)}/{name_of(daemon_set)}", delay_ns)
            return True
        fresh = not delay_ns or self.sim.now - since_ns > 2 * FAILED_BACKOFF_MAX_NS
        known[node] = (
            FAILED_BACKOFF_BASE_NS if fresh else min(2 * delay_ns, FAILED_BACKOFF_MAX_NS),
            self.sim.now,
        )
        return False


class Rollout:
    """One sync of one DaemonSet: pods by node, what to create and delete, the status."""

    def __init__(self, controller: DaemonSetController, daemon_set: ApiObject, digest: str) -> None:
        self.controller = controller
        self.client = controller.client
        self.recorder = controller.recorder
        self.daemon_set = daemon_set
        self.digest = digest
        self.now_ns = controller.sim.now
        self.all_nodes: list[str] = []
        self.suitable: dict[str, None] = {}
        self.may_stay: dict[str, None] = {}
        placement = Placement(daemon_set)
        for node in self.client.cache.objects("nodes"):
            start, stay = placement.should_run(node)
            self.all_nodes.append(name_of(node))
            if start:
                self.suitable[name_of(node)] = None
            if stay:
                self.may_stay[name_of(node)] = None
        self.pods = self._pods()

    def _pods(self) -> dict[str, list[ApiObject]]:
        pods = self.controller.claims.claim(self.daemon_set)
        return by_node([pod for pod in pods if not (is_terminal(pod) and is_terminating(pod))])

    def run(self) -> None:
        """Create, delete and report. Raises ApiError."""
        failure = self._manage()
        if failure is None and self._is_rolling():
            failure = self._replace()
        self._update_status()
        if failure is not None:
            raise failure

    def _is_rolling(self) -> bool:
        strategy = self.daemon_set["spec"].get("updateStrategy") or {}
        return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")

    def _manage(self) -> ApiError | None:
        """One pod on every suitable node, none elsewhere."""
        create: list[str] = []
        delete: list[ApiObject] = []
        for node in self.all_nodes:
            pods = self.pods.get(node, [])
            if node in self.suitable and not pods:
                create.append(node)
            elif node in self.may_stay:
                running = self._without_ended(node, pods, delete)
                if rolling.allows_surge(self.daemon_set):
                    self._prune_surge(node, running, create, delete)
                else:
                    delete.extend(running[1:])
            else:
                delete.extend(pod for pod in pods if not is_terminating(pod))
        known = dict.fromkeys(self.all_nodes)
        for node, pods in self.pods.items():
            if node not in known:
                delete.extend(pod for pod in pods if not pod["spec"].get("nodeName") and not is_terminating(pod))
        return self._apply(create, delete)

    def _without_ended(self, node: str, pods: list[ApiObject], delete: list[ApiObject]) -> list[ApiObject]:
        """The pods that run or wait; ended ones are put on the list of those to delete."""
        running = []
        for pod in pods:
            where = f"daemon pod {namespace_of(pod)}/{name_of(pod)} on node {node}"
            if is_terminating(pod):
                continue
            if phase_of(pod) == "Failed":
                if not self.controller.backs_off(self.daemon_set, node):
                    message = f"Found failed {where}, will try to kill it"
                    self.recorder.event(self.daemon_set, "Warning", "FailedDaemonPod", message)
                    delete.append(pod)
            elif phase_of(pod) == "Succeeded":
                message = f"Found succeeded {where}, will try to delete it"
                self.recorder.event(self.daemon_set, "Normal", "SucceededDaemonPod", message)
                delete.append(pod)
            else:
                running.append(pod)
        return running

    def _prune_surge(self, node: str, running: list[ApiObject], create: list[str], delete: list[ApiObject]) -> None:
        """Two pods may share a node while the old one serves and the new one is not ready."""
        if not running and node in self.suitable:
            create.append(node)
        if len(running) <= 1:
            return
        new = [pod for pod in running if is_updated(pod, self.daemon_set, self.digest)]
        old = [pod for pod in running if not is_updated(pod, self.daemon_set, self.digest)]
        delete.extend(new[1:])
        delete.extend(old[1:])
        if new and old:
            seconds = self.daemon_set["spec"].get("minReadySeconds", 0)
            if is_available(new[0], seconds, self.now_ns) or not is_pod_ready(old[0]):
                delete.append(old[0])

    def _replace(self) -> ApiError | None:
        """One step of the rolling update."""
        nodes = dict(self.pods)
        for node in self.suitable:
            nodes.setdefault(node, [])
        desired = len(self.suitable)
        if rolling.max_surge(self.daemon_set, desired):
            step = rolling.replace_by_surge(self.daemon_set, nodes, self.digest, desired, self.now_ns, self.suitable)
        else:
            step = rolling.replace_in_place(self.daemon_set, nodes, self.digest, desired, self.now_ns)
        return self._apply(step.nodes, step.pods)

    def _apply(self, create: list[str], delete: list[ApiObject]) -> ApiError | None:
        failure: ApiError | None = None
        nodes = create[:BURST_REPLICAS]
        for size in slow_start_batches(len(nodes)):
            batch, nodes = nodes[:size], nodes[size:]
            for node in batch:
                failure = self._create(node) or failure
            if failure is not None:
                break
        for pod in delete[:BURST_REPLICAS]:
            failure = self._delete(pod) or failure
        if len(create) > BURST_REPLICAS or len(delete) > BURST_REPLICAS:
            self.controller.enqueue(namespace_of(self.daemon_set), name_of(self.daemon_set))
        if create or delete:
            self.pods = self._pods()
        return failure

    def _create(self, node: str) -> ApiError | None:
        try:
            pod = self.client.create("pods", namespace_of(self.daemon_set), new_pod(self.daemon_set, node, self.digest))
        except ApiError as error:
            causes = (error.details or {}).get("causes") or ()
            if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
                return None
            self.recorder.event(self.daemon_set, "Warning", "FailedCreate", f"Error creating: {error.message}")
            return error
        self.recorder.event(self.daemon_set, "Normal", "SuccessfulCreate", f"Created pod: {name_of(pod)}")
        return None

    def _delete(self, pod: ApiObject) -> ApiError | None:
        try:
            self.client.delete("pods", namespace_of(pod), name_of(pod), uid=uid_of(pod))
        except ApiError as error:
            if error.code == 404:
                return None
            self.recorder.event(self.daemon_set, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            return error
        self.recorder.event(self.daemon_set, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        return None

    def _update_status(self) -> None:
        status = calculate_status(self.daemon_set, self.all_nodes, self.suitable, self.pods, self.digest, self.now_ns)
        if status != (self.daemon_set.get("status") or {}):
            self.client.update_status(DAEMON_SETS, {**self.daemon_set, "status": status})
        seconds = self.daemon_set["spec"].get("minReadySeconds", 0)
        if seconds and status["numberReady"] != status.get("numberAvailable", 0):
            key = f"{namespace_of(self.daemon_set)}/{name_of(self.daemon_set)}"
            self.controller.queue.add_after(key, seconds * SECOND)


def _has_hash(pod: ApiObject, revision: ApiObject) -> bool:
    return labels_of(pod).get(REVISION) == labels_of(revision).get(REVISION)
