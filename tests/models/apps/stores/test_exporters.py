"""What exporters show of stores: the stores' own numbers, and nothing to who has no right to them."""

from __future__ import annotations

from array import array

import pytest

from simcluster.models.apps.stores.exporters import KINDS, Login
from simcluster.models.apps.system.storeexporter import StoreExporterProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Samples
from tests.clusters.storebench import StoreBench

IMAGES = {
    "redis_exporter": ("redis:8.2.1", 6379, "GET", "oliver006/redis_exporter:v1.67.0", 9121),
    "mongodb_exporter": ("mongo:7.0", 27017, "find", "percona/mongodb_exporter:0.43", 9216),
    "memcached_exporter": ("memcached:1.6.7", 11211, "get", "quay.io/prometheus/memcached-exporter:v0.15.0", 9150),
    "mysqld_exporter": ("mysql:8.0", 3306, "select", "quay.io/prometheus/mysqld-exporter:v0.16.0", 9104),
}
CLIENTS = {
    "redis_exporter": "redis-go",
    "mongodb_exporter": "mgo",
    "memcached_exporter": "memcache-go",
    "mysqld_exporter": "mysql-go",
}
ROOT = {"MYSQL_ROOT_PASSWORD": "secret"}


def bench(name: str) -> StoreBench:
    image, port, operation, exporter, _ = IMAGES[name]
    cluster = StoreBench()
    cluster.run_pod("store", image, env=ROOT if "mysql" in image else None)
    login = {"user": "root", "password": "secret"} if "mysql" in image else {}
    cluster.caller(port, CLIENTS[name], operation, **login)
    flags = ("--mysqld.username=root",) if "mysql" in image else ()
    cluster.run_pod("exporter", exporter, args=flags, env={"MYSQLD_EXPORTER_PASSWORD": "secret"})
    cluster.run(30)
    return cluster


def shown(cluster: StoreBench, name: str, target: str) -> Samples | Answer | None:
    program = cluster.container("exporter").program
    assert isinstance(program, StoreExporterProgram)
    return program.exposition(Call("http", IMAGES[name][4], f"{KINDS[name].path}?target={target}"))


def numbers(samples: Samples | Answer | None) -> dict[str, float]:
    assert isinstance(samples, dict)
    found = {}
    for group, row in samples.items():
        for (metric, own), value in zip(group.columns.series, array("d", row), strict=True):
            found[" ".join([metric, *(word for _, word in own)])] = value
    return found


WORK = {
    "redis_exporter": "redis_commands_processed_total",
    "mongodb_exporter": "mongodb_ss_opcounters query",
    "memcached_exporter": "memcached_commands_total get miss",
    "mysqld_exporter": "mysql_global_status_commands_total select",
}


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_an_exporter_counts_what_callers_ask(name: str) -> None:
    cluster = bench(name)
    up = name.replace("_exporter", "_up").replace("mysqld", "mysql")
    before = numbers(shown(cluster, name, f"x://10.244.1.2:{IMAGES[name][1]}"))
    cluster.run(20)
    after = numbers(shown(cluster, name, f"x://10.244.1.2:{IMAGES[name][1]}"))
    assert next(value for key, value in after.items() if key.startswith(up)) == 1.0
    assert 20 * 50 * 0.8 < after[WORK[name]] - before[WORK[name]] < 20 * 50 * 1.2
    gone = numbers(shown(cluster, name, "10.244.1.9:1"))
    assert list(gone.values()) == [0.0]


def test_counters_begin_anew_with_the_process() -> None:
    cluster = bench("redis_exporter")
    before = numbers(shown(cluster, "redis_exporter", "10.244.1.2:6379"))
    cluster.container("store").kill()
    cluster.run(1)
    assert numbers(shown(cluster, "redis_exporter", "10.244.1.2:6379")) == {"redis_up": 0.0}
    cluster.restart("store")
    cluster.run(3)
    after = numbers(shown(cluster, "redis_exporter", "10.244.1.2:6379"))
    assert after["redis_commands_processed_total"] < before["redis_commands_processed_total"]
    assert after["redis_start_time_seconds"] > before["redis_start_time_seconds"]


def test_who_may_not_look_sees_that_it_is_down_or_only_up() -> None:
    redis = StoreBench()
    redis.run_pod("store", "redis:8.2.1", args=("redis-server", "--requirepass", "x"))
    redis.run(3)
    read = KINDS["redis_exporter"].read
    assert read(redis.store(), Login()) is None
    assert read(redis.store(), Login("", "x"))
    mongo = StoreBench()
    variables = {"MONGO_INITDB_ROOT_USERNAME": "root", "MONGO_INITDB_ROOT_PASSWORD": "x"}
    mongo.run_pod("store", "mongo:7.0", env=variables)
    mongo.run(10)
    read = KINDS["mongodb_exporter"].read
    assert read(mongo.store(), Login()) == {}
    assert read(mongo.store(), Login("root", "y")) is None
    assert read(mongo.store(), Login("root", "x"))


def test_a_target_has_to_be_named() -> None:
    cluster = bench("redis_exporter")
    answer = shown(cluster, "redis_exporter", "")
    assert isinstance(answer, Answer)
    assert answer.status == 400
