"""Drives: speed by load and pattern, ways of being slow, sectors, outages."""

import numpy as np
import pytest

from simcluster.engine import MILLISECOND, SECOND, Simulation, Snapshot, arithmetic
from simcluster.models.machine.storage import (
    DESKTOP_HDD,
    NEARLINE_HDD,
    NVME_SSD,
    SATA_SSD,
    Disk,
    Partition,
    slow,
)
from simcluster.models.machine.storage.failslowlaw import drawn_mode
from simcluster.models.machine.storage.latentlaw import NEARLINE, drawn_burst
from simcluster.models.machine.storage.service import Rates, gain


class Host:
    """Keeps what the kernel writes."""

    name = "n1"
    booted_ns = 0

    def __init__(self, sim):
        self.sim = sim
        self.lines = []

    def kernel(self, *lines):
        self.lines.extend(lines)


def disk_of(model, seed=0):
    sim = Simulation(seed)
    name = "nvme0n1" if model.is_nvme else "sda"
    disk = Disk(sim, Host(sim), name, model)
    disk.partitions = [Partition(f"{name}1", 2048, model.sectors - 4096, "ext4")]
    return disk


def mean_random_read(disk, count=200):
    step = disk.model.sectors // (count + 1) // 8 * 8
    return sum(disk.read(i * step, 8).delay_ns for i in range(count)) / count


@pytest.mark.parametrize(
    ("model", "low_us", "high_us"), [(NEARLINE_HDD, 8_000, 12_000), (SATA_SSD, 80, 150), (NVME_SSD, 10, 80)]
)
def test_random_reads_take_what_the_make_takes(model, low_us, high_us):
    assert low_us * 1000 < mean_random_read(disk_of(model)) < high_us * 1000


def test_a_hard_disk_streams_faster_outside_than_inside():
    disk = disk_of(NEARLINE_HDD)
    sectors = 200_000
    rates = [sectors * 512 * SECOND / disk.read(lba, sectors, sequential=True).delay_ns for lba in (0, 1_950_000_000)]
    assert 90e6 < rates[1] < rates[0] < 200e6


def test_a_deeper_queue_does_more_random_reads():
    assert gain(1) == 1.0
    assert 1.4 < gain(4) < gain(32) < 2.5
    disk = disk_of(NEARLINE_HDD)
    # 80 a second is all of it one at a time; twice as many still go, with a queue.
    few = disk.load("a", Rates(random_reads=40.0), SECOND)
    many = disk.load("a", Rates(random_reads=140.0), SECOND)
    assert few.answer.read.mean_ns < many.answer.read.mean_ns
    assert many.answer.offered < 1.0
    assert disk.load("a", Rates(random_reads=400.0), SECOND).answer.offered > 1.0


def test_everybodys_load_counts_and_lapses():
    disk = disk_of(NEARLINE_HDD)
    alone = disk.load("a", Rates(random_reads=20.0), SECOND).answer.read.mean_ns
    disk.load("noisy", Rates(random_reads=90.0), SECOND)
    assert disk.load("a", Rates(random_reads=20.0), SECOND).answer.read.mean_ns > 1.3 * alone
    disk.sim.run_for(5 * SECOND)
    assert disk.load("a", Rates(random_reads=20.0), SECOND).answer.read.mean_ns == alone
    disk.sim.run_for(SECOND)
    assert disk.counted().reads == pytest.approx(130.0)  # the first of a's loads was replaced at once
    assert disk.counted().busy_ns > 0


def test_an_overloaded_disk_builds_a_backlog_that_its_users_bound():
    disk = disk_of(NEARLINE_HDD)
    delays = []
    for _ in range(20):
        delays.append(disk.load("a", Rates(random_reads=500.0, depth=64), SECOND).delay_ns)
        disk.sim.run_for(SECOND)
    assert delays[0] == 0.0
    assert delays[-1] == pytest.approx(delays[-2])
    assert delays[-1] < SECOND
    assert disk.load("a", Rates(random_reads=500.0, depth=64), SECOND).served < 0.6
    assert disk.utilisation() == 1.0


@pytest.mark.parametrize(
    ("mode", "factor"),
    [(slow.constant(4.0), 4.0), (slow.bandwidth(100_000), 4.9), (slow.read_retries(1.0, 4), 4.0)],
)
def test_slow_modes_of_a_hard_disk(mode, factor):
    disk = disk_of(NEARLINE_HDD)
    healthy = mean_random_read(disk)
    disk.fail_slow(mode)
    assert mean_random_read(disk) == pytest.approx(healthy * factor, rel=0.2)
    disk.recover()
    assert mean_random_read(disk) == pytest.approx(healthy, rel=0.1)
    assert disk.host.lines == []  # slow is not an error


