"""nginx: the server that the ingress controller configures.

Its side of the traffic is one operation for each location, and one for each request that
users send by host and path; behind each is a call to the endpoints of the upstream, with two
more attempts on another one (proxy_next_upstream_tries 3). Who comes over TLS looks at the certificate
of the host. Left out: who signed it, what a handshake costs, buffering, keep-alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from simcluster.apps.ingress_nginx.accesslog import AccessWording, access_format, error_format
from simcluster.apps.ingress_nginx.metrics import IngressMeter
from simcluster.apps.ingress_nginx.routes import Configuration, Location, Upstream
from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.apps.server import ACCEPT_NS, ServerProgram
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.network import Backend
from simcluster.models.machine.process import ANY_SERVER, Answer, Call
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Happened
from simcluster.telemetry.metrics.columns import Samples

#: CPU of one proxied request; a magnitude.
REQUEST_CPU_NS = MILLISECOND // 5
#: proxy-read-timeout, and proxy-next-upstream-tries without the first.
READ_TIMEOUT_NS, RETRIES = 60 * SECOND, 2
#: proxy-connect-timeout.
CONNECT_TIMEOUT_NS = 5 * SECOND
HTTP, HTTPS, METRICS = 80, 443, 10254
NOTHING = "404"
#: nginx without a host: everything is the default backend's.
EMPTY = Configuration({}, {})
_PAGES = {
    404: "Not Found",
    502: "Bad Gateway",
    503: "Service Temporarily Unavailable",
    504: "Gateway Time-out",
    308: "Permanent Redirect",
}


@dataclass(frozen=True)
class IngressSpec(ServiceSpec):
    """A spec whose operations are chosen by host and path: `shop.example.com/cart`."""

    configuration: Configuration = EMPTY
    objections: tuple[tuple[str, str], ...] = ()

    def objection(self, operation: str) -> str:
        """Why users refuse the certificate of the host that they ask."""
        return dict(self.objections).get(operation.partition("/")[0], "")

    def operation_index(self, name: str) -> int:
        """Index of the operation that a request `host/path` leads to; 0 is the default backend."""
        for index, operation in enumerate(self.operations):
            if operation.name == name:
                return index
        host, slash, path = name.partition("/")
        location = self.configuration.locate(host, slash + path)
        if location is None:
            return 0
        served_by = self.configuration.host(host)
        assert served_by is not None
        wanted = _name(served_by.name, location)
        return next(index for index, operation in enumerate(self.operations) if operation.name == wanted)


class Request(NamedTuple):
    """What users ask for."""

    name: str
    host: str
    path: str


class IngressProgram(ServerProgram):
    """The main process of an ingress-nginx controller's container.

    Attributes:
        configuration: what nginx runs with; None until it runs.
    """

    configuration: Configuration | None = None
    _pools: dict[str, str]

    def start(self) -> None:
        """A process has counted nothing."""
        self._meter = IngressMeter()
        super().start()

    def configure(self, configuration: Configuration) -> None:
        """nginx takes a configuration over; the first one starts it."""
        if self.configuration is None or not configuration.same_servers(self.configuration):
            self._meter.reloaded(self.container.sim.now)
        self.configuration = configuration
        self._publish()
        self.refresh()

    def refresh(self) -> None:
        """Look anew at what users ask for and at what stands behind the upstreams."""
        if self.server is None or self.configuration is None:
            return
        spec = self.service_spec()
        if spec != self.server.spec or self.server.environment != self.environment:
            self.server.spec = spec
            self.server.environment = self.environment
            self._meter.serves(spec.operations, self.configuration)
            self._traffic.rewire()

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Count what happened in a tick, and keep it until somebody reads the log."""
        self._meter.count(t_ns, happened)
        return super().log_requests(t_ns, span_ns, happened)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Its metrics, if a flag says so."""
        if call.port != METRICS or call.path != "/metrics":
            return super().exposition(call)
        return self._meter.samples(self.container) if "--enable-metrics=true" in self.container.spec.args else None

    def stop(self) -> None:
        """The process is gone."""
        for address in self._addresses().values():
            self._traffic.network.set_pool(address, None)
        super().stop()

    def listens_on(self, port: int) -> bool:
        """nginx serves once it has a configuration; the controller's own port (health) is open before."""
        if port in (HTTP, HTTPS) and self.configuration is None:
            return False
        return super().listens_on(port)

    def answer(self, call: Call) -> Answer:
        """A single request: by Host header and path to one endpoint."""
        if call.port not in (HTTP, HTTPS) or call.kind != "http" or not self.listens_on(call.port):
            return super().answer(call)
        assert self.configuration is not None
        if call.port == HTTPS and call.secure and call.trust != ANY_SERVER:
            why = self.configuration.objection(call.host, self.container.sim.now)
            if why:
                return Answer("untrusted", body=why)
        location = self.configuration.locate(call.host, call.path)
        if location is None:
            return _page(404)
        host = self.configuration.host(call.host)
        if call.port == HTTP and host is not None and host.secret:
            return _page(308)
        return self._proxied(self.configuration.upstreams[location.upstream], call)

    def wording(self) -> AccessWording:
        """As an access log, with the endpoints of now."""
        assert self.configuration is not None
        pools = tuple((name, upstream.endpoints) for name, upstream in self.configuration.upstreams.items())
        return AccessWording(self.container.spec.pod_name, pools)

    def service_spec(self) -> ServiceSpec:
        """Locations and users' requests as operations; the first one is the default backend."""
        base = self.behaviour.service()
        configuration = self.configuration or EMPTY
        operations = [self._nothing()]
        for host in configuration.hosts.values():
            for location in host.locations:
                operations.append(self._operation_for(_name(host.name, location), location, location.path))
        known = {operation.name: None for operation in operations}
        for request in self._requests():
            location_of = configuration.locate(request.host, request.path)
            if request.name in known or location_of is None:
                continue
            known[request.name] = None
            operations.append(self._operation_for(request.name, location_of, request.path))
        return IngressSpec(
            name=base.name,
            protocol="any",
            operations=tuple(operations),
            idle_cores=base.idle_cores,
            memory_base=base.memory_base,
            memory_per_request=base.memory_per_request,
            queue=base.queue,
            configuration=configuration,
            objections=tuple(self._objections(configuration)),
        )

    # Inside.

    def _proxied(self, upstream: Upstream, call: Call) -> Answer:
        """Ask endpoints in turn, as proxy_next_upstream does on an error or a timeout."""
        endpoints, network = upstream.endpoints, self._traffic.network
        if not endpoints:
            return _page(503)
        first = mix(self._key, self.container.sim.now) % len(endpoints)
        spent_ns, status = 0, 502
        for attempt in range(min(len(endpoints), RETRIES + 1)):
            backend = endpoints[(first + attempt) % len(endpoints)]
            outcome = network.connect(backend, self.container.sandbox.address)
            owner = network.sandboxes.get(backend[0])
            listener = owner.container_on(backend[1]) if isinstance(owner, Sandbox) else None
            if outcome == "ok" and listener is not None:
                answer = listener.program.answer(call._replace(port=backend[1]))
                if answer.outcome == "ok":
                    return answer._replace(delay_ns=answer.delay_ns + spent_ns + ACCEPT_NS)
                outcome = answer.outcome
            spent_ns += CONNECT_TIMEOUT_NS if outcome == "timeout" else ACCEPT_NS
            status = 504 if outcome == "timeout" else 502
        return _page(status)._replace(delay_ns=spent_ns)

    def _publish(self) -> None:
        """Tell the network which endpoints stand behind each upstream."""
        assert self.configuration is not None
        network, before = self._traffic.network, self._addresses()
        wanted = {upstream.name: upstream.endpoints for upstream in self.configuration.upstreams.values()}
        wanted[NOTHING] = ()
        for name, address in list(before.items()):
            if name not in wanted:
                network.set_pool(address, None)
                del before[name]
        for name, endpoints in wanted.items():
            if name not in before:
                before[name] = network.new_pool()
            network.set_pool(before[name], endpoints)
        pools = {_variable(name): f"{address}:80" for name, address in before.items()}
        self.environment = {**self.container.spec.environment, **pools}

    def _addresses(self) -> dict[str, str]:
        """Address of each pool by upstream."""
        if "_pools" not in self.__dict__:
            self._pools = {}
        return self._pools

    def _requests(self) -> Iterator[Request]:
        """What users who name a host ask for."""
        for load in self._traffic.users.values():
            for name, _ in load.mix:
                host, slash, path = name.partition("/")
                if slash and " " not in host:
                    yield Request(name, host, slash + path)

    def _objections(self, configuration: Configuration) -> Iterator[tuple[str, str]]:
        """What users find wrong with the certificates of the hosts that they name."""
        for host in dict.fromkeys(request.host for request in self._requests()):
            why = configuration.objection(host, self.container.sim.now)
            if why:
                yield host, why

    def _operation_for(self, name: str, location: Location, path: str) -> OperationSpec:
        assert self.configuration is not None
        upstream = self.configuration.upstreams[location.upstream]
        log = (LogTemplate(access_format(path, upstream.name)),)
        failed = LogTemplate(error_format(path, name.partition("/")[0].rstrip("="), upstream.name), "stderr")
        call = CallSpec(
            _variable(upstream.name),
            self._asked(upstream.endpoints, path),
            timeout_ns=READ_TIMEOUT_NS,
            retries=RETRIES if upstream.endpoints else 0,
            client="http",
            log=(failed, *log) if upstream.endpoints else log,
            status=502 if upstream.endpoints else 503,
        )
        return OperationSpec(name, cpu_ns=REQUEST_CPU_NS, steps=((call,),), log=log)

    def _nothing(self) -> OperationSpec:
        """The default backend: nobody is behind it, so that every request fails with 404."""
        log = (LogTemplate(access_format("/", "upstream-default-backend")),)
        call = CallSpec(_variable(NOTHING), "", client="http", log=log, status=404)
        return OperationSpec(NOTHING, cpu_ns=REQUEST_CPU_NS, steps=((call,),), log=log)

    def _asked(self, endpoints: tuple[Backend, ...], path: str) -> str:
        """The operation of the server behind an upstream that answers a path."""
        for backend in endpoints:
            owner = self._traffic.network.sandboxes.get(backend[0])
            listener = owner.container_on(backend[1]) if isinstance(owner, Sandbox) else None
            server = self._traffic.servers.get(listener.container_id) if listener is not None else None
            index = server.spec.match(path) if server is not None else None
            if server is not None and index is not None:
                return server.spec.operations[index].name
        return "GET /"


def _name(host: str, location: Location) -> str:
    return f"{host}{'=' if location.exact else ''}{location.path}"


def _variable(upstream: str) -> str:
    return "upstream " + upstream


def _page(status: int) -> Answer:
    text = f"{status} {_PAGES[status]}"
    body = (
        f"<html>\r\n<head><title>{text}</title></head>\r\n<body>\r\n<center><h1>{text}</h1></center>\r\n"
        "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return Answer("ok", status, body, ACCEPT_NS)
