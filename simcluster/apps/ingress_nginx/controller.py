"""The controller inside of ingress-nginx: it follows the cluster, configures nginx and reports addresses.

Every replica configures its own nginx; the one that holds the Lease writes
`status.loadBalancer` of the Ingresses. Source: ingress-nginx v1.12 (store.go, nginx.go,
status.go). Left out: the admission webhook, metrics, `--watch-namespace`.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, labels_of, name_of, namespace_of
from simcluster.api.store import Change
from simcluster.apps.ingress_nginx.building import CLASSES, INGRESSES, SLICES, Builder, class_of
from simcluster.apps.ingress_nginx.program import IngressProgram
from simcluster.control.operator.election import LeaderElection
from simcluster.control.operator.operator import Operator
from simcluster.engine import MINUTE, SECOND
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.program import Program

#: `--sync-rate-limit` 0.3: at most one synchronisation in so long.
SYNC_PERIOD_NS = 10 * SECOND // 3
#: How often the status is written again (updateInterval).
STATUS_PERIOD_NS = MINUTE
#: How often nginx's view of its users is renewed.
LOOK_EVERY_NS = 5 * SECOND
_KEY = "/configuration"


class IngressController(Operator):
    """One replica of ingress-nginx."""

    name = "nginx-ingress-controller"
    reads = (INGRESSES, CLASSES, "services", SLICES, "secrets", "pods", "nodes")
    lease = "ingress-nginx-leader"
    workers = 1
    qps, burst = 1000, 1000  # defaults of its --kube-client flags: none

    _synced_ns = -SYNC_PERIOD_NS
    _leaving = False

    @classmethod
    def wrapped(cls, program: Program) -> Program:
        """nginx in place of the plain server."""
        assert isinstance(program, ServerProgram)
        return IngressProgram(program.container, program.traffic, program.behaviour, (), program.environment)

    def start(self) -> None:
        """All replicas serve; one of them writes the status."""
        self.election = LeaderElection(
            self.sim,
            self.client,
            self.lease,
            self.container.spec.pod_name,
            started=self._write_statuses,
            lost=self._resigned,
            log=self.log,
        )
        self.election.start()
        self._lead()

    def started(self) -> None:
        """All caches are filled: configure nginx for the first time."""
        self.log("I", "nginx.go:317", '"Starting NGINX process"')
        for ingress in self.listed(INGRESSES):
            self._welcome(ingress)
        self.queue.add(_KEY)
        self.sim.every(STATUS_PERIOD_NS, self._write_statuses)
        self.sim.every(LOOK_EVERY_NS, self._nginx().refresh)

    def stopping(self) -> None:
        """SIGTERM: the last replica takes its address out of the Ingresses."""
        self._leaving = True
        if self.election is None or not self.election.leading or len(self._own_pods()) > 1:
            return
        self.log("I", "status.go:135", '"removing value from ingress status" address=' + str(self._addresses()))
        for ingress in self._mine():
            self._write_status(ingress, [])

    def noticed(self, change: Change) -> None:
        """Anything it watches may matter: synchronise, but not too often."""
        if not self.running:
            return
        if change.resource in ("pods", "nodes"):
            return
        if change.resource == INGRESSES and change.kind != "DELETED":
            old = change.previous
            if old is None or old.get("spec") != change.object.get("spec") or _class(old) != _class(change.object):
                self._welcome(change.object)
        self.queue.add_after(_KEY, max(0, self._synced_ns + SYNC_PERIOD_NS - self.sim.now))

    def sync(self, namespace: str, name: str) -> None:
        """Configure nginx anew."""
        self._synced_ns = self.sim.now
        nginx = self._nginx()
        before = nginx.configuration
        after = Builder(self, self.sim.now).build(self._mine())
        if before is None or not after.same_servers(before):
            self.log("I", "controller.go:196", '"Configuration changes detected, backend reload required"')
            self.log("I", "controller.go:216", '"Backend successfully reloaded"')
            if before is None:
                self.log("I", "controller.go:228", '"Initial sync, sleeping for 1 second"')
        nginx.configure(after)
        self._write_statuses()

    def on_error(self, key: str, error: Exception) -> None:
        """What it says when the API server refuses."""
        self.log("E", "queue.go:131", f'"requeuing" err="{error}" key="{key}"')

    # Inside.

    def _nginx(self) -> IngressProgram:
        assert isinstance(self.program, IngressProgram)
        return self.program

    def _resigned(self) -> None:
        self.log("I", "status.go:104", '"I am not the new leader"')

    def _classes(self) -> dict[str, ApiObject]:
        return {name_of(entry): entry for entry in self.listed(CLASSES)}

    def _class_of(self, ingress: ApiObject) -> str | None:
        return class_of(ingress, self._classes(), self._flag("ingress-class") or "nginx")

    def _mine(self) -> list[ApiObject]:
        return [ingress for ingress in self.listed(INGRESSES) if self._class_of(ingress) is not None]

    def _welcome(self, ingress: ApiObject) -> None:
        """Say whether an Ingress is one of its own, and note on it that it will be served."""
        shown = f"{namespace_of(ingress)}/{name_of(ingress)}"
        found = self._class_of(ingress)
        if found is None:
            why = "ingress does not contain a valid IngressClass"
            text = f'"Ignoring ingress because of error while validating ingress class" ingress="{shown}" error="{why}"'
            self.log("I", "store.go:436", text)
            return
        self.log("I", "store.go:440", f'"Found valid IngressClass" ingress="{shown}" ingressclass="{found}"')
        self.event(ingress, "Normal", "Sync", "Scheduled for sync")

    def _flag(self, name: str) -> str:
        for word in (*self.container.spec.command, *self.container.spec.args):
            key, _, value = word.lstrip("-").partition("=")
            if key == name:
                return value
        return ""

    # Status.

    def _write_statuses(self) -> None:
        if self.election is None or not self.election.leading or not self.running or self._leaving:
            return
        addresses = self._addresses()
        for ingress in self._mine():
            self._write_status(ingress, addresses)

    def _write_status(self, ingress: ApiObject, addresses: list[Json]) -> None:
        current = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
        if [dict(entry) for entry in current] == addresses:
            return
        text = f'"updating Ingress status" namespace="{namespace_of(ingress)}" ingress="{name_of(ingress)}"'
        self.log("I", "status.go:304", text)
        body = {"status": {"loadBalancer": {"ingress": addresses or None}}}
        try:
            self.client.patch(
                INGRESSES, namespace_of(ingress), name_of(ingress), body, kind="merge", subresource="status"
            )
        except ApiError as error:
            self.log("W", "status.go:310", f'"error updating ingress status" err="{error}"')

    def _addresses(self) -> list[Json]:
        """Where users reach it: its published Service, or the nodes on which its pods run."""
        published = self._flag("publish-service")
        if published:
            service = self.get("services", *published.partition("/")[::2])
            return _service_addresses(service) if service is not None else []
        names = sorted({str(pod["spec"].get("nodeName", "")): None for pod in self._own_pods()})
        return [{"ip": address} for name in names if (address := self._node_address(name))]

    def _own_pods(self) -> list[ApiObject]:
        """The running pods of this controller."""
        namespace = self.container.spec.namespace
        own = self.get("pods", namespace, self.container.spec.pod_name)
        wanted = {k: v for k, v in labels_of(own).items() if k != "pod-template-hash"} if own is not None else {}
        return [
            pod
            for pod in self.listed("pods", namespace)
            if wanted.items() <= labels_of(pod).items() and (pod.get("status") or {}).get("phase") == "Running"
        ]

    def _node_address(self, name: str) -> str:
        node = self.get("nodes", "", name)
        addresses: list[Any] = (node.get("status") or {}).get("addresses") or [] if node is not None else []
        return next((str(a["address"]) for a in addresses if a["type"] == "InternalIP"), "")


def _service_addresses(service: ApiObject) -> list[Json]:
    """Source: status.go, statusAddressFromService."""
    spec = service["spec"]
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return [{"hostname": spec["externalName"]}]
    outer = [{"ip": address} for address in spec.get("externalIPs") or ()]
    if kind == "LoadBalancer":
        balanced = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return [{key: e[key] for key in ("ip", "hostname") if e.get(key)} for e in balanced] + outer
    if kind == "NodePort" and outer:
        return outer
    return [{"ip": spec["clusterIP"]}]


def _class(ingress: ApiObject) -> object:
    return (ingress["metadata"].get("annotations") or {}).get("kubernetes.io/ingress.class")
