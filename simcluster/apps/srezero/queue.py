"""The message queue: orders that wait for consumers, are tried again when they fail, and are given up after that.

A consumer reads from the database and takes a tenth of a second a message; what it has done it acknowledges in batches
every fifteen seconds, and until then a message counts as in flight. Who is in flight for longer than the visibility
time-out is delivered once more. A share of the messages cannot be processed at all; others fail now and then. Whoever
asks for the confirmation of an order waits five seconds for it. Magnitudes are chosen.

Left out: messages on a disk (a restart loses them), who publishes what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from simcluster.apps.srezero.database import DatabaseProgram
from simcluster.apps.srezero.tuned import Share, TunedProgram, refusing
from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.apps.reaching import reach
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import ServiceSpec

#: What a consumer does besides its read; how often it acknowledges.
WORK_NS, BATCH_S = 100 * MILLISECOND, 15.0
#: Share of the messages that never succeed, and of the attempts that fail by chance.
POISON, CHANCE = 0.05, 0.25
#: How long a client waits for the confirmation of an order.
PATIENCE_S = 5.0
#: What a read takes while the database does not answer: the consumer's time-out.
UNREACHED_NS = 3 * SECOND


class QueueProgram(TunedProgram):
    """The main process of the message queue.

    Attributes:
        depth: messages that wait.
        lag_s: how long the oldest of them has waited.
        given_up, retried, duplicated: shares: of the good messages that were given up, of the attempts that are another
            one, of the messages that came twice.
    """

    SETTINGS: ClassVar[Mapping[str, int | bool | str]] = {
        "CONSUMER_CONCURRENCY": 8,
        "MAX_IN_FLIGHT": 500,
        "RETRY_LIMIT": 3,
        "VISIBILITY_TIMEOUT_MS": 30000,
    }
    METRICS: ClassVar[Mapping[str, str]] = {
        "queue_depth": "Messages that wait.",
        "oldest_message_age_ms": "How long the oldest message has waited.",
        "publish_error_rate": "Share of the messages that were refused.",
        "publish_p95_latency_ms": "The 95th percentile of the time of a publication.",
        "consumer_lag_ms": "How long a message that comes now will wait.",
        "in_flight_messages": "Messages that consumers have not acknowledged.",
        "retry_rate": "Share of the deliveries that are another attempt.",
        "dead_letter_rate": "Share of the messages that are given up.",
        "duplicate_delivery_rate": "Share of the messages that are delivered twice.",
    }
    depth = 0.0
    lag_s = 0.0
    _done = 0.0
    _reading_ns = float(WORK_NS)

    @property
    def duplicated(self) -> float:
        """Messages are acknowledged at any time of a batch's."""
        visible = self.number("VISIBILITY_TIMEOUT_MS") / 1000.0
        return max(0.0, 1.0 - visible / BATCH_S)

    @property
    def given_up(self) -> float:
        """Good messages all of whose attempts failed."""
        share = CHANCE
        for _ in range(min(60, self.number("RETRY_LIMIT"))):
            share *= CHANCE
        return share

    @property
    def attempts(self) -> float:
        """Deliveries of a message, on average."""
        tries = min(1000, self.number("RETRY_LIMIT")) + 1
        good, chance = 0.0, 1.0
        for _ in range(min(60, tries)):
            good += chance
            chance *= CHANCE
        return (POISON * tries + (1.0 - POISON) * good) * (1.0 + self.duplicated)

    @property
    def each_s(self) -> float:
        """How long a consumer has a message."""
        return (WORK_NS + self._reading_ns) / SECOND

    @property
    def capacity(self) -> float:
        """Messages a second that can be done: by the consumers, and by what may be in flight."""
        consumers = self.number("CONSUMER_CONCURRENCY") / self.each_s
        flying = self.number("MAX_IN_FLIGHT") / (self.each_s + 0.5 * BATCH_S)
        return min(consumers, flying) / self.attempts

    def move(self) -> None:
        """Messages come and are done; each attempt reads from the database."""
        came = self.rates.get("publish", 0.0)
        database = self._database()
        self._reading_ns = float(UNREACHED_NS) if database is None else database.time_ns("consume")
        can = self.capacity
        self._done = min(can, self.depth + came)
        self.depth += came - self._done
        if self.depth < 1.0:
            self.depth = 0.0
        before, self.lag_s = self.lag_s, self.depth / can if can > 0.0 else self.lag_s + 1.0
        if database is not None:
            database.consumed += self._done * self.attempts
        if self.lag_s > PATIENCE_S >= before:
            head = f"consumer lag high lag_ms={int(1000 * self.lag_s)} depth={int(self.depth)} done_per_s={can:.1f}"
            each_ms = f"{1000 * self.each_s:.0f}"
            self.say("WARN", f"{head} attempts_per_message={self.attempts:.2f} process_ms={each_ms}")

    def state(self) -> tuple[float, ...]:
        """Whether confirmations come in time."""
        return (float(self.lag_s > PATIENCE_S),)

    def tuned(self, spec: ServiceSpec) -> ServiceSpec:
        """Confirmations that are late, never come, or come twice."""
        if self.lag_s > PATIENCE_S:
            line = "{time_s} WARN confirmation=timeout reason=consumer_lag"
            return refusing(spec, "confirmation", [Share(1.0, "no confirmation in 5 s", 504, line)])
        lost = Share(
            self.given_up, "order was given up", 500, "{time_s} ERROR message dead-lettered reason=retry_limit"
        )
        twice = Share(self.duplicated, "order was processed twice", 409,
                      "{time_s} ERROR duplicate delivery reason=visibility_timeout")  # fmt: skip
        return refusing(spec, "confirmation", [one for one in (lost, twice) if one.share > 0.005])

    def metrics(self) -> dict[str, float]:
        """What it knows of itself."""
        came = self.rates.get("publish", 0.0)
        return {
            "queue_depth": self.depth,
            "oldest_message_age_ms": 1000.0 * self.lag_s,
            "publish_error_rate": 0.0,
            "publish_p95_latency_ms": self.p95_ms,
            "consumer_lag_ms": 1000.0 * (self.lag_s + self.each_s),
            "in_flight_messages": min(self.number("MAX_IN_FLIGHT"),
                                      self._done * self.attempts * (self.each_s + 0.5 * BATCH_S)),
            "retry_rate": 1.0 - 1.0 / self.attempts if came else 0.0,
            "dead_letter_rate": POISON + (1.0 - POISON) * self.given_up,
            "duplicate_delivery_rate": self.duplicated,
        }  # fmt: skip

    def _database(self) -> DatabaseProgram | None:
        host, port = parse_address(self.environment.get("DATABASE_ADDR", ""))
        found = reach(self.traffic.network, self.container, host, port).container
        program = None if found is None or found.halted else found.program
        return program if isinstance(program, DatabaseProgram) and program.server is not None else None
