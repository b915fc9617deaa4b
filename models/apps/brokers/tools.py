"""Kafka's tools for the command line: each is a JVM in the container in which it is run.

`kafka-topics.sh`, `kafka-consumer-groups.sh`, `kafka-get-offsets.sh`, `kafka-console-producer.sh` and
`kafka-console-consumer.sh`, with the options that people use, against the broker of the same container. Texts are those
of Kafka 3.9. Left out: other brokers, `--command-config`, ACLs, configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.groups import Group, Place
    from simcluster.models.apps.brokers.kafka import KafkaProgram

_FLAGS = (
    *("--list", "--describe", "--create", "--delete", "--alter", "--reset-offsets", "--execute", "--dry-run"),
    *("--all-topics", "--all-groups", "--from-beginning", "--if-not-exists", "--if-exists", "--to-earliest"),
    *("--to-latest", "--members", "--state", "--offsets", "--verbose", "--version", "--help"),
)
_KILLED = Outcome("", "", 137)
_COLUMNS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)


class _Wrong(Exception):
    """A tool ends with an error."""


def run(broker: KafkaProgram, argv: tuple[str, ...], stdin: str = "") -> Outcome | None:
    """A command line; None if it is another program's."""
    name = argv[0].rpartition("/")[2] if argv else ""
    tool = _TOOLS.get(name)
    if tool is None:
        return None
    if not broker.begin_tool():
        return _KILLED
    options = _options(argv[1:])
    if "--version" in options:
        return Outcome("3.9.1\n")
    server = options.get("--bootstrap-server", options.get("--broker-list", ""))
    if not server:
        return Outcome("", 'Missing required argument "[bootstrap-server]"\n', 1)
    host, _, port = server.partition(",")[0].rpartition(":")
    if host not in ("localhost", "127.0.0.1", "kafka", broker.container.sandbox.address) or port != "9092":
        why = f"Couldn't resolve server {server} from bootstrap.servers as DNS resolution failed for {host}"
        return Outcome("", f'Exception in thread "main" org.apache.kafka.common.config.ConfigException: {why}\n', 1)
    if broker.server is None:
        return Outcome("", "Timed out waiting for a node assignment. Call: listTopics\n", 1)
    try:
        return Outcome(tool(broker, options, stdin))
    except _Wrong as wrong:
        return Outcome("", f"{wrong}\n", 1)


def _options(words: tuple[str, ...]) -> dict[str, str]:
    """Options and their values; a flag's is empty."""
    found: dict[str, str] = {}
    index = 0
    while index < len(words):
        word, _, value = words[index].partition("=")
        if word in _FLAGS or value or index + 1 >= len(words):
            found[word] = value
            index += 1
        else:
            found[word] = words[index + 1]
            index += 2
    return found


