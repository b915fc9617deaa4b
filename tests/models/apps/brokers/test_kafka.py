"""Kafka: topics, groups and their lag, what its tools say and cost, and what large messages do to a small container."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.brokers.groups import SESSION_NS, Group, Member
from simcluster.models.apps.brokers.kafka import KafkaProgram
from simcluster.models.apps.brokers.topics import Topic
from simcluster.models.machine.machine import Machine
from simcluster.world import World

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: kafka}
spec:
  selector: {matchLabels: {app: kafka}}
  template:
    metadata: {labels: {app: kafka}}
    spec:
      containers:
        - name: kafka
          image: apache/kafka:3.9.1
          env: [{name: KAFKA_HEAP_OPTS, value: -Xmx400M -Xms400M}, {name: KAFKA_MESSAGE_MAX_BYTES, value: "20971520"}]
          resources: {limits: {memory: 600Mi}}
"""


@pytest.fixture(scope="module")
def running() -> World:
    world = World(5, workers=1)
    world.apply(MANIFEST)
    world.run_for(60 * SECOND)
    return world


@pytest.fixture
def cluster(running: World) -> World:
    return running.fork()


def broker_of(world: World) -> KafkaProgram:
    for machine in world.machines.values():
        for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
            if one.running and isinstance(one.program, KafkaProgram):
                return one.program
    raise LookupError("no broker runs")


def tool(world: World, command: str, wait_s: int = 2) -> tuple[str, str, int]:
    world.run_for(wait_s * SECOND)  # the one before has ended
    result = world.kubectl().run(f"exec deploy/kafka -- /opt/kafka/bin/{command} --bootstrap-server localhost:9092")
    return result.stdout, result.stderr, result.exit_code


def test_records_have_offsets_and_are_taken_away_with_time() -> None:
    topic = Topic("orders", 2, "id")
    for second in range(4):
        topic.append(10, 1000, second * SECOND)
    first, second = topic.partitions
    assert (first.start, first.end, first.size, second.end) == (0, 20, 2000, 20)
    assert first.expire(1 * SECOND, -1) == 10
    assert (first.start, first.end, first.size) == (10, 20, 1000)
    assert first.expire(0, 500) == 10
    assert (first.start, first.size, first.mean_size()) == (20, 0, 0.0)


def test_members_share_partitions_and_are_put_out() -> None:
    topics = {"orders": Topic("orders", 3, "id")}
    group = Group("accounting")
    group.join("a", Member("c", "1", ("orders",), 0), topics)
    assert group.places_of("a") == [("orders", 0), ("orders", 1), ("orders", 2)]
    group.join("b", Member("c", "2", ("orders",), 10 * SECOND), topics)
    assert (group.places_of("a"), group.places_of("b")) == ([("orders", 0), ("orders", 1)], [("orders", 2)])
    assert group.put_out(SESSION_NS) == ["a"]
    group.leave("a", topics)
    assert (group.generation, len(group.places_of("b")), group.state) == (3, 3, "Stable")


def test_topics_are_made_described_and_dropped(cluster: World) -> None:
    assert tool(cluster, "kafka-topics.sh --list") == ("", "", 0)
    assert tool(cluster, "kafka-topics.sh --create --topic t --partitions 2")[0] == "Created topic t.\n"
    error = "Error while executing topic command : Topic 't' already exists.\n"
    assert tool(cluster, "kafka-topics.sh --create --topic t")[1].startswith(error)
    said = tool(cluster, "kafka-topics.sh --describe --topic t")[0]
    assert "PartitionCount: 2\tReplicationFactor: 1" in said
    assert said.count("Leader: 1\tReplicas: 1\tIsr: 1") == 2
    assert tool(cluster, "kafka-topics.sh --delete --topic t")[2] == 0
    assert "does not exist as expected" in tool(cluster, "kafka-topics.sh --describe --topic t")[1]


def test_a_group_lags_and_is_moved_only_while_nobody_reads(cluster: World) -> None:
    broker = broker_of(cluster)
    assert broker.append("t", 20, 2000) == ""
    assert broker.append("t", 1, 30, '{"order') == ""
    identity = broker.join("g", "rdkafka", "10.0.0.9", ("t",))
    positions: dict[tuple[str, int], int] = {}
    found = broker.fetch("g", identity, 15, positions)
    assert found is not None
    assert (found[0].first, found[0].records, found[0].texts) == (0, 15, {})
    broker.commit("g", identity, {("t", 0): 15})
    row = tool(cluster, "kafka-consumer-groups.sh --describe --group g")[0].splitlines()[2].split()
    assert row[:6] == ["g", "t", "0", "15", "21", "6"]
    move = "kafka-consumer-groups.sh --group g --topic t --reset-offsets --to-offset 20 --execute"
    refused = "Error: Assignments can only be reset if the group 'g' is inactive, but the current state is Stable.\n"
    assert tool(cluster, move)[1].startswith(refused)
    cluster.run_for(50 * SECOND)  # it is not heard of
    assert broker.fetch("g", identity, 15, positions) is None
    assert "no active members" in tool(cluster, "kafka-consumer-groups.sh --describe --group g")[1]
    assert tool(cluster, move)[0].splitlines()[-1].split() == ["g", "t", "0", "20"]
    assert '{"order' in tool(cluster, "kafka-console-consumer.sh --topic t --partition 0 --offset 20")[0]
    assert tool(cluster, "kafka-get-offsets.sh --topic t")[0] == "t:0:21\n"


def test_each_tool_is_a_jvm_in_the_brokers_container(cluster: World) -> None:
    broker = broker_of(cluster)
    before, used = broker.container.memory_bytes, broker.container.cpu_ns
    tool(cluster, "kafka-topics.sh --list")
    assert broker.container.memory_bytes - before > 100 << 20
    assert broker.container.cpu_ns - used > SECOND
    cluster.run_for(3 * SECOND)
    assert broker.container.memory_bytes == before
    for _ in range(4):  # one after the other, however quickly
        assert tool(cluster, "kafka-topics.sh --list", 0)[2] == 0
        cluster.run_for(SECOND // 2)
    assert broker.container.memory_bytes - before < 120 << 20
    assert broker.container.running


def test_large_messages_take_a_small_container(cluster: World) -> None:
    broker = broker_of(cluster)
    assert broker.append("t", 1, 30 << 20) == "MESSAGE_TOO_LARGE"
    assert broker.append("t", 1000, 1 << 20) == ""
    assert broker.container.memory_bytes < 400 << 20
    for _ in range(20):
        broker.append("t", 1, 10_000_000)
    assert not broker.container.running
    assert broker.container.reason == "OOMKilled"
