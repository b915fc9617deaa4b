"""Loki's process (a single binary): it takes what agents push, as fast as its limits allow, and answers queries.

What it keeps lies in an emptyDir of its pod: it outlives the container, not the pod; what was in memory is replayed
from its write-ahead log. A query takes the time in which its lines are read, at the share of the CPU that the process
is given. Left out: several ingesters, compaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.control.process import Process
from simcluster.control.webclient import slowed
from simcluster.engine import MILLISECOND, SECOND, format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.telemetry.logql import http
from simcluster.telemetry.logql.asked import Reading
from simcluster.telemetry.logql.files import Piece
from simcluster.telemetry.logql.push import Pushed, take
from simcluster.telemetry.logql.store import LogStore
from simcluster.telemetry.logql.units import EPOCH_NS

PORT = 3100
#: From exec until the ring is joined and the port open; a magnitude of a single binary.
START_NS = 1200 * MILLISECOND
#: `ingester.lifecycler.min_ready_duration`: so long after it works it calls itself ready.
SETTLED_NS = 15 * SECOND
#: CPU time for each byte taken in, and how many bytes of lines stand for one of memory (chunks are compressed, and
#: flushed when they are full); magnitudes.
BYTE_NS, COMPRESSION = 60, 6
#: `chunk_target_size`: of a stream no more is held.
CHUNK_BYTES = 1_572_864
#: CPU time of a query: for each byte of the lines that it reads (decompression and a line filter go through some 250 MB
#: a second and core), for each line (a parser), for each byte of the answer, and for any; magnitudes.
READ_NS, LINE_NS, WRITE_NS, QUERY_NS = 4, 600, 20, MILLISECOND
#: Memory is looked at again after so many bytes.
_STEP = 4 << 20
#: `retention_period` that its configuration has here.
RETENTION_NS = 24 * 3600 * SECOND


class Received:
    """What a push was answered: an HTTP status and a text, after so long."""

    __slots__ = ("duration_ns", "status", "text")

    def __init__(self, status: int, text: str, duration_ns: int) -> None:
        self.status, self.text, self.duration_ns = status, text, duration_ns


class LogDatabases:
    """What Loki's pods keep on their disks, by the pods' uids."""

    def __init__(self) -> None:
        self.stores: dict[str, LogStore] = {}

    @property
    def newest(self) -> LogStore | None:
        """The lines of the newest pod that has had some."""
        return next(reversed(self.stores.values()), None)


class LokiProgram(WrappedProgram):
    """The main process of a Loki container.

    Attributes:
        store: its lines.
    """

    def __init__(self, container: Container, inner: Program, databases: LogDatabases) -> None:
        super().__init__(container, inner)
        self.databases = databases
        self.store = databases.stores.setdefault(container.spec.pod_uid, LogStore(max_age_ns=RETENTION_NS))
        self.process = Process(container.sim)
        self._serving_ns = -1
        self._weighed = 0

    def start(self) -> None:
        """The process was started."""
        self._say("info", "main.go:126", 'msg="Starting Loki" version="(version=3.6.0, branch=release-3.6.x)"')
        self._say("info", "server.go:351", 'msg="server listening on addresses" http=[::]:3100 grpc=[::]:9095')
        self.inner.start()
        if self.container.running:
            self.process.after(START_NS, self._begin)

    def stop(self) -> None:
        """The process is gone; what it has written stays."""
        self.process.alive = False
        self._serving_ns = -1
        self.inner.stop()

    def listens_on(self, port: int) -> bool:
        """Whether its port is open."""
        return self._serving_ns >= 0 and self.inner.listens_on(port)

    def answer(self, call: Call) -> Answer:
        """Its API; it is ready only when it has been so for a while."""
        if not self.listens_on(call.port):
            return Answer("refused")
        if call.kind != "http" or call.port != PORT:
            return self.inner.answer(call)
        probed = self.inner.answer(call)
        if call.path.partition("?")[0].rstrip("/") == "/ready":
            if self.container.sim.now - self._serving_ns < SETTLED_NS:
                return Answer("ok", 503, "Ingester not ready: waiting for 15s after being ready\n", probed.delay_ns)
            return Answer("ok", 200, "ready\n", probed.delay_ns)
        path, _, query = call.path.partition("?")
        asked = (call.method, path, query, call.body.encode())
        reading = Reading()
        found = http.handle(asked, self.store, EPOCH_NS + self.container.sim.now, reading)
        work = QUERY_NS + READ_NS * reading.size_bytes + LINE_NS * reading.lines + WRITE_NS * len(found.body)
        self.container.use_cpu(work)
        delay_ns = probed.delay_ns + slowed(self.container, work)
        return Answer("ok", found.status, found.body.decode(errors="replace"), delay_ns)

    def steady(self, call: Call) -> object | None:
        """A health check is as good as its process, once it is ready."""
        settled = self._serving_ns >= 0 and self.container.sim.now - self._serving_ns >= SETTLED_NS
        return self.inner.steady(call) if settled else None

    def receive(self, pieces: Sequence[Piece], lines: Sequence[Pushed] = ()) -> Received:
        """A push of an agent: what it read of files, and other lines."""
        size = sum(piece.size_bytes for piece in pieces) + sum(len(text) for _, _, text in lines)  # integers
        work = BYTE_NS * size
        self.container.use_cpu(work)
        status, text = take(self.store, pieces, lines, EPOCH_NS + self.container.sim.now)
        if self.store.received_bytes - self._weighed > _STEP:
            self._weigh()
        return Received(status, text, MILLISECOND + slowed(self.container, work))

    def _begin(self) -> None:
        self._say("info", "wal.go:156", 'msg="recovering from checkpoint"')
        self._say("info", "module_service.go:82", "msg=starting module=ingester")
        self._say("info", "loki.go:550", 'msg="Loki started" startup_time=' + f"{START_NS // MILLISECOND}ms")
        self._serving_ns = self.container.sim.now
        self._weigh()

    def _weigh(self) -> None:
        """Memory follows what is in chunks that are not flushed."""
        self._weighed = self.store.received_bytes
        behaviour = getattr(self.inner, "behaviour", None)
        held = min(self._weighed, len(self.store) * CHUNK_BYTES) // COMPRESSION
        self.container.set_memory((behaviour.memory if behaviour is not None else 0) + held)

    def _say(self, level: str, where: str, text: str) -> None:
        stamp = format_rfc3339(self.container.sim.now, digits=9)
        self.container.write(f"level={level} ts={stamp} caller={where} {text}", "stderr")
