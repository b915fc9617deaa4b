"""What all controllers share: watches that arrive late, a work queue, a client.

A controller is level-based: handlers only enqueue keys, `sync(key)` reads everything it
needs from the API and writes what is missing. It keeps no copy of the cluster's state.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.process import Process
from simcluster.control.throttle import Throttled, TokenBucket
from simcluster.control.workqueue import WorkQueue
from simcluster.engine import MILLISECOND, Parted, Simulation
from simcluster.telemetry.klog import ComponentLog

#: From a committed write to the watch event at a client: p50 2.5 ms, p95 4.7 ms
#: (measured against kube-apiserver 1.32). Log-normal with these quantiles.
WATCH_DELAY_MEDIAN_NS = 2_500_000
WATCH_DELAY_SIGMA = 0.384
#: What one API write costs its caller: p50 1.44-1.80 ms (same measurement).
WRITE_COST_NS = 1_600_000
#: A reconcile that writes nothing.
SYNC_COST_NS = 300_000


class Informer(Parted):
    """One watch: hands the changes of a resource to a handler, in order, a little later."""

    def __init__(
        self,
        sim: Simulation,
        name: str,
        resource: str,
        handler: Callable[[Change], None],
        wants: Callable[[Change], bool] | None = None,
    ) -> None:
        self.sim = sim
        self.resource = resource
        self.handler = handler
        self.wants = wants
        self._stream = sim.stream("watch", name, resource)
        self._median_ns = sim.parameter("watch.delay", WATCH_DELAY_MEDIAN_NS)
        self._pending: list[Change] = []

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if self.wants is not None and not self.wants(change):
            return
        if not self._pending:
            delay = self._stream.lognormal_ns(self._median_ns, WATCH_DELAY_SIGMA)
            self.sim.after(min(delay, max(50 * MILLISECOND, 4 * self._median_ns)), self._deliver)
        self._pending.append(change)

    def _deliver(self) -> None:
        pending, self._pending = self._pending, []
        for change in pending:
            self.handler(change)


#: Service accounts of controllers whose name in Events or in `--controllers` is another one.
#: Source: cmd/kube-controller-manager/names and each controller's own client.
ACCOUNTS = {
    "certificatesigningrequest-cleaner-controller": "certificate-controller",
    "certificatesigningrequest-signing-controller": "certificate-controller",
    "daemonset-controller": "daemon-set-controller",
    "endpoint-slice-controller": "endpointslice-controller",
    "endpoint-slice-mirroring-controller": "endpointslicemirroring-controller",
    "horizontal-pod-autoscaler-controller": "horizontal-pod-autoscaler",
    "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
    "node-ipam-controller": "node-controller",
    "persistentvolume-controller": "persistent-volume-binder",
    "persistentvolume-protection-controller": "pv-protection-controller",
    "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
    "replicationcontroller-controller": "replication-controller",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "taint-eviction-controller": "node-controller",
}


#: How controllers say that a sync failed: position, text (one that begins with a quotation mark is informational and
#: structured), and the verbosity from which on they do. Source: handleErr, processNextWorkItem of each.
SYNC_ERRORS = {
    "daemonset-controller": ("daemon_controller.go:329", "{key} failed with : {error}", 0),
    "deployment-controller": (
        "deployment_controller.go:498",
        '"Error syncing deployment" logger="deployment-controller" deployment="{key}" err={error}',
        2,
    ),
    "disruption-controller": ("disruption.go:628", "Error syncing PodDisruptionBudget {key}, requeuing: {error}", 0),
    "endpoints-controller": (
        "endpoints_controller.go:343",
        '"Error syncing endpoints, retrying" logger="endpoints-controller" service="{key}" err={error}',
        0,
    ),
    "endpointslice-controller": (
        "endpointslice_controller.go:344",
        '"Error syncing endpoint slices for service, retrying" logger="endpointslice-controller" key="{key}" '
        "err={error}",
        0,
    ),
    "job-controller": ("job_controller.go:600", "syncing job: {error}", 0),
    "namespace-controller": ("namespace_controller.go:164", "deletion of namespace {key} failed: {error}", 0),
    "replicaset-controller": ("replica_set.go:560", 'sync "{key}" failed with {error}', 0),
    "replicationcontroller-controller": ("replica_set.go:560", 'sync "{key}" failed with {error}', 0),
    "resourcequota-controller": ("resource_quota_controller.go:249", "{error}", 0),
    "statefulset-controller": ("stateful_set.go:438", "error syncing StatefulSet {key}, requeuing: {error}", 0),
}


def account_user(account: str) -> User:
    """The user a component of kube-system is, by the name of its service account."""
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
    return User(f"system:serviceaccount:kube-system:{account}", groups)


class Controller(ABC):
    """A reconcile loop.

    Attributes:
        name: as in `--controllers` and in events, e.g. `deployment-controller`.
        client: its connection, under the identity of its own service account.
        recorder: writes its Events; log: its lines in the log of its process.
    """

    name: str
    workers = 5

    def __init__(self, sim: Simulation, api: Api) -> None:
        self.sim = sim
        self.api = api
        self.client = Client(
            api,
            account_user(ACCOUNTS.get(self.name, self.name)),
            "kube-controller-manager",
        )
        self.recorder = EventRecorder(sim, self.client, self.name)
        self.queue = WorkQueue(sim, self._process, self.workers)
        rate = sim.parameter("controller.qps", 0)
        if rate:
            bucket = TokenBucket(sim, rate, sim.parameter("controller.burst", rate * 3 // 2))
            self.queue.handler = Throttled(bucket, self.client, self.queue, self.queue.handler)
        self.log = sim.log if isinstance(sim, Process) else ComponentLog(sim)

    def watch(
        self, resource: str, handler: Callable[[Change], None], wants: Callable[[Change], bool] | None = None
    ) -> None:
        """Have `handler` called with every change of the resource; existing objects too.

        Args:
            wants: asked at once about every change; one that it does not want costs no timer.
        """
        informer = Informer(self.sim, self.name, resource, handler, wants)
        for obj in self.api.store.objects(resource):
            informer.notify(Change("ADDED", resource, obj, None, int(obj["metadata"]["resourceVersion"])))
        self.api.store.subscribe(resource, informer)

    def enqueue(self, namespace: str, name: str) -> None:
        """Reconcile `namespace/name` soon."""
        self.queue.add(f"{namespace}/{name}")

    def enqueue_object(self, change: Change) -> None:
        """Watch handler: reconcile the changed object itself."""
        metadata = change.object["metadata"]
        self.enqueue(metadata.get("namespace", ""), metadata["name"])

    @abstractmethod
    def sync(self, namespace: str, name: str) -> None:
        """Reconcile one key. An ApiError puts the key back with back-off."""

    def _process(self, key: str) -> int:
        namespace, _, name = key.partition("/")
        before, waited_ns = self.client.writes, self.client.waited_ns
        try:
            self.sync(namespace, name)
        except ApiError as error:
            self._complain(key, error)
            self.on_error(key, error)
        else:
            self.queue.forget(key)
        cost_ns = SYNC_COST_NS + (self.client.writes - before) * WRITE_COST_NS
        return cost_ns + self.client.waited_ns - waited_ns

    def _complain(self, key: str, error: ApiError) -> None:
        """Say that a sync failed, in this controller's words."""
        usual = ("controller_utils.go:143", "error syncing {key}: {error}", 0)
        where, text, verbosity = SYNC_ERRORS.get(self.name, usual)
        if not self.log.says(verbosity):
            return
        if '"' in text[:1]:
            self.log.text("I", where, text.format(key=key, error=json.dumps(error.message, ensure_ascii=False)))
        else:
            self.log.complain(where, text.format(key=key, error=error.message))

    def on_error(self, key: str, error: ApiError) -> None:
        """What a failed sync leads to: by default the key comes back with back-off."""
        self.queue.add_rate_limited(key)
