"""SRE-Zero's five services: a wrong setting moves the figures that it should, and the right one brings them back."""

from __future__ import annotations

import pytest

from simcluster.apps.cases import Users
from simcluster.apps.srezero.tuned import TunedProgram
from simcluster.engine import SECOND
from simcluster.eval.worlds.healthy import HEALTHY, Place
from simcluster.faults.incident import Incident
from simcluster.faults.steps import IncidentStep
from simcluster.models.machine.process import Call
from simcluster.world import World

PLACE = Place("srezero", "internal", Users(entry="load-balancer", rps=240), observed=False, workers=3)


@pytest.fixture(scope="module")
def healthy() -> World:
    world = HEALTHY.deployed(PLACE, 0, None)
    world.run_for(60 * SECOND)
    return world


def programs(world: World, name: str) -> list[TunedProgram]:
    found = [one.container.program for one in world.traffic.servers.values()]
    return [one for one in found if isinstance(one, TunedProgram) and one.container.spec.pod_name.startswith(name)]


def metrics(world: World, name: str) -> dict[str, float]:
    return programs(world, name)[0].metrics()


def changed(healthy: World, deployment: str, setting: str, span_s: int = 150) -> World:
    world = healthy.fork()
    assert not world.kubectl().run(f"set env deployment/{deployment} -n internal {setting}").exit_code
    world.run_for(span_s * SECOND)
    return world


def succeeded(world: World) -> float:
    (load,) = world.traffic.users.values()
    return load.window(world.sim.now - 30 * SECOND, world.sim.now).success_ratio


def test_a_healthy_system_shows_about_the_figures_of_the_benchmark(healthy: World) -> None:
    assert succeeded(healthy) > 0.998
    assert metrics(healthy, "cache")["hit_rate"] == pytest.approx(0.92, abs=0.02)
    assert metrics(healthy, "cache")["memory_used_pct"] == pytest.approx(45, abs=2)
    assert 8 < metrics(healthy, "database")["active_connections"] < 18
    assert metrics(healthy, "load-balancer")["healthy_backends"] == 2
    assert metrics(healthy, "message-queue")["queue_depth"] == 0


def test_a_cache_without_memory_costs_the_database_reads_until_it_has_more(healthy: World) -> None:
    world = changed(healthy, "cache", "MAX_MEMORY_MB=64")
    assert metrics(world, "cache")["hit_rate"] < 0.4
    assert metrics(world, "cache")["evictions_per_min"] > 1000
    assert metrics(world, "database")["read_iops"] > 1.4 * metrics(healthy, "database")["read_iops"]
    assert succeeded(world) < 0.985
    again = changed(world, "cache", "MAX_MEMORY_MB=512")
    assert metrics(again, "cache")["hit_rate"] > 0.88
    assert succeeded(again) > 0.995


def test_consumers_that_are_too_few_leave_a_queue_and_more_of_them_empty_it(healthy: World) -> None:
    world = changed(healthy, "message-queue", "CONSUMER_CONCURRENCY=3")
    assert metrics(world, "message-queue")["queue_depth"] > 200
    assert succeeded(world) < 0.9


def test_a_weight_of_a_hundred_leaves_one_web_server_without_work_and_fills_the_other(healthy: World) -> None:
    world = changed(healthy, "load-balancer", "WEB_WEIGHT_PRIMARY=100")
    rates = sorted(one.rate for one in programs(world, "web-server"))
    assert rates[0] < 5
    assert rates[1] > 200
    assert metrics(world, "load-balancer")["backend_skew_pct"] == 100
    assert succeeded(world) < 0.985


def test_workers_that_waited_for_a_halted_cache_serve_everybody_again_once_it_runs(healthy: World) -> None:
    world = healthy.fork()
    cache = programs(world, "cache")[0].container
    step = {"fault": "process_halted", "at": "0s", "target": {"kind": "Node", "name": cache.machine.name},
            "params": {"run": "pkill -STOP cache"}}  # fmt: skip
    Incident(world, "internal", (IncidentStep.model_validate(step),), None).start()
    world.run_for(60 * SECOND)
    assert succeeded(world) < 0.9
    assert not world.kubectl().run("rollout restart deployment/cache -n internal").exit_code
    world.run_for(150 * SECOND)
    assert succeeded(world) > 0.99
    assert max(one.wait_s for one in programs(world, "web-server")) < 0.2


def test_what_cannot_be_read_ends_the_program_and_says_which_setting(healthy: World) -> None:
    world = changed(healthy, "cache", "TTL_SECONDS=soon", span_s=20)
    said = world.kubectl().run("logs -n internal -l app=cache --tail=3").stdout
    assert 'ERROR event=config_invalid key=TTL_SECONDS value="soon"' in said


def test_metrics_are_served_as_text(healthy: World) -> None:
    (cache,) = programs(healthy, "cache")
    assert cache.exposition(Call("http", 8080, "/metrics"))
    pod = cache.container.spec.pod_name
    raw = healthy.fork().kubectl().run(f"get --raw /api/v1/namespaces/internal/pods/{pod}:8080/proxy/metrics").stdout
    assert "# TYPE hit_rate gauge\nhit_rate 0.9" in raw
