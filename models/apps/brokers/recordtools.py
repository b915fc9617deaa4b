"""`kafka-console-producer.sh` and `kafka-console-consumer.sh`.

A record of which only its size is known is shown as the message that the shop of OpenTelemetry writes: the ids of an
order and of a parcel. Texts: ConsoleConsumer and DefaultMessageFormatter of Kafka 3.9. Left out: keys, headers, other
formatters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import MILLISECOND
from simcluster.engine.clock import unix_us
from simcluster.engine.streams import mix
from simcluster.models.apps.brokers.toolwords import ToolError, pairs_of
from simcluster.models.userland.outcome import FOREVER_NS, Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.groups import Place
    from simcluster.models.apps.brokers.kafka import KafkaProgram
    from simcluster.models.apps.brokers.topics import Partition

#: What nobody reads to its end.
_MOST = 10_000


def produce(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """A record of each line."""
    topic = options.get("--topic", "")
    if not topic:
        raise ToolError('Missing required argument "[topic]"')
    for line in stdin.splitlines():
        error = broker.append(topic, 1, len(line.encode()) + 70, line)
        if error:
            raise ToolError(f"ERROR Error when sending message to topic {topic} with key: null: {error}")
    return Outcome()


def consume(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """Records of a topic, partition after partition; it goes on waiting unless it is told when to end."""
    name = options.get("--topic", "")
    if not name:
        raise ToolError("Exactly one of --include/--topic is required. ")
    topic = broker.topic(name)
    limit = options.get("--max-messages", "")
    most = int(limit) if limit.isdigit() else _MOST
    shown, read = "", 0
    wanted, group = options.get("--partition", ""), options.get("--group", "")
    committed = broker.groups[group].committed if group in broker.groups else {}
    stands: dict[Place, int] = {}
    for number, partition in enumerate(topic.partitions):
        if wanted and wanted != str(number):
            continue
        at = first = _first(options, partition, committed.get((name, number)))
        known = partition.texts(at, most)
        while at < partition.end and read < most:
            shown += _record(broker, (name, number), at, known.get(at), options)
            at, read = at + 1, read + 1
        if at > first and not broker.readable((name, number), first, at - first):
            why = "Disk error when trying to access log file on the disk."
            raise ToolError(f"org.apache.kafka.common.errors.KafkaStorageException: {why}")
        stands[name, number] = at
    if group:
        broker.commit_alone(group, stands)
    text, patience = options.get("--timeout-ms", ""), FOREVER_NS
    ended = limit.isdigit() and read >= most
    said = f"Processed a total of {read} messages\n"
    if not ended and text.isdigit():
        patience = int(text) * MILLISECOND
        said = (
            f"[{broker.stamp()}] ERROR Error processing message, terminating consumer process:  "
            "(org.apache.kafka.tools.consumer.ConsoleConsumer)\norg.apache.kafka.common.errors.TimeoutException\n"
        ) + said
    if not ended and not text.isdigit():
        return Outcome(shown, delay_ns=FOREVER_NS)
    return Outcome(shown, said, delay_ns=0 if ended else patience)


def _first(options: dict[str, str], partition: Partition, committed: int | None) -> int:
    """From where it reads."""
    offset = options.get("--offset", "")
    if offset.isdigit():
        at = int(offset)
        return at if partition.start <= at <= partition.end else partition.end
    if committed is not None:
        return max(partition.start, committed)
    return partition.start if offset == "earliest" or "--from-beginning" in options else partition.end


def _record(broker: KafkaProgram, place: Place, offset: int, text: str | None, options: dict[str, str]) -> str:
    """A line of a record, with what `--property print...` asks for before it."""
    properties = pairs_of(options.get("--property", ""))
    between = properties.get("key.separator", "\t").replace("\\t", "\t")
    partition = broker.topics[place[0]].partitions[place[1]]
    parts = []
    if properties.get("print.timestamp") == "true":
        parts.append(f"CreateTime:{unix_us(partition.time_of(offset)) // 1000}")
    if properties.get("print.partition") == "true":
        parts.append(f"Partition:{place[1]}")
    if properties.get("print.offset") == "true":
        parts.append(f"Offset:{offset}")
    if properties.get("print.headers") == "true":
        parts.append("NO_HEADERS")
    if properties.get("print.key") == "true":
        parts.append("null")
    if properties.get("print.value", "true") == "true":
        parts.append(_order(broker, place, offset) if text is None else text)
    return between.join(parts) + "\n"


def _order(broker: KafkaProgram, place: Place, offset: int) -> str:
    """The readable part of a protobuf message with the ids of an order and of its parcel."""
    key = mix(broker.container.sim.streams.key("order", place[0], str(place[1])), offset)
    ids = []
    for part in (0, 2):
        first, second = key if not part else mix(key, part), mix(key, part + 1)
        digits = f"{first:016x}{second:016x}"
        ids.append(f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}")
    return f"\n${ids[0]}\x12${ids[1]}\x1a\n\n\x03USD\x10{chr(5 + key % 90)}"
