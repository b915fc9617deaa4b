"""The OpenTelemetry collector with its spanmetrics connector: it counts spans, and shows them to Prometheus.

What it has counted dies with its process. Metrics are handed over every 15 s (metrics_flush_interval).
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.spanmetrics import SpanMeter
from simcluster.telemetry.metrics.columns import Exposed, Group, Row, Samples

#: Of the exporter for Prometheus.
PORT = 8889
FLUSH_NS = 15 * SECOND


class CollectorProgram(DaemonProgram):
    """The main process of a collector's container."""

    _meter: SpanMeter | None = None
    _shown: Exposed | None = None

    def exposition(self, call: Call) -> Samples | Answer | None:
        """What was flushed last."""
        return (self._shown or {}) if call.port == PORT and call.path == "/metrics" else None

    def _ready(self) -> None:
        super()._ready()
        sim = self.container.sim
        self._meter = SpanMeter(self.traffic, sim.now)
        sim.every(FLUSH_NS, self._flush, first_ns=sim.now + FLUSH_NS)

    def _flush(self) -> None:
        meter = self._meter
        if meter is None or not self._serving:
            return
        meter.advance(self.container.sim.now)
        rows, before = meter.rows(), self._shown
        changed: list[tuple[Group, Row | None]]
        changed = [item for item in rows.items() if before is None or before.get(item[0]) != item[1]]
        number = 0 if before is None else before.mark[1] + 1
        after = None if before is None else before.mark
        self._shown = Exposed(rows, (self.container.container_id, number), after, changed)
