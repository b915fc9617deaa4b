"""What `rabbitmqctl list_...` shows: rows of what a node has, by column.

Columns, their order and what is shown of them by default: RabbitMQ 3.8 (rabbitmqctl(8)). Left out: columns of traffic
and of memory but those that are counted here, TLS, other virtual hosts than `/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from simcluster.engine import MILLISECOND
from simcluster.engine.clock import unix_seconds, unix_us
from simcluster.engine.streams import mix
from simcluster.models.apps.brokers.queues import MessageQueue

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.rabbitmq import RabbitProgram
    from simcluster.models.machine.container import Container

Value = str | int | bool | list[str]
Row = dict[str, Value]

#: What an empty queue's process takes; a magnitude.
QUEUE_BYTES = 21_000
#: Processes of connections have numbers from here on.
_FIRST_PROCESS = 700
#: net.ipv4.ip_local_port_range.
_PORTS, _PORT_COUNT = 32768, 28232
_EXCHANGES = {
    "": "direct", "amq.direct": "direct", "amq.fanout": "fanout", "amq.headers": "headers", "amq.match": "headers",
    "amq.rabbitmq.trace": "topic", "amq.topic": "topic",
}  # fmt: skip


class Listed(NamedTuple):
    """A list: what it says first, its columns, those shown by default, and its rows."""

    banner: str
    columns: tuple[str, ...]
    default: tuple[str, ...]
    rows: Callable[[RabbitProgram], list[Row]]


class Link(NamedTuple):
    """A connection: who holds it, since when, and what it consumes."""

    container: Container
    since_ns: int
    reads: dict[str, str]  # consumer tag -> queue


def node_of(broker: RabbitProgram) -> str:
    """Name of the node."""
    return f"rabbit@{broker.container.spec.pod_name}"


def user_of(broker: RabbitProgram) -> str:
    """The user of all clients here."""
    return broker.environment.get("RABBITMQ_DEFAULT_USER", "") or "guest"


def links(broker: RabbitProgram) -> list[Link]:
    """All connections: a client has one, whether it publishes or consumes or both."""
    found: dict[str, Link] = {}
    for container, since_ns in broker.publishers.values():
        if container.running:
            found[container.container_id] = Link(container, since_ns, {})
    for queue in broker.queues.values():
        for tag, reader in broker.settle(queue).readers.items():
            known = found.get(reader.container.container_id)
            since_ns = reader.since_ns if known is None else min(known.since_ns, reader.since_ns)
            reads = {**(known.reads if known is not None else {}), tag: queue.name}
            found[reader.container.container_id] = Link(reader.container, since_ns, reads)
    return sorted(found.values(), key=_since)


def _since(link: Link) -> tuple[int, str]:
    return (link.since_ns, link.container.container_id)


def _process(broker: RabbitProgram, number: int, part: int) -> str:
    """A process of the node: a connection has one, and each of its channels."""
    creation = unix_seconds(broker.container.started_ns)
    return f"<{node_of(broker)}.{creation}.{_FIRST_PROCESS + 12 * number + part}.0>"


def _name(broker: RabbitProgram, link: Link) -> str:
    port = _PORTS + mix(link.since_ns, len(link.container.container_id)) % _PORT_COUNT
    port += sum(map(ord, link.container.container_id)) % 7  # integers
    return f"{link.container.sandbox.address}:{port} -> {broker.container.sandbox.address}:5672"


def connections(broker: RabbitProgram) -> list[Row]:
    """While the alarm is on, those that publish are blocked."""
    rows: list[Row] = []
    for number, link in enumerate(links(broker)):
        name = _name(broker, link)
        publishes = link.container.container_id in [one.container_id for one, _ in broker.publishers.values()]
        rows.append(
            {
                "pid": _process(broker, number, 0), "name": name, "port": 5672,
                "host": broker.container.sandbox.address, "peer_port": int(name.partition(" ")[0].rpartition(":")[2]),
                "peer_host": link.container.sandbox.address, "ssl": False, "protocol": "{0,9,1}",
                "auth_mechanism": "PLAIN", "user": user_of(broker), "vhost": "/", "timeout": 60,
                "frame_max": 131072, "channel_max": 2047, "channels": 1,
                "state": "blocked" if broker.alarmed and publishes else "running",
                "connected_at": unix_us(link.since_ns) // 1000, "type": "network",
            }
        )  # fmt: skip
    return rows


def channels(broker: RabbitProgram) -> list[Row]:
    """One of each connection."""
    rows: list[Row] = []
    for number, link in enumerate(links(broker)):
        readers = [broker.queues[queue].readers[tag] for tag, queue in link.reads.items()]
        rows.append(
            {
                "pid": _process(broker, number, 9), "connection": _process(broker, number, 0),
                "name": f"{_name(broker, link)} (1)", "number": 1, "user": user_of(broker), "vhost": "/",
                "transactional": False, "confirm": False, "consumer_count": len(readers),
                "messages_unacknowledged": sum(reader.unacked for reader in readers),  # integers
                "messages_uncommitted": 0, "acks_uncommitted": 0, "messages_unconfirmed": 0,
                "prefetch_count": max((reader.prefetch for reader in readers), default=0),
                "global_prefetch_count": 0, "state": "running",
            }
        )  # fmt: skip
    return rows


def consumers(broker: RabbitProgram) -> list[Row]:
    """Who reads which queue, on which channel."""
    rows: list[Row] = []
    for number, link in enumerate(links(broker)):
        for tag, queue in link.reads.items():
            reader = broker.queues[queue].readers[tag]
            rows.append(
                {
                    "queue_name": queue, "channel_pid": _process(broker, number, 9), "consumer_tag": tag,
                    "ack_required": True, "prefetch_count": reader.prefetch, "active": True,
                    "activity_status": "up", "arguments": [],
                }
            )  # fmt: skip
    return rows


def queues(broker: RabbitProgram) -> list[Row]:
    """Queues and their counts."""
    return [_queue(broker, broker.settle(queue), number) for number, queue in enumerate(broker.queues.values())]


def _queue(broker: RabbitProgram, queue: MessageQueue, number: int) -> Row:
    mean = queue.size // queue.messages if queue.messages else 0
    return {
        "name": queue.name, "durable": True, "auto_delete": False, "arguments": [], "policy": "", "exclusive": False,
        "pid": f"<{node_of(broker)}.{unix_seconds(broker.container.started_ns)}.{500 + 3 * number}.0>",
        "messages_ready": queue.ready, "messages_unacknowledged": queue.unacked, "messages": queue.messages,
        "messages_ram": queue.messages, "messages_persistent": queue.messages, "message_bytes": queue.size,
        "message_bytes_ready": mean * queue.ready, "message_bytes_unacknowledged": mean * queue.unacked,
        "message_bytes_ram": queue.size, "message_bytes_persistent": queue.size, "consumers": len(queue.readers),
        "consumer_utilisation": "1.0" if queue.readers and not queue.ready else "0.0" if queue.readers else "",
        "memory": QUEUE_BYTES + queue.size, "state": "running", "type": "classic", "vhost": "/",
    }  # fmt: skip


def exchanges(broker: RabbitProgram) -> list[Row]:
    """Those that every virtual host has."""
    return [
        {"name": name, "type": kind, "durable": True, "auto_delete": False, "arguments": [], "policy": "",
         "internal": name == "amq.rabbitmq.trace"}
        for name, kind in _EXCHANGES.items()
    ]  # fmt: skip


def bindings(broker: RabbitProgram) -> list[Row]:
    """The default exchange's: each queue under its name."""
    return [
        {"source_name": "", "source_kind": "exchange", "destination_name": queue, "destination_kind": "queue",
         "routing_key": queue, "arguments": [], "vhost": "/"}
        for queue in sorted(broker.queues)
    ]  # fmt: skip


