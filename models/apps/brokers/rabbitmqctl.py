"""`rabbitmqctl` and `rabbitmq-diagnostics`, as far as people look at queues, consumers, memory and alarms with them.

Texts are those of RabbitMQ 3.8. Left out: users, virtual hosts, policies, `eval`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simcluster.models.apps.brokers.queues import MessageQueue
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.rabbitmq import RabbitProgram

_NAMES = ("rabbitmqctl", "rabbitmq-diagnostics")
#: Exit codes of sysexits.h that the tools use: usage, unavailable.
USAGE, UNAVAILABLE = 64, 69
#: A tool starts an Erlang node of its own; a magnitude.
TOOL_CPU_NS = 450_000_000


def node_of(broker: RabbitProgram) -> str:
    """Name of the node."""
    return f"rabbit@{broker.container.spec.pod_name}"


def run(broker: RabbitProgram, argv: tuple[str, ...]) -> Outcome | None:
    """A command line; None if it is another program's."""
    name = argv[0].rpartition("/")[2] if argv else ""
    if name not in _NAMES:
        return None
    broker.container.use_cpu(TOOL_CPU_NS)
    words = [word for word in argv[1:] if not word.startswith("-")]
    command = _COMMANDS.get(words[0]) if words else None
    if command is None:
        given = words[0] if words else ""
        return Outcome("", f"\nCommand '{given}' not found. \n\nUsage\n\n{name} [--node <node>] <command>\n", USAGE)
    if broker.server is None:
        text = f"Error: unable to perform an operation on node '{node_of(broker)}'. Please see diagnostics information "
        return Outcome("", f"{text}and suggestions below.\n", UNAVAILABLE)
    return command(broker, words[1:])


_COLUMNS = (
    *("name", "messages", "messages_ready", "messages_unacknowledged", "consumers", "memory", "message_bytes"),
    *("durable", "auto_delete", "state"),
)
#: What an empty queue's process takes; a magnitude.
QUEUE_BYTES = 21_000


def _shown(queue: MessageQueue, column: str) -> str:
    """A column of a queue."""
    counted = {
        "messages": queue.messages,
        "messages_ready": queue.ready,
        "messages_unacknowledged": queue.unacked,
        "consumers": len(queue.readers),
        "memory": QUEUE_BYTES + queue.size,
        "message_bytes": queue.size,
    }
    fixed = {"name": queue.name, "durable": "true", "auto_delete": "false", "state": "running"}
    return fixed[column] if column in fixed else str(counted[column])


def _queues(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    wrong = [word for word in words if word not in _COLUMNS]
    if wrong:
        return Outcome("", f"Error (argument validation): Info key `{wrong[0]}` is not supported\n", USAGE)
    columns = list(words) or ["name", "messages"]
    rows = [columns] + [
        [_shown(broker.settle(queue), column) for column in columns] for queue in broker.queues.values()
    ]
    head = "Timeout: 60.0 seconds ...\nListing queues for vhost / ...\n"
    return Outcome(head + "".join("\t".join(row) + "\n" for row in rows))


def _consumers(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    head = "Listing consumers in vhost / ...\n"
    columns = ("queue_name", "channel_pid", "consumer_tag", "ack_required", "prefetch_count", "active", "arguments")
    lines = ["\t".join(columns)]
    for queue in broker.queues.values():
        for number, (tag, reader) in enumerate(broker.settle(queue).readers.items()):
            pid = f"<{node_of(broker)}.1.{700 + number}.0>"
            lines.append("\t".join((queue.name, pid, tag, "true", str(reader.prefetch), "true", "[]")))
    return Outcome(head + "".join(f"{line}\n" for line in lines))


def _status(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    used, limit = broker.memory, broker.limit
    alarm = f"Memory alarm on node {node_of(broker)}\n" if broker.alarmed else "(none)\n"
    seconds = (broker.container.sim.now - broker.container.started_ns) // 1_000_000_000
    return Outcome(
        f"Status of node {node_of(broker)} ...\nRuntime\n\nOS PID: 1\nOS: Linux\nUptime (seconds): {seconds}\n"
        f"RabbitMQ version: {broker.version}\n\nAlarms\n\n{alarm}\nMemory\n\nTotal memory used: {_gb(used)} gb\n"
        f"Calculation strategy: rss\nMemory high watermark setting: {broker.watermark} of available memory, computed "
        f"to: {_gb(limit)} gb\n\nTotals\n\nQueue count: {len(broker.queues)}\n"
    )


def _watermark(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    try:
        share = float(words[0])
    except (IndexError, ValueError):
        return Outcome("", "Error (argument validation): not enough arguments.\n", USAGE)
    if not 0.0 <= share <= 1.0:
        return Outcome("", f"Error (argument validation): {words[0]} is not a valid watermark\n", USAGE)
    broker.watermark = share
    broker.look_at_memory()
    return Outcome(f"Setting memory threshold on {node_of(broker)} to {share} ...\n")


def _purge(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    if not words or words[0] not in broker.queues:
        return Outcome("", f"Error:\nno queue '{words[0] if words else ''}' in vhost '/'\n", 65)
    broker.queues[words[0]].purge()
    broker.look_at_memory()
    return Outcome(f"Purging queue '{words[0]}' in vhost '/' ...\n")


def _ping(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(f"Will ping {node_of(broker)}. This only checks if the OS process is running.\nPing succeeded\n")


def _alarms(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    where = node_of(broker)
    if broker.alarmed:
        return Outcome("", f"Error:\nNode {where} reported alarms in effect:\n\nMemory alarm on node {where}\n", 70)
    return Outcome(f"Asking node {where} to report any local resource alarms ...\n")


def _gb(count: int) -> str:
    return f"{count / 1e9:.4f}"


_COMMANDS: dict[str, Callable[[RabbitProgram, Sequence[str]], Outcome]] = {
    "list_queues": _queues,
    "list_consumers": _consumers,
    "status": _status,
    "set_vm_memory_high_watermark": _watermark,
    "purge_queue": _purge,
    "ping": _ping,
    "check_local_alarms": _alarms,
    "check_alarms": _alarms,
}
