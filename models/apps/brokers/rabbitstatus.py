"""How a node of RabbitMQ is: `status`, `cluster_status`, `listeners`, `memory_breakdown`, as version 3.8 words them.

Memory is split by what is counted here; the rest is the code and the processes that a node begins with (magnitudes).
Left out: plugins beyond those of the image, partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.brokers.rabbitlists import links, node_of, uptime_ms

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.rabbitmq import RabbitProgram

ERLANG = "23.1.4"
#: `net_ticktime`, and limits of an Erlang node: processes, file descriptors (of a container), sockets of these.
_TICK, _PROCESSES, _DESCRIPTORS, _SOCKETS = 60, 1_048_576, 1_048_576, 943_629
#: Processes of a node without connections; those of a connection with a channel, and of a queue.
_OWN_PROCESSES, _LINK_PROCESSES, _QUEUE_PROCESSES = 263, 12, 3
#: disk_free_limit, 50 MB.
_DISK_LIMIT = 50_000_000
_FLAGS = (
    ("drop_unroutable_metric", "disabled"), ("empty_basic_get_metric", "disabled"),
    ("implicit_default_bindings", "enabled"), ("maintenance_mode_status", "enabled"), ("quorum_queue", "enabled"),
    ("user_limits", "enabled"), ("virtual_host_metadata", "enabled"),
)  # fmt: skip
_LISTENERS = (
    (25672, "clustering", "inter-node and CLI tool communication"),
    (5672, "amqp", "AMQP 0-9-1 and AMQP 1.0"),
    (15692, "http/prometheus", "Prometheus exporter API over HTTP"),
)
#: Shares of what a node takes before it has messages.
_SHARES = {
    "code": 0.28, "other_proc": 0.24, "allocated_unused": 0.18, "other_system": 0.17, "plugins": 0.08,
    "other_ets": 0.03, "atom": 0.015, "mnesia": 0.005,
}  # fmt: skip


def memory_parts(broker: RabbitProgram) -> list[tuple[str, int]]:
    """What takes how many bytes, the most first."""
    messages = sum(queue.size for queue in broker.queues.values())  # integers
    inside = broker.memory - broker.behaviour.memory
    parts = {name: int(share * broker.behaviour.memory) for name, share in _SHARES.items()}
    connected = 92_000 * len(links(broker))
    parts |= {"binary": messages, "queue_procs": max(0, inside - messages), "connection_readers": connected // 2}
    parts |= {"connection_channels": connected // 4, "connection_writers": connected // 8}
    parts["connection_other"] = connected - connected // 2 - connected // 4 - connected // 8
    return sorted(parts.items(), key=_largest)


def _largest(part: tuple[str, int]) -> tuple[int, str]:
    return (-part[1], part[0])


def gb(count: int) -> str:
    """Bytes in billions.

    >>> gb(119_537_664)
    '0.1195'
    """
    return f"{count / 1e9:.4f}"


def breakdown(broker: RabbitProgram) -> str:
    """The parts of its memory, with their shares."""
    total = max(1, broker.memory)
    return "".join(f"{name}: {gb(count)} gb ({100.0 * count / total:.2f}%)\n" for name, count in memory_parts(broker))


def alarms(broker: RabbitProgram) -> str:
    """Alarms that are in effect."""
    return f"Memory alarm on node {node_of(broker)}\n" if broker.alarmed else "(none)\n"


def status(broker: RabbitProgram) -> str:
    """`status`."""
    node, held = node_of(broker), links(broker)
    processes = _OWN_PROCESSES + _LINK_PROCESSES * len(held) + _QUEUE_PROCESSES * len(broker.queues)
    where = "".join(
        f"Interface: [::], port: {port}, protocol: {name}, purpose: {purpose}\n"
        for port, name, purpose in _LISTENERS
        if broker.listens_on(port)
    )
    cores = max(1, int(broker.container.spec.cpu_limit or 2))
    folder = f"/var/lib/rabbitmq/mnesia/{node}"
    free = broker.container.machine.files_at(broker.folder_on_node).usage().available_bytes
    return (
        f"Status of node {node} ...\nRuntime\n\nOS PID: 1\nOS: Linux\nUptime (seconds): {uptime_ms(broker) // 1000}\n"
        f"Is under maintenance?: false\nRabbitMQ version: {broker.version}\nNode name: {node}\n"
        f"Erlang configuration: Erlang/OTP 23 [erts-11.1.4] [source] [64-bit] [smp:{cores}:{cores}] "
        f"[ds:{cores}:{cores}:10] [async-threads:64]\nErlang processes: {processes} used, {_PROCESSES} limit\n"
        f"Scheduler run queue: 1\nCluster heartbeat timeout (net_ticktime): {_TICK}\n\n"
        "Plugins\n\nEnabled plugin file: /etc/rabbitmq/enabled_plugins\nEnabled plugins:\n\n * rabbitmq_prometheus\n"
        " * rabbitmq_management_agent\n * rabbitmq_web_dispatch\n * prometheus\n * accept\n * amqp_client\n * cowboy\n"
        " * cowlib\n\n"
        f"Data directory\n\nNode data directory: {folder}\nRaft data directory: {folder}/quorum/{node}\n\n"
        "Config files\n\n * /etc/rabbitmq/rabbitmq.conf\n\nLog file(s)\n\n * <stdout>\n\n"
        f"Alarms\n\n{alarms(broker)}\n"
        f"Memory\n\nTotal memory used: {gb(broker.memory)} gb\nCalculation strategy: rss\nMemory high watermark "
        f"setting: {broker.watermark} of available memory, computed to: {gb(broker.limit)} gb\n\n{breakdown(broker)}\n"
        f"File Descriptors\n\nTotal: {2 + len(held)}, limit: {_DESCRIPTORS}\n"
        f"Sockets: {len(held)}, limit: {_SOCKETS}\n\n"
        f"Free Disk Space\n\nLow free disk space watermark: {gb(_DISK_LIMIT)} gb\nFree disk space: {gb(free)} gb\n\n"
        f"Totals\n\nConnection count: {len(held)}\nQueue count: {len(broker.queues)}\nVirtual host count: 1\n\n"
        f"Listeners\n\n{where}"
    )


def cluster_status(broker: RabbitProgram) -> str:
    """`cluster_status`: a cluster of one node."""
    node = node_of(broker)
    flags = "".join(f"Flag: {name}, state: {state}\n" for name, state in _FLAGS)
    return (
        f"Cluster status of node {node} ...\nBasics\n\nCluster name: {node}\n\nDisk Nodes\n\n{node}\n\n"
        f"Running Nodes\n\n{node}\n\nVersions\n\n{node}: RabbitMQ {broker.version} on Erlang {ERLANG}\n\n"
        f"Maintenance status\n\nNode: {node}, status: not under maintenance\n\nAlarms\n\n{alarms(broker)}\n"
        f"Network Partitions\n\n(none)\n\nListeners\n\n{listeners(broker)}\nFeature flags\n\n{flags}"
    )


def listeners(broker: RabbitProgram) -> str:
    """Where the node listens."""
    return "".join(
        f"Node: {node_of(broker)}, interface: [::], port: {port}, protocol: {name}, purpose: {purpose}\n"
        for port, name, purpose in _LISTENERS
        if broker.listens_on(port)
    )