def test_garbage_collection_has_a_long_tail_and_belongs_to_flash():
    disk = disk_of(NVME_SSD)
    disk.fail_slow(slow.garbage_collection(share=0.5, tail_share=0.04))
    latency = disk.load("a", Rates(random_reads=100.0), SECOND).answer.read
    assert latency.mean_ns > MILLISECOND
    assert latency.p99_ns > 20 * MILLISECOND
    with pytest.raises(ValueError, match="no garbage collector"):
        disk_of(NEARLINE_HDD).fail_slow(slow.garbage_collection())
    with pytest.raises(ValueError, match="factor"):
        slow.constant(0.5)


def test_stalls_come_every_few_seconds():
    disk = disk_of(SATA_SSD)
    disk.fail_slow(slow.bad_batch(10 * SECOND, 2 * SECOND))
    stalled = []
    for _ in range(100):
        stalled.append(disk.load("a", Rates(random_reads=10.0), SECOND).stalled_ns)
        disk.sim.run_for(SECOND)
    assert 10 * SECOND < sum(stalled) < 30 * SECOND
    assert stalled.count(0) > 60


def test_a_flaky_mode_comes_and_goes():
    disk = disk_of(NEARLINE_HDD)
    disk.fail_slow(slow.flaky(slow.constant(10.0), 60 * SECOND, 240 * SECOND))
    seen = []
    for _ in range(60):
        seen.append(disk.load("a", Rates(random_reads=1.0), SECOND).answer.read.mean_ns > 50 * MILLISECOND)
        disk.sim.run_for(30 * SECOND)
    assert 5 < sum(seen) < 30


def test_a_bad_sector_is_slow_first_and_an_error_then():
    disk = disk_of(NEARLINE_HDD)
    disk.sectors.go_bad(1_000_000)
    assert not disk.read(999_000, 8).failed
    answer = disk.read(999_992, 16)
    assert answer.failed
    assert answer.bad_lba == 1_000_000
    assert 7 * SECOND < answer.delay_ns < 8 * SECOND
    assert disk.host.lines == []
    assert disk.pending() == 0
    # Whoever comes meanwhile waits.
    assert disk.load("a", Rates(random_reads=10.0), SECOND).stalled_ns == SECOND
    disk.sim.run_for(8 * SECOND)
    text = "\n".join(disk.host.lines)
    assert "ata1.00: failed command: READ FPDMA QUEUED" in text
    assert "[sda] tag#" in text
    assert "Sense Key : Medium Error [current]" in text
    assert "Add. Sense: Unrecovered read error - auto reallocate failed" in text
    assert "CDB: Read(16) 88 00 00 00 00 00 00 0f 42 40 00 00 00 08 00 00" in text
    assert "I/O error, dev sda, sector 1000000 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2" in text
    assert (disk.pending(), disk.smart.reported_uncorrect, disk.sectors.remapped) == (1, 1, 0)
    assert not disk.write(1_000_000, 8).failed
    assert (disk.pending(), disk.sectors.remapped) == (0, 1)
    assert not disk.read(1_000_000, 8).failed


