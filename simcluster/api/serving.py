"""One API server as its handlers and its clients see it: what it holds, and its one entry.

What composes it and knows every handler is `simcluster.api.server`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from simcluster.api.admission.chain import AdmissionChain
from simcluster.api.admission.plugin import Cluster
from simcluster.api.audit import Audit
from simcluster.api.authorization.authorizer import Authorizer
from simcluster.api.backends import ComponentProbe, KubeletProxy, MetricsSource, ProxyTransport, WebhookBackend
from simcluster.api.registry.expiry import EventExpiry
from simcluster.api.registry.identity import Identities
from simcluster.api.registry.registry import Registry
from simcluster.api.request import Request, Response
from simcluster.api.resources import BUILT_IN, ResourceTable
from simcluster.api.servermetrics import ServedRequests
from simcluster.api.shortways.podmodels import PodModels
from simcluster.api.shortways.statusfields import StatusFields
from simcluster.api.store import Store
from simcluster.engine import Simulation
from simcluster.engine.clock import DAY
from simcluster.telemetry.klog import ComponentLog

#: How old the server's certificate is when simulated time begins.
CERTIFICATE_AGE_NS = 30 * DAY


class Serving(ABC):
    """What an API server holds while it serves.

    Attributes:
        store: every object and its history.
        resources: what is served: the built-in resources and the established custom ones.
        registry: what writes mean.
        kubelets: asked for logs and exec; None until there are nodes.
        metrics: metrics-server; None if the cluster has none.
        proxy: reaches what stands behind `.../proxy`; None if there is no network.
        components: asked for the health of the control plane; None says all is well.
        served: how many writes were answered; audit: who asked for them.
        pod_models: remembers pods of which others are copies.
        status_fields: remembers whose the fields of statuses are.
        address: host and port under which clients reach the server; empty if nobody has said.
        certificate_ns: when the server's certificate was issued (negative: before simulated time began).
    """

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.store = Store(sim)
        self.resources: ResourceTable = BUILT_IN
        identities = Identities(sim, self.store)
        admission = AdmissionChain(Cluster(sim, self.store, identities))
        self.registry = Registry(sim, self.store, admission, identities)
        self.event_expiry = EventExpiry(sim, self.store)
        self.kubelets: KubeletProxy | None = None
        self.metrics: MetricsSource | None = None
        self.proxy: ProxyTransport | None = None
        self.components: ComponentProbe | None = None
        self.served = ServedRequests()
        self.audit = Audit()
        self.pod_models = PodModels(self.store, identities)
        self.status_fields = StatusFields()
        self.address = ""
        self.certificate_ns = -CERTIFICATE_AGE_NS

    @abstractmethod
    def handle(self, request: Request) -> Response:
        """Serve one request at the present instant."""

    @property
    def available(self) -> bool:
        """Whether requests succeed at all."""
        return True

    def serve(self, resources: ResourceTable) -> None:
        """From now on serve these resources."""
        self.resources = resources
        self.registry.admission.cluster.resources = resources

    def renew_certificate(self) -> None:
        """`kubeadm certs renew apiserver` and a restart of the server: everybody connects anew."""
        self.certificate_ns = self.sim.now

    def warn(self, warnings: tuple[str, ...]) -> None:
        """Add `Warning` headers to the present answer, be it a success or not."""
        self.registry.admission.cluster.warnings.extend(warnings)

    def reach_webhooks(self, backend: WebhookBackend) -> None:
        """Reach the servers of admission webhooks through `backend`."""
        self.registry.admission.cluster.backend = backend

    @property
    def log(self) -> ComponentLog:
        """What the server says."""
        return self.registry.admission.cluster.log

    @property
    def authorizer(self) -> Authorizer | None:
        """Decides who may do what; None allows everything."""
        return self.registry.authorizer

    @authorizer.setter
    def authorizer(self, authorizer: Authorizer | None) -> None:
        self.registry.authorizer = authorizer
        self.registry.admission.cluster.authorizer = authorizer
