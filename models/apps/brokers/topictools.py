"""`kafka-topics.sh`, `kafka-get-offsets.sh` and `kafka-log-dirs.sh`.

Texts: TopicCommand, GetOffsetShell, LogDirsCommand of Kafka 3.9. Left out: replicas, reassignment, offsets by time.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from simcluster.models.apps.brokers.configtools import TOPIC_CONFIGS, checked
from simcluster.models.apps.brokers.toolwords import ToolError, pairs_of
from simcluster.models.apps.brokers.topics import INTERNAL_CONFIGS, Topic
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.kafka import KafkaProgram

_FAILED = "Error while executing topic command : "
_MOST = 1000
_MODES = ("--unavailable-partitions", "--under-replicated-partitions", "--at-min-isr-partitions",
          "--under-min-isr-partitions")  # fmt: skip


def topics(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """List, describe, make, change and delete topics."""
    name = options.get("--topic", "")
    known = {topic.name: topic for topic in _known(broker, options)}
    if "--create" in options:
        return Outcome(_create(broker, options, name))
    chosen = [each for each in sorted(known) if not name or _matches(name, each)]
    if "--list" in options:
        return Outcome("".join(f"{each}\n" for each in chosen))
    if name and not chosen and "--if-exists" not in options:
        raise ToolError(f"{_FAILED}Topic '{name}' does not exist as expected")
    if "--delete" in options:
        for each in chosen:
            if each not in broker.topics:
                raise ToolError(f"{_FAILED}Topic {each} is a kafka internal topic and is not allowed to be marked "
                                "for deletion.")  # fmt: skip
            broker.delete(each)
        return Outcome()
    if "--alter" in options:
        for each in chosen:
            _alter(broker, known[each], options.get("--partitions", ""))
        return Outcome()
    if "--describe" not in options:
        raise ToolError("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    if any(mode in options for mode in _MODES):
        return Outcome()
    overridden = "--topics-with-overrides" in options
    described = [known[each] for each in chosen if not overridden or _configs(broker, known[each])]
    return Outcome("".join(_described(broker, topic, whole=not overridden) for topic in described))


def _known(broker: KafkaProgram, options: dict[str, str]) -> list[Topic]:
    internal = broker.internal()
    hidden = internal is None or "--exclude-internal" in options or "--exclude-internal-topics" in options
    return [*broker.topics.values()] if hidden or internal is None else [*broker.topics.values(), internal]


def _matches(pattern: str, name: str) -> bool:
    """Whether a topic is meant: patterns are regular expressions, or several names with commas."""
    try:
        return re.fullmatch(pattern.replace(",", "|"), name) is not None
    except re.error:
        return pattern == name


def _create(broker: KafkaProgram, options: dict[str, str], name: str) -> str:
    if name in broker.topics:
        if "--if-not-exists" in options:
            return ""
        raise ToolError(f"{_FAILED}Topic '{name}' already exists.")
    count, copies = options.get("--partitions", "1"), options.get("--replication-factor", "1")
    if not name or not count.isdigit() or not int(count):
        raise ToolError(f"{_FAILED}Number of partitions was set to an invalid non-positive value.")
    if copies.isdigit() and int(copies) > 1:
        raise ToolError(
            f"{_FAILED}Unable to replicate the partition {copies} time(s): The target replication factor of {copies} "
            "cannot be reached because only 1 broker(s) are registered."
        )
    configs = pairs_of(options.get("--config", ""))
    wrong = checked("topic", configs)
    if wrong:
        raise ToolError(f"{_FAILED}{wrong}")
    warned = "." in name or "_" in name
    warning = (
        "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To "
        "avoid issues it is best to use either, but not both.\n"
    )
    broker.create(name, min(int(count), _MOST))
    broker.topics[name].configs = configs
    return f"{warning if warned else ''}Created topic {name}.\n"


def _alter(broker: KafkaProgram, topic: Topic, wanted: str) -> None:
    if not wanted.isdigit():
        raise ToolError('Missing required argument "[partitions]"')
    has = len(topic.partitions)
    if int(wanted) < has:
        why = f"The topic {topic.name} currently has {has} partition(s); {wanted} would not be an increase."
        raise ToolError(f"{_FAILED}{why}")
    if int(wanted) == has:
        raise ToolError(f"{_FAILED}Topic already has {has} partition(s).")
    broker.widen(topic, min(int(wanted), _MOST))


def _configs(broker: KafkaProgram, topic: Topic) -> str:
    """Settings that are not the program's own."""
    configs = dict(topic.configs) or dict(INTERNAL_CONFIGS if topic.name not in broker.topics else {})
    if str(broker.message_max) != TOPIC_CONFIGS["max.message.bytes"][0] and topic.name in broker.topics:
        configs.setdefault("max.message.bytes", str(broker.message_max))
    return ",".join(f"{name}={value}" for name, value in configs.items())