def test_a_desktop_drive_tries_longer_and_flash_hardly():
    delays = []
    for lba in range(0, 80_000, 8_000):
        disk = disk_of(DESKTOP_HDD, seed=lba)
        disk.sectors.go_bad(lba)
        delays.append(disk.read(lba, 8).delay_ns)
    assert min(delays) > 5 * SECOND
    assert 20 * SECOND < max(delays) < 31 * SECOND
    flash = disk_of(NVME_SSD)
    flash.sectors.go_bad(800)
    assert flash.read(800, 8).delay_ns < SECOND
    flash.sim.run_for(SECOND)
    assert flash.host.lines == [
        "nvme0n1: Read(0x2) @ LBA 800, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) DNR ",
        "critical medium error, dev nvme0n1, sector 800 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    ]


def test_wrong_data_come_without_an_error():
    disk = disk_of(SATA_SSD)
    disk.sectors.corrupt(4096)
    assert disk.read(4000, 200).wrong_lba == 4096
    assert disk.read(0, 8).wrong_lba == -1
    disk.write(4096, 8)
    assert disk.sectors.flawless
    assert disk.host.lines == []


def test_scrubs_and_patrols_find_latent_errors():
    disk = disk_of(NEARLINE_HDD)
    found = disk.sectors.burst(500_000_000, 20, "x")
    assert found[0] == 500_000_000
    assert len(found) > 10
    disk.patrol_ns = 14 * 24 * 3600 * SECOND
    assert disk.pending() == 0
    disk.sim.run_for(5 * 24 * 3600 * SECOND)
    assert disk.pending() > 0  # it has passed the first quarter
    disk.patrol_ns = 0
    assert disk.pending() == 0
    assert disk.scrub() == found
    assert (disk.pending(), disk.smart.offline_uncorrectable) == (len(found), len(found))


def test_spares_run_out():
    disk = disk_of(NEARLINE_HDD)
    disk.sectors.go_bad(0, 8 * 3000)
    assert disk.write(0, 8 * 2040).failed is False
    assert disk.write(8 * 2040, 8).failed


def test_what_is_not_there_is_refused():
    disk = disk_of(NEARLINE_HDD)
    for call in (disk.sectors.go_bad, disk.sectors.corrupt):
        with pytest.raises(ValueError, match="not on a drive"):
            call(disk.model.sectors)
    with pytest.raises(ValueError, match="hang"):
        disk.hang(0)


def test_a_dead_drive_is_given_up_after_its_timers():
    disk = disk_of(NEARLINE_HDD)
    died = []
    disk.on_dead.append(lambda: died.append(disk.sim.now))
    disk.fail_stop()
    disk.sim.run_for(60 * SECOND)
    assert disk.host.lines == []  # nobody has asked it for anything
    answer = disk.read(0, 8)
    assert answer.failed
    assert answer.delay_ns == 90 * SECOND
    assert disk.load("a", Rates(random_reads=10.0), SECOND).stalled_ns == SECOND
    disk.sim.run_for(31 * SECOND)
    assert "ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen" in disk.host.lines
    disk.sim.run_for(60 * SECOND)
    assert "ata1.00: disable device" in disk.host.lines
    assert died
    assert not disk.present
    assert disk.load("a", Rates(random_reads=10.0), SECOND).dead
    assert disk.read(0, 8).delay_ns == 0
    assert "sd 0:0:0:0: rejecting I/O to offline device" in disk.host.lines
    disk.replace()
    assert not disk.read(0, 8).failed


@pytest.mark.parametrize("model", [NEARLINE_HDD, NVME_SSD])
def test_a_hang_is_waited_out_or_reset(model):
    disk = disk_of(model)
    disk.hang(10 * SECOND)
    answer = disk.read(0, 8)
    assert not answer.failed
    assert answer.delay_ns == 10 * SECOND
    disk.sim.run_for(20 * SECOND)
    assert disk.host.lines == []
    disk.hang(45 * SECOND)
    answer = disk.read(0, 8)
    assert not answer.failed
    assert 45 * SECOND <= answer.delay_ns <= 60 * SECOND
    disk.sim.run_for(61 * SECOND)
    assert disk.smart.command_timeouts == 1
    assert disk.present
    assert any("timeout" in line for line in disk.host.lines)


def test_a_drive_disappears_and_comes_back():
    disk = disk_of(NEARLINE_HDD)
    disk.disappear(60 * SECOND)
    assert disk.read(0, 8).failed
    disk.sim.run_for(61 * SECOND)
    assert disk.present
    assert disk.host.lines[0] == "ata1: SATA link down (SStatus 0 SControl 300)"
    assert disk.host.lines[-1] == "sd 0:0:0:0: [sda] Attached SCSI disk"


def test_the_kernel_limits_its_lines():
    disk = disk_of(NVME_SSD)
    disk.sectors.go_bad(0, 8 * 30)
    for block in range(30):
        disk.read(block * 8, 8)
    disk.sim.run_for(3 * SECOND)
    assert sum("critical medium error" in line for line in disk.host.lines) == 10
    disk.sim.run_for(5 * SECOND)
    disk.read(0, 8)
    disk.sim.run_for(SECOND)
    assert "blk_print_req_error: 20 callbacks suppressed" in disk.host.lines


def test_what_is_drawn_is_the_same_in_a_fork():
    disk = disk_of(NEARLINE_HDD)
    disk.fail_slow(slow.jitter())
    disk.sectors.burst(1000, 30, "x")
    disk.read(0, 8)
    twin = Snapshot(disk).restore()
    assert [disk.read(i, 8).delay_ns for i in range(0, 900, 8)] == [twin.read(i, 8).delay_ns for i in range(0, 900, 8)]


def test_single_drives_draw_from_the_laws_of_populations():
    stream = Simulation(1).stream("drive")
    bursts = [drawn_burst(NEARLINE, stream) for _ in range(300)]
    assert 0.35 < sum(length > 1 for length in bursts) / 300 < 0.7
    assert drawn_mode(stream).factor >= 1.0


def test_normal_draws_of_populations_are_those_of_single_drives():
    places = np.linspace(0.0005, 0.9995, 1000)
    assert arithmetic.normal_quantile_array(places).tolist() == [
        arithmetic.normal_quantile(float(place)) for place in places
    ]