def _topics(broker: KafkaProgram, options: dict[str, str], stdin: str) -> str:
    name = options.get("--topic", "")
    if "--list" in options:
        hidden = ["__consumer_offsets"] if broker.groups else []
        return "".join(f"{each}\n" for each in sorted([*broker.topics, *hidden]))
    if "--create" in options:
        return _create(broker, options, name)
    if name and name not in broker.topics and "--if-exists" not in options:
        raise _Wrong(f"Error while executing topic command : Topic '{name}' does not exist as expected")
    if "--delete" in options:
        if name in broker.topics:
            broker.delete(name)
        return ""
    if "--describe" not in options:
        raise _Wrong("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    return "".join(_described(broker, each) for each in sorted(broker.topics) if not name or each == name)


def _create(broker: KafkaProgram, options: dict[str, str], name: str) -> str:
    if name in broker.topics:
        if "--if-not-exists" in options:
            return ""
        raise _Wrong(f"Error while executing topic command : Topic '{name}' already exists.")
    count = options.get("--partitions", "1")
    if not name or not count.isdigit() or not int(count):
        raise _Wrong(
            "Error while executing topic command : Number of partitions was set to an invalid non-positive value."
        )
    broker.create(name, min(int(count), 1000))
    return f"Created topic {name}.\n"


def _described(broker: KafkaProgram, name: str) -> str:
    topic = broker.topics[name]
    size = f"max.message.bytes={broker.message_max}" if broker.message_max != 1_048_588 else ""
    counted = f"PartitionCount: {len(topic.partitions)}\tReplicationFactor: 1"
    text = f"Topic: {name}\tTopicId: {topic.identity}\t{counted}\tConfigs: {size}\n"
    for number in range(len(topic.partitions)):
        text += f"\tTopic: {name}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
    return text


def _offsets(broker: KafkaProgram, options: dict[str, str], stdin: str) -> str:
    name = options.get("--topic", "")
    earliest = options.get("--time", "-1") in ("-2", "earliest")
    text = ""
    for topic in [broker.topics[each] for each in sorted(broker.topics) if not name or each == name]:
        for number, partition in enumerate(topic.partitions):
            text += f"{topic.name}:{number}:{partition.start if earliest else partition.end}\n"
    return text


def _groups(broker: KafkaProgram, options: dict[str, str], stdin: str) -> str:
    if "--list" in options:
        return "".join(f"{name}\n" for name in sorted(broker.groups))
    names = sorted(broker.groups) if "--all-groups" in options else [options.get("--group", "")]
    if "--describe" in options:
        return "".join(_described_group(broker, name) for name in names)
    group = broker.groups.get(names[0]) if names else None
    if group is None:
        raise _Wrong(f"Error: Consumer group '{names[0] if names else ''}' does not exist.")
    broker.settled(group)
    if "--delete" in options:
        if group.members:
            raise _Wrong(
                f"Error: Deletion of some consumer groups failed:\n* Group '{group.name}' could not be deleted due to: "
                "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.GroupNotEmptyException: "
                "The group is not empty."
            )
        del broker.groups[group.name]
        return f"Deletion of requested consumer groups ('{group.name}') was successful.\n"
    if "--reset-offsets" in options:
        return _reset(broker, group, options)
    raise _Wrong(
        "Command must include exactly one action: [list], [describe], [delete], [reset-offsets], [delete-offsets]"
    )


def _described_group(broker: KafkaProgram, name: str) -> str:
    group = broker.groups.get(name)
    if group is None:
        raise _Wrong(f"Error: Consumer group '{name}' does not exist.")
    broker.settled(group)
    rows = []
    for place in sorted({**group.committed, **group.assigned}):
        topic = broker.topics.get(place[0])
        if topic is None:
            continue
        end, at = topic.partitions[place[1]].end, group.committed.get(place)
        member = group.members.get(group.assigned.get(place, ""))
        who = (group.assigned[place], f"/{member.host}", member.client) if member is not None else ("-", "-", "-")
        lag = "-" if at is None else str(end - at)
        rows.append((name, place[0], str(place[1]), "-" if at is None else str(at), str(end), lag, *who))
    text = "" if group.members else f"\nConsumer group '{name}' has no active members.\n"
    return text + "\n" + _table(_COLUMNS, rows)


def _reset(broker: KafkaProgram, group: Group, options: dict[str, str]) -> str:
    if group.members:
        raise _Wrong(
            f"Error: Assignments can only be reset if the group '{group.name}' is inactive, but the current state is "
            f"{group.state}."
        )
    wanted = options.get("--topic", "")
    name, _, numbers = wanted.partition(":")
    chosen: list[Place] = [
        (each, number)
        for each in (sorted(broker.topics) if "--all-topics" in options else [name])
        if each in broker.topics
        for number in range(len(broker.topics[each].partitions))
        if not numbers or str(number) in numbers.split(",")
    ]
    if not chosen:
        raise _Wrong("Error: One of the reset scopes should be defined: --all-topics, --topic.")
    rows = []
    for place in chosen:
        partition = broker.topics[place[0]].partitions[place[1]]
        at = _target(options, group.committed.get(place, partition.start), partition.start, partition.end)
        if "--execute" in options:
            group.committed[place] = at
        rows.append((group.name, place[0], str(place[1]), str(at)))
    warning = "" if "--execute" in options or "--dry-run" in options else (
        "WARN: No action will be performed as the --execute option is missing. In a future major release, the default "
        "behavior of this command will be to prompt the user before executing the reset.\n"
    )  # fmt: skip
    return warning + "\n" + _table(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows)


def _target(options: dict[str, str], at: int, start: int, end: int) -> int:
    if "--to-earliest" in options:
        return start
    if "--to-latest" in options:
        return end
    for option, base in (("--to-offset", 0), ("--shift-by", at)):
        text = options.get(option, "")
        if text.removeprefix("-").isdigit():
            return min(end, max(start, base + int(text)))
    raise _Wrong(
        "Error: Option '[reset-offsets]' requires one of: --to-offset, --shift-by, --to-earliest, --to-latest."
    )


def _produce(broker: KafkaProgram, options: dict[str, str], stdin: str) -> str:
    topic = options.get("--topic", "")
    for line in stdin.splitlines():
        error = broker.append(topic, 1, len(line.encode()) + 70, line)
        if error:
            raise _Wrong(f"ERROR Error when sending message to topic {topic} with key: null: {error}")
    return ""


def _consume(broker: KafkaProgram, options: dict[str, str], stdin: str) -> str:
    topic = broker.topics.get(options.get("--topic", ""))
    if topic is None:
        return ""
    most = int(options["--max-messages"]) if options.get("--max-messages", "").isdigit() else 100
    text, read = "", 0
    wanted = options.get("--partition", "")
    for number, partition in enumerate(topic.partitions):
        if wanted and wanted != str(number):
            continue
        at = partition.start if "--from-beginning" in options else partition.end
        offset = options.get("--offset", "")
        at = max(partition.start, int(offset)) if offset.isdigit() else partition.start if offset == "earliest" else at
        known = partition.texts(at, most)
        while at < partition.end and read < most:
            text += known.get(at, f"\ufffd\x12${int(partition.mean_size())}\ufffd") + "\n"
            at, read = at + 1, read + 1
    return text + f"Processed a total of {read} messages\n"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as their widest value."""
    widths = [max(len(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    return "".join(
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + "\n" for row in [heads, *rows]
    )


_TOOLS = {
    "kafka-topics.sh": _topics,
    "kafka-consumer-groups.sh": _groups,
    "kafka-get-offsets.sh": _offsets,
    "kafka-console-producer.sh": _produce,
    "kafka-console-consumer.sh": _consume,
}
