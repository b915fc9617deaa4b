"""Redis, Valkey and memcached: memory, passwords, snapshots, the append-only file."""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.stores.caches.keyspace import Keyspace
from simcluster.models.apps.stores.redis.redis import RedisProgram
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.hostplace import NodeFiles
from simcluster.models.traffic.cluster.users import UserLoad, UserStats
from tests.clusters.storebench import StoreBench


def bench(*args: str, image: str = "redis:8.2.1", volume: bool = True, memory_limit: int | None = None) -> StoreBench:
    made = StoreBench()
    io = {"data": "carts", "reads": 0, "writes": 1, "command": "SET"}
    operations = {"put": {"work": {"law": "exponential", "mean": "20us"}, "io": io}}
    data = {"carts": {"size": "20Mi", "document": 1000}}
    entries = tuple({"store": store, "data": data, "operations": operations} for store in ("redis", "memcached"))
    made.catalog.add(Application.model_validate({"application": "shop", "stores": entries}))
    mounts = (made.volume("/data"),) if volume else ()
    made.run_pod("store", image, args=args, mounts=mounts, memory_limit=memory_limit)
    made.run(2)
    return made


def cli(made: StoreBench, *words: str) -> str:
    result = made.store().run(("redis-cli", *words))
    assert result is not None
    return result.stdout.strip()


def lately(made: StoreBench, users: UserLoad, seconds: int = 2) -> UserStats:
    return users.window(made.sim.now - seconds * SECOND, made.sim.now)


def test_info_tells_the_truth_about_memory_and_keys() -> None:
    made = bench()
    made.caller(6379, "redis-go", "put", rps=500)
    made.run(10)
    program = made.store()
    assert isinstance(program, RedisProgram)
    assert cli(made, "PING") == "PONG"
    keys = int(cli(made, "DBSIZE"))
    assert 4000 < keys < 5200
    assert f"keys={keys}" in cli(made, "INFO", "keyspace")
    assert made.container("store").memory_bytes > (8 << 20) + keys * 1000


def test_a_full_cache_refuses_writes_or_evicts() -> None:
    made = bench("--maxmemory", "2mb")
    users = made.caller(6379, "stackexchange-redis", "put", rps=500)
    made.run(15)
    assert lately(made, users).ok == 0
    assert cli(made, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru") == "OK"
    made.run(5)
    assert lately(made, users).failed == 0
    assert "evicted_keys:0" not in cli(made, "INFO", "stats")


def test_more_than_its_limit_of_memory_kills_it() -> None:
    made = bench(memory_limit=16 << 20)
    made.caller(6379, "redis-go", "put", rps=2000)
    made.run(20)
    assert made.container("store").reason == "OOMKilled"


def test_passwords() -> None:
    made = bench("redis-server", "--requirepass", "pw")
    users = made.caller(6379, "redis-go", "put", rps=50)
    made.run(3)
    assert lately(made, users).ok == 0
    assert cli(made, "PING") == "NOAUTH Authentication required."
    assert cli(made, "-a", "pw", "PING") == "PONG"
    assert cli(made, "-a", "pw", "CONFIG", "SET", "requirepass", "") == "OK"
    made.run(3)
    assert lately(made, users).failed == 0
    cli(made, "ACL", "SETUSER", "default", "-@write")
    made.run(3)
    assert lately(made, users).ok == 0
    assert "user default on nopass" in cli(made, "ACL", "LIST")


def test_a_snapshot_that_fails_stops_writes_until_one_succeeds() -> None:
    made = bench("--save", "5", "10")
    users = made.caller(6379, "redis-go", "put", rps=50)
    made.run(8)
    assert "Background saving terminated with success" in made.text()
    assert made.disk.remount(read_only=True) == ""
    made.run(12)
    assert "Failed opening the temp RDB file" in made.text()
    assert "Read-only file system" in made.text()
    assert lately(made, users).ok == 0
    assert "rdb_last_bgsave_status:err" in cli(made, "INFO", "persistence")
    made.disk.remount()
    made.run(15)
    assert lately(made, users).failed == 0


def test_what_was_saved_is_there_after_a_restart() -> None:
    made = bench()
    made.caller(6379, "redis-go", "put", rps=500)
    made.run(6)
    keys = int(cli(made, "DBSIZE"))
    made.container("store").terminate()
    made.run(1)
    assert "DB saved on disk" in made.text()
    made.traffic.users.clear()
    made.restart("store")
    made.run(3)
    assert "DB loaded from disk" in made.text()
    assert abs(int(cli(made, "DBSIZE")) - keys) <= 300
    made.container("store").terminate()
    made.run(1)
    made.disk.spoil("/var/local-path-provisioner/data/dump.rdb", 0, 1 << 16)
    made.disk.forget_cache()
    made.restart("store")
    made.run(30)
    assert made.container("store").exit_code == 1


def test_a_snapshot_that_only_root_may_read_keeps_it_from_starting() -> None:
    made = bench()
    path = "/var/local-path-provisioner/data/dump.rdb"
    files = NodeFiles(made.machine)
    files.write(path, "")
    files.adorn(path, mode=0)
    made.container("store").terminate()
    made.run(1)
    made.restart("store")
    made.run(2)
    assert made.container("store").exit_code == 1
    assert "Fatal error: can't open the RDB file dump.rdb for reading: Permission denied" in made.text()
    files.adorn(path, mode=0o604)
    made.restart("store")
    made.run(2)
    assert made.container("store").running


def test_the_append_only_file() -> None:
    made = bench("--appendonly", "yes", "--appendfsync", "always")
    made.caller(6379, "redis-go", "put", rps=50)
    made.run(5)
    store = made.store()
    assert store.server is not None
    assert store.server.spec.operations[-1].latency_ns > 2_000_000
    made.disk.disk.fail_stop()
    made.run(120)
    assert "Can't recover from AOF write error" in made.text()
    assert made.container("store").exit_code == 1


def test_valkey_is_the_same_and_a_missing_file_is_fatal() -> None:
    assert cli(bench(image="valkey/valkey:8-alpine"), "PING") == "PONG"
    made = bench("/etc/redis/redis.conf")
    assert "can't open config file" in made.text()
    assert made.container("store").exit_code == 1


def test_a_configuration_file() -> None:
    made = StoreBench()
    text = "# limits\nmaxmemory 10mb\nmaxmemory-policy allkeys-lru\n"
    mount = Mount("/etc/redis", "configMap", (("redis.conf", text),), True, "conf")
    made.run_pod("store", "redis:7", args=("redis-server", "/etc/redis/redis.conf"), mounts=(mount,))
    made.run(2)
    assert cli(made, "CONFIG", "GET", "maxmemory*").split() == [
        *("maxmemory", "10485760", "maxmemory-policy", "allkeys-lru"),
    ]


def test_memcached_keeps_what_fits() -> None:
    made = bench("-m", "4", image="memcached:1.6.7", volume=False)
    made.caller(11211, "memcache-go", "put", rps=2000)
    made.run(10)
    program = made.store()
    space = program.keyspace  # type: ignore[attr-defined]
    assert isinstance(space, Keyspace)
    assert space.bytes <= 4 << 20
    assert space.evicted > 0
