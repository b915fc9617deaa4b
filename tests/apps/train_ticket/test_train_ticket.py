"""Train Ticket: what its services do when Nacos, MySQL, RabbitMQ, the gateway's routes or a flag are not as usual."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import yaml

from simcluster.apps import train_ticket
from simcluster.apps.train_ticket.nacos import NacosProgram
from simcluster.apps.train_ticket.rendering import rendered
from simcluster.apps.train_ticket.services import NotificationProgram
from simcluster.apps.train_ticket.spring import SpringProgram
from simcluster.engine import SECOND
from simcluster.models.apps.brokers.rabbitmq import RabbitProgram
from simcluster.models.machine.container import Container
from simcluster.models.machine.machine import Machine
from simcluster.world import UserLoad, World

NAMESPACE = "train-ticket"


@pytest.fixture(scope="module")
def healthy() -> World:
    world = World(3, workers=5)
    world.deploy(NAMESPACE, NAMESPACE)
    world.run_for(220 * SECOND)
    world.traffic.add_users("users", NAMESPACE, "ts-ui-dashboard", rps=6.6)
    world.run_for(20 * SECOND)
    return world


@pytest.fixture
def office(healthy: World) -> World:
    return healthy.fork()


def kubectl(world: World, command: str, stdin: str = "") -> str:
    result = world.kubectl().run(f"-n {NAMESPACE} {command}", stdin=stdin)
    return result.stdout + result.stderr


def containers(world: World, workload: str, name: str = "") -> list[Container]:
    found = []
    for machine in world.machines.values():
        for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
            known = one.spec.pod_name.startswith(f"{workload}-") and one.spec.name == (name or workload)
            if known and one.running and one.spec.namespace == NAMESPACE:
                found.append(one)
    return sorted(found, key=lambda one: one.spec.pod_name)


def program(world: World, workload: str) -> SpringProgram:
    found = containers(world, workload)[0].program
    assert isinstance(found, SpringProgram)
    return found


def users(world: World, rps: float = 5.0, **mix: float) -> UserLoad:
    return world.traffic.add_users("more", NAMESPACE, "ts-ui-dashboard", rps=rps, mix=mix)


def log(world: World, workload: str) -> str:
    return kubectl(world, f"logs deploy/{workload} --all-pods=false --tail=-1")


def test_the_manifests_are_those_of_the_table() -> None:
    assert rendered() == Path(train_ticket.__path__[0], "manifests.yaml").read_text()
    kinds = [one["kind"] for one in yaml.safe_load_all(rendered("cloudopsbench"))]
    assert kinds.count("Deployment") == 42
    assert kinds.count("StatefulSet") == 3
    assert [one["kind"] for one in yaml.safe_load_all(rendered())].count("Deployment") == 48


def test_everybody_is_served_and_everybody_is_in_every_list(healthy: World) -> None:
    lists = [one.program for one in containers(healthy, "nacos", "k8snacos")]
    assert len(lists) == 3
    for server in lists:
        assert isinstance(server, NacosProgram)
        assert [len(places) for places in server.heard.values()] == [1] * 41
    load = healthy.traffic.users["train-ticket/users"]
    assert load.window(healthy.sim.now - 20 * SECOND, healthy.sim.now).failed == 0
    roles = kubectl(healthy, "get pods -l app=tsdb-mysql -L role --no-headers")
    assert roles.count("leader") == 1
    assert roles.count("follower") == 2
    pickle.dumps(healthy)


def test_without_nacos_calls_go_on_and_new_programs_do_not_start(office: World) -> None:
    kubectl(office, "scale statefulset nacos --replicas=0")
    office.run_for(60 * SECOND)
    load = office.traffic.users["train-ticket/users"]
    assert load.window(office.sim.now - 20 * SECOND, office.sim.now).failed == 0
    kubectl(office, "delete pod -l app=ts-price-service")
    office.run_for(45 * SECOND)
    assert "ts-price-service register failed" in kubectl(office, "logs -l app=ts-price-service --previous --tail=-1")
    assert load.window(office.sim.now - 10 * SECOND, office.sim.now).failed > 0


def test_a_dead_instance_is_refused_until_nacos_forgets_it(office: World) -> None:
    load = users(office, contacts=1.0)
    victim = containers(office, "ts-contacts-service")[0]
    kubectl(office, "scale deploy ts-contacts-service --replicas=0")
    victim.exit(137)  # it does not say farewell
    office.run_for(20 * SECOND)
    assert load.window(office.sim.now - 10 * SECOND, office.sim.now).ok == 0
    office.run_for(25 * SECOND)
    assert "No servers available for service: ts-contacts-service" in log(office, "ts-gateway-service")
    assert "Service Instance cannot be null, serviceId: ts-contacts-service" in log(office, "ts-preserve-service")


def test_a_wrong_password_ends_a_program_after_half_a_minute(office: World) -> None:
    patch = json.dumps({"stringData": {"PRICE_MYSQL_PASSWORD": "wrong"}})
    kubectl(office, f"patch secret ts-price-mysql -p '{patch}'")
    kubectl(office, "delete pod -l app=ts-price-service")
    office.run_for(45 * SECOND)
    said = kubectl(office, "logs -l app=ts-price-service --previous --tail=-1")
    assert "HikariPool-1 - Exception during pool initialization." in said
    assert "java.sql.SQLException: Access denied for user 'ts'@'10.244." in said
    assert "(using password: YES)" in said
    assert "SQL Error: 1045, SQLState: 28000" in said
    assert "Application run failed" in said


def test_a_database_that_is_read_only_refuses_what_writes(office: World) -> None:
    leader = kubectl(office, "get pods -l app=tsdb-mysql,role=leader -o name").strip()
    kubectl(office, f"exec {leader} -c mysql -- mysql -uroot -e 'SET GLOBAL read_only=ON'")
    office.run_for(20 * SECOND)
    load = office.traffic.users["train-ticket/users"].window(office.sim.now - 10 * SECOND, office.sim.now)
    assert load.failed > 0
    assert load.ok > 0
    said = log(office, "ts-order-service")
    assert "SQL Error: 1290, SQLState: HY000" in said
    assert "--read-only option" in said
    kubectl(office, f"delete {leader}")  # another leads
    office.run_for(40 * SECOND)
    assert office.traffic.users["train-ticket/users"].window(office.sim.now - 10 * SECOND, office.sim.now).failed == 0


def test_routes_of_a_mounted_file_lead_elsewhere(office: World) -> None:
    gateway = program(office, "ts-gateway-service")
    gateway.routes = (("/api/v1/contactservice/", "ts-route-service"), ("/api/v1/", "ts-food-service"))  # type: ignore[attr-defined]
    gateway.adapt()
    load = users(office, contacts=1.0, foods=1.0)
    office.run_for(20 * SECOND)
    seen = load.window(office.sim.now - 15 * SECOND, office.sim.now)
    assert 0.3 < seen.ok / seen.ended < 0.7


def test_mails_wait_for_their_consumer(office: World) -> None:
    broker = containers(office, "rabbitmq")[0].program
    assert isinstance(broker, RabbitProgram)
    queue = broker.queues["email"]
    assert queue.acknowledged > 0
    assert queue.ready == 0
    assert len(queue.readers) == 1
    kubectl(office, "scale deploy ts-notification-service --replicas=0")
    office.run_for(60 * SECOND)
    assert queue.ready > 10
    assert not broker.settle(queue).readers
    shown = kubectl(office, "exec deploy/rabbitmq -- rabbitmqctl list_queues name messages_ready consumers")
    assert f"email\t{queue.ready}\t0" in shown
    kubectl(office, "scale deploy ts-notification-service --replicas=1")
    office.run_for(60 * SECOND)
    assert queue.ready < 5
    assert isinstance(program(office, "ts-notification-service"), NotificationProgram)


def test_a_node_short_of_memory_makes_publishers_wait(office: World) -> None:
    shown = kubectl(office, "exec deploy/rabbitmq -- rabbitmqctl set_vm_memory_high_watermark 0.001")
    assert "Setting memory threshold" in shown
    assert "Memory alarm on node rabbit@" in kubectl(office, "exec deploy/rabbitmq -- rabbitmqctl status")
    office.run_for(5 * SECOND)
    assert "Publishers will be blocked until this alarm clears" in log(office, "rabbitmq")
    kubectl(office, "exec deploy/rabbitmq -- rabbitmqctl set_vm_memory_high_watermark 0.4")
    assert "alarm cleared" in log(office, "rabbitmq")


def switch(world: World, flag: str) -> None:
    text = json.loads(kubectl(world, "get configmap flagd-config -o json"))["data"]["flags.yaml"]
    flags = yaml.safe_load(text)
    flags["flags"][flag]["defaultVariant"] = "on"
    patch = json.dumps({"data": {"flags.yaml": json.dumps(flags)}})
    kubectl(world, f"patch configmap flagd-config -p '{patch}'")
    kubectl(world, "rollout restart deploy flagd")
    world.run_for(30 * SECOND)


def test_a_flag_lets_vouchers_time_out(office: World) -> None:
    switch(office, "tt-feat-17")
    load = office.traffic.add_users("vouchers", NAMESPACE, "ts-voucher-service", rps=0.7, timeout_ns=5 * SECOND)
    office.run_for(30 * SECOND)
    assert load.window(office.sim.now - 20 * SECOND, office.sim.now).ok == 0
    others = office.traffic.users["train-ticket/users"].window(office.sim.now - 20 * SECOND, office.sim.now)
    assert others.ok > 20 * others.failed


def test_a_flag_names_a_column_that_is_not_there(office: World) -> None:
    switch(office, "tt-feat-22")
    load = users(office, **{"contact-create": 1.0})
    office.run_for(20 * SECOND)
    assert load.window(office.sim.now - 10 * SECOND, office.sim.now).ok == 0
    assert "Unknown column 'accountId' in 'where clause'" in log(office, "ts-contacts-service")
    assert "[create][Contact check failed]: could not extract ResultSet" in log(office, "ts-contacts-service")


def test_a_reboot_of_an_elector_ends_it_once_and_it_still_knows_its_role(office: World) -> None:
    kubectl(office, "exec tsdb-mysql-0 -c xenon -- /sbin/reboot")
    office.run_for(15 * SECOND)
    pod = json.loads(kubectl(office, "get pod tsdb-mysql-0 -o json"))
    status = next(one for one in pod["status"]["containerStatuses"] if one["name"] == "xenon")
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["reason"] == "Completed"
    said = json.loads(kubectl(office, "exec tsdb-mysql-0 -c xenon -- xenoncli raft status"))
    assert said["state"].lower() == pod["metadata"]["labels"]["role"]


def test_pools_of_programs_that_still_load_count_and_a_full_database_keeps_one_place_for_root(office: World) -> None:
    leader = containers(office, "tsdb-mysql", "mysql")[0]
    kubectl(office, "exec tsdb-mysql-0 -c mysql -- mysql -h tsdb-mysql-leader -uroot -e 'SET GLOBAL max_connections=6'")
    restarted = ("ts-price-service", "ts-route-service", "ts-train-service", "ts-user-service")
    for name in restarted:
        containers(office, name)[0].exit(1)
    office.run_for(45 * SECOND)
    failed = [name for name in restarted if "Too many connections" in kubectl(office, f"logs deploy/{name}")]
    assert failed
    answers = set()
    for _ in range(37):
        office.run_for(SECOND)
        answers.add("1040" in kubectl(office, f"exec {leader.spec.pod_name} -c mysql -- mysql -uroot -e 'SELECT 1'"))
    assert answers == {True, False}
