"""Jaeger all-in-one: agent, collector, in-memory storage and query service in one process.

What it keeps dies with it. Work is done at the speed that its node grants: what waits to be stored has a bound
(`--collector.queue-size`), beyond which batches are dropped, and a query takes as long as the spans it reads. Left out:
sampling strategies, the pages of the user interface, metrics of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcluster.engine import MILLISECOND
from simcluster.engine.clock import unix_us
from simcluster.models.apps.server import ACCEPT_NS, NEVER_NS
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.traces.answers import JSON
from simcluster.telemetry.traces.http import handle
from simcluster.telemetry.traces.span import Span
from simcluster.telemetry.traces.store import TraceStore

#: Query service, admin, and where spans arrive: the agent's compact and binary Thrift, HTTP, gRPC, OTLP.
QUERY, ADMIN = 16686, 14269
#: Spans that may wait to be stored (DefaultQueueSize of the collector).
QUEUE = 2000
#: CPU time to store a span, and to read one for a query; memory of one. Magnitudes.
STORE_NS, READ_NS, SPAN_BYTES = 20_000, 4_000, 2 << 10
_BASE_NS = MILLISECOND
_PAGE = "<!doctype html>\n<html><head><title>Jaeger UI</title></head></html>\n"


class JaegerProgram(DaemonProgram):
    """The main process of Jaeger's container.

    Attributes:
        traces: its storage.
        dropped: spans for which there was no room in the queue.
    """

    traces = TraceStore()
    dropped = 0
    _busy_until_ns = 0  # the last of what waits to be stored

    def start(self) -> None:
        """The process begins with nothing."""
        limit = self.environment.get("MEMORY_MAX_TRACES", "")
        for word in (*self.container.spec.command, *self.container.spec.args):
            if word.startswith("--memory.max-traces="):
                limit = word.partition("=")[2]
        self.traces, self.dropped, self._busy_until_ns = TraceStore(int(limit) if limit.isdigit() else 0), 0, 0
        super().start()

    def take_spans(self, spans: Sequence[Span]) -> bool:
        """A batch arrives; whether there was room for it."""
        now, cores = self.container.sim.now, min(1.0, self.container.cpu_cores())
        if not self._serving or cores <= 0.0:
            return False
        each = STORE_NS / cores
        behind = max(0, self._busy_until_ns - now)
        if behind + len(spans) * each > QUEUE * each and behind:
            self.dropped += len(spans)
            return False
        self._busy_until_ns = now + behind + math.ceil(len(spans) * each)
        for span in spans:
            self.traces.write(span)
        self.container.use_cpu(STORE_NS * len(spans))
        self.container.set_memory(self.behaviour.memory + SPAN_BYTES * self.traces.spans)
        return True

    def answer(self, call: Call) -> Answer:
        """The query service's API and the admin port; 200 to health checks of the others."""
        if not self.listens_on(call.port) or call.kind != "http" or call.port not in (QUERY, ADMIN):
            return super().answer(call)
        if call.port == ADMIN:
            text = '{"status":"Server available","upSince":"","uptime":""}'
            return super().answer(call)._replace(body=text, content_type=JSON)
        path, _, query = call.path.partition("?")
        if not path.startswith("/api/"):
            return super().answer(call)._replace(body=_PAGE)
        found = handle((call.method, path, query), self.traces, unix_us(self.container.sim.now))
        work_ns = _BASE_NS + (READ_NS * self.traces.spans if path.startswith(("/api/traces", "/api/dep")) else 0)
        cores = min(1.0, self.container.cpu_cores())
        behind = max(0, self._busy_until_ns - self.container.sim.now)
        delay_ns = ACCEPT_NS + behind + math.ceil(work_ns / cores) if cores > 0.0 else NEVER_NS
        self.container.use_cpu(work_ns)
        return Answer("ok", found.status, found.body, min(delay_ns, NEVER_NS), found.content_type)

    def steady(self, call: Call) -> object | None:
        """A health check goes by the process; a query by what is stored."""
        return None if call.path.startswith("/api/") else super().steady(call)
