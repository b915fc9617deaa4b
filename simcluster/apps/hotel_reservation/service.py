"""The Go programs of Hotel Reservation: how they start, whom they find, what makes them panic.

A program reads its configuration, connects to its store (10 s, then it panics), fills it if it is empty,
reads into memory what it needs there, registers in Consul (or exits) and serves. A store or a cache
that fails later under a request makes the program panic, because its handlers do, except where
`profile` only logs it. Sources: the programs' `main.go`, `db.go` and `server.go`.

What is left out: reads of the store at start as its load, TLS, traces sent to Jaeger, `/metrics` counters.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from simcluster.apps.hotel_reservation import pages, wiring
from simcluster.apps.hotel_reservation.console import Console
from simcluster.apps.hotel_reservation.consul import ConsulProgram, Instance
from simcluster.apps.hotel_reservation.discovery import Discovery
from simcluster.apps.hotel_reservation.stores import credentials_of, refusal
from simcluster.apps.hotel_reservation.traits import CONFIG_FILE, TRAITS, config_of
from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.engine.streams import mix
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.instances import environment_of, spread
from simcluster.models.apps.logs import RequestLines
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.stores.aside import Warmth, lookups, missed
from simcluster.models.apps.wording import DNS_SERVER
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.engine import TrafficEngine
from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Failed, Happened, Server

#: mgo.Dial gives up after 10 s; it tries again every half second.
DIAL_NS, DIAL_AGAIN_NS = 10 * SECOND, SECOND // 2
#: http.DefaultTransport gives up a connection after 30 s.
REGISTER_NS = 30 * SECOND
#: To ask the store whether it has one document, and to insert it if not; a magnitude.
DOCUMENT_NS = MILLISECOND
#: How often a program looks whether its connections still stand.
WATCH_NS = SECOND
#: Exit codes of `log.Fatal` and of a panic.
FATAL, PANIC = 1, 2


class HotelProgram(ServerProgram):
    """One of the eight programs.

    Attributes:
        traits: which one. `config`: what it read.
        discovery: what it knows from Consul; None if it calls nobody.
        warmth: what its cache holds; None if it has none.
    """

    def __init__(
        self,
        container: Container,
        traffic: TrafficEngine,
        behaviour: Behaviour,
        mix_of_users: tuple[tuple[str, float], ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(container, traffic, behaviour, mix_of_users, environment)
        self.traits = TRAITS[behaviour.program]
        self.config: dict[str, str] = {}
        self.console = Console(container)
        self.discovery = Discovery(self.traits.callees) if self.traits.callees else None
        self.warmth = Warmth(self.traits.cached, self.traits.name) if self.traits.cached is not None else None
        self._variables = dict(self.environment)
        self._since_ns = 0
        self._watch: Timer | None = None
        self._wired = (-1, "")  # version of the network, and trouble with Consul, at the last look

    # Life.

    def start(self) -> None:
        """Read the configuration and begin to load."""
        traits, lines = self.traits, self.traits.lines
        self.console.begin(self.environment)
        self._main(lines.reading, "Reading config...")
        self.config = self._read_config()
        port = self.config.get(traits.port, "")
        self._ports = {int(port): None} if port.isdigit() and 0 < int(port) < 65536 else {}
        self._since_ns = self.container.sim.now
        if traits.mongo:
            self._main(lines.database, f"Read database URL: {self.config.get(traits.mongo, '')}")
            self._main(lines.database + 1, "Initializing DB connection...")
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._watch is not None:
            self._watch.cancel()

    def service_spec(self) -> ServiceSpec:
        """Whom it calls now."""
        spec = super().service_spec()
        if self.traits.name == "rate":
            spec = wiring.paced(spec, self._variables)
        if self.traits.name == "search":
            spec = wiring.retrying(spec, self._variables)
        if self.traits.name == "frontend" and self._variables.get("SEARCH_BACKEND_VERSION") == "true":
            line = "{time_s} ERR services/frontend/server.go:151 > hotel search failed"
            spec = wiring.failing(spec, ("search", "search-rare"), line)
        if self.discovery is not None:
            spec = spread(spec, {name: len(places) for name, places in self.discovery.connected.items()})
        if self.warmth is not None:
            spec = self._with_login(missed(spec, {self.traits.mongo: ("find",)}, self.warmth.missing))
        return spec

    # Start, step by step.

    def _ready(self) -> None:
        """Loaded: connect to the store."""
        self._timer = None
        if not self.traits.mongo:
            self._connected()
            return
        wanted = credentials_of(self.config.get(self.traits.mongo, ""), self.traits.user, self.traits.password)
        reached = reach(self._traffic.network, self.container, wanted.host, wanted.port)
        if reached.outcome == "ok" and reached.container is not None:
            self._session(reached.container)
        elif self.container.sim.now - self._since_ns >= DIAL_NS:
            self._panic(f"cmd/{self.traits.name}/db.go:{self.traits.lines.panic}", "no reachable servers")
        else:
            self._timer = self.container.sim.after(DIAL_AGAIN_NS, self._ready)

    def _session(self, store: Container) -> None:
        """Connected: log in, fill the store if it is empty."""
        traits = self.traits
        where, line = f"cmd/{traits.name}/db.go", traits.lines.session
        caller = Server(self.container, self.behaviour.service(), self.environment, self)
        why = refusal(store, caller, self._question())
        if "uthentication failed" in why:
            problem = f"server returned error on SASL authentication step: {why}"
            self._panic(f"{where}:{traits.lines.panic}", problem)
            return
        self.console.say(f"{where}:{line}", "New session successfull...")
        if traits.generates:
            self.console.say(f"{where}:{line + 2}", "Generating test data...")
        if why:
            self._fatal(f"{where}:{line + 6}", why)
            return
        self._timer = self.container.sim.after(max(80, traits.loads) * DOCUMENT_NS, self._stored)

    def _stored(self) -> None:
        self._main(self.traits.lines.connected, "Successfull")
        self._connected()

    def _connected(self) -> None:
        """The store is ready: caches, tracing, Consul."""
        self._timer = None
        lines, name = self.traits.lines, self.traits.name
        if self.traits.memcached and not self._resolve_cache():
            return
        for number, (what, key) in enumerate(
            (
                ("target port", self.traits.port),
                ("consul address", "consulAddress"),
                ("jaeger address", "jaegerAddress"),
            )
        ):
            value = self.config.get(key, "") or ("0" if not number else "")
            self._main(lines.target + number, f"Read {what}: {value}")
        jaeger, consul = self.config.get("jaegerAddress", ""), self.config.get("consulAddress", "")
        self._main(lines.jaeger, f"Initializing jaeger agent [service name: {name} | host: {jaeger}]...")
        host, _ = parse_address(jaeger)
        if not self._traffic.network.resolve_for(self.container.sandbox, host).address:
            problem = f"dial udp: lookup {host} on {DNS_SERVER}: no such host"
            self._panic(
                f"cmd/{name}/main.go:{lines.jaeger + 3}", f"Got error while initializing jaeger agent: {problem}"
            )
            return
        ratio = self._variables.get("JAEGER_SAMPLE_RATIO", "0.01")
        self.console.say("tracing/tracer.go:26", f"Jaeger client: adjusted sample ratio {_six_digits(ratio)}")
        self._main(lines.jaeger + 5, "Jaeger agent initialized")
        self._main(lines.consul, f"Initializing consul agent [host: {consul}]...")
        self._main(lines.consul + 5, "Consul agent initialized")
        self._main(lines.starting, "Starting server...")
        if not self._ports:
            self._fatal(f"cmd/{name}/main.go:{lines.starting + 1}", "server port must be set")
        elif name == "frontend":
            self._name_callees()
            self._serve()
        else:
            self._register()

    def _resolve_cache(self) -> bool:
        """Look the cache's name up, once: the client goes on with that address."""
        line, address = self.traits.lines.memcached, self.config.get(self.traits.memcached, "")
        self._main(line, f"Read profile memcashed address: {address}")
        self._main(line + 1, "Initializing Memcashed client...")
        host, port = parse_address(address)
        found = self._traffic.network.resolve_for(self.container.sandbox, host).address if host else ""
        if not found:
            problem = f"lookup {host} on {DNS_SERVER}: no such host" if host else "missing port in address"
            self.container.write(f"panic: {problem}", "stderr")
            self.container.exit(PANIC)
            return False
        self.config[self.traits.memcached] = f"{found}:{port}"
        self.console.say("tune/setting.go:61", f"Tune: GetMemCTimeout {self._variables.get('MEMC_TIMEOUT', '2')}")
        self._main(line + 3, "Successfull")
        return True

    def _register(self) -> None:
        """Tell Consul where it is; without Consul it exits."""
        traits, consul = self.traits, self.config.get("consulAddress", "")
        port, address = next(iter(self._ports)), self.container.sandbox.address
        identity = self._identity()
        place = f"[ name: srv-{traits.name}, id: {identity}, address: {address}:{port} ]"
        self.console.say("registry/registry.go:91", f"Trying to register service {place}")
        host, consul_port = parse_address(consul)
        reached = reach(self._traffic.network, self.container, host, consul_port)
        agent = reached.container.program if reached.container is not None else None
        if reached.outcome == "ok" and isinstance(agent, ConsulProgram):
            agent.register(f"srv-{traits.name}", Instance(identity, address, port))
            self.console.say(
                f"services/{traits.name}/server.go:{traits.lines.registered}", "Successfully registered in consul"
            )
            self._serve()
            return
        url = f'Put "http://{consul}/v1/agent/service/register"'
        problem = "Unexpected response code: 404" if reached.outcome == "ok" else reached.dial_error(host, consul_port)
        why = f"failed register: {problem if reached.outcome == 'ok' else f'{url}: {problem}'}"
        where = f"cmd/{traits.name}/main.go:{traits.lines.starting + 1}"
        if reached.outcome == "timeout":
            self._timer = self.container.sim.after(REGISTER_NS, self._fatal, where, why)
        else:
            self._fatal(where, why)

    def _name_callees(self) -> None:
        self.console.say("services/frontend/server.go:45", "Initializing gRPC clients...")
        for name in self.traits.callees:
            self.console.say("services/frontend/server.go:138", "get Grpc conn is :")
            self.console.say("services/frontend/server.go:139", "")
            self.console.say("services/frontend/server.go:140", f"{name}.")
        self.console.say("services/frontend/server.go:65", "Successfull")
        self.console.say("services/frontend/server.go:89", "Serving http")

    def _serve(self) -> None:
        if self.traits.name in ("rate", "search"):
            self._ports[9091 if self.traits.name == "rate" else 9092] = None
        self._look()
        self.environment = self._addresses()
        super()._ready()
        if self.discovery is not None or self.warmth is not None:
            self._watch = self.container.sim.every(WATCH_NS, self._look_again)

    # Whom it calls.

    def _addresses(self) -> dict[str, str]:
        found = {**self._variables, **self.config}
        if self.discovery is not None:
            found |= environment_of(self.discovery.connected)
        return found

    def _look(self) -> bool:
        """Follow Consul, connections and the cache; whether the calls change."""
        network, changed = self._traffic.network, False
        if self.discovery is not None:
            consul = self.config.get("consulAddress", "")
            trouble = self.discovery.look_up(network, self.container, consul)
            if trouble:
                name = self.traits.callees[0]
                url = f'Get "http://{consul}/v1/health/service/{name}?passing=1"'
                self.console.plain(f"grpc/lb/consul: error retrieving instances from Consul: {url}: {trouble}")
            changed = self.discovery.connect(network)
        if self.warmth is not None and (self.warmth.missing or self._wired[0] != network.version):
            changed = self._follow_cache() or changed
        self._wired = (network.version, "")
        return changed

    def _follow_cache(self) -> bool:
        assert self.warmth is not None
        host, port = parse_address(self.config[self.traits.memcached])
        cache = reach(self._traffic.network, self.container, host, port).container
        if cache is None:
            return False
        return self.warmth.follow(cache, lookups(self._traffic, self.container, WATCH_NS))

    def _look_again(self) -> None:
        if self.server is None or not self.container.running or not self._look():
            return
        self.environment = self._addresses()
        self.adapt()

    # Requests.

    def answer(self, call: Call) -> Answer:
        """The front end's pages with their parameters; numbers of `rate`'s limiter; else as any server."""
        if self.server is not None and call.kind == "http" and call.port in (9091, 9092) and call.port in self._ports:
            return Answer("ok", 200, self._metrics() if call.path == "/metrics" else "", MILLISECOND)
        answer = super().answer(call)
        if self.traits.name != "frontend" or call.kind != "http" or answer.outcome != "ok":
            return answer
        complaint = pages.complaint(call.path)
        if complaint and answer.status != 404:
            return answer._replace(status=400, body=complaint, delay_ns=MILLISECOND)
        if answer.status != 200:
            return answer
        return answer._replace(body=pages.body(call.path, mix(self._key, self.container.sim.now)))

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """A handler that meets a dead cache or store panics when its call has failed, and with it the process."""
        deadly = [each for each in happened.failed if self._is_deadly(each)]
        known = [each for followed in happened.followed for each in followed.failed if self._is_deadly(each)]
        if known:  # failed in this tick
            deadly = [each._replace(before=Latency(0.0, 0.0), after_ns=0.0) for each in known]
        if deadly:
            began = self._writer.began(t_ns, span_ns, (), deadly)
            first = RequestLines(0, began.last_ns, self.wording(), (began,)).lines()[:1]
            at_ns, line = (first[0].t_ns, first[0].text) if first else (t_ns, "")
            self.container.sim.after(max(at_ns - t_ns, MILLISECOND), self._give_up, line)
            happened = happened._replace(failed=[each for each in happened.failed if each not in deadly])
        return super().log_requests(t_ns, span_ns, happened)

    def _is_deadly(self, failed: Failed) -> bool:
        stores = [one for one in (self.traits.mongo, self.traits.memcached) if one]
        return failed.call.required and failed.call.env in stores

    def _give_up(self, line: str) -> None:
        if not self.container.running:
            return
        self.container.write(line)
        where, _, message = line.partition(" > ")
        self.console.trace(
            message, f"{_package(where)}.(*Server).{next(iter(self.behaviour.operations))}(...)", _file(where)
        )
        self.container.exit(PANIC)

    def _metrics(self) -> str:
        if self.server is None or self.traits.name != "rate":
            return ""
        spec, waiting = self.server.spec, int(self.server.in_flight)
        pace = self._variables.get("RATE_BACKEND_QPS_LIMIT", str(wiring.PACE))
        return (
            f"rate_backend_qps_limit {pace}\nrate_queue_capacity {spec.queue}\n"
            f"rate_queue_depth {max(0, waiting - 1)}\nrate_in_flight {min(1, waiting)}\n"
        )

    # Small things.

    def _read_config(self) -> dict[str, str]:
        """The mounted `config.json`, or the image's own, which then lies in the container's files."""
        files = FileTree(self.container)
        try:
            text = files.read(CONFIG_FILE)
        except FileError:
            config = config_of(self.container.spec.image)
            with suppress(FileError):  # a read-only root: the image's file is there all the same
                files.write(CONFIG_FILE, json.dumps(config, indent=2) + "\n")
            return config
        try:
            found = json.loads(text)
        except ValueError:
            return {}
        return {str(key): value for key, value in found.items() if isinstance(value, str)}

    def _question(self) -> CallSpec:
        """The first command of the session: does the store have the first document?"""
        traits = self.traits
        wanted = credentials_of(self.config.get(traits.mongo, ""), traits.user, traits.password)
        login = (wanted.user, wanted.password, traits.database)
        return CallSpec(traits.mongo, f"find-{traits.name}", client="mgo", login=login)

    def _with_login(self, spec: ServiceSpec) -> ServiceSpec:
        """Calls of the store come as whom the configuration says."""
        login = self._question().login

        def own(call: CallSpec) -> CallSpec:
            return replace(call, login=login) if call.env == self.traits.mongo else call

        operations = (
            replace(op, steps=tuple(tuple(own(call) for call in step) for step in op.steps)) for op in spec.operations
        )
        return replace(spec, operations=tuple(operations))

    def _identity(self) -> str:
        digits = f"{mix(self._key, 1):016x}{mix(self._key, 2):016x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def _main(self, line: int, message: str) -> None:
        self.console.say(f"cmd/{self.traits.name}/main.go:{line}", message)

    def _panic(self, where: str, message: str) -> None:
        self.console.say(where, message, "PNC")
        function = "main.initializeDatabase({0xc000028288, 0xc00009ddd0})" if "db.go" in where else "main.main()"
        self.console.trace(message, function, where)
        self.container.exit(PANIC)

    def _fatal(self, where: str, message: str) -> None:
        self.console.say(where, message, "FTL")
        self.container.exit(FATAL)


def _six_digits(ratio: str) -> str:
    whole, _, rest = ratio.partition(".")
    return f"{whole or 0}.{rest[:6].ljust(6, '0')}"


def _package(where: str) -> str:
    """`rate` of `2026-03-02T09:00:00Z PNC services/rate/server.go:221`."""
    parts = _file(where).split("/")
    return f"github.com/harlow/go-micro-services/services/{parts[1]}" if len(parts) > 1 else "main"


def _file(where: str) -> str:
    return where.rpartition(" ")[2]
