"""Kafka's tools: groups, settings that act, records on the terminal, and who finds the broker."""

from __future__ import annotations

import json

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.engine.clock import DAY
from simcluster.world import World
from tests.models.apps.brokers.test_kafka import MANIFEST, broker_of

SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: kafka}
spec: {selector: {app: kafka}, ports: [{port: 9092}]}
"""
LISTENER = '[{name: KAFKA_ADVERTISED_LISTENERS, value: "PLAINTEXT://kafka:9092"}, '


@pytest.fixture(scope="module")
def running() -> World:
    world = World(5, workers=1)
    world.apply(MANIFEST.replace("env: [", f"env: {LISTENER}") + SERVICE)
    world.run_for(60 * SECOND)
    broker = broker_of(world)
    broker.append("t", 3, 300)
    world.run_for(10 * SECOND)
    broker.append("t", 1, 30, "hello")
    identity = broker.join("g", "rdkafka", "10.0.0.9", ("t",))
    broker.commit("g", identity, {("t", 0): 3})
    return world


@pytest.fixture
def cluster(running: World) -> World:
    return running.fork()


def tool(world: World, command: str, server: str = "localhost:9092") -> tuple[str, str]:
    result = world.kubectl().run(f"exec deploy/kafka -- /opt/kafka/bin/kafka-{command} --bootstrap-server {server}")
    return result.stdout, result.stderr


def test_groups_by_offsets_members_and_state(cluster: World) -> None:
    assert tool(cluster, "consumer-groups.sh --list")[0] == "g\n"
    assert tool(cluster, "consumer-groups.sh --list --state")[0].splitlines()[1].split() == ["g", "Stable"]
    assert tool(cluster, "consumer-groups.sh --list --state empty")[0].count("\n") == 1
    head, row = tool(cluster, "consumer-groups.sh --describe --all-groups")[0].splitlines()[1:]
    assert head.startswith("GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG ")
    assert row.split()[:6] == ["g", "t", "0", "3", "4", "1"]
    assert row.split()[7:] == ["/10.0.0.9", "rdkafka"]
    state = tool(cluster, "consumer-groups.sh --describe --group g --state")[0].splitlines()[2]
    assert state.split() == ["g", "kafka:9092", "(1)", "range", "Stable", "1"]
    member = tool(cluster, "consumer-groups.sh --describe --group g --members --verbose")[0].splitlines()[2]
    assert member.split()[2:] == ["/10.0.0.9", "rdkafka", "1", "t(0)"]
    assert tool(cluster, "consumer-groups.sh --describe --group x")[1].startswith(
        "\nError: Consumer group 'x' does not exist.\n"
    )


def test_the_groups_topic_is_there(cluster: World) -> None:
    said = tool(cluster, "topics.sh --describe --topic __consumer_offsets")[0]
    assert "PartitionCount: 50\tReplicationFactor: 1\tConfigs: compression.type=producer,cleanup.policy=compact" in said
    assert said.count("\tLeader: 1\t") == 50
    offsets = [int(line.rpartition(":")[2]) for line in tool(cluster, "get-offsets.sh --topic __c.*")[0].split()]
    assert (len(offsets), sum(offsets)) == (50, broker_of(cluster).groups["g"].records)
    assert "Topic: __c" not in tool(cluster, "topics.sh --describe --exclude-internal")[0]
    assert "not allowed to be marked for deletion" in tool(cluster, "topics.sh --delete --topic __consumer_offsets")[1]


def test_settings_of_a_topic_act(cluster: World) -> None:
    alter = "configs.sh --alter --entity-type topics --entity-name t --add-config"
    assert tool(cluster, f"{alter} retention.ms=60000,max.message.bytes=1000")[0] == (
        "Completed updating config for topic t.\n"
    )
    said = tool(cluster, "configs.sh --describe --topic t")[0]
    assert said.startswith("Dynamic configs for topic t are:\n")
    assert "  retention.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=60000}\n" in said
    assert "Configs: retention.ms=60000,max.message.bytes=1000\n" in tool(cluster, "topics.sh --describe --topic t")[0]
    assert broker_of(cluster).append("t", 1, 1001) == "MESSAGE_TOO_LARGE"
    cluster.run_for(10 * MINUTE)
    assert tool(cluster, "get-offsets.sh --topic t --time earliest")[0] == "t:0:4\n"
    assert tool(cluster, "configs.sh --alter --topic t --delete-config retention.ms,max.message.bytes")[1] == ""
    assert tool(cluster, "configs.sh --describe --topic t")[0] == "Dynamic configs for topic t are:\n"
    assert "Unknown topic config name: nope" in tool(cluster, f"{alter} nope=1")[1]
    assert "DEFAULT_CONFIG:log.retention.bytes=-1" in tool(cluster, "configs.sh --describe --topic t --all")[0]


def test_settings_of_the_broker_act(cluster: World) -> None:
    alter = "configs.sh --alter --entity-type brokers --entity-default --add-config log.retention.ms=1000"
    assert tool(cluster, alter)[0] == "Completed updating default config for brokers in the cluster.\n"
    said = tool(cluster, "configs.sh --describe --entity-type brokers --entity-name 1 --all")[0]
    assert "log.retention.ms=1000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=1000" in said
    assert "STATIC_BROKER_CONFIG:message.max.bytes=20971520, DEFAULT_CONFIG:message.max.bytes=1048588" in said
    cluster.run_for(10 * MINUTE)
    assert tool(cluster, "get-offsets.sh --topic t --time -2")[0] == "t:0:4\n"


def test_records_on_the_terminal(cluster: World) -> None:
    shown, said = tool(cluster, "console-consumer.sh --topic t --partition 0 --offset 3 --max-messages 1")
    assert (shown, said) == ("hello\n", "Processed a total of 1 messages\n")
    printed = "--property print.offset=true --property print.partition=true"
    shown, said = tool(cluster, f"console-consumer.sh --topic t --from-beginning --timeout-ms 1000 {printed}")
    assert shown.startswith("Partition:0\tOffset:0\t\n$")
    assert shown.endswith("Partition:0\tOffset:3\thello\n")
    assert "org.apache.kafka.common.errors.TimeoutException\nProcessed a total of 4 messages\n" in said
    tool(cluster, "console-consumer.sh --topic t --group mine --from-beginning --max-messages 2")
    row = tool(cluster, "consumer-groups.sh --describe --group mine")[0].splitlines()[2].split()
    assert row[3:6] == ["2", "4", "2"]


def test_partitions_offsets_and_folders(cluster: World) -> None:
    assert tool(cluster, "topics.sh --alter --topic t --partitions 3") == ("", "")
    assert tool(cluster, "get-offsets.sh --topic t")[0] == "t:0:4\nt:1:0\nt:2:0\n"
    assert "would not be an increase" in tool(cluster, "topics.sh --alter --topic t --partitions 1")[1]
    found = json.loads(tool(cluster, "log-dirs.sh --describe --topic-list t")[0].splitlines()[-1])
    assert found["brokers"][0]["logDirs"][0]["partitions"][0] == {
        "partition": "t-0", "size": 330, "offsetLag": 0, "isFuture": False,
    }  # fmt: skip


def test_clients_go_where_the_broker_tells_them(cluster: World) -> None:
    assert tool(cluster, "topics.sh --list", "kafka:9092")[0] == "__consumer_offsets\nt\n"
    assert "DNS resolution failed for nope" in tool(cluster, "topics.sh --list", "nope:9092")[1]
    late = "Timed out waiting for a node assignment. Call: "
    assert f"{late}listTopics" in tool(cluster, "topics.sh --list", "kafka:1")[1]
    cluster.kubectl().run("delete service kafka")
    cluster.run_for(60 * SECOND)
    said = tool(cluster, "consumer-groups.sh --list")[1]
    assert "Error connecting to node kafka:9092 (id: 1 rack: null)" in said
    assert f"{late}listGroups" in said


def test_what_is_older_than_a_week_is_deleted(cluster: World) -> None:
    cluster.leap(9 * DAY)
    assert broker_of(cluster).append("t", 2, 200) == ""
    assert tool(cluster, "get-offsets.sh --topic t --time -2")[0] == "t:0:4\n"
    assert tool(cluster, "get-offsets.sh --topic t")[0] == "t:0:6\n"
