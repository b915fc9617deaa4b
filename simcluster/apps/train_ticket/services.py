"""Services that are not like the others: contacts with a flag, consumers of queues, vouchers in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simcluster.apps.train_ticket.spring import DATABASE, FlaggedSpring, SpringProgram
from simcluster.engine import SECOND, Timer
from simcluster.models.apps.brokers.rabbitmq import QueueConsumer
from simcluster.models.apps.flags.client import FlaggedProgram, changed, operation_of
from simcluster.models.apps.reaching import reach
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, ServiceSpec

POLL_NS = SECOND
#: Messages that a listener handles in a second (a mail's text and an insert); a magnitude.
HANDLED_PER_S, HANDLED_CPU_NS = 100, 3_000_000
_COLUMN = (
    "could not extract ResultSet; SQL [n/a]; nested exception is org.hibernate.exception.SQLGrammarException: "
    "could not extract ResultSet"
)


class ContactsProgram(FlaggedSpring):
    """Contacts: with `tt-feat-22` the query of a new one names a column that is not there."""

    FLAG = "tt-feat-22"

    def otherwise(self, spec: ServiceSpec) -> ServiceSpec:
        """A new contact is refused: MySQL knows no such column (1054)."""
        if not self.is_on:
            return spec
        hibernate = "o.h.engine.jdbc.spi.SqlExceptionHelper  "
        lines = (
            LogTemplate(f"{{time_spdlog}}  WARN 1 --- [{{thread}}] {hibernate} : SQL Error: 1054, SQLState: 42S22"),
            LogTemplate(
                f"{{time_spdlog}} ERROR 1 --- [{{thread}}] {hibernate} : Unknown column 'accountId' in 'where clause'"
            ),
            LogTemplate(
                "{time_spdlog} ERROR 1 --- [{thread}] contacts.service.ContactsServiceImpl     : [create][Contact "
                f"check failed]: {_COLUMN}"
            ),
        )
        thrown = CallSpec("", "", answer="Contact check failed", log=lines)
        return changed(spec, "create", steps=(operation_of(spec, "create").steps[0], (thrown,)))


class ListenerProgram(SpringProgram):
    """A service that listens to a queue: it handles what comes, and acknowledges it then.

    Attributes:
        QUEUE: its name. `handled`: messages since it started.
    """

    QUEUE = ""
    handled = 0
    _consumer: QueueConsumer | None = None
    _polling: Timer | None = None
    _complained_ns = -SECOND * 3600

    def terminate(self) -> None:
        """SIGTERM: the container of listeners is closed."""
        if self._consumer is not None and not self.draining:
            self._consumer.close()
        super().terminate()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._polling is not None:
            self._polling.cancel()

    def _register(self) -> None:
        super()._register()
        if self.server is not None and self.container.running:
            self._consumer = QueueConsumer(self, "RABBITMQ", self.QUEUE)
            self._polling = self.container.sim.every(POLL_NS, self._poll)

    def _poll(self) -> None:
        if self._consumer is None or self.draining:
            return
        taken = self._consumer.poll(HANDLED_PER_S)
        now = self.container.sim.now
        if taken is None:
            if now - self._complained_ns >= 5 * SECOND:
                self._complained_ns = now
                host, port = parse_address(self.environment["RABBITMQ"])
                self._say("ERROR", "o.s.a.r.l.SimpleMessageListenerContainer", "Failed to check/redeclare auto-delete "
                          f"queue(s). Attempting to connect to: [{host}:{port}]", "ntContainer#0-1")  # fmt: skip
            return
        if taken:
            self.handled += taken
            self.container.use_cpu(taken * HANDLED_CPU_NS)
            self._consumer.acknowledge(taken)


class NotificationProgram(ListenerProgram):
    """Mails about orders."""

    QUEUE = "email"


class DeliveryProgram(ListenerProgram):
    """Food that is delivered to seats."""

    QUEUE = "food_delivery"


class VoucherProgram(FlaggedProgram):
    """Vouchers: one thread in Python with a new connection for every query.

    With `tt-feat-17` it lets MySQL sleep before it looks a voucher up.
    """

    FLAG = "tt-feat-17"

    def start(self) -> None:
        """Read where MySQL is, and exit if it is not there."""
        given = {part: self.environment.get(f"VOUCHER_MYSQL_{part}", "") for part in
                 ("HOST", "PORT", "USER", "PASSWORD", "DATABASE")}  # fmt: skip
        port = given["PORT"] or "3306"
        self.environment[DATABASE] = (
            f"mysql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{port}/{given['DATABASE']}"
        )
        self.environment["ts-order-service"] = "ts-order-service:12031"
        self.environment.setdefault("FLAGD_HOST", "flagd")
        host, number = parse_address(self.environment[DATABASE])
        found = reach(self._traffic.network, self.container, host, number)
        if found.outcome != "ok":
            why = "[Errno -2] Name or service not known" if found.outcome == "unknown host" else (
                "[Errno 111] Connection refused" if found.outcome == "refused" else "timed out")  # fmt: skip
            text = f"(2003, \"Can't connect to MySQL server on '{host}' ({why})\")"
            self.container.write("Traceback (most recent call last):\n  File \"/app/server.py\", line 118, in <module>"
                                 f"\n    initDatabase()\npymysql.err.OperationalError: {text}", "stderr")  # fmt: skip
            self.container.exit(1)
            return
        shown: dict[str, Any] = {"host": host, "port": number, "user": given["USER"], "password": given["PASSWORD"],
                                 "db": given["DATABASE"]}  # fmt: skip
        self.container.write(f"mysql_config: {shown}")
        super().start()

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """`SELECT SLEEP(10)` before each look-up."""
        if not self.flags.boolean(self.FLAG):
            return spec
        operation = operation_of(spec, "get-voucher")
        sleep = replace(operation.steps[0][0], operation="sleep")
        return changed(spec, "get-voucher", steps=((sleep,), *operation.steps))
