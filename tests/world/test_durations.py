"""How long writes take, as etcd and the API server tell it."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.storage import slow
from simcluster.telemetry.promql.evaluation import query
from simcluster.world import World


@pytest.fixture(scope="module", name="observed")
def with_prometheus() -> World:
    world = World(4, workers=1)
    world.observe()
    world.run_for(90 * SECOND)
    return world


@pytest.fixture(name="world")
def copied(observed: World) -> World:
    return observed.fork()


def asked(world: World, text: str) -> float:
    store = world.series
    assert store is not None
    found = query(store, text, max(log.last_ms for log in store.logs.values()))
    return float(found.series[0].values[0])


FSYNC = "histogram_quantile(0.5, rate(etcd_disk_wal_fsync_duration_seconds_bucket[1m]))"
REQUEST = 'histogram_quantile(0.5, sum by (le) (rate(apiserver_request_duration_seconds_bucket{verb="PATCH"}[1m])))'


def test_every_request_has_a_duration(world: World) -> None:
    world.run_for(30 * SECOND)
    counted = asked(world, "sum(apiserver_request_total)")
    assert counted - 40 <= asked(world, "sum(apiserver_request_duration_seconds_count)") <= counted
    inside = asked(world, 'sum(apiserver_request_duration_seconds_bucket{le="+Inf"})')
    assert inside == asked(world, "sum(apiserver_request_duration_seconds_count)")


def test_a_slow_drive_is_seen_in_etcd_and_before_it(world: World) -> None:
    before, requests = asked(world, FSYNC), asked(world, REQUEST)
    machine = world.machines["control-plane"]
    machine.files_at("/var/lib/etcd").disk.modes = (slow.constant(1000.0),)
    world.run_for(120 * SECOND)
    assert before < 0.01
    assert asked(world, FSYNC) > 10.0 * before
    assert asked(world, REQUEST) > 2.0 * requests


def test_a_new_process_has_counted_nothing(world: World) -> None:
    before = asked(world, "etcd_disk_wal_fsync_duration_seconds_count")
    machine = world.machines["control-plane"]
    next(run for run in machine.containers() if run.spec.name == "etcd").kill()
    world.run_for(60 * SECOND)
    assert asked(world, "etcd_disk_wal_fsync_duration_seconds_count") < before
