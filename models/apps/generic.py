"""An image that nobody described: it serves its ports, and calls what its environment names.

It answers 200 to every path (502 where what it calls fails, but not to a path made for
probes), costs 2 ms of CPU a request, and calls every environment
value that names a Service of the cluster, in parallel. A value counts once its name has
resolved; a Service that disappears afterwards is missed. Left out: which of these calls a
real program would make for which request.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.behaviour import AppOperation, Behaviour, Image, Port, Sigterm, Startup
from simcluster.models.apps.conversion import converted
from simcluster.models.apps.costs import costed, costed_spec
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import ANY_PATH, CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.graph.skin import Line

#: CPU of one request.
REQUEST_CPU_MS = 2.0
#: It serves on for so long after SIGTERM: endpoints and kube-proxies need about a second to learn.
DRAINS = Sigterm.model_validate({"drain": "2s"})
#: What it writes for a request, and for one that failed because of what it calls.
ACCESS = '{time_s} "GET /" {status} {latency_ms}ms'
FAILED = "{time_s} error: {cause}"
#: How long it waits for what it calls.
CALL_TIMEOUT_NS = 5 * SECOND
#: Words in the paths by which programs are probed; such a path answers for the process alone.
_HEALTH_WORDS = ("health", "ready", "readiness", "live", "alive", "ping", "status", "metrics", "startup")
#: Servers that everybody knows and that know nothing of AdmissionReviews.
_PLAIN = ("caddy", "httpd", "nginx", "nginx-unprivileged", "python", "redis", "memcached", "postgres", "mysql", "mongo")
#: Where servers that everybody knows listen, whatever their containers declare; of others nothing is known.
LISTENS = {
    "caddy": (80, 443),
    "nginxdemos/hello": (80,),
    "kennethreitz/httpbin": (80,),
    "tomcat": (8080,),
    "wordpress": (80,),
    "grafana/grafana": (3000,),
    "prom/prometheus": (9090,),
    "rabbitmq": (5672,),
    "elasticsearch": (9200, 9300),
}
#: Values that look like a host's name and are none: `KUBERNETES_PORT_443_TCP_PROTO=tcp` stands in every pod.
_NO_HOSTS = ("localhost", "tcp", "udp", "sctp")
#: How often it looks for names that have appeared since.
LOOK_EVERY_NS = 5 * SECOND


@functools.lru_cache(maxsize=1024)
def undescribed(name: str, ports: tuple[int, ...]) -> Behaviour:
    """The behaviour of an image nobody described, with the ports its container declares."""
    return Behaviour(
        name=name,
        image=Image(repository=name, tags=("latest",), size=0),
        program=name,
        protocol="any",
        ports=tuple(Port(number=port) for port in ports),
        client="http",
        idle_cpu_ms=1.0,
        memory=24 << 20,
        startup=Startup(cpu_seconds=0.1),
        sigterm=DRAINS,
        operations={ANY_PATH: AppOperation(path="*", log=(Line(text=ACCESS),))},
    )


class GenericProgram(ServerProgram):
    """The main process of a container whose image nobody described."""

    def __init__(self, container: Container, traffic: TrafficEngine, environment: dict[str, str] | None = None) -> None:
        spec = container.spec
        ports = spec.ports
        port = (environment or spec.environment).get("PORT", "")
        if not ports and port.isdigit() and 0 < int(port) < 65536:
            ports = (int(port),)
        known = LISTENS.get(repository_of(spec.image))
        if known is not None and not (
            spec.command or spec.args or any(m.path.startswith("/etc/") for m in spec.mounts)
        ):
            ports = known
        self._described = (_short_name(spec.image), ports)
        own = costed(undescribed(*self._described), spec.pod_name, container.sim.parameters)
        super().__init__(container, traffic, own, (), environment)
        self._network = traffic.network
        self._known: dict[str, None] = {}
        self._named: tuple[tuple[str, str], ...] | None = None  # variables that name a host, and the host

    def is_health_path(self, path: str) -> bool:
        """Whether the path's name says that it is made for probes."""
        return any(word in path.lower() for word in _HEALTH_WORDS)

    def admission_review(self, call: Call, review: dict[str, Any]) -> Answer | None:
        """Allow everything, as a webhook whose rules nobody described; a well-known plain server cannot."""
        if _short_name(self.container.spec.image) in _PLAIN:
            return None
        answer = self.answer(call)
        if answer.outcome != "ok" or answer.status >= 400:
            return answer
        if review["kind"] == "ConversionReview":
            return converted(review, (), answer.delay_ns)
        response = {"uid": review["request"]["uid"], "allowed": True}
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return answer._replace(status=200, body=json.dumps(body))

    def service_spec(self) -> ServiceSpec:
        """One operation that calls every Service the environment names."""
        self._look()
        if self._named:
            self.container.sim.after(LOOK_EVERY_NS, self._look_again)
        return self._spec()

    def _spec(self) -> ServiceSpec:
        spec = _service(*self._described, tuple(self._known))
        return costed_spec(spec, self.container.spec.pod_name, self.container.sim.parameters)

    def _look(self) -> bool:
        """Find variables whose value names a Service; whether there are new ones."""
        if self._named is None:
            self._named = self._hosts()
        before = len(self._known)
        for name, host in self._named:
            if name in self._known:
                continue
            address = self._network.resolve_for(self.container.sandbox, host).address
            if address and not self._is_own(address):
                self._known[name] = None
        return len(self._known) > before

    def _hosts(self) -> tuple[tuple[str, str], ...]:
        """Variables whose value begins with a host's name, and that name; an environment never changes."""
        found = []
        for name, value in self.environment.items():
            host, _ = _parsed(value)
            if host and not host[0].isdigit() and host not in (*_NO_HOSTS, self.container.spec.pod_name):
                found.append((name, host))
        return tuple(found)

    def _is_own(self, address: str) -> bool:
        """Whether the address leads to this very pod: a server does not call itself."""
        if address == self.container.sandbox.address:
            return True
        rules = self._network.rules.get(self.container.sandbox.node)
        if rules is None:
            return False
        own = self.container.sandbox.address
        return any(
            backend[0] == own
            for key, backends in rules.backends.items()
            if key.address == address
            for backend in backends
        )

    def _look_again(self) -> None:
        if self.server is None or not self.container.running:
            return
        if self._look():
            self.server.spec = self._spec()
            self._traffic.rewire()
        self.container.sim.after(LOOK_EVERY_NS, self._look_again)


@functools.lru_cache(maxsize=1024)
def _service(name: str, ports: tuple[int, ...], called: tuple[str, ...]) -> ServiceSpec:
    """The service of an image nobody described, which calls these hosts."""
    access = LogTemplate(ACCESS)
    calls = tuple(
        CallSpec(
            host,
            ANY_PATH,
            timeout_ns=CALL_TIMEOUT_NS,
            client="http",
            status=502,
            connects=1.0,
            log=(LogTemplate(FAILED, "stderr"), access),
        )
        for host in called
    )
    cpu_ns = int(REQUEST_CPU_MS * MILLISECOND)
    operation = OperationSpec(ANY_PATH, "*", cpu_ns, steps=(calls,) if calls else (), log=(access,))
    spec = undescribed(name, ports).service()
    return ServiceSpec(spec.name, "any", (operation,), idle_cores=spec.idle_cores, memory_base=spec.memory_base)


_parsed = functools.lru_cache(maxsize=4096)(parse_address)


def _short_name(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]
