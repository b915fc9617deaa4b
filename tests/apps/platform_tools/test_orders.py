"""Orders over Kafka: a record that is no order stops who checks them, and what gets them going again."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.brokers.kafka import KafkaProgram
from simcluster.models.machine.machine import Machine
from simcluster.world import World
from tests.models.apps.brokers.test_kafka import MANIFEST as KAFKA

MANIFESTS = f"""\
{KAFKA}---
apiVersion: v1
kind: Service
metadata: {{name: kafka}}
spec: {{selector: {{app: kafka}}, ports: [{{port: 9092}}]}}
"""
PROGRAM = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
        - name: {name}
          image: ghcr.io/platform-tools/{image}:v1.0.0
          env: [{{name: KAFKA_ADDR, value: "kafka:9092"}}]
"""
for image in ("orders-validator", "order-stream"):
    MANIFESTS += PROGRAM.format(name=image.partition("-")[2], image=image)
BAD = '{"order_id": "ORD-1", "amount":'
TOOLS = "/opt/kafka/bin/kafka-"
OF = "--group orders-validator --topic orders-fulfillment"
RESET = f"consumer-groups.sh {OF} --reset-offsets --execute --to-offset "


@pytest.fixture(scope="module")
def stuck() -> World:
    """A pipeline before whose records a broken one was written."""
    world = World(7, workers=1)
    world.apply(MANIFESTS)
    world.run_for(60 * SECOND)
    assert tool(world, "console-producer.sh --topic orders-fulfillment", stdin=BAD + "\n")[1] == ""
    world.run_for(60 * SECOND)
    return world


@pytest.fixture
def world(stuck: World) -> World:
    return stuck.fork()


def tool(world: World, command: str, stdin: str = "") -> tuple[str, str]:
    world.run_for(2 * SECOND)
    line = f"exec -i deploy/kafka -- {TOOLS}{command} --bootstrap-server localhost:9092"
    result = world.kubectl().run(line, stdin)
    return result.stdout, result.stderr


def broker(world: World) -> KafkaProgram:
    for machine in world.machines.values():
        for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
            if one.running and isinstance(one.program, KafkaProgram):
                return one.program
    raise LookupError("no broker")


def row(world: World) -> list[int]:
    """Where the group stands, the end of the topic, and the lag."""
    said = tool(world, "consumer-groups.sh --describe --group orders-validator")[0].splitlines()
    return [int(word) for word in next(one for one in said if one.startswith("orders-validator")).split()[3:6]]


def logs(world: World, lines: int = 40) -> str:
    return world.kubectl().run(f"logs deploy/validator --tail={lines}").stdout


def unreadable(world: World) -> int:
    return next(iter(broker(world).topics["orders-fulfillment"].partitions[0].unreadable))


def test_it_stands_before_what_it_cannot_read_and_says_why(world: World) -> None:
    at = unreadable(world)
    before = row(world)
    world.run_for(30 * SECOND)
    after = row(world)
    assert before[0] == after[0] == at
    assert after[2] > before[2] + 10
    said = logs(world)
    assert f"ERROR record validation failed at offset={at}: Expecting value: line 1 column 32 (char 31)" in said
    assert f"ERROR partition processing paused at offset={at}" in said
    assert f"WARNING partition remains paused at offset={at}" in said
    shown = tool(world, f"console-consumer.sh --topic orders-fulfillment --partition 0 --offset {at - 1}")[0]
    assert shown.splitlines()[0].startswith('{"order_id": "ORD-')
    assert shown.splitlines()[1] == BAD


def test_a_restart_leads_back_to_the_same_record(world: World) -> None:
    at = unreadable(world)
    world.kubectl().run("rollout restart deployment validator")
    world.run_for(60 * SECOND)
    assert row(world)[0] == at
    assert f"resuming partition at offset={at}" in logs(world)


def test_the_group_is_moved_on_when_nobody_is_in_it(world: World) -> None:
    at = unreadable(world)
    assert "is inactive, but the current state is Stable" in tool(world, f"{RESET}{at + 1}")[1]
    world.kubectl().run("scale deployment validator --replicas=0")
    world.run_for(10 * SECOND)
    assert tool(world, f"{RESET}{at + 1}")[0].splitlines()[-1].split()[-1] == str(at + 1)
    world.kubectl().run("scale deployment validator --replicas=1")
    world.run_for(60 * SECOND)
    assert row(world)[0] > at + 40
    assert row(world)[2] <= 2
    kafka = broker(world)
    stands = kafka.groups["orders-validator"].committed["orders-fulfillment", 0]
    assert kafka.topics["orders-processed"].partitions[0].end == stands - 1


@pytest.mark.parametrize(("way", "letters"), [("skip", 0), ("dead-letter", 1)])
def test_an_invalid_record_is_skipped_or_goes_to_the_dead_letters(world: World, way: str, letters: int) -> None:
    world.kubectl().run(f"set env deployment/validator ON_INVALID={way}")
    world.run_for(60 * SECOND)
    assert row(world)[2] <= 2
    dead = broker(world).topics.get("orders-dead-letter")
    assert [*(dead.partitions[0].texts(0, 9).values() if dead else ())] == [BAD] * letters


def test_a_topic_that_was_made_anew_is_read_from_its_begin(world: World) -> None:
    tool(world, "topics.sh --delete --topic orders-fulfillment")
    world.kubectl().run("rollout restart deployment validator")
    world.run_for(60 * SECOND)
    at, end, lag = row(world)
    assert end < 60
    assert lag <= 2
    assert at > 10
