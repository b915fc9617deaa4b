"""A stream of orders over Kafka, and who checks them: a publisher, and a consumer that commits by hand.

`orders-validator` handles one record after the other: it writes what it has checked into `PROCESSED_TOPIC` and then
commits. What it does with a record that is no order is said by `ON_INVALID`: `pause` (it reads no further, and says so
every fifteen seconds), `skip` (it commits behind it), or `dead-letter` (it writes it into `DEAD_LETTER_TOPIC` first). A
restart begins at the committed offset.
"""

from __future__ import annotations

import json

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.apps.brokers.client import Connection, Consumer, Consuming, Working
from simcluster.models.apps.brokers.groups import Place
from simcluster.models.apps.marks import day_time

#: How often it polls, how often it tells that it waits, and how long an order takes it.
POLL_NS, REMIND_NS, EACH_NS, EACH_CPU_NS = SECOND, 15 * SECOND, 4 * MILLISECOND, 2 * MILLISECOND
#: Bytes of a record beside its text: header, key and time (Kafka's record batch, version 2).
OVERHEAD = 70
PAUSE, SKIP, DEAD_LETTER = "pause", "skip", "dead-letter"
_TRAILING = "Illegal trailing comma"


class OrdersProgram(Working):
    """What both have in common: a connection to the broker, and a log of Python's form."""

    _broker: Connection

    def setting(self, name: str, default: str) -> str:
        """A variable, or what it is otherwise."""
        return self.environment.get(name, "") or default

    def say(self, text: str, level: str = "INFO") -> None:
        """A line of its log."""
        self.container.write(f"{day_time(self.container.sim.now, ',')} {level} {text}", "stderr")

    def send(self, topic: str, text: str) -> str:
        """Write a record; why that fails, or ""."""
        broker = self._broker.broker()
        if broker is None:
            return "Local: Message timed out"
        return broker.append(topic, 1, len(text) + OVERHEAD, text)


