"""`Operator`: what an application's own controller does while its pod runs.

A subclass names the resource it reconciles and writes `sync`. Everything it reads comes from
its own watches, everything it writes goes through its pod's identity and network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, controller_of, name_of, namespace_of, owner_reference, uid_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import SYNC_COST_NS, WRITE_COST_NS
from simcluster.control.operator.connection import PodConnection
from simcluster.control.operator.election import LeaderElection
from simcluster.control.operator.failure import ReconcileError, Requeue
from simcluster.control.operator.reflector import Reflector
from simcluster.control.process import Process
from simcluster.control.workqueue import WorkQueue
from simcluster.models.machine.container import Container
from simcluster.models.machine.program import Program
from simcluster.telemetry.klog import klog_text


class Operator(ABC):
    """One process of an operator.

    Class attributes:
        name: in Events, in the user agent and in its log.
        resource: the custom resource it reconciles (`plural.group`).
        kind: how Go prints its type: `*v1alpha1.TidbCluster`; needed where it is watched before its CRD is there.
        owns: resources of which it makes objects: a change of one reconciles its owner.
        reads: further resources it needs to see.
        lease: name of the Lease for which its replicas compete; empty for none.
        qps, burst: limit of its API client (client-go's defaults).
        releases: whether it gives the Lease back when it is stopped.
        resync_ns: how often everything is reconciled though nothing changed; 0 for never.

    Attributes:
        client: its connection; `recorder` writes its Events; `queue` holds what waits.
        running: whether it leads, has listed everything and reconciles.
    """

    name: ClassVar[str]
    resource: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    owns: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    lease: ClassVar[str] = ""
    workers: ClassVar[int] = 5
    qps: ClassVar[int] = 5
    burst: ClassVar[int] = 10
    releases: ClassVar[bool] = False
    resync_ns: ClassVar[int] = 0

    def __init__(self, sim: Process, api: Api, container: Container, program: Program) -> None:
        self.sim = sim
        self.api = api
        self.container = container
        self.program = program
        self.client = PodConnection(api, container, self.name, qps=self.qps, burst=self.burst)
        # Events are written in the background: nobody waits for them.
        background = PodConnection(api, container, self.name, qps=self.qps, burst=self.burst)
        self.recorder = EventRecorder(sim, background, self.name)
        self.queue = WorkQueue(sim, self._process, self.workers)
        self.running = False
        self.election: LeaderElection | None = None
        self.caches: dict[str, Reflector] = {}
        for resource in (self.resource, *self.owns, *self.reads):
            if resource:
                self.caches[resource] = Reflector(
                    sim, self.client, resource, self.type_of(resource), namespace=self.scope(), log=self.log
                )

    # What a subclass may say.

    @abstractmethod
    def sync(self, namespace: str, name: str) -> None:
        """Reconcile one object of `resource`.

        Raises:
            ReconcileError, ApiError: it comes back with back-off.
        """

    @classmethod
    def wrapped(cls, program: Program) -> Program:
        """The process around which it works: `program`, or one of its own making in its place."""
        return program

    def scope(self) -> str:
        """The one namespace it watches; empty for all."""
        return ""

    def started(self) -> None:
        """It leads and has listed everything; what is there is reconciled next."""

    def stopping(self) -> None:
        """Its process received SIGTERM."""

    def on_error(self, key: str, error: Exception) -> None:
        """What it says of a failed reconcile; the key comes back by itself."""
        level = "I" if isinstance(error, Requeue) else "E"
        self.log(level, "controller.go:329", f"Reconciler error {self.kind or self.resource} {key}: {error}")

    def identity(self) -> str:
        """What its Lease holds: the host's name and an id of the process, as controller-runtime has it."""
        digits = self.container.container_id
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])
        return f"{self.container.spec.pod_name}_{'-'.join(parts)}"

    def type_of(self, resource: str) -> str:
        """How Go prints the type of a resource: `*v1.Pod`."""
        if resource == self.resource and self.kind:
            return self.kind
        known = self.api.resources.by_name.get(resource)
        return f"*{known.version}.{known.kind}" if known is not None else f"*v1.{resource.partition('.')[0]}"

    # What it may use.

    def get(self, resource: str, namespace: str, name: str) -> ApiObject | None:
        """An object as it was last seen."""
        return self.caches[resource].get(namespace, name)

    def listed(self, resource: str, namespace: str = "") -> list[ApiObject]:
        """Objects as they were last seen, sorted."""
        return self.caches[resource].listed(namespace)

    def enqueue(self, namespace: str, name: str) -> None:
        """Reconcile `namespace/name` soon."""
        self.queue.add(f"{namespace}/{name}")

    def event(self, obj: Mapping[str, Any], kind: str, reason: str, message: str) -> None:
        """Write an Event about an object."""
        self.recorder.event(obj, kind, reason, message)

    def log(self, level: str, where: str, text: str) -> None:
        """Print a line to the container's log."""
        self.container.write(klog_text(level, self.sim.now, where, text), "stderr")

    def ensure(self, resource: str, owner: Mapping[str, Any], wanted: Json) -> ApiObject:
        """Create an object that `owner` controls, or bring what `wanted` names to what it says.

        Raises:
            ApiError: the API server refused.
        """
        metadata = {**wanted["metadata"], "namespace": namespace_of(owner), "ownerReferences": [owner_reference(owner)]}
        wanted = {**wanted, "metadata": metadata}
        found = self.get(resource, namespace_of(owner), name_of(wanted))
        if found is None:
            return self.client.create(resource, namespace_of(owner), wanted)
        if covers(found, wanted):
            return found
        return self.client.patch(resource, namespace_of(owner), name_of(wanted), wanted, kind="merge")

    def set_status(self, obj: Mapping[str, Any], status: Json) -> None:
        """Write the status of an object if it differs. Raises ApiError."""
        if not covers(obj.get("status") or {}, status):
            body = {"status": status}
            self.client.patch(self.resource, namespace_of(obj), name_of(obj), body, kind="merge", subresource="status")

    # Its life.

    def start(self) -> None:
        """The process begins to work."""
        if self.lease:
            self.election = LeaderElection(
                self.sim,
                self.client,
                self.lease,
                self.identity(),
                started=self._lead,
                lost=self._lose,
                log=self.log,
            )
            self.election.start()
        else:
            self._lead()

    def leapt(self) -> None:
        """Idle time was skipped."""
        if self.election is not None:
            self.election.leapt()

    def terminate(self) -> None:
        """SIGTERM: say farewell."""
        self.stopping()
        if self.election is not None and self.releases:
            self.election.release()

    def _lead(self) -> None:
        for resource, cache in self.caches.items():
            cache.handlers.append(self._handler_of(resource))
            cache.when_synced.append(self._synced)
        for cache in list(self.caches.values()):
            cache.start()
        if not self.caches:
            self._synced()

    def _synced(self) -> None:
        if self.running or not all(cache.synced for cache in self.caches.values()):
            return
        self.running = True
        self.started()
        self._enqueue_all()
        if self.resync_ns:
            self.sim.every(self.resync_ns, self._enqueue_all)

    def _enqueue_all(self) -> None:
        if self.resource:
            for obj in self.listed(self.resource):
                self.enqueue(namespace_of(obj), name_of(obj))

    def _lose(self) -> None:
        self.log("F", "main.go:203", "leader election lost")
        self.container.exit(1)

    def _handler_of(self, resource: str) -> Callable[[Change], None]:
        if resource == self.resource:
            return self._primary_changed
        return self._owned_changed if resource in self.owns else self.noticed

    def _primary_changed(self, change: Change) -> None:
        if self.running:
            self.enqueue(namespace_of(change.object), name_of(change.object))

    def _owned_changed(self, change: Change) -> None:
        if not self.running:
            return
        reference = controller_of(change.object)
        if reference is None:
            return
        owner = self.get(self.resource, namespace_of(change.object), reference["name"])
        if owner is not None and uid_of(owner) == reference["uid"]:
            self.enqueue(namespace_of(owner), name_of(owner))

    def noticed(self, change: Change) -> None:
        """A resource of `reads` has changed."""

    def _process(self, key: str) -> int:
        namespace, _, name = key.partition("/")
        before, waited_ns = self.client.writes, self.client.waited_ns
        try:
            self.sync(namespace, name)
        except (ApiError, ReconcileError) as error:
            if self.sim.alive:
                self.on_error(key, error)
                self.queue.add_rate_limited(key)
        else:
            self.queue.forget(key)
        return SYNC_COST_NS + (self.client.writes - before) * WRITE_COST_NS + self.client.waited_ns - waited_ns


def covers(found: Any, wanted: Any) -> bool:
    """Whether everything that `wanted` says stands in `found`; lists must be of one length."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and covers(found[key], value) if value is not None else found.get(key) is None
            for key, value in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        same = isinstance(found, (list, tuple)) and len(found) == len(wanted)
        return same and all(covers(a, b) for a, b in zip(found, wanted, strict=True))
    return bool(found == wanted)
