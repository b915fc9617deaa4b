"""Blueprint's hotel site: time-outs and retries of one ConfigMap, caches beside stores, a collector that takes CPU."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.garbage import OFF, USUAL, percent_of
from simcluster.world import UserLoad, World

NAMESPACE = "blueprint-hotel-reservation"
STORM = '{"data":{"GRPC_CLIENT_TIMEOUT":"50ms","GRPC_CLIENT_RETRIES_ON_ERROR":"30"}}'


@pytest.fixture(scope="module")
def healthy() -> World:
    world = World(3, workers=3)
    world.deploy(NAMESPACE, NAMESPACE)
    world.run_for(40 * SECOND)
    return world


def kubectl(world: World, command: str) -> str:
    return world.kubectl().run(f"-n {NAMESPACE} {command}").stdout


def share(world: World, users: UserLoad, seconds: int) -> float:
    since = world.now
    world.run_for(seconds * SECOND)
    seen = users.window(since, world.now)
    return seen.succeeded / (seen.succeeded + seen.failed)


def peak(world: World, users: UserLoad) -> float:
    """Share of served requests a quarter of a minute after a peak of as long."""
    world.traffic.schedule_rate(users, 6 * users.rps, 0, 15 * SECOND)
    world.run_for(30 * SECOND)
    return share(world, users, 10)


def test_a_peak_ends_with_one_retry_after_a_second_and_stays_with_thirty_after_50_ms(healthy: World) -> None:
    calm, storm = healthy.fork(), healthy.fork()
    kubectl(storm, f"patch configmap rpc -p '{STORM}'")
    found = []
    for world in (calm, storm):
        kubectl(world, "rollout restart deployment -l configmap=rpc")
        world.run_for(20 * SECOND)
        users = world.add_users(NAMESPACE, "frontend-service", 600.0)
        assert share(world, users, 10) > 0.99
        found.append(peak(world, users))
    assert found[0] > 0.99
    assert found[1] < 0.6


def test_what_the_caches_lack_is_read_from_the_stores_and_put_there(healthy: World) -> None:
    world = healthy.fork()
    world.add_users(NAMESPACE, "frontend-service", 100.0)
    world.run_for(20 * SECOND)

    def asked() -> float:
        edges = world.traffic.history.between(world.now - 20 * SECOND, world.now)
        return sum(edge.ok for edge in edges if edge.key.operation == "find-profile")

    world.run_for(20 * SECOND)
    assert asked() == 0.0
    kubectl(world, "rollout restart deployment profile-cache")
    world.run_for(20 * SECOND)
    assert 40.0 < asked() < 2000.0


@pytest.mark.parametrize(("value", "percent"), [("", USUAL), ("1", 1), ("off", OFF), ("-1", OFF), ("ten", USUAL)])
def test_the_variable_of_the_collector_is_read_as_the_runtime_reads_it(value: str, percent: int) -> None:
    assert percent_of({"GOGC": value} if value else {}) == percent


def test_a_collector_that_always_runs_takes_half_of_the_cpu(healthy: World) -> None:
    world = healthy.fork()
    world.add_users(NAMESPACE, "frontend-service", 300.0)

    def used() -> int:
        world.run_for(60 * SECOND)
        line = next(one for one in kubectl(world, "top pods").splitlines() if one.startswith("frontend-service"))
        return int(line.split()[1].removesuffix("m"))

    usual = used()
    kubectl(world, "set env deployment -l configmap=rpc GOGC=1")
    assert used() / usual == pytest.approx(0.907 / 0.5, rel=0.06)
