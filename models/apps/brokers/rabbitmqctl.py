"""`rabbitmqctl` and `rabbitmq-diagnostics`, as far as people look at a node and its queues with them.

Lists as tables with tabs, as JSON, as CSV, or drawn (`--formatter`), without banners (`-q`) or heads (`-s`). Texts are
those of RabbitMQ 3.8. Left out: changes of users, virtual hosts and policies, `eval`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simcluster.models.apps.brokers import rabbitstatus
from simcluster.models.apps.brokers.rabbitlists import LISTS, Row, Value, node_of
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.rabbitmq import RabbitProgram

_NAMES = ("rabbitmqctl", "rabbitmq-diagnostics")
#: Exit codes of sysexits.h that the tools use: usage, data, unavailable, no such user or host.
USAGE, DATA, UNAVAILABLE = 64, 65, 69
#: A tool starts an Erlang node of its own; a magnitude.
TOOL_CPU_NS = 450_000_000
_VALUED = {"--formatter": "formatter", "-p": "vhost", "--vhost": "vhost", "-n": "node", "--node": "node",
           "-t": "timeout", "--timeout": "timeout", "--table-headers": "heads"}  # fmt: skip
_FORMATTERS = ("table", "json", "csv", "pretty_table", "erlang", "string", "report")
#: Lists that are taken from all nodes within a time, which they say first.
_TIMED = ("list_queues",)


def run(broker: RabbitProgram, argv: tuple[str, ...]) -> Outcome | None:
    """A command line; None if it is another program's."""
    name = argv[0].rpartition("/")[2] if argv else ""
    if name not in _NAMES:
        return None
    broker.container.use_cpu(TOOL_CPU_NS)
    words, options = _taken_apart(argv[1:])
    known = words and (words[0] in LISTS or words[0] in _COMMANDS)
    if not known:
        given = words[0] if words else ""
        return Outcome("", f"\nCommand '{given}' not found. \n\nUsage\n\n{name} [--node <node>] <command>\n", USAGE)
    formatter = options.get("formatter", "table")
    if formatter not in _FORMATTERS:
        return Outcome("", f"Error (argument validation): Invalid formatter {formatter}\n", USAGE)
    wanted = options.get("node", node_of(broker))
    if broker.server is None or wanted.partition("@")[2] not in ("", "localhost", node_of(broker).partition("@")[2]):
        text = f"Error: unable to perform an operation on node '{wanted}'. Please see diagnostics information "
        return Outcome("", f"{text}and suggestions below.\n", UNAVAILABLE)
    if words[0] in LISTS:
        return _list(broker, words[0], words[1:], options)
    done = _COMMANDS[words[0]](broker, words[1:])
    if "quiet" in options and done.stdout.partition("\n")[0].endswith("..."):
        return done._replace(stdout=done.stdout.partition("\n")[2])
    return done