def users(broker: RabbitProgram) -> list[Row]:
    """The one that the image makes."""
    return [{"user": user_of(broker), "tags": ["administrator"]}]


def permissions(broker: RabbitProgram) -> list[Row]:
    """It may do all."""
    return [{"user": user_of(broker), "configure": ".*", "write": ".*", "read": ".*", "vhost": "/"}]


def vhosts(broker: RabbitProgram) -> list[Row]:
    """The one that a node begins with."""
    return [{"name": "/", "tracing": False, "cluster_state": f"[{{{node_of(broker)}, running}}]"}]


def nothing(broker: RabbitProgram) -> list[Row]:
    """None are set."""
    return []


def uptime_ms(broker: RabbitProgram) -> int:
    """Milliseconds since the node started."""
    return (broker.container.sim.now - broker.container.started_ns) // MILLISECOND


_QUEUE_COLUMNS = (
    *("name", "durable", "auto_delete", "arguments", "policy", "pid", "exclusive", "messages_ready", "messages"),
    *("messages_unacknowledged", "messages_ram", "messages_persistent", "message_bytes", "message_bytes_ready"),
    *("message_bytes_unacknowledged", "message_bytes_ram", "message_bytes_persistent", "consumers", "memory", "state"),
    *("consumer_utilisation", "type", "vhost"),
)
_CONNECTION_COLUMNS = (
    *("pid", "name", "port", "host", "peer_port", "peer_host", "ssl", "protocol", "auth_mechanism", "user", "vhost"),
    *("timeout", "frame_max", "channel_max", "channels", "state", "connected_at", "type"),
)
_CHANNEL_COLUMNS = (
    *("pid", "connection", "name", "number", "user", "vhost", "transactional", "confirm", "consumer_count", "state"),
    *("messages_unacknowledged", "messages_uncommitted", "acks_uncommitted", "messages_unconfirmed", "prefetch_count"),
    "global_prefetch_count",
)
_CONSUMER_COLUMNS = (
    *("queue_name", "channel_pid", "consumer_tag", "ack_required", "prefetch_count", "active", "arguments"),
    "activity_status",
)
_BINDING_COLUMNS = (
    *("source_name", "source_kind", "destination_name", "destination_kind", "routing_key", "arguments"),
    "vhost",
)
_EXCHANGE_COLUMNS = ("name", "type", "durable", "auto_delete", "internal", "arguments", "policy")
_PERMISSIONS = ("user", "configure", "write", "read")
_POLICIES = ("vhost", "name", "pattern", "apply-to", "definition", "priority")
LISTS = {
    "list_queues": Listed("Listing queues for vhost / ...", _QUEUE_COLUMNS, ("name", "messages"), queues),
    "list_connections": Listed(
        "Listing connections ...", _CONNECTION_COLUMNS, ("user", "peer_host", "peer_port", "state"), connections
    ),
    "list_channels": Listed(
        "Listing channels ...",
        _CHANNEL_COLUMNS,
        ("pid", "user", "consumer_count", "messages_unacknowledged"),
        channels,
    ),
    "list_consumers": Listed(
        "Listing consumers in vhost / ...", _CONSUMER_COLUMNS, _CONSUMER_COLUMNS[:7], consumers
    ),
    "list_exchanges": Listed("Listing exchanges for vhost / ...", _EXCHANGE_COLUMNS, ("name", "type"), exchanges),
    "list_bindings": Listed("Listing bindings for vhost /...", _BINDING_COLUMNS, _BINDING_COLUMNS[:6], bindings),
    "list_users": Listed("Listing users ...", ("user", "tags"), ("user", "tags"), users),
    "list_permissions": Listed(
        'Listing permissions for vhost "/" ...', _PERMISSIONS, _PERMISSIONS, permissions
    ),
    "list_vhosts": Listed("Listing vhosts ...", ("name", "tracing", "cluster_state"), ("name",), vhosts),
    "list_policies": Listed('Listing policies for vhost "/" ...', _POLICIES, _POLICIES, nothing),
    "list_operator_policies": Listed(
        'Listing operator policy overrides for vhost "/" ...', _POLICIES, _POLICIES, nothing
    ),
    "list_parameters": Listed(
        'Listing runtime parameters for vhost "/" ...', ("component", "name", "value"), ("component", "name", "value"),
        nothing,
    ),
}  # fmt: skip
