"""A server process: it starts, listens, answers probes and requests, and drains on SIGTERM.

Its requests are the traffic engine's; this is the process around them. Start-up is CPU
work done at the speed the machine grants, so that a tiny CPU limit makes it slow, and a
probe queues behind requests. Left out: TLS handshakes and connection limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.garbage import collected
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.marks import fill
from simcluster.models.apps.requestwriter import RequestWriter
from simcluster.models.apps.selfreport import SelfReport
from simcluster.models.apps.settings import WrongSetting, configured
from simcluster.models.apps.shortage import accept_failed, last_words
from simcluster.models.apps.startup import StartupWords
from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel.errors import go_text
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program
from simcluster.models.tracing.tracer import ProcessTracer, tracer_of
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import ServiceSpec
from simcluster.models.traffic.cluster.server import Happened, Server
from simcluster.models.traffic.exemplars.spans import Printed
from simcluster.models.traffic.graph.skin import Line

#: Start-up work is accounted in slices of at most this, because the machine's speed changes.
START_SLICE_NS = SECOND
#: A connection is accepted by the kernel, whatever the process does.
ACCEPT_NS = MILLISECOND // 10
#: A health check that takes no longer is answered within every probe's time-out.
PROMPT_NS = 500 * MILLISECOND
#: A connection that waits in the backlog for a process without descriptors is not answered.
NEVER_NS = 3600 * SECOND


class ServerProgram(Program):
    """The main process of a container whose image is described.

    Attributes:
        behaviour: what it is like.
        environment: its variables: the container's, or what a script exported.
        server: its side of the traffic, from the moment it listens; None before.
        draining: whether SIGTERM was received.
    """

    def __init__(
        self,
        container: Container,
        traffic: TrafficEngine,
        behaviour: Behaviour,
        mix_of_users: tuple[tuple[str, float], ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(container)
        self.environment = container.spec.environment if environment is None else environment
        self.behaviour = behaviour
        self.server: Server | None = None
        self.draining = False
        self._traffic = traffic
        self._mix = mix_of_users
        self._ports = self._listening_ports()
        self._work_ns = 0
        self._timer: Timer | None = None
        self._self_report: SelfReport | None = None
        self._is_warm = behaviour.warm_up is None
        self._judged: tuple[object, bool] = (None, False)  # queue and CPU, and whether checks are prompt then
        spec = container.spec
        self._key = container.sim.streams.key("server", spec.pod_uid, spec.name, container.container_id)
        self._writer = RequestWriter(container.log, self._key)

    @property
    def comm(self) -> str:
        """What its file is called."""
        return self.behaviour.program

    @property
    def traffic(self) -> TrafficEngine:
        """The traffic of which it is a part."""
        return self._traffic

    def start(self) -> None:
        """Print the banner, check the environment, begin to load."""
        startup = self.behaviour.startup
        for name in startup.requires:
            if not self.environment.get(name):
                self._print((startup.missing,) if startup.missing else (), name)
                self.container.exit(startup.missing_exit_code)
                return
        try:
            self.behaviour = configured(collected(self.behaviour, self.environment), self.environment)
        except WrongSetting as wrong:
            self._print((Line(text=f'{{time}} fatal: parse config: {wrong.variable}: invalid value "{wrong.value}"'),))
            self.container.exit(startup.missing_exit_code)
            return
        self._print(startup.log)
        self.container.set_memory(self.behaviour.memory)
        if not self.container.running:
            return
        for defect in self.behaviour.defects:
            defect.begin(self.container)
        self._work_ns = int(startup.cpu_seconds * SECOND)
        self._load()

    def terminate(self) -> None:
        """SIGTERM: ignore it, or serve on for a while and exit."""
        sigterm = self.behaviour.sigterm
        if sigterm.ignore or self.draining:
            return
        self.draining = True
        self._print(sigterm.log)
        if sigterm.drain and self.server is not None:
            self._cancel()
            self._timer = self.container.sim.after(sigterm.drain, self._leave)
        else:
            self._leave()

    def leapt(self, since_ns: int) -> None:
        """Idle time since an instant was skipped."""
        if self._self_report is not None:
            self._self_report.leapt(since_ns)

    def stop_collecting(self) -> None:
        """Nobody reads what it prints of requests."""
        self._writer.mute()

    def stop(self) -> None:
        """The process is gone."""
        self._cancel()
        if self._self_report is not None:
            self._self_report.stop()
        if self.server is not None:
            self.server.accepting = False
            self._traffic.leave(self.server)

    def listens_on(self, port: int) -> bool:
        """Whether the port is open: only once the program is ready."""
        return self.server is not None and port in self._ports

    def speaks(self, port: int) -> str:
        """That of its behaviour; a program that takes anything is connected to, and asked nothing."""
        return "tcp" if self.behaviour.protocol == "any" else self.behaviour.protocol

    def answer(self, call: Call) -> Answer:
        """Answer a probe or a single request from the present state of the queue."""
        if self.server is None or call.port not in self._ports:
            return Answer("refused")
        if call.kind == "tcp":
            return Answer("ok", 200, delay_ns=ACCEPT_NS)
        if self.server.starved and uniform_at(self._key, self.container.sim.now) < self.server.starved:
            return Answer("ok", 200, delay_ns=NEVER_NS)
        protocol = self.behaviour.protocol
        if protocol not in ("any", call.kind):
            return self._misunderstood()
        delay = ACCEPT_NS + self.server.delay_ns(int(self.behaviour.probe_cpu_ms * MILLISECOND))
        if call.kind == "grpc" or self.is_health_path(call.path):
            return Answer("ok", 200, "ok" if call.kind == "http" else "SERVING", delay)
        return self._operation(self.server, call, delay)

    def steady(self, call: Call) -> object | None:
        """A health check is fine as long as this server accepts, its queue is as it was, and so is its share of CPU."""
        server = self.server
        if server is None or server.starved or type(self).answer is not ServerProgram.answer:
            return None
        if call.port not in self._ports or self.behaviour.protocol not in ("any", call.kind):
            return None
        if call.kind != "grpc" and not self.is_health_path(call.path) and not self._is_sound(server, call):
            return None
        mark = (server.published, self.container.machine.cpu_mark)
        if mark != self._judged[0]:
            delay = server.delay_ns(int(self.behaviour.probe_cpu_ms * MILLISECOND))
            self._judged = (mark, delay <= PROMPT_NS)
        return mark if self._judged[1] else None

    def _is_sound(self, server: Server, call: Call) -> bool:
        """Whether an operation that calls nobody certainly succeeds now."""
        index = server.spec.match(call.path)
        operation = None if index is None else server.spec.operations[index]
        if index is None or operation is None or operation.steps or operation.failure or operation.status >= 400:
            return False
        fate = self._traffic.fate(server, index)
        return fate is None or (not fate.failures and fate.latency.mean <= PROMPT_NS)

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Keep what happened in a tick until somebody reads the log."""
        if self._self_report is not None:
            self._self_report.count(t_ns, happened)
        return self._writer.write(t_ns, span_ns, self.wording(), happened)

    def log_followed(self, printed: Printed) -> None:
        """Lines with ids of a span, instead of as many of which nobody knows more."""
        tracer = self.server.tracer if self.server is not None else None
        if isinstance(tracer, ProcessTracer):
            self._writer.follow(printed, tracer.ids(printed.context))

    def wording(self) -> Wording:
        """How it words its lines."""
        return Wording(self.container.spec.pod_name)

    def short_of_descriptors(self, errno: str) -> None:
        """Say that connections cannot be accepted, as such a program does."""
        line = accept_failed(self.behaviour, next(iter(self._ports), 80), errno, self.container.sim.now)
        if line:
            self.container.write(line, "stderr")

    def denied(self, call: str, errno: str) -> None:
        """Say what the kernel refused, and end, as a program does that nobody wrote a handler for."""
        words = last_words(self.behaviour, call, errno)
        for line in words.lines:
            self.container.write(line, "stderr")
        self.container.exit(words.exit_code)

    def is_health_path(self, path: str) -> bool:
        """Whether the path tells of the process alone and not of what is behind it."""
        return path in self.behaviour.health_paths

    def service_spec(self) -> ServiceSpec:
        """How it serves now."""
        spec = (self.behaviour if self._is_warm else self.behaviour.cold()).service(self._mix)
        busy = math.fsum(defect.busy_cores for defect in self.behaviour.defects)
        return replace(spec, idle_cores=spec.idle_cores + busy) if busy else spec

    def adapt(self) -> None:
        """Serve as it would from now on."""
        if self.server is not None and self.container.running:
            self.server.environment = self.environment
            self.server.spec = self.service_spec()
            self._traffic.rewire()

    def build_server(self) -> Server:
        """Its side of the traffic, made when it starts to listen."""
        return Server(self.container, self.service_spec(), self.environment, self)

    def _listening_ports(self) -> dict[int, None]:
        ports: dict[int, None] = {}
        for port in self.behaviour.ports:
            value = self.environment.get(port.env, "") if port.env else ""
            ports[int(value) if value.isdigit() and 0 < int(value) < 65536 else port.number] = None
        return ports

    def _load(self) -> None:
        """Do a slice of the start-up work."""
        cores = min(self.container.cpu_cores(), float(self.behaviour.startup.threads))
        if self._work_ns <= 0:
            self._tell_demand(self.behaviour.idle_cpu_ms / 1000.0)
            self._timer = self.container.sim.after(self.behaviour.startup.latency, self._ready)
            return
        self._tell_demand(float(self.behaviour.startup.threads))
        slice_ns = START_SLICE_NS if cores <= 0.0 else min(START_SLICE_NS, math.ceil(self._work_ns / cores))
        self._timer = self.container.sim.after(slice_ns, self._loaded, slice_ns, cores)

    def _loaded(self, slice_ns: int, cores: float) -> None:
        done = min(self._work_ns, math.ceil(slice_ns * cores))
        self._work_ns -= done
        limit = self.container.spec.cpu_limit
        throttled = 0 if limit is None else int(slice_ns * max(0.0, 1.0 - limit))
        self.container.use_cpu(done, throttled)
        if self.container.running:
            self._load()

    def _ready(self) -> None:
        self._timer = None
        kernel = self.container.kernel
        error = kernel.made("bind", self.container) if kernel is not None and self._ports else ""
        if error:
            self.container.write(f"listen tcp :{next(iter(self._ports))}: bind: {go_text(error)}", "stderr")
            self.container.exit(1)
            return
        self._print(self.behaviour.startup.ready_log)
        self.server = self.build_server()
        self.server.shortage = self
        self.server.tracer = tracer_of(self.container, self.behaviour, self.environment, self._traffic.network)
        self._traffic.join(self.server)
        if self.behaviour.warm_up is not None:
            self._timer = self.container.sim.after(self.behaviour.warm_up.lasts, self._warm)
        if self.behaviour.report is not None:
            self._self_report = SelfReport(self.container, self._traffic, self.behaviour.report)

    def _warm(self) -> None:
        """From now on requests cost what they cost."""
        self._timer, self._is_warm = None, True
        if not self.draining:
            self.adapt()

    def _operation(self, server: Server, call: Call, delay: int) -> Answer:
        """A request for a page, with all that is behind it."""
        index = server.spec.match(call.path)
        if index is None:
            return Answer("ok", 404, "404 page not found", delay)
        operation = server.spec.operations[index]
        fate = self._traffic.fate(server, index)
        if fate is None:
            return Answer("ok", operation.status, "", delay)
        chance = uniform_at(mix(self._key, self.container.sim.now), index)
        for failure in fate.failures:
            chance -= failure.probability
            if chance < 0.0:
                status = failure.cause.path[0].status if failure.cause.path else 500
                return Answer("ok", status, "", max(delay, int(failure.after_ns)))
        return Answer("ok", operation.status, "", max(delay, int(fate.latency.mean)))

    def _misunderstood(self) -> Answer:
        """HTTP/1 spoken to a gRPC server, or the other way round: bytes come back, but no status."""
        return Answer("ok", 0, delay_ns=ACCEPT_NS)

    def _leave(self) -> None:
        self.container.exit(self.behaviour.sigterm.exit_code)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell_demand(self, cores: float) -> None:
        self.container.machine.report_demand(self.container, cores)

    def _print(self, lines: Sequence[Line], name: str = "") -> None:
        words = StartupWords(self.container, self.environment, tuple(self._ports), name)
        for line in lines:
            self.container.write(fill(line.text, words.value), line.stream)