def _taken_apart(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command with its arguments, and options; the silent are quiet and show no heads."""
    words, options = list[str](), dict[str, str]()
    queue = list(argv)
    while queue:
        word, equals, value = queue.pop(0).partition("=")
        if word in _VALUED:
            options[_VALUED[word]] = value if equals else queue.pop(0) if queue else ""
        elif word in ("-q", "--quiet"):
            options["quiet"] = ""
        elif word in ("-s", "--silent"):
            options |= {"quiet": "", "headless": ""}
        elif word == "--no-table-headers":
            options["headless"] = ""
        elif not word.startswith("-"):
            words.append(word + equals + value)
    return words, options


def _list(broker: RabbitProgram, name: str, words: Sequence[str], options: dict[str, str]) -> Outcome:
    """One of the lists."""
    listed = LISTS[name]
    wrong = [word for word in words if word not in listed.columns]
    if wrong:
        return Outcome("", f"Error (argument validation): Info key `{wrong[0]}` is not supported\n", USAGE)
    vhost = options.get("vhost", "/")
    if vhost != "/":
        return Outcome("", f"Error:\nVirtual host '{vhost}' does not exist\n", DATA)
    columns = list(words) or list(listed.default)
    rows = listed.rows(broker)
    formatter = options.get("formatter", "table")
    banner = f"{listed.banner}\n"
    if name in _TIMED:
        banner = f"Timeout: {float(options.get('timeout', '') or 60):.1f} seconds ...\n{banner}"
    if formatter == "json":
        objects = [json.dumps({column: row[column] for column in columns}, separators=(",", ":")) for row in rows]
        return Outcome("[\n" + "\n,".join(objects) + ("\n]\n" if objects else "]\n"))
    if formatter == "csv":
        lines = [columns, *([_plain(row[column]) for column in columns] for row in rows)]
        return Outcome("".join(",".join(line) + "\n" for line in lines))
    quiet = "" if "quiet" in options else banner
    if formatter == "pretty_table":
        return Outcome(quiet + _drawn(columns, rows))
    # a list without rows has no heads either
    heads = "" if "headless" in options or not rows else "\t".join(columns) + "\n"
    return Outcome(quiet + heads + "".join("\t".join(_plain(row[each]) for each in columns) + "\n" for row in rows))


def _plain(value: Value) -> str:
    """A value in a table."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def _drawn(columns: list[str], rows: list[Row]) -> str:
    """A table with lines around its cells."""
    cells = [columns, *([_plain(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    top, middle, bottom = (
        left + between.join("─" * (width + 2) for width in widths) + right + "\n"
        for left, between, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    lines = ["│" + "│".join(f" {cell.ljust(width)} " for cell, width in zip(line, widths, strict=True)) + "│\n"
             for line in cells]  # fmt: skip
    return top + middle.join(lines) + bottom


def _status(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(rabbitstatus.status(broker))


def _cluster_status(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(rabbitstatus.cluster_status(broker))


def _listeners(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(f"Asking node {node_of(broker)} to report its protocol listeners ...\n"
                   f"{rabbitstatus.listeners(broker)}")  # fmt: skip


def _memory(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(f"Reporting memory breakdown on node {node_of(broker)}...\n{rabbitstatus.breakdown(broker)}")


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
        return Outcome("", f"Error:\nno queue '{words[0] if words else ''}' in vhost '/'\n", DATA)
    broker.queues[words[0]].purge()
    broker.look_at_memory()
    return Outcome(f"Purging queue '{words[0]}' in vhost '/' ...\n")


def _ping(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(f"Will ping {node_of(broker)}. This only checks if the OS process is running.\nPing succeeded\n")


def _running(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    where = node_of(broker)
    return Outcome(f"Checking if RabbitMQ is running on node {where} ...\nRabbitMQ on node {where} is fully booted and "
                   "running\n")  # fmt: skip


def _alarms(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    where = node_of(broker)
    if broker.alarmed:
        return Outcome("", f"Error:\nNode {where} reported alarms in effect:\n\nMemory alarm on node {where}\n", 70)
    return Outcome(f"Asking node {where} to report any local resource alarms ...\n")


def _alarm_list(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    where = node_of(broker)
    said = f"Memory alarm on node {where}\n" if broker.alarmed else f"Node {where} reported no alarms, local or cluster"
    return Outcome(f"Asking node {where} to report any known resource alarms ...\n{said.rstrip()}\n")


def _version(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    return Outcome(f"{broker.version}\n")


def _own_permissions(broker: RabbitProgram, words: Sequence[str]) -> Outcome:
    rows = LISTS["list_permissions"].rows(broker)
    if not words or words[0] != rows[0]["user"]:
        return Outcome("", f'Error:\nUser "{words[0] if words else ""}" does not exist\n', DATA)
    return Outcome(f'Listing permissions for user "{words[0]}" ...\nvhost\tconfigure\twrite\tread\n/\t.*\t.*\t.*\n')


_COMMANDS: dict[str, Callable[[RabbitProgram, Sequence[str]], Outcome]] = {
    "status": _status,
    "cluster_status": _cluster_status,
    "listeners": _listeners,
    "memory_breakdown": _memory,
    "set_vm_memory_high_watermark": _watermark,
    "purge_queue": _purge,
    "ping": _ping,
    "check_running": _running,
    "await_startup": _running,
    "check_local_alarms": _alarms,
    "check_alarms": _alarms,
    "alarms": _alarm_list,
    "version": _version,
    "server_version": _version,
    "list_user_permissions": _own_permissions,
}
