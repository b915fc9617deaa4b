"""node-exporter's process: it shows its node while it runs."""

from __future__ import annotations

from simcluster.models.machine.container import Container
from simcluster.models.machine.exporters.nodeexporter import PORT, NodeExporter
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.telemetry.metrics.columns import Samples


class NodeExporterProgram(WrappedProgram):
    """The main process of a node-exporter container."""

    def __init__(self, container: Container, inner: Program) -> None:
        super().__init__(container, inner)
        assert isinstance(container.machine, Machine)
        self.exporter = NodeExporter(container.machine)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Everything of its node."""
        return self.exporter.samples() if call.path == "/metrics" and call.port == PORT else None
