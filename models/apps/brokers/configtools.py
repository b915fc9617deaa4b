"""`kafka-configs.sh`: settings of topics and of the broker that are changed while it runs.

They act: how long records are kept, how many bytes, how large one may be. Texts: ConfigCommand of Kafka 3.9; defaults:
its documentation. Left out: users, clients, IPs, client metrics; of `--all` what nobody looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.brokers.toolwords import ToolError, pairs_of
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.kafka import KafkaProgram

#: Of a topic: its default, and the broker's setting that it follows.
TOPIC_CONFIGS = {
    "cleanup.policy": ("delete", "log.cleanup.policy"),
    "compression.type": ("producer", "compression.type"),
    "delete.retention.ms": ("86400000", "log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": ("60000", "log.segment.delete.delay.ms"),
    "flush.messages": ("9223372036854775807", "log.flush.interval.messages"),
    "flush.ms": ("9223372036854775807", ""),
    "index.interval.bytes": ("4096", "log.index.interval.bytes"),
    "max.compaction.lag.ms": ("9223372036854775807", "log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": ("1048588", "message.max.bytes"),
    "message.timestamp.type": ("CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": ("0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": ("0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": ("1", "min.insync.replicas"),
    "preallocate": ("false", "log.preallocate"),
    "retention.bytes": ("-1", "log.retention.bytes"),
    "retention.ms": ("604800000", ""),
    "segment.bytes": ("1073741824", "log.segment.bytes"),
    "segment.index.bytes": ("10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": ("0", ""),
    "segment.ms": ("604800000", ""),
    "unclean.leader.election.enable": ("false", "unclean.leader.election.enable"),
}
#: Of the broker, what can be changed while it runs.
BROKER_CONFIGS = {
    **{"log.retention.ms": "", "log.retention.bytes": "-1", "message.max.bytes": "1048588", "compression.type":
       "producer", "log.cleaner.threads": "1", "log.segment.bytes": "1073741824", "log.cleanup.policy": "delete"},
    **{"num.io.threads": "8", "num.network.threads": "3", "num.replica.fetchers": "1", "background.threads": "10",
       "max.connections": "2147483647", "max.connections.per.ip": "2147483647", "min.insync.replicas": "1"},
    **{"num.recovery.threads.per.data.dir": "1", "unclean.leader.election.enable": "false",
       "log.flush.interval.messages": "9223372036854775807", "log.roll.ms": "", "log.index.interval.bytes": "4096"},
}  # fmt: skip
_NUMBERS = ("retention.ms", "retention.bytes", "max.message.bytes", "segment.bytes", "segment.ms", "log.retention.ms",
            "log.retention.bytes", "message.max.bytes", "delete.retention.ms", "num.io.threads")  # fmt: skip


def checked(kind: str, configs: dict[str, str]) -> str:
    """What is wrong with settings of a topic or a broker, or ""."""
    known = TOPIC_CONFIGS if kind == "topic" else BROKER_CONFIGS
    for name, value in configs.items():
        if name not in known:
            if kind == "topic":
                return f"Unknown topic config name: {name}"
            return f"Cannot update these configs dynamically: Set({name})"
        if name in _NUMBERS and not value.removeprefix("-").isdigit():
            return f"Invalid value {value} for configuration {name}: Not a number of type LONG"
    return ""


def configs(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """Describe or alter settings."""
    kind, name = _entity(options)
    if kind not in ("topics", "brokers"):
        if kind in ("users", "clients", "ips", "client-metrics", "groups"):
            return Outcome()
        raise ToolError(
            f"Invalid entity type {kind}, the entity type must be one of topics, clients, users, brokers, ips, "
            "client-metrics, groups with a --bootstrap-server or --bootstrap-controller argument"
        )
    if kind == "topics" and name and name not in broker.topics:
        raise ToolError(f"Error while executing config command with args '{_said(options)}'\n"
                        f"The topic '{name}' doesn't exist and doesn't have dynamic config.")  # fmt: skip
    if "--alter" in options:
        return Outcome(_alter(broker, kind, name, options))
    if "--describe" not in options:
        raise ToolError("Command must include exactly one action: --describe, --alter")
    if kind == "topics":
        names = [name] if name else sorted(broker.topics)
        return Outcome("".join(_topic(broker, each, everything="--all" in options) for each in names))
    return Outcome(_broker(broker, name, options))


def _entity(options: dict[str, str]) -> tuple[str, str]:
    """Type and name of whose settings are meant."""
    for option, kind in (("--topic", "topics"), ("--broker", "brokers")):
        if option in options:
            return kind, options[option]
    if "--broker-defaults" in options:
        return "brokers", ""
    if "--entity-type" not in options:
        raise ToolError('Missing required argument "[entity-type]"')
    return options["--entity-type"], options.get("--entity-name", "")


def _said(options: dict[str, str]) -> str:
    return ",".join(word for option, value in options.items() for word in (option, value) if word)


def _alter(broker: KafkaProgram, kind: str, name: str, options: dict[str, str]) -> str:
    added = pairs_of(options.get("--add-config", ""))
    gone = [word for word in options.get("--delete-config", "").split(",") if word]
    if not added and not gone:
        raise ToolError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    wrong = checked(kind[:-1], added)
    if wrong:
        raise ToolError(
            f"Error while executing config command with args '{_said(options)}'\njava.util.concurrent."
            f"ExecutionException: org.apache.kafka.common.errors.InvalidConfigurationException: {wrong}"
        )
    if kind == "topics":
        if not name:
            raise ToolError("An entity name must be specified with --alter of topics")
        held = broker.topics[name].configs
    else:
        held = broker.configs
    missing = [each for each in gone if each not in held]
    if missing:
        raise ToolError(f"Invalid config(s): {','.join(missing)}")
    held.update(added)
    for each in gone:
        del held[each]
    if kind == "topics":
        return f"Completed updating config for topic {name}.\n"
    return f"Completed updating config for broker {name}.\n" if name else (
        "Completed updating default config for brokers in the cluster.\n"
    )  # fmt: skip


def _line(name: str, value: str, synonyms: list[tuple[str, str, str]]) -> str:
    """A setting and where it comes from: kind, name, value, the nearest first."""
    listed = ", ".join(f"{kind}:{each}={held}" for kind, each, held in synonyms)
    return f"  {name}={value} sensitive=false synonyms={{{listed}}}\n"


def _topic(broker: KafkaProgram, name: str, *, everything: bool) -> str:
    held = broker.topics[name].configs
    head = f"{'All' if everything else 'Dynamic'} configs for topic {name} are:\n"
    text = ""
    for each in sorted(TOPIC_CONFIGS if everything else held):
        default, follows = TOPIC_CONFIGS[each]
        synonyms = [("DYNAMIC_TOPIC_CONFIG", each, held[each])] if each in held else []
        if follows:
            synonyms += [(kind, follows, value) for kind, value in broker.setting(follows, default)]
        elif each == "retention.ms" and not synonyms:
            default = str(broker.retention_ms(name))
        text += _line(each, synonyms[0][2] if synonyms else default, synonyms)
    return head + text


def _broker(broker: KafkaProgram, name: str, options: dict[str, str]) -> str:
    if name and name != str(broker.node_id):
        raise ToolError(
            f"Error while executing config command with args '{_said(options)}'\norg.apache.kafka.common.errors."
            "TimeoutException: Timed out waiting for a node assignment. Call: describeConfigs"
        )
    everything = "--all" in options and bool(name)
    whose = f"broker {name}" if name else "brokers in the cluster"
    head = f"{'All' if everything else 'Dynamic' if name else 'Default'} configs for {whose} are:\n"
    text = ""
    for each in sorted(BROKER_CONFIGS if everything else broker.configs):
        synonyms = [(kind, each, value) for kind, value in broker.setting(each, BROKER_CONFIGS[each])]
        text += _line(each, synonyms[0][2] or "null", synonyms)
    return head + text
