"""RabbitMQ: one node with its queues, its consumers' acknowledgements and its memory alarm.

Messages come with the traffic: an operation of a behaviour that names a queue (`io.command`) publishes to it; programs
consume with `QueueConsumer`. While the node uses more memory than its watermark allows, whoever publishes waits.
Sources: RabbitMQ 3 (documentation of memory alarms, `rabbitmqctl`), its log. Left out: exchanges but the default one,
clusters, messages on the disk (a restart loses them), disk alarms, users and virtual hosts.
"""

from __future__ import annotations

from dataclasses import replace

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.models.apps.brokers import rabbitmqctl
from simcluster.models.apps.brokers.program import BrokerProgram
from simcluster.models.apps.brokers.queues import MessageQueue, Reader
from simcluster.models.apps.brokers.rabbitlists import node_of
from simcluster.models.apps.reaching import reach
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.address import parse_address
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server
from simcluster.models.userland.outcome import Outcome

#: vm_memory_high_watermark.relative.
WATERMARK = 0.4
#: A message takes its bytes and about so many more (its record, the index of its queue).
OVERHEAD = 720
#: How long a publisher waits at a node whose alarm is on, if nobody takes it off: as long as it likes.
BLOCKED_NS = 3600 * SECOND
#: vm_memory_calculation_strategy is asked again so often.
MEMORY_CHECK_NS = 2_500_000_000
#: Memory is told in such steps.
STEP = 1 << 20


class RabbitProgram(BrokerProgram):
    """The main process of a RabbitMQ container.

    Attributes:
        queues: by name.
        publishers: callers that have a way to it, by who they are: their container, and since when.
        watermark: share of the memory beyond which publishers are blocked.
        alarmed: whether they are.
    """

    queues: dict[str, MessageQueue]
    publishers: dict[tuple[str, str, str], tuple[Container, int]]
    folder_on_node = "/var/lib/containerd"
    watermark = WATERMARK
    alarmed = False
    version = "3.8.9"
    _check: Timer | None = None

    def start(self) -> None:
        """A node without queues."""
        self.queues, self.publishers = {}, {}
        self.say("info", " Starting RabbitMQ 3.8.9 on Erlang 23.1.4")
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._check is not None:
            self._check.cancel()

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """`rabbitmqctl`, `rabbitmq-diagnostics`."""
        return rabbitmqctl.run(self, argv)

    def build_server(self) -> Server:
        """A server that hears of who calls it."""
        server = super().build_server()
        server.gate = self
        return server

    def refusal(self, caller: Server, call: CallSpec) -> str:
        """Nobody is refused; who has a way to it holds a connection."""
        known = self.publishers.get(caller.identity)
        if known is None or known[0] is not caller.container:
            self.publishers[caller.identity] = (caller.container, self.container.sim.now)
        return ""

    def queue(self, name: str) -> MessageQueue:
        """A queue, declared when it is first asked for, as clients do."""
        if name not in self.queues:
            self.queues[name] = MessageQueue(name)
        return self.queues[name]

    def append(self, name: str, count: int, size: int, text: str = "") -> str:
        """Publish to a queue."""
        if self.server is None:
            return "CONNECTION_CLOSED"
        self.queue(name).put(count, size)
        return ""

    def subscribe(self, name: str, tag: str, container: Container, prefetch: int) -> None:
        """basic.consume."""
        self.queue(name).readers[tag] = Reader(container, prefetch)

    def take(self, name: str, tag: str, most: int) -> int | None:
        """Deliveries to a consumer; None: it is not one of this node."""
        queue = self.queue(name)
        if tag not in queue.readers:
            return None
        self.settle(queue)
        return queue.take(tag, most)

    def acknowledge(self, name: str, tag: str, count: int) -> None:
        """basic.ack."""
        queue = self.queue(name)
        if tag in queue.readers:
            queue.acknowledge(tag, count)

    def cancel(self, name: str, tag: str) -> None:
        """basic.cancel, or its connection is closed."""
        queue = self.queue(name)
        if tag in queue.readers:
            queue.drop(tag)

    def settle(self, queue: MessageQueue) -> MessageQueue:
        """A queue without consumers whose process has ended."""
        for tag in [tag for tag, reader in queue.readers.items() if not reader.container.running]:
            queue.drop(tag)
        return queue

    @property
    def memory(self) -> int:
        """Bytes that the node uses."""
        inside = sum(queue.size + OVERHEAD * queue.messages for queue in self.queues.values())  # integers
        return self.behaviour.memory + inside

    @property
    def limit(self) -> int:
        """Bytes beyond which the alarm is on: a share of the memory that it sees."""
        total = min(self.container.spec.memory_limit or 1 << 62, self.container.machine.memory_bytes)
        return int(self.watermark * total)

    def look_at_memory(self) -> None:
        """Whether the alarm is on."""
        server = self.server
        if server is None or not self.container.running:
            return
        memory = self.memory // STEP * STEP
        if abs(memory - server.spec.memory_base) >= STEP:
            server.spec = replace(server.spec, memory_base=memory)
        if (self.memory > self.limit) == self.alarmed:
            return
        self.alarmed = not self.alarmed
        self._tell_of_alarm()
        resting = {operation.name: operation for operation in self.service_spec().operations}
        wait = BLOCKED_NS if self.alarmed else 0
        operations = tuple(
            replace(op, latency_ns=resting[op.name].latency_ns + wait, latency_cv=0.01 if wait else op.latency_cv)
            for op in server.spec.operations
        )
        server.spec = replace(server.spec, operations=operations)
        self.traffic.rewire()

    def _ready(self) -> None:
        super()._ready()
        if self.server is None or not self.container.running:
            return
        self.say("info", f"Memory high watermark set to {self.limit >> 20} MiB ({self.limit} bytes)")
        self.say("info", "started TCP listener on [::]:5672")
        self.say("info", "Server startup complete; 3 plugins started.")
        self._check = self.container.sim.every(MEMORY_CHECK_NS, self.look_at_memory)

    def _tell_of_alarm(self) -> None:
        node = node_of(self)
        if self.alarmed:
            self.say("info", f"vm_memory_high_watermark set. Memory used:{self.memory} allowed:{self.limit}")
            self.say("warning", f"memory resource limit alarm set on node {node}.")
            for row in ("", "*" * 58, "*** Publishers will be blocked until this alarm clears ***", "*" * 58):
                self.container.write(row)
        else:
            self.say("info", f"vm_memory_high_watermark clear. Memory used:{self.memory} allowed:{self.limit}")
            self.say("warning", f"memory resource limit alarm cleared on node {node}")

    def say(self, level: str, text: str) -> None:
        """A line of its log."""
        stamp = format_rfc3339(self.container.sim.now, digits=3).replace("T", " ")[:-1]
        self.container.write(f"{stamp} [{level}] <0.222.0> {text}")


