"""A provisioner of local volumes, as it runs in a pod of its own.

Makes a volume for a claim that the binder has handed over (annotation
`volume.kubernetes.io/storage-provisioner`) once its node is chosen, or at once for classes
that bind immediately; the binder does the rest, and removes released volumes. A failed
attempt is repeated with back-off. The helper pod that makes the directory is a delay.
Source of the events: sigs.k8s.io/sig-storage-lib-external-provisioner (controller.go).
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, is_terminating, name_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Controller, Informer
from simcluster.control.volumes.matching import (
    CLAIMS,
    SELECTED_NODE,
    STORAGE_CLASSES,
    STORAGE_PROVISIONER,
    VOLUMES,
    annotations_of,
    binds_late,
    class_of,
)
from simcluster.control.volumes.provisioners import PROVISIONERS, Provisioner, new_volume, refusal, volume_name
from simcluster.engine import MILLISECOND, SECOND, Simulation

#: From taking a claim up to its volume: a helper pod is created, scheduled, started and seen
#: to end by a poll of one second.
SHORTEST_NS = 1500 * MILLISECOND
LONGEST_NS = 3500 * MILLISECOND
#: Failed attempts come back after 15 s, doubling (the library's rate limiter).
RETRY_BASE_NS = 15 * SECOND
RETRY_MAX_NS = 1000 * SECOND
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class HandedOverClaims(Informer):
    """Changes of claims that the binder has handed to one of the provisioners."""

    def __init__(self, sim: Simulation, api: Api, name: str, handler: Callable[[Change], None]) -> None:
        super().__init__(sim, name, CLAIMS, handler)
        for claim in api.store.objects(CLAIMS):
            self.notify(Change("ADDED", CLAIMS, claim, None, int(claim["metadata"]["resourceVersion"])))
        api.store.subscribe(CLAIMS, self)

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if annotations_of(change.object).get(STORAGE_PROVISIONER) in PROVISIONERS:
            super().notify(change)


class LocalPathProvisioner(Controller):
    """Reconciles claims; one for all provisioners of `PROVISIONERS`.

    Attributes:
        started: instants at which claims were taken up, by key.
    """

    name = "local-path-provisioner"
    workers = 4

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        account = "system:serviceaccount:local-path-storage:local-path-provisioner-service-account"
        # Its own ClusterRole comes with its manifests, which an operator applies as cluster-admin.
        self.client = Client(api, User(account, ("system:masters", "system:authenticated")), self.name)
        self.started: dict[str, int] = {}
        self.attempts: dict[str, int] = {}
        self._recorders: dict[str, EventRecorder] = {}
        self._stream = sim.stream(self.name)
        self.claims = HandedOverClaims(sim, api, self.name, self.enqueue_object)

    def sync(self, namespace: str, name: str) -> None:
        """Bring one claim nearer to its volume."""
        key = f"{namespace}/{name}"
        claim = self.client.cache.get(CLAIMS, namespace, name)
        storage_class = self.client.cache.get(STORAGE_CLASSES, "", class_of(claim)) if claim is not None else None
        if claim is None or storage_class is None or not self._is_due(claim, storage_class):
            self.started.pop(key, None)
            self.attempts.pop(key, None)
            return
        provisioner = PROVISIONERS[annotations_of(claim)[STORAGE_PROVISIONER]]
        if key not in self.started:
            self._take_up(key, provisioner, claim)
        elif self.sim.now >= self.started[key]:
            self._provision(key, provisioner, claim, storage_class)

    def _is_due(self, claim: ApiObject, storage_class: ApiObject) -> bool:
        if is_terminating(claim) or claim["spec"].get("volumeName"):
            return False
        if self.client.cache.get(VOLUMES, "", volume_name(claim)) is not None:
            return False
        if annotations_of(claim).get(STORAGE_PROVISIONER) != storage_class["provisioner"]:
            return False
        return not binds_late(storage_class) or SELECTED_NODE in annotations_of(claim)

    def _take_up(self, key: str, provisioner: Provisioner, claim: ApiObject) -> None:
        message = f'External provisioner is provisioning volume for claim "{key}"'
        self._recorder(provisioner).event(claim, "Normal", "Provisioning", message)
        delay_ns = 0 if self._refusal(provisioner, claim) else self._stream.uniform_ns(SHORTEST_NS, LONGEST_NS)
        self.started[key] = self.sim.now + delay_ns
        self.queue.add_after(key, delay_ns)

    def _refusal(self, provisioner: Provisioner, claim: ApiObject) -> str:
        return refusal(provisioner, claim, self._node(claim))

    def _node(self, claim: ApiObject) -> ApiObject | None:
        name = annotations_of(claim).get(SELECTED_NODE, "")
        return self.client.cache.get("nodes", "", name) if name else None

    def _provision(self, key: str, provisioner: Provisioner, claim: ApiObject, storage_class: ApiObject) -> None:
        del self.started[key]
        why = self._refusal(provisioner, claim)
        if not why:
            try:
                volume = new_volume(provisioner, claim, storage_class, self._node(claim))
                self.client.create(VOLUMES, "", volume)
            except ApiError as error:
                why = error.message
        if why:
            message = f'failed to provision volume with StorageClass "{name_of(storage_class)}": {why}'
            self._recorder(provisioner).event(claim, "Warning", "ProvisioningFailed", message)
            attempt = self.attempts[key] = self.attempts.get(key, 0) + 1
            self.queue.add_after(key, min(RETRY_MAX_NS, RETRY_BASE_NS << min(attempt - 1, 10)))
            return
        self.attempts.pop(key, None)
        message = f"Successfully provisioned volume {volume_name(claim)}"
        self._recorder(provisioner).event(claim, "Normal", "ProvisioningSucceeded", message)

    def _recorder(self, provisioner: Provisioner) -> EventRecorder:
        """Events carry the provisioner's name, its pod and a uid drawn at its start."""
        known = self._recorders.get(provisioner.name)
        if known is None:
            stream = self.sim.stream(self.name, "identity", provisioner.name)
            pod = f"{provisioner.component}-{stream.text(_ALPHABET, 10)}-{stream.text(_ALPHABET, 5)}"
            digits = f"{stream.bits():016x}{stream.bits():016x}"
            uid = "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
            known = EventRecorder(self.sim, self.client, f"{provisioner.name}_{pod}_{uid}")
            self._recorders[provisioner.name] = known
        return known
