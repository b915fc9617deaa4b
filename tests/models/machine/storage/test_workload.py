"""Work before a drive: what is brought and not done piles up, is worked off, and keeps it busy."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.storage import NEARLINE_HDD, Disk, Partition, slow
from simcluster.models.machine.storage.service import Rates
from simcluster.models.machine.storage.workload import Workload


class Host:
    """Keeps what the kernel writes."""

    name = "n1"
    booted_ns = 0

    def kernel(self, *lines: str) -> None:
        """Nobody reads it."""


def drive() -> Disk:
    disk = Disk(Simulation(0), Host(), "sda", NEARLINE_HDD)
    disk.partitions = [Partition("sda1", 2048, NEARLINE_HDD.sectors - 4096, "ext4")]
    return disk


def test_what_fits_leaves_nothing_and_what_does_not_piles_up() -> None:
    work = Workload(0, serial=True)
    work.bring("a", 0.5, 0.5, 0, SECOND)
    assert (work.left(SECOND), work.busy(SECOND)) == (0.0, 0.5 * SECOND)
    work.bring("b", 2.0, 1.0, 0, SECOND)
    assert work.left(SECOND) == pytest.approx(1.5 * SECOND)
    assert work.utilisation(SECOND // 2) == 1.0
    assert work.left(2 * SECOND) == pytest.approx(0.5 * SECOND)
    assert work.busy(4 * SECOND) == pytest.approx(2.5 * SECOND)  # as long as it works off what was brought
    assert work.left(4 * SECOND) == 0.0


def test_a_load_counts_only_during_its_own_tick() -> None:
    work = Workload(0, serial=True)
    work.bring("long", 0.1, 0.1, 0, 10 * SECOND)
    work.bring("short", 5.0, 1.0, 0, SECOND // 10)
    assert work.left(SECOND // 10) == pytest.approx(0.41 * SECOND)
    assert work.left(SECOND) == 0.0


def test_threads_wait_by_their_process_and_only_while_there_is_work() -> None:
    disk = drive()
    disk.fail_slow(slow.constant(50.0))
    reads = Rates(random_reads=16.0, random_size=32768.0, span=0.002)
    for _ in range(40):
        disk.load("sda1/store/data/shop", reads, SECOND)
        disk.sim.run_for(SECOND)
    assert list(disk.waiting()) == ["store"]
    assert disk.waiting()["store"] == 128
    before = disk.counted()
    disk.load("sda1/store/data/shop", reads, SECOND)
    disk.sim.run_for(SECOND // 2)
    middle = disk.counted()  # half of the tick's requests are done
    disk.sim.run_for(SECOND // 2)
    assert middle.reads - before.reads == pytest.approx((disk.counted().reads - before.reads) / 2.0)
    assert 4 < disk.counted().reads - before.reads < 12  # fewer than were asked
    disk.sim.run_for(60 * SECOND)
    assert disk.waiting() == {}


def test_single_commands_on_a_slow_drive_take_that_much_longer() -> None:
    fast, slow_one = drive(), drive()
    slow_one.fail_slow(slow.constant(50.0))
    slow_one.sim.run_for(100 * SECOND)
    calm = sum(fast.read(8_000_000 * n, 8).delay_ns for n in range(40))
    late = sum(slow_one.read(8_000_000 * n, 8).delay_ns for n in range(40))
    assert 35 < late / calm < 70
