"""A program that fills a topic: threads that send large messages one after the other, each by a producer of its own."""

from __future__ import annotations

from simcluster.engine import SECOND, format_rfc3339
from simcluster.models.apps.brokers.client import Connection, Working

#: A message of 10 MB takes a thread about so long: to serialise, to send and to be acknowledged.
ROUND_NS = SECOND
#: CPU time of a byte: it is copied, compressed not at all, and checked.
CPU_PER_BYTE = 2
THREADS, PAYLOAD, TOPIC = 20, 10_000_000, "orders"


class OrderCreatorProgram(Working):
    """The main process."""

    _broker: Connection

    def _ready(self) -> None:
        super()._ready()
        if self.container.running and self.server is not None:
            self._broker = Connection(self, "KAFKA_ADDR")
            self._work = self.container.sim.every(ROUND_NS, self._send)

    def _send(self) -> None:
        """Every thread sends a message; the last ones may find the broker gone."""
        threads, payload = self._number("THREADS", THREADS), self._number("PAYLOAD_BYTES", PAYLOAD)
        topic = self.environment.get("TOPIC", "") or TOPIC
        if self.server is not None:
            self.server.spec = self.behaviour.service()
            self.container.set_memory(self.behaviour.memory + threads * payload)
        sent, why = 0, ""
        for _ in range(threads):
            broker = self._broker.broker()
            why = self._broker.outcome if broker is None else broker.append(topic, 1, payload)
            if why:
                break
            sent += 1
        self.container.use_cpu(sent * payload * CPU_PER_BYTE)
        stamp = format_rfc3339(self.container.sim.now, digits=3)
        if why:
            self.container.write(f"{stamp} ERROR delivery failed: {why}")
        else:
            self.container.write(f"{stamp} INFO created {sent} orders in topic {topic}")

    def _number(self, name: str, default: int) -> int:
        text = self.environment.get(name, "")
        return int(text) if text.isdigit() and 0 < int(text) < 1 << 30 else default
