"""The kernel's page cache behind a store's files: read from without the disk, charged to the store, given back."""

from __future__ import annotations

import pytest

from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.kernel import cgroupfiles
from tests.clusters.storebench import StoreBench

MIB = 1 << 20
PAGE = 8 << 10


def reader(*, image: str, args: tuple[str, ...], env: dict[str, str], kind: str, limit: int = 0) -> StoreBench:
    """A database of 256 MiB whose store keeps 32 MiB of it, asked evenly for all of its pages."""
    made = StoreBench()
    io = {"data": "shop", "reads": 40, "command": "SELECT", "hot": 0.0}
    operations = {"look": {"work": {"law": "exponential", "mean": "50us"}, "io": io}}
    data = {"shop": {"size": "256Mi", "hot": "1Mi", "document": 200}}
    store = {"store": kind, "data": data, "operations": operations}
    made.catalog.add(Application.model_validate({"application": "shop", "stores": (store,)}))
    path = "/var/lib/postgresql/data" if kind == "postgres" else "/var/lib/mysql"
    mounts = (Mount(path, "hostPath", (), False, "data", "/srv/data"),)
    made.run_pod("store", image, args=args, env=env, mounts=mounts, memory_limit=limit or None)
    made.run(8)
    return made


def postgres(limit: int = 0) -> StoreBench:
    args = ("postgres", "-c", "shared_buffers=32MB")
    env = {"POSTGRES_PASSWORD": "x", "POSTGRES_DB": "shop"}
    made = reader(image="postgres:17.6", args=args, env=env, kind="postgres", limit=limit)
    made.caller(5432, "postgres-go", "look", rps=50, user="postgres", password="x", database="shop", timeout_s=30.0)
    return made


def reads_a_second(made: StoreBench, seconds: int) -> float:
    """Reads of the drive while it runs on."""
    counters = made.machine.disks["nvme0n1"].counters
    before = counters.reads
    made.run(seconds)
    return (counters.reads - before) / seconds


def file_of(made: StoreBench, row: str = "file") -> int:
    text = cgroupfiles.read(made.container("store"), "memory.stat") or ""
    return int(next(line.split()[1] for line in text.splitlines() if line.split()[0] == row))


def test_what_a_small_store_has_let_go_is_read_without_the_disk() -> None:
    made = postgres()
    early = reads_a_second(made, 10)
    made.run(120)
    late, storage = reads_a_second(made, 10), made.store().storage
    assert storage is not None
    assert storage.cache.held <= 33 * MIB
    assert storage.cache.behind == pytest.approx(256 * MIB, rel=0.1)
    assert early > 300
    assert late < early / 10
    misses = storage.cache.misses
    made.run(5)
    assert storage.cache.misses - misses > 1000  # shared buffers are as small as before: the kernel serves them
    assert file_of(made) > 230 * MIB
    current, peak = (int(cgroupfiles.read(made.container("store"), f"memory.{n}") or 0) for n in ("current", "peak"))
    assert 230 * MIB < current <= peak


def test_a_memory_limit_leaves_little_room_for_files() -> None:
    made = postgres(limit=224 * MIB)
    made.run(130)
    container = made.container("store")
    assert container.running
    assert container.memory_bytes + file_of(made) <= 224 * MIB
    assert reads_a_second(made, 10) > 300


def test_under_pressure_the_kernel_gives_the_files_back_and_the_disk_is_busy_again() -> None:
    made = postgres()
    made.run(130)
    calm, held = reads_a_second(made, 10), file_of(made)
    machine = made.machine
    free = machine.memory_bytes - machine.memory_used() - machine.min_free
    machine.burden("batch", 0.1, memory_bytes=free - 120 * MIB)
    made.run(3)
    assert file_of(made) < 0.4 * held
    assert made.container("store").running
    assert reads_a_second(made, 10) > 5 * max(calm, 1.0)
    machine.unburden("batch")
    made.run(130)
    assert file_of(made) == pytest.approx(held, rel=0.1)


def test_innodb_reads_past_the_kernels_cache_since_8_4() -> None:
    def kept(version: str) -> float:
        args, env = ("--innodb-buffer-pool-size=32M",), {"MYSQL_ROOT_PASSWORD": "x", "MYSQL_DATABASE": "shop"}
        made = reader(image=f"mysql:{version}", args=args, env=env, kind="mysqld")
        made.caller(3306, "mysql-go", "look", rps=20, user="root", password="x", database="shop", timeout_s=30.0)
        made.run(20)
        storage = made.store().storage
        assert storage is not None
        return storage.cache.behind

    assert kept("8.4") == 0.0
    assert kept("8.0") > 64 * MIB


def test_every_page_that_a_store_holds_came_through_the_kernel() -> None:
    cache = PageCache(10 * PAGE, PAGE)
    cache.resize("d", 100.0 * PAGE)
    first = cache.access("d", 50.0, 1.0)
    assert cache.classes["d"].behind == cache.classes["d"].held == pytest.approx(first * PAGE)
    cache.evict()
    assert cache.held == pytest.approx(10 * PAGE)
    again = cache.access("d", 50.0, 1.0)
    assert again < first * (1.0 - first / 100.0) * 1.1  # what the kernel has is not read again
    cache.evict()
    cache.trim(0.0)
    assert cache.access("d", 50.0, 1.0) > again
    assert cache.emptied().held == 0.0
    assert cache.emptied().behind == pytest.approx(cache.behind)
    assert PageCache(PAGE, PAGE, direct=True).behind == 0.0


def test_what_the_kernel_holds_is_scanned_without_the_disk() -> None:
    cache = PageCache(10 * PAGE, PAGE)
    cache.resize("d", 100.0 * PAGE)
    assert cache.scan("d", 40.0 * PAGE) == 40.0 * PAGE
    assert cache.scan("d", 100.0 * PAGE) == pytest.approx(60.0 * PAGE)
    assert cache.held == 0.0
