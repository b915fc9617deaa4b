"""Kafka's tools for the command line: each is a JVM in the container in which it is run.

`kafka-topics.sh`, `kafka-consumer-groups.sh`, `kafka-get-offsets.sh`, `kafka-configs.sh`, `kafka-log-dirs.sh`,
`kafka-console-producer.sh` and `kafka-console-consumer.sh`, with the options that people use, against the broker of the
same container. A client asks a bootstrap server who the brokers are, and goes to the address that they tell
(`advertised.listeners`). Texts are those of Kafka 3.9. Left out: other brokers, `--command-config`, ACLs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simcluster.engine import SECOND
from simcluster.models.apps.brokers import configtools, grouptools, recordtools, topictools
from simcluster.models.apps.brokers.toolwords import ToolError, options_of
from simcluster.models.apps.reaching import reach
from simcluster.models.userland.outcome import FOREVER_NS, Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.kafka import KafkaProgram

Tool = Callable[["KafkaProgram", dict[str, str], str], Outcome]

_KILLED = Outcome("", "", 137)
#: `default.api.timeout.ms` of the clients.
_PATIENCE_NS = 60 * SECOND
#: By tool: what it does, the first call that it makes, and how it words what went wrong in it.
_TOOLS: dict[str, tuple[Tool, str, str]] = {
    "kafka-topics.sh": (topictools.topics, "listTopics", "Error while executing topic command : {why}"),
    "kafka-consumer-groups.sh": (
        grouptools.run,
        "listGroups",
        "Error: Executing consumer group command failed due to org.apache.kafka.common.errors.TimeoutException: {why}",
    ),
    "kafka-get-offsets.sh": (topictools.offsets, "listTopics", "Error occurred: {why}"),
    "kafka-configs.sh": (
        configtools.configs,
        "describeConfigs",
        "Error while executing config command\norg.apache.kafka.common.errors.TimeoutException: {why}",
    ),
    "kafka-log-dirs.sh": (
        topictools.log_dirs,
        "listNodes",
        'Exception in thread "main" org.apache.kafka.common.errors.TimeoutException: {why}',
    ),
    "kafka-console-producer.sh": (recordtools.produce, "", ""),
    "kafka-console-consumer.sh": (recordtools.consume, "", ""),
}


def run(broker: KafkaProgram, argv: tuple[str, ...], stdin: str = "") -> Outcome | None:
    """A command line; None if it is another program's. It lasts as long as its JVM lives."""
    name = argv[0].rpartition("/")[2] if argv else ""
    if name not in _TOOLS:
        return None
    if not broker.begin_tool():
        return _KILLED
    lives_ns = broker.tool_ns()
    options = options_of(argv[1:])
    if "--version" in options:
        return Outcome("3.9.1\n", delay_ns=lives_ns)
    server = options.get("--bootstrap-server", options.get("--broker-list", ""))
    if not server:
        return Outcome("", 'Missing required argument "[bootstrap-server]"\n', 1, delay_ns=lives_ns)
    failed = _unreached(broker, name, server)
    if failed is not None:
        return failed._replace(delay_ns=failed.delay_ns + lives_ns)
    try:
        done = _TOOLS[name][0](broker, options, stdin)
    except ToolError as wrong:
        return Outcome("", f"{wrong}\n", 1, delay_ns=lives_ns)
    return done._replace(delay_ns=min(FOREVER_NS, done.delay_ns + lives_ns))


def _unreached(broker: KafkaProgram, name: str, server: str) -> Outcome | None:
    """What a tool prints that finds no bootstrap server, or not the broker that this names; None: it finds both."""
    host, _, text = server.partition(",")[0].strip().rpartition(":")
    port = int(text) if text.isdigit() else 0
    if not host or not port:
        why = f"Invalid url in bootstrap.servers: {server}"
        return Outcome("", f'Exception in thread "main" org.apache.kafka.common.config.ConfigException: {why}\n', 1)
    network, container = broker.container.machine.network, broker.container
    found = reach(network, container, host, port)
    if found.outcome == "unknown host":
        return Outcome(
            "",
            f"[{broker.stamp()}] WARN Couldn't resolve server {host}:{port} from bootstrap.servers as DNS resolution "
            f"failed for {host} (org.apache.kafka.clients.ClientUtils)\n"
            'Exception in thread "main" org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient\n'
            "Caused by: org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in "
            "bootstrap.servers\n",
            1,
        )
    node = f"-1 ({host}/{found.address}:{port})"
    if found.outcome == "ok" and port in broker.controller_ports:
        found = found._replace(outcome="refused")  # no client is spoken to there
    if found.outcome == "ok":
        place, _, number = broker.advertised.rpartition(":")
        found = reach(network, container, place, int(number) if number.isdigit() else 9092)
        if found.outcome == "ok":
            return None
        node = f"{broker.node_id} ({place}/{found.address}:{number})"
        if found.outcome == "unknown host":
            return _timed_out(broker, name, "", f"{place}:{number}")
    return _timed_out(broker, name, node)


def _timed_out(broker: KafkaProgram, name: str, node: str, unknown: str = "") -> Outcome:
    """It tries to connect until its patience ends: to a node, or to one whose name is unknown."""
    _, call, wording = _TOOLS[name]
    client = "AdminClient clientId=adminclient-1" if call else "Consumer clientId=console-consumer"
    if name == "kafka-console-producer.sh":
        client = "Producer clientId=console-producer"
    warning = (
        f"[{broker.stamp()}] WARN [{client}] Connection to node {node} could not be established. Node may not be "
        "available. (org.apache.kafka.clients.NetworkClient)\n"
    )
    if unknown:
        warning = (
            f"[{broker.stamp()}] WARN [{client}] Error connecting to node {unknown} (id: {broker.node_id} rack: null) "
            f"(org.apache.kafka.clients.NetworkClient)\njava.net.UnknownHostException: {unknown.rpartition(':')[0]}\n"
        )
    if name == "kafka-console-consumer.sh":
        return Outcome("", 10 * warning, 1, delay_ns=FOREVER_NS)
    why = f"Timed out waiting for a node assignment. Call: {call}"
    if not call:
        why, wording = "Topic not present in metadata after 60000 ms.", (
            "ERROR Error when sending message to topic with key: null: org.apache.kafka.common.errors."
            "TimeoutException: {why}"
        )  # fmt: skip
    return Outcome("", 3 * warning + wording.format(why=why) + "\n", 1, delay_ns=_PATIENCE_NS)
