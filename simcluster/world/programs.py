"""The programs of this world's containers: applications, and the cluster's own components.

An image that is part of the cluster (a static pod of the control plane, kube-proxy, CoreDNS)
gets the program that the catalog has for it, wrapped into what it means for the cluster.
"""

from __future__ import annotations

from simcluster.control.alertmanager.program import AlertmanagerProgram, Outside
from simcluster.control.blackbox.program import BlackboxProgram
from simcluster.control.clusterdns import CoreDns
from simcluster.control.kubeproxy import KubeProxy, ProxyProgram
from simcluster.control.kubestatemetrics.program import StateMetricsProgram
from simcluster.control.logs.loki import LogDatabases, LokiProgram
from simcluster.control.logs.promtail import PromtailProgram
from simcluster.control.operator import Operators
from simcluster.control.prometheus.program import Databases, PrometheusProgram
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.exporters.program import NodeExporterProgram
from simcluster.models.machine.program import Program, ProgramCatalog
from simcluster.world.controlplane import ControlPlane

#: Images that are known for what they measure.
_MONITORING = (
    *("prometheus", "alertmanager", "kube-state-metrics", "node-exporter", "blackbox-exporter", "loki", "promtail"),
)


class WorldPrograms:
    """Which program a container of this world runs (a `ProgramCatalog`).

    Attributes:
        databases: what Prometheus's pods keep; logs: what Loki's do.
        outside: what Alertmanager's do, and who is on call.
    """

    def __init__(
        self, catalog: ProgramCatalog, plane: ControlPlane, proxies: dict[str, KubeProxy], operators: Operators
    ) -> None:
        self.operators = operators
        self.catalog = catalog
        self.plane = plane
        self.proxies = proxies
        self.databases = Databases()
        self.logs = LogDatabases()
        self.outside = Outside()

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start. Raises StartFailure."""
        program = self.catalog.program_for(container)
        component = self.plane.component_of(container)
        if component is not None:
            return component.wrap(container, program)
        name = container.spec.image.rpartition("/")[2].partition("@")[0].partition(":")[0]
        if name == "coredns":
            return CoreDns(container, program, container.machine.network, self.operators.api)
        if name == "kube-proxy" and container.sandbox.host_network:
            return ProxyProgram(container, program, self.proxies[container.machine.name])
        if isinstance(program, ServerProgram) and name in _MONITORING:
            return self._monitoring(container, program, name)
        return self.operators.wrap(container, program)

    def _monitoring(self, container: Container, program: ServerProgram, name: str) -> Program:
        if name == "prometheus":
            return PrometheusProgram(container, program, self.operators.api, self.databases)
        if name == "alertmanager":
            return AlertmanagerProgram(container, program, self.operators.api.store, self.outside)
        if name == "blackbox-exporter":
            return BlackboxProgram(container, program)
        if name == "kube-state-metrics":
            return StateMetricsProgram(container, program, self.operators.api)
        if name == "loki":
            return LokiProgram(container, program, self.logs)
        if name == "promtail":
            return PromtailProgram(container, program, self.operators.api)
        return NodeExporterProgram(container, program)