def _described(broker: KafkaProgram, topic: Topic, *, whole: bool) -> str:
    name, node = topic.name, broker.node_id
    counted = f"PartitionCount: {len(topic.partitions)}\tReplicationFactor: 1"
    text = f"Topic: {name}\tTopicId: {topic.identity}\t{counted}\tConfigs: {_configs(broker, topic)}\n"
    for number in range(len(topic.partitions) if whole else 0):
        text += f"\tTopic: {name}\tPartition: {number}\tLeader: {node}\tReplicas: {node}\tIsr: {node}\tElr: "
        text += "\tLastKnownElr: \n"
    return text


def offsets(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """First or next offsets of partitions: TOPIC:PARTITION:OFFSET."""
    name, when = options.get("--topic", ""), options.get("--time", "-1")
    numbers = [word for word in options.get("--partitions", "").split(",") if word]
    wanted = [word.partition(":") for word in options.get("--topic-partitions", "").split(",") if word]
    if when not in ("-1", "-2", "-3", "latest", "earliest", "max-timestamp") and not when.isdigit():
        raise ToolError(f"Error occurred: Malformed time argument {when}, please use -1 or latest / -2 or earliest / "
                        "-3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered, or a specified long format "
                        "timestamp")  # fmt: skip
    known, text = {topic.name: topic for topic in _known(broker, options)}, ""
    for topic in [known[each] for each in sorted(known)]:
        for number, partition in enumerate(topic.partitions):
            if (name and not _matches(name, topic.name)) or (numbers and str(number) not in numbers):
                continue
            if wanted and not any(
                _matches(each or ".*", topic.name) and part in ("", str(number)) for each, _, part in wanted
            ):
                continue
            at = partition.start if when in ("-2", "earliest") else partition.end
            if when in ("-3", "max-timestamp"):
                at = max(partition.start, partition.end - 1)
            elif when.isdigit() and int(when) > 0:
                found = partition.offset_at(broker.instant_of(int(when)))
                text += f"{topic.name}:{number}:{'' if found is None else found}\n"
                continue
            text += f"{topic.name}:{number}:{at}\n"
    if not text:
        raise ToolError("Error occurred: Could not match any topic-partitions with the specified filters")
    return Outcome(text)


def log_dirs(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """What lies in the broker's folder, as JSON."""
    wanted = [word for word in options.get("--topic-list", "").split(",") if word]
    partitions = [
        {"partition": f"{topic.name}-{number}", "size": partition.size, "offsetLag": 0, "isFuture": False}
        for topic in _known(broker, {})
        if not wanted or topic.name in wanted
        for number, partition in enumerate(topic.partitions)
    ]
    folder = {"partitions": partitions, "error": None, "logDir": broker.folder.path}
    found = {"version": 1, "brokers": [{"broker": broker.node_id, "logDirs": [folder]}]}
    head = "Querying brokers for log directories information\nReceived log directory information from brokers "
    return Outcome(f"{head}{broker.node_id}\n{json.dumps(found, separators=(',', ':'))}\n")
