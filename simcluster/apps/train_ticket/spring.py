"""The services of Train Ticket in Spring Boot: how they start, whom they find, what ends them.

A program loads, opens its pool of connections (and exits if it gets none), registers in Nacos (and exits if nobody is
there) and serves; its calls go to the instances that Nacos listed last. Sources: the services' `application.yml`,
Spring Boot 2.7 with HikariCP and Hibernate, Spring Cloud Alibaba, Spring Cloud LoadBalancer.

Left out: the thirty seconds that a request waits for a connection while the database is away (it fails at once), rows
(what an order holds), tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcluster.apps.train_ticket.registration import BEAT_NS, Registration
from simcluster.apps.train_ticket.wording import SpringWording, failure_of, line, pool_failed, run_failed
from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.models.apps.behaviour import DEFAULT_CALL_NS, Behaviour
from simcluster.models.apps.flags.client import Flags
from simcluster.models.apps.instances import environment_of, spread
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.apps.springwording import ANSWER
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec, ServiceSpec
from simcluster.models.traffic.cluster.server import Server

#: Hibernate tries a second time, and the context is closed: from the first failure to the exit (recordings: 3.9 s).
GIVE_UP_NS = 3_900_000_000
#: CPU time from the open pool to "Started": repositories, beans, Tomcat.
REST_CPU_NS = 2 * SECOND
#: The network waits for an answer for as long as the one who asked (nginx: 60 s).
CALL_NS = 60 * SECOND
#: Nacos' client tries its servers one after the other before it gives up at the start.
REGISTER_NS = 3 * SECOND
LOOK_NS = SECOND
#: A JVM runs for so long before Spring Boot begins to count.
JVM_NS = 1_600 * MILLISECOND
FATAL = 1
#: Names of queues' and databases' addresses in its environment, and whom it asks by the name of a Service.
DATABASE, BROKER = "MYSQL", "RABBITMQ"
BY_SERVICE = {"ts-voucher-service": 16101, "ts-news-service": 12862, "ts-ticket-office-service": 16108,
              "ts-avatar-service": 17001}  # fmt: skip


class SpringProgram(ServerProgram):
    """One of the services.

    Attributes:
        registration: what it is to Nacos and what it knows of others; None before it registers.
        opened: whether its pool is open, or it needs none.
    """

    registration: Registration | None = None
    opened = False

    def __init__(
        self,
        container: Container,
        traffic: Any,
        behaviour: Behaviour,
        mix_of_users: tuple[tuple[str, float], ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        super().__init__(container, traffic, behaviour, mix_of_users, environment)
        self.environment = dict(self.environment)
        self._beating: Timer | None = None
        self._looking: Timer | None = None

    def start(self) -> None:
        """Read where others are, and begin to load."""
        key = self.behaviour.name.removeprefix("ts-").removesuffix("-service").upper().replace("-", "_")
        given = {part: self.environment.get(f"{key}_MYSQL_{part}", "") for part in ("HOST", "PORT", "USER", "PASSWORD")}
        database = self.environment.get(f"{key}_MYSQL_DATABASE", "")
        host, port = given["HOST"] or "127.0.0.1", given["PORT"] or "3306"
        self.environment[DATABASE] = f"mysql://{given['USER']}:{given['PASSWORD']}@{host}:{port}/{database}"
        broker = self.environment.get("RABBITMQ_HOST") or self.environment.get("rabbitmq_host") or "localhost"
        self.environment[BROKER] = f"amqp://{broker}:5672"
        self.environment |= {name: f"{name}:{number}" for name, number in BY_SERVICE.items()}
        self.environment.setdefault("FLAGD_HOST", "flagd")
        jar, pod = f"/app/{self.behaviour.name}-1.0.jar", self.container.spec.pod_name
        text = f"Starting {self.title} using Java 1.8.0_342 on {pod} with PID 1 ({jar} started by root in /)"
        self._say("INFO", "f.TrainTicketApplication", text)
        super().start()

    @property
    def title(self) -> str:
        """What its main class is called.

        `ts-inside-payment-service` is `InsidePaymentApplication`.
        """
        words = self.behaviour.name.removeprefix("ts-").removesuffix("-service").split("-")
        return "".join(word.capitalize() for word in words) + "Application"

    @property
    def stored(self) -> bool:
        """Whether it opens a pool of connections: what is asked of the database needs one."""
        return any(call.env == DATABASE for call in _calls(self.behaviour.service()))

    def terminate(self) -> None:
        """SIGTERM: it takes itself out of Nacos' lists, then serves what is under way."""
        if not self.draining and self.registration is not None:
            self._say("INFO", "c.a.c.n.registry.NacosServiceRegistry", "De-registering from Nacos Server now...",
                      "SpringApplicationShutdownHook")  # fmt: skip
            self.registration.leave()
        super().terminate()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        for timer in (self._beating, self._looking):
            if timer is not None:
                timer.cancel()
        self._beating = self._looking = None

    def wording(self) -> Wording:
        """Lines of its threads."""
        return SpringWording(self.container.spec.pod_name, next(iter(self._ports), 0))

    # --- its start ------------------------------------------------------------------------

    def _ready(self) -> None:
        """Loaded so far: the pool, the rest of the beans, Nacos."""
        self._timer = None
        if not self.opened and self.stored and not self._opens():
            return
        if not self.opened:
            self.opened = True
            self._work_ns = REST_CPU_NS
            self._load()
            return
        self._register()

    def _opens(self) -> bool:
        """Whether the pool gets its first connection; else the program is about to end."""
        host, port = parse_address(self.environment[DATABASE])
        found = reach(self._traffic.network, self.container, host, port)
        store = found.container.program if found.container is not None else None
        refusal, outcome = "", found.outcome
        if outcome == "ok" and isinstance(store, StoreProgram) and store.server is not None:
            caller = Server(self.container, self.behaviour.service(), self.environment, self)
            refusal = store.refusal(caller, CallSpec(DATABASE, "select"))
        elif outcome == "ok":
            outcome = "refused"
        failure = failure_of(outcome, refusal, host)
        if failure is None:
            self._say("INFO", "com.zaxxer.hikari.HikariDataSource", "HikariPool-1 - Start completed.")
            return True
        self.container.write(pool_failed(self.container.sim.now, failure))
        self._timer = self.container.sim.after(GIVE_UP_NS, self._give_up, outcome, refusal, host)
        return False

    def _give_up(self, outcome: str, refusal: str, host: str) -> None:
        failure = failure_of(outcome, refusal, host)
        assert failure is not None
        now = self.container.sim.now
        self.container.write(pool_failed(now - 200 * MILLISECOND, failure))
        self.container.write(run_failed(now, failure))
        self.container.exit(FATAL)

    def _register(self) -> None:
        callees = tuple({call.env: None for call in _calls(self.behaviour.service()) if call.env.startswith("ts-")})
        known = tuple(name for name in callees if name not in BY_SERVICE)
        self.registration = Registration(self, self.behaviour.name, next(iter(self._ports)), known)
        if not self.registration.beat():
            self.registration = None
            self._timer = self.container.sim.after(REGISTER_NS, self._unregistered)
            return
        self.registration.look()
        self._learn()
        address, port = self.container.sandbox.address, next(iter(self._ports))
        text = f"Tomcat started on port(s): {port} (http) with context path ''"
        self._say("INFO", "o.s.b.w.embedded.tomcat.TomcatWebServer", text)
        text = f"nacos registry, DEFAULT_GROUP {self.behaviour.name} {address}:{port} register finished"
        self._say("INFO", "c.a.c.n.registry.NacosServiceRegistry", text)
        took_ns = self.container.sim.now - self.container.started_ns
        text = f"Started {self.title} in {_seconds(took_ns)} seconds (JVM running for {_seconds(took_ns + JVM_NS)})"
        self._say("INFO", "f.TrainTicketApplication", text)
        super()._ready()
        if self.server is None or not self.container.running:
            return
        sim = self.container.sim
        self._beating, self._looking = sim.every(BEAT_NS, self._beat), sim.every(LOOK_NS, self._look)

    def _unregistered(self) -> None:
        name = self.behaviour.name
        problem = "com.alibaba.nacos.api.exception.NacosException: Client not connected, current status:STARTING"
        self._say("ERROR", "c.a.c.n.registry.NacosServiceRegistry", f"nacos registry, {name} register failed..."
                  f"NacosRegistration{{nacosDiscoveryProperties}},\n\n{problem}")  # fmt: skip
        self._say("ERROR", "o.s.boot.SpringApplication", f"Application run failed\n\n{problem}")
        self.container.exit(FATAL)

    # --- what it knows --------------------------------------------------------------------

    def service_spec(self) -> ServiceSpec:
        """How it serves with what it knows now."""
        spec = super().service_spec()
        known = self.registration.instances if self.registration is not None else {}
        return self.otherwise(spread(_dressed(spec), {name: len(places) for name, places in known.items()}))

    def otherwise(self, spec: ServiceSpec) -> ServiceSpec:
        """What is not as the behaviour says."""
        return spec

    def _learn(self) -> None:
        assert self.registration is not None
        self.environment |= environment_of(self.registration.instances)

    def _beat(self) -> None:
        if self.registration is not None and not self.draining:
            self.registration.beat()

    def _look(self) -> None:
        if self.registration is not None and self.registration.look():
            self._learn()
            self.adapt()

    def _say(self, level: str, logger: str, text: str, thread: str = "main") -> None:
        self.container.write(line(self.container.sim.now, level, thread, logger, text))