class OrderStreamProgram(OrdersProgram):
    """The publisher: an order every `INTERVAL_SECONDS`."""

    _published = 0

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running:
            return
        self._broker = Connection(self, "KAFKA_ADDR")
        self.say(f"order-stream started bootstrap={self.setting('KAFKA_ADDR', '')} topic={self._topic}")
        seconds = self.setting("INTERVAL_SECONDS", "2")
        every = int(float(seconds) * SECOND) if seconds.replace(".", "", 1).isdigit() else 2 * SECOND
        self._work = self.container.sim.every(max(every, SECOND // 10), self._publish)

    @property
    def _topic(self) -> str:
        return self.setting("SOURCE_TOPIC", "orders-fulfillment")

    def _publish(self) -> None:
        if self.draining:
            return
        self._published += 1
        key = mix(self._key, self._published)
        order = f"ORD-{key & 0xFFFF_FFFF_FFFF:012X}"
        self.container.use_cpu(EACH_CPU_NS)
        why = self.send(self._topic, json.dumps({"order_id": order, "amount": 1 + (key >> 48) % 7}))
        self.say(f"published order_id={order}" if not why else f"order_id={order} was not delivered: {why}",
                 "INFO" if not why else "ERROR")  # fmt: skip


class OrdersValidatorProgram(Consuming, OrdersProgram):
    """The consumer, which commits nothing when it is ended.

    Attributes:
        paused: the record before which it stands; None while it goes on.
    """

    paused: tuple[Place, int] | None = None
    _known: tuple[str, frozenset[Place]] = ("", frozenset())  # as whom it reads which partitions
    _reminded_ns = 0

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running:
            return
        topic, group = self.setting("SOURCE_TOPIC", "orders-fulfillment"), self.setting("GROUP_ID", "orders-validator")
        self._broker = Connection(self, "KAFKA_ADDR")
        self.consumer = Consumer(self, "KAFKA_ADDR", group, "rdkafka", (topic,))
        self.consumer.commits = False
        bootstrap = self.setting("KAFKA_ADDR", "")
        self.say(f"orders-validator started bootstrap={bootstrap} topic={topic} group={group}")
        self._work = self.container.sim.every(POLL_NS, self._poll)

    def _poll(self) -> None:
        if self.draining:
            return
        found = self.consumer.poll(0 if self.paused else POLL_NS // EACH_NS)
        if found is None:
            return
        self._assigned()
        for fetched in found if self.paused is None else ():
            for offset in range(fetched.first, fetched.first + fetched.records):
                if not self._handle(fetched.place, offset, fetched.texts.get(offset, "")):
                    self.consumer.positions[fetched.place] = offset
                    break
        self._remind()

    def _assigned(self) -> None:
        """It was given partitions, by this broker or another one: it reads them from what was committed."""
        now = (self.consumer.identity, frozenset(self.consumer.positions))
        if now != self._known:
            self._known, self.paused = now, None
            broker = self._broker.broker()
            group = broker.groups.get(self.consumer.group) if broker is not None else None
            for place, at in sorted(self.consumer.positions.items()) if group is not None else ():
                self.say(f"resuming partition at offset={group.committed.get(place, 0) if group else at}")

    def _handle(self, place: Place, offset: int, text: str) -> bool:
        """Check a record, and pass it; whether it goes on."""
        self.container.use_cpu(EACH_CPU_NS)
        order, why = read_order(text)
        if not why:
            checked = json.dumps({"order_id": order, "status": "validated"})
            why = self.send(self.setting("PROCESSED_TOPIC", "orders-processed"), checked)
            if why:
                self.say(f"order_id={order} was not delivered: {why}", "ERROR")
                return False
            self._commit(place, offset)
            self.say(f"processed order_id={order} committed_offset={offset + 1}")
            return True
        self.say(f"record validation failed at offset={offset}: {why}", "ERROR")
        way = self.setting("ON_INVALID", PAUSE)
        if way == DEAD_LETTER and not self.send(self.setting("DEAD_LETTER_TOPIC", "orders-dead-letter"), text):
            self._commit(place, offset)
            self.say(f"record at offset={offset} was sent to the dead letters committed_offset={offset + 1}", "WARNING")
            return True
        if way == SKIP:
            self._commit(place, offset)
            self.say(f"record at offset={offset} was skipped committed_offset={offset + 1}", "WARNING")
            return True
        self.say(f"partition processing paused at offset={offset}", "ERROR")
        self.paused, self._reminded_ns = (place, offset), self.container.sim.now
        return False

    def _commit(self, place: Place, offset: int) -> None:
        broker = self._broker.broker()
        if broker is not None:
            broker.commit(self.consumer.group, self.consumer.identity, {place: offset + 1})

    def _remind(self) -> None:
        now = self.container.sim.now
        if self.paused is not None and now - self._reminded_ns >= REMIND_NS:
            self._reminded_ns = now
            self.say(f"partition remains paused at offset={self.paused[1]}", "WARNING")


def read_order(text: str) -> tuple[str, str]:
    """The id of an order, and why it is none, in the words of Python's `json`.

    >>> read_order('{"order_id": "ORD-1", "amount": 2}')
    ('ORD-1', '')
    >>> read_order('{"order_id": "ORD-1", "amount":')[1]
    'Expecting value: line 1 column 32 (char 31)'
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        return "", _worded(error, text)
    except RecursionError:
        return "", "maximum recursion depth exceeded while decoding a JSON document"
    if not isinstance(found, dict) or not isinstance(found.get("order_id"), str):
        return "", "order_id is missing"
    amount = found.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return "", "amount is missing"
    return found["order_id"], ""


def _worded(error: json.JSONDecodeError, text: str) -> str:
    """As Python 3.12 says it, whichever reads it here."""
    if not error.msg.startswith(_TRAILING):
        return str(error)
    rest = text[error.pos + 1 :]
    at = error.pos + 1 + len(rest) - len(rest.lstrip())
    said = "Expecting property name enclosed in double quotes" if text[at : at + 1] == "}" else "Expecting value"
    return str(json.JSONDecodeError(said, text, at))
