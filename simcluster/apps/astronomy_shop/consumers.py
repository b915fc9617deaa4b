"""What reads orders from Kafka: accounting writes them into PostgreSQL, fraud-detection looks at them.

Both poll all the time; here they poll once a second, take as many records as they can handle until the next time, and
commit every five seconds (`enable.auto.commit`).
"""

from __future__ import annotations

from simcluster.apps.astronomy_shop.stores import address_of, met
from simcluster.engine import MILLISECOND, SECOND, parse_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.apps.brokers.client import Consumer, Consuming
from simcluster.models.apps.brokers.kafka import Fetched
from simcluster.models.apps.countedserver import CountedServer
from simcluster.models.apps.flags.client import FlaggedProgram
from simcluster.models.apps.marks import day_time

POLL_NS, COMMIT_POLLS = SECOND, 5
TOPIC = "orders"
#: Wall time and CPU time of an order: a transaction of three inserts; a look at it. Magnitudes.
STORED_NS, STORED_CPU_NS = 6 * MILLISECOND, 2 * MILLISECOND
LOOKED_AT_NS, LOOKED_AT_CPU_NS = MILLISECOND, MILLISECOND
#: `Thread.sleep(1000)` of fraud-detection with the flag `kafkaQueueProblems`.
SLEEP_NS = SECOND
#: So many orders of a poll are in the log.
LINES_MAX = 50
_EPOCH_NS = -parse_rfc3339("1970-01-01T00:00:00Z")


class OrdersProgram(Consuming, FlaggedProgram):
    """A consumer of the topic `orders`."""

    GROUP = ""
    CLIENT = ""
    _polls = 0
    _complained_ns = -SECOND * 3600
    handled = 0

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running:
            return
        self.consumer = Consumer(self, "KAFKA_ADDR", self.GROUP, self.CLIENT, (TOPIC,))
        self._work = self.container.sim.every(POLL_NS, self._poll)

    def _poll(self) -> None:
        if self.draining:
            return
        found = self.consumer.poll(max(1, POLL_NS // self.each_ns()))
        if found is None:
            self._unreached()
            return
        for fetched in found:
            self.handle(fetched)
        self._polls += 1
        if self._polls % COMMIT_POLLS == 0:
            self.consumer.commit()

    def _unreached(self) -> None:
        """The broker is not there; said now and then."""
        now = self.container.sim.now
        if now - self._complained_ns >= 30 * SECOND:
            self._complained_ns = now
            self.complain()

    def each_ns(self) -> int:
        """How long one order takes."""
        return LOOKED_AT_NS

    def handle(self, fetched: Fetched) -> None:
        """Orders were read."""

    def complain(self) -> None:
        """Say that the broker cannot be reached."""

    def order(self, place: tuple[str, int], offset: int) -> str:
        """The id of an order."""
        key = mix(self.container.sim.streams.key("order", place[0], str(place[1])), offset)
        digits = f"{key:016x}{mix(key, 1):016x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class AccountingProgram(OrdersProgram):
    """Accounting in .NET over librdkafka."""

    GROUP, CLIENT = "accounting", "rdkafka"

    def start(self) -> None:
        """Read where the database is."""
        self.environment["database"] = address_of(self.environment.get("DB_CONNECTION_STRING", ""))
        super().start()

    def each_ns(self) -> int:
        """A transaction."""
        return STORED_NS

    def handle(self, fetched: Fetched) -> None:
        """Write orders into the database; what cannot be written is lost, for the offset goes on."""
        found, refusal = met(self, "database", "insert-order")
        self.container.use_cpu(fetched.records * STORED_CPU_NS)
        why = refusal or found.outcome
        stored = why == "ok"
        for offset in range(fetched.first, fetched.first + min(LINES_MAX, fetched.records)):
            name = self.order(fetched.place, offset)
            if stored and offset not in fetched.texts:
                tracking = self.order(fetched.place, -1 - offset)
                details = f'{{ "orderId": "{name}", "shippingTrackingId": "{tracking}" }}'
                text = f"info: Accounting.Consumer[0]\n      Order details: {details}."
            else:
                text = "fail: Accounting.Consumer[0]\n      Order parsing failed:"
            self.container.write(text)
            if not stored:
                self.container.write(f"      {_npgsql(found.address, why)}")
        if stored and found.container is not None:
            self.handled += fetched.records
            server = getattr(found.container.program, "server", None)
            index = server.spec.operation_index("insert-order") if isinstance(server, CountedServer) else None
            if isinstance(server, CountedServer) and index is not None and server.counts is not None:
                server.counts[index] += fetched.records

    def complain(self) -> None:
        """As librdkafka prints it."""
        now, (host, port) = self.container.sim.now, self.consumer.connection.place
        seconds, milliseconds = divmod((now + _EPOCH_NS) // MILLISECOND, 1000)
        where = f"{host}:{port}/bootstrap"
        address = f"{self.consumer.connection.address}:{port}"
        why = f"Connect to ipv4#{address} failed: Connection refused (after 0ms in state CONNECT)"
        if self.consumer.connection.outcome == "unknown host":
            why = f"Failed to resolve '{host}:{port}': Name or service not known (after 2ms in state CONNECT)"
        text = f"%3|{seconds}.{milliseconds:03d}|FAIL|rdkafka#consumer-1| [thrd:{where}]: {where}: {why}"
        self.container.write(text, "stderr")


def _npgsql(address: str, why: str) -> str:
    """Npgsql's exception."""
    if why in ("refused", "timeout"):
        number = "(111): Connection refused" if why == "refused" else "(110): Connection timed out"
        head = f"Npgsql.NpgsqlException (0x80004005): Failed to connect to {address}:5432"
        return f"{head}\n       ---> System.Net.Sockets.SocketException {number}"
    if why == "unknown host":
        return "System.Net.Sockets.SocketException (00000005, 0xFFFDFFFF): Name or service not known"
    code = "28P01" if "password" in why else "42501"
    return f"Npgsql.PostgresException (0x80004005): {code}: {why.removeprefix('FATAL: ').strip()}"


class FraudProgram(OrdersProgram):
    """Fraud detection in Kotlin."""

    GROUP, CLIENT = "fraud-detection", "consumer-fraud-detection-1"

    def each_ns(self) -> int:
        """With the flag it sleeps after every record."""
        return SLEEP_NS if self.flags.number("kafkaQueueProblems") > 0.0 else LOOKED_AT_NS

    def handle(self, fetched: Fetched) -> None:
        """Count orders."""
        self.container.use_cpu(fetched.records * LOOKED_AT_CPU_NS)
        for number in range(fetched.records):
            self.handled += 1
            if number < LINES_MAX:
                name = self.order(fetched.place, fetched.first + number)
                self._say(f"Consumed record with orderId: {name}, and updated total count to: {self.handled}")
                if self.flags.number("kafkaQueueProblems") > 0.0:
                    self._say("FeatureFlag 'kafkaQueueProblems' is enabled, sleeping 1 second")

    def complain(self) -> None:
        """As Kafka's Java client prints it."""
        host, port = self.consumer.connection.place
        where = f"[Consumer clientId={self.CLIENT}, groupId={self.GROUP}]"
        node = f"node -1 ({host}/{self.consumer.connection.address}:{port})"
        text = f"{where} Connection to {node} could not be established. Node may not be available."
        self._say(text, "org.apache.kafka.clients.NetworkClient")

    def _say(self, text: str, logger: str = "frauddetection") -> None:
        self.container.write(f"{day_time(self.container.sim.now)} - {logger} - {text} trace_id= span_id= trace_flags= ")
