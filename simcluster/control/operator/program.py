"""The main process of an operator's container: while it runs, the operator works."""

from __future__ import annotations

from simcluster.api.server import Api
from simcluster.control.operator.failure import ConfigurationError
from simcluster.control.operator.operator import Operator
from simcluster.control.process import Process
from simcluster.engine import MILLISECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.telemetry.klog import klog_text

#: From exec until a Go controller has parsed its flags and connects; a typical magnitude.
START_NS = 400 * MILLISECOND


class OperatorProgram(WrappedProgram):
    """A process that serves probes and metrics as any other (`inner`), and reconciles.

    Attributes:
        operator: the operator, from the moment it was configured.
    """

    def __init__(self, container: Container, inner: Program, api: Api, kind: type[Operator]) -> None:
        super().__init__(container, inner)
        self.api = api
        self.kind = kind
        self.operator: Operator | None = None
        self.process = Process(container.sim)

    def start(self) -> None:
        """The process was started."""
        self.inner.start()
        if self.container.running:
            self.process.after(START_NS, self._begin)

    def terminate(self) -> None:
        """SIGTERM: give back what is held, then end."""
        if self.operator is not None:
            self.operator.terminate()
        self.inner.terminate()

    def leapt(self, since_ns: int) -> None:
        """Idle time was skipped."""
        if self.operator is not None:
            self.operator.leapt()
        self.inner.leapt(since_ns)

    def stop(self) -> None:
        """The process is gone, with its watches and its plans."""
        self.process.end(self.api.store)
        self.inner.stop()

    def _begin(self) -> None:
        try:
            self.operator = self.kind(self.process, self.api, self.container, self.inner)
        except ConfigurationError as error:
            text = f"failed to get config: {error}"
            self.container.write(klog_text("F", self.container.sim.now, "main.go:105", text), "stderr")
            self.container.exit(255)
            return
        self.operator.start()
