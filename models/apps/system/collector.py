"""The OpenTelemetry collector with its spanmetrics connector: it counts spans, and shows them to Prometheus.

What it has counted dies with its process. Metrics are handed over every 15 s (metrics_flush_interval). Spans that reach
it go on to the exporters (`otlp/…`) of its pipeline of traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from simcluster.engine import MILLISECOND, SECOND, parse_duration
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.spanmetrics import BOUNDS_MS, Buckets, SpanMeter
from simcluster.telemetry.metrics.columns import Samples
from simcluster.telemetry.metrics.sheets import Sheets
from simcluster.telemetry.traces.span import Span

#: Of the exporter for Prometheus.
PORT = 8889
FLUSH_NS = 15 * SECOND
DEFAULT_FILE = "/etc/otelcol-contrib/config.yaml"


class CollectorProgram(DaemonProgram):
    """The main process of a collector's container."""

    _onward: tuple[tuple[str, int], ...] = ()  # where spans go on to
    _meter: SpanMeter | None = None
    _shown: Sheets | None = None

    def exposition(self, call: Call) -> Samples | Answer | None:
        """What was flushed last."""
        return (self._shown or Sheets({})) if call.port == PORT and call.path == "/metrics" else None

    def _ready(self) -> None:
        try:
            buckets = _buckets(self.container.spec.args, FileTree(self.container))
        except (FileError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
            self.container.write(f"Error: failed to get config: {error}", "stderr")
            self.container.exit(1)
            return
        super()._ready()
        sim = self.container.sim
        self._meter = SpanMeter(self.traffic, sim.now, buckets)
        sim.every(FLUSH_NS, self._flush, first_ns=sim.now + FLUSH_NS)
        self._onward = self._exporters()

    def stop_collecting(self) -> None:
        """It counts no span any more."""
        self._meter = None

    def take_spans(self, spans: Sequence[Span]) -> bool:
        """A batch that it passes on; whether somebody took it."""
        taken = False
        for host, port in self._onward if self._serving else ():
            there = reach(self.traffic.network, self.container, host, port).container
            taken = (there is not None and there.program.take_spans(spans)) or taken
        return taken

    def _exporters(self) -> tuple[tuple[str, int], ...]:
        """Addresses of the exporters by OTLP that its pipelines of traces name."""
        flags = [word.partition("=")[2] for word in self.container.spec.args if word.startswith("--config=")]
        try:
            found = yaml.safe_load(FileTree(self.container).read(flags[0] if flags else DEFAULT_FILE)) or {}
            pipelines = found["service"]["pipelines"]
            names = [
                name for kind, each in pipelines.items() if kind.startswith("traces") for name in each["exporters"]
            ]
            wanted = dict.fromkeys(name for name in names if name.startswith("otlp"))
            return tuple(parse_address(found["exporters"][name]["endpoint"]) for name in wanted)
        except (FileError, yaml.YAMLError, KeyError, TypeError, AttributeError):
            return ()

    def _flush(self) -> None:
        meter = self._meter
        if meter is None or not self._serving:
            return
        meter.advance(self.container.sim.now)
        self._shown = meter.samples()


def _buckets(args: tuple[str, ...], files: FileTree) -> Buckets:
    """Buckets as the configuration has them (`connectors.spanmetrics.histogram.explicit.buckets`, Go durations)."""
    paths = [word.partition("=")[2] for word in args if word.startswith("--config=")]
    given: Any = yaml.safe_load(files.read(paths[-1])) if paths else {}
    for key in ("connectors", "spanmetrics", "histogram", "explicit"):
        given = (given or {}).get(key)
    listed = tuple(parse_duration(str(text)) / MILLISECOND for text in (given or {}).get("buckets") or ())
    if list(listed) != sorted(listed) or any(bound <= 0.0 for bound in listed):
        raise ValueError("connectors::spanmetrics: histogram buckets must be positive and ascending")
    return Buckets(listed or BOUNDS_MS)