class QueueConsumer:
    """A listener of a program: it takes messages and acknowledges them when it is done with them.

    Attributes:
        outcome: what became of the last attempt to reach the broker; `address`: where it is.
    """

    def __init__(self, program: ServerProgram, env: str, queue: str, prefetch: int = 250) -> None:
        self._program = program
        self._env = env
        self._queue = queue
        self._prefetch = prefetch
        self._broker: Container | None = None
        self._seen = -1
        self.outcome = ""
        self.address = ""

    @property
    def tag(self) -> str:
        """Its consumer tag."""
        return f"amq.ctag-{self._program.container.container_id[:22]}"

    def broker(self) -> RabbitProgram | None:
        """The broker, if it serves; looked for again when the network has changed."""
        network, there = self._program.traffic.network, self._broker
        if there is None or not there.running or self._seen != network.version:
            host, port = parse_address(self._program.environment.get(self._env, ""))
            found = reach(network, self._program.container, host, port or 5672)
            self._broker, self._seen = found.container, network.version
            self.outcome, self.address = found.outcome, found.address
        broker = self._broker.program if self._broker is not None else None
        return broker if isinstance(broker, RabbitProgram) and broker.server is not None else None

    def poll(self, most: int) -> int | None:
        """Messages, at most so many; None: the broker cannot be reached."""
        broker = self.broker()
        if broker is None:
            return None
        taken = broker.take(self._queue, self.tag, most)
        if taken is None:
            broker.subscribe(self._queue, self.tag, self._program.container, self._prefetch)
            taken = broker.take(self._queue, self.tag, most)
        return taken

    def acknowledge(self, count: int) -> None:
        """Done with messages."""
        broker = self.broker()
        if broker is not None and count:
            broker.acknowledge(self._queue, self.tag, count)

    def close(self) -> None:
        """Close the connection."""
        broker = self.broker()
        if broker is not None:
            broker.cancel(self._queue, self.tag)