class FlaggedSpring(SpringProgram):
    """A service whose code asks a feature flag: once a second it hears what it is.

    Attributes:
        FLAG: which one.
    """

    FLAG = ""
    flags: Flags

    def start(self) -> None:
        """Without flagd every flag is off."""
        self.flags = Flags()
        super().start()

    @property
    def is_on(self) -> bool:
        """Whether its flag is on."""
        return self.flags.boolean(self.FLAG)

    def _look(self) -> None:
        if self.flags.look(self):
            self.adapt()
        super()._look()


def _seconds(span_ns: int) -> str:
    whole, part = divmod(span_ns // MILLISECOND, 1000)
    return f"{whole}.{part:03d}"


def _calls(spec: ServiceSpec) -> list[CallSpec]:
    return [call for operation in spec.operations for step in operation.steps for call in step]


def _dressed(spec: ServiceSpec) -> ServiceSpec:
    """Calls of services wait as long as whoever asks, and answer as Spring Boot does when a handler throws."""

    def own(call: CallSpec) -> CallSpec:
        if not call.env or call.asynchronous:
            return call
        patience = CALL_NS if call.timeout_ns == DEFAULT_CALL_NS else call.timeout_ns
        return replace(call, timeout_ns=patience, answer=ANSWER)

    operations = (
        replace(op, steps=tuple(tuple(own(call) for call in step) for step in op.steps)) for op in spec.operations
    )
    return replace(spec, operations=tuple(operations))
