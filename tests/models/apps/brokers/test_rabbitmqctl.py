"""RabbitMQ's tools: lists of what a node has, as tables and as JSON, and how the node is."""

from __future__ import annotations

import json

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.models.apps.brokers.rabbitmq import RabbitProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.world import World

POD = """\
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
          image: {image}
          command: {command}
          resources: {{limits: {{memory: 1Gi}}}}
"""


@pytest.fixture(scope="module")
def running() -> World:
    world = World(5, workers=1)
    world.apply(
        POD.format(name="rabbitmq", image="rabbitmq:3.8", command="null")
        + POD.format(name="reader", image="busybox:latest", command="[sleep, infinity]")
    )
    world.run_for(60 * SECOND)
    broker = broker_of(world)
    broker.append("email", 5, 5000)
    broker.subscribe("email", "amq.ctag-1", container(world, "reader"), 2)
    assert broker.take("email", "amq.ctag-1", 10) == 2
    world.run_for(MINUTE)
    return world


@pytest.fixture
def cluster(running: World) -> World:
    return running.fork()


def container(world: World, name: str) -> Container:
    for machine in world.machines.values():
        for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
            if one.running and one.spec.name == name:
                return one
    raise LookupError(name)


def broker_of(world: World) -> RabbitProgram:
    program = container(world, "rabbitmq").program
    assert isinstance(program, RabbitProgram)
    return program


def ctl(world: World, command: str, name: str = "rabbitmqctl") -> str:
    result = world.kubectl().run(f"exec deploy/rabbitmq -- {name} {command}")
    return result.stdout + result.stderr


def test_queues_with_columns_and_formats(cluster: World) -> None:
    assert ctl(cluster, "list_queues") == (
        "Timeout: 60.0 seconds ...\nListing queues for vhost / ...\nname\tmessages\nemail\t5\n"
    )
    columns = "name messages_ready messages_unacknowledged consumers durable"
    assert ctl(cluster, f"list_queues {columns} -q").splitlines()[1] == "email\t3\t2\t1\ttrue"
    assert ctl(cluster, f"-s list_queues {columns}") == "email\t3\t2\t1\ttrue\n"
    assert json.loads(ctl(cluster, f"list_queues {columns} --formatter json")) == [
        {"name": "email", "messages_ready": 3, "messages_unacknowledged": 2, "consumers": 1, "durable": True}
    ]
    assert ctl(cluster, "list_queues --formatter=csv") == "name,messages\nemail,5\n"
    assert "│ email │ 5        │\n" in ctl(cluster, "list_queues --formatter pretty_table")
    assert "Info key `nope` is not supported" in ctl(cluster, "list_queues nope")
    assert "Virtual host 'x' does not exist" in ctl(cluster, "list_queues -p x")


def test_connections_channels_and_consumers_are_of_one_client(cluster: World) -> None:
    reader, broker = container(cluster, "reader"), container(cluster, "rabbitmq")
    banner, head, row = ctl(cluster, "list_connections").splitlines()
    assert (banner, head) == ("Listing connections ...", "user\tpeer_host\tpeer_port\tstate")
    user, host, port, state = row.split("\t")
    assert (user, host, state) == ("guest", reader.sandbox.address, "running")
    found = json.loads(ctl(cluster, "list_connections name pid channels connected_at --formatter json"))[0]
    assert found["name"] == f"{host}:{port} -> {broker.sandbox.address}:5672"
    channel = json.loads(
        ctl(cluster, "list_channels pid connection consumer_count messages_unacknowledged --formatter json")
    )[0]
    assert channel == {
        "pid": channel["pid"], "connection": found["pid"], "consumer_count": 1, "messages_unacknowledged": 2,
    }  # fmt: skip
    assert ctl(cluster, "-s list_consumers") == f"email\t{channel['pid']}\tamq.ctag-1\ttrue\t2\ttrue\t[]\n"
    reader.exit(1)
    assert ctl(cluster, "list_connections") == "Listing connections ...\n"


def test_what_a_node_begins_with(cluster: World) -> None:
    assert ctl(cluster, "list_users") == "Listing users ...\nuser\ttags\nguest\t[administrator]\n"
    assert ctl(cluster, "list_vhosts") == "Listing vhosts ...\nname\n/\n"
    assert ctl(cluster, "list_policies") == 'Listing policies for vhost "/" ...\n'
    assert ctl(cluster, "list_permissions -s") == "guest\t.*\t.*\t.*\n"
    assert ctl(cluster, "list_exchanges name type durable").count("true\n") == 7
    assert ctl(cluster, "-q list_bindings").splitlines()[1] == "\texchange\temail\tqueue\temail\t[]"
    assert "Command 'nope' not found." in ctl(cluster, "nope")


def test_how_the_node_is(cluster: World) -> None:
    broker = broker_of(cluster)
    said = ctl(cluster, "status")
    for part in (
        "RabbitMQ version: 3.8.9\n", "Alarms\n\n(none)\n", "Connection count: 1\nQueue count: 1\n", "Free disk space: ",
        "Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1 and AMQP 1.0\n",
    ):  # fmt: skip
        assert part in said
    node = f"rabbit@{broker.container.spec.pod_name}"
    cluster_said = ctl(cluster, "cluster_status")
    assert f"Running Nodes\n\n{node}\n" in cluster_said
    assert f"{node}: RabbitMQ 3.8.9 on Erlang 23.1.4\n" in cluster_said
    assert "is fully booted and running" in ctl(cluster, "check_running", "rabbitmq-diagnostics")
    ctl(cluster, "set_vm_memory_high_watermark 0.0001")
    assert f"Alarms\n\nMemory alarm on node {node}\n" in ctl(cluster, "cluster_status")
    assert f"Memory alarm on node {node}" in ctl(cluster, "alarms", "rabbitmq-diagnostics")
    assert "unable to perform an operation on node 'rabbit@other'" in ctl(cluster, "-n rabbit@other status")
