"""File systems: space, errors, the journal, loads, and what a machine's programs show of them."""

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.models.machine.storage import IoDemand, load_file, slow
from simcluster.surface.nodeshell import NodeShell
from tests.clusters.nodes import NodeBench

FOLDER = "/var/local-path-provisioner/pvc-1"
FILE = f"{FOLDER}/collection-7.wt"


class BenchClock:
    """The shell's clock."""

    def __init__(self, sim):
        self.sim = sim

    @property
    def now(self):
        return self.sim.now

    def advance(self, duration_ns):
        self.sim.run_for(duration_ns)


@pytest.fixture
def bench():
    return NodeBench()


@pytest.fixture
def machine(bench):
    return bench.machine


@pytest.fixture
def system(machine):
    found = machine.files_at(FILE)
    assert found.allocate(FILE, 1 << 30) == ""
    return found


@pytest.fixture
def sh(machine):
    shell = NodeShell(machine, BenchClock(machine.sim))

    def run(line):
        result = shell.sh(line)
        return result.stdout + result.stderr

    return run


def kernel(machine):
    return [line.text for line in machine.log if line.identifier == "kernel"]  # without its boot


def test_a_machine_has_its_drives(machine):
    assert machine.built_storage is None
    assert list(machine.disks) == ["nvme0n1", "sda"]
    assert [system.mount_point for system in machine.mounts] == ["/", "/var/local-path-provisioner"]
    assert machine.files_at("/etc/hosts").device == "nvme0n1p2"
    assert machine.files_at(FILE).device == "sda1"
    assert machine.files_at("/var/local-path-provisioners").device == "nvme0n1p2"
    assert list(NodeBench(name="control-plane").machine.disks) == ["nvme0n1"]


def test_files_take_space_and_give_it_back(system):
    before = system.usage()
    assert system.allocate(f"{FOLDER}/other", 4097) == ""
    after = system.usage()
    assert after.used_bytes - before.used_bytes == 8192
    assert before.free_inodes - after.free_inodes == 1
    first = system.blocks_of(FILE)[0]
    assert system.sector_of(FILE, 4096) == system.lba(first[0]) + 8
    assert system.file_at(system.sector_of(FILE, 8192)) == (FILE, 8192)
    assert system.allocate(FILE, 1 << 20) == ""
    assert system.size_of(FILE) == 1 << 20
    assert system.remove(f"{FOLDER}/other") == ""
    assert system.remove(f"{FOLDER}/other") == "ENOENT"
    assert system.files_below(FOLDER) == [FILE]


def test_a_full_disk_says_so(system):
    assert system.allocate(f"{FOLDER}/big", system.usage().available_bytes + 4096) == "ENOSPC"
    assert system.allocate(f"{FOLDER}/big", system.usage().available_bytes // 4096 * 4096) == ""
    outcome = system.write(f"{FOLDER}/more", 0, 100_000)
    assert outcome.error == "ENOSPC"
    assert system.write(FILE, 0, 100_000).error == ""  # what is there can be overwritten


def test_inodes_run_out(system):
    system.inodes = 13
    assert system.allocate(f"{FOLDER}/a", 1) == ""
    assert system.allocate(f"{FOLDER}/b", 1) == "ENOSPC"


def test_reads_come_from_the_page_cache_or_the_drive(system):
    assert system.read(FILE, 0, 4096, cached=1.0).delay_ns < 10_000
    assert system.read(FILE, 0, 4096).delay_ns > 1_000_000
    assert system.read("/nothing", 0, 1).error == "ENOENT"
    assert system.open(FILE).error == ""


def test_a_write_is_durable_after_fsync(system):
    assert system.write(FILE, 0, 8192).delay_ns < 100_000
    outcome = system.fsync(FILE, comm="mongod")
    assert outcome.error == ""
    assert outcome.delay_ns > 10_000_000  # a hard disk turns
    assert system.disk.counters.flushes == 1


def test_eio_leaves_the_file_system_writable(machine, system):
    system.spoil(FILE, 40_960)
    outcome = system.read(FILE, 0, 1 << 20, comm="mongod")
    assert (outcome.error, outcome.offset) == ("EIO", 40_960)
    machine.sim.run_for(10 * SECOND)
    assert any(line.startswith("I/O error, dev sda, sector") for line in kernel(machine))
    assert not system.read_only
    assert system.read(FILE, 0, 1 << 20, cached=1.0).error == ""
    system.write(FILE, 40_960, 4096)
    assert system.fsync(FILE).error == ""
    assert system.read(FILE, 0, 1 << 20).error == ""  # remapped


def test_corruption_is_silent(machine, system):
    offsets = system.corrupt_random(FILE, 2, "x")
    outcome = system.read(FILE, 0, 1 << 30)
    assert (outcome.error, outcome.corrupt, outcome.offset) == ("", True, offsets[0])
    assert kernel(machine) == []


def test_a_bad_inode_makes_the_file_system_read_only(machine, system):
    system.disk.sectors.go_bad(system.lba(system.table_block(system.stored(FILE).inode)))
    assert system.open(FILE).error == ""  # its inode is in memory
    system.forget_cache()
    assert system.open(FILE, comm="mongod").error == "EIO"
    machine.sim.run_for(10 * SECOND)
    lines = kernel(machine)
    assert any("EXT4-fs error (device sda1): __ext4_get_inode_loc_noinmem" in line for line in lines)
    assert lines[-2:] == ["Aborting journal on device sda1-8.", "EXT4-fs (sda1): Remounting filesystem read-only"]
    assert system.allocate(FILE, 1) == "EROFS"
    assert load_file(system, "a", IoDemand(FILE, writes=10)).write_error == "EROFS"
    assert "write-protected" in system.remount()


def test_a_dead_drive_aborts_the_journal(machine, system):
    system.disk.fail_stop()
    assert system.write(FILE, 0, 4096).error == ""  # memory takes it
    outcome = system.fsync(FILE, comm="postgres")
    assert outcome.error == "EIO"
    assert outcome.delay_ns >= 90 * SECOND
    machine.sim.run_for(outcome.delay_ns + 6 * SECOND)
    assert system.aborted
    assert "JBD2: I/O error when updating journal superblock for sda1-8." in kernel(machine)
    share = load_file(system, "a", IoDemand(FILE, random_reads=10, writes=10))
    assert (share.read_error, share.write_error) == ("EIO", "EROFS")


def test_a_tick_meets_bad_blocks_as_often_as_it_reads_them(machine, system):
    system.allocate(FILE, 4096 * 100)
    assert load_file(system, "a", IoDemand(FILE, random_reads=50)).failed_reads == ()
    system.spoil_random(FILE, 20, "x")
    seen, stalled = 0, 0
    for _ in range(40):
        share = load_file(system, "a", IoDemand(FILE, random_reads=50))
        seen += len(share.failed_reads)
        stalled += share.stalled_ns
        machine.sim.run_for(SECOND)
    assert 3 <= seen <= 8  # the drive spends seven seconds with each
    assert stalled > 20 * SECOND
    assert system.disk.smart.reported_uncorrect >= seen - 1
    twin = Snapshot(machine).restore()
    assert load_file(twin.files_at(FILE), "a", IoDemand(FILE, random_reads=50)) == load_file(
        system, "a", IoDemand(FILE, random_reads=50)
    )


def test_hot_blocks_are_read_more(system):
    system.allocate(FILE, 4096 * 1000)
    system.heat(FILE, 0.1, 0.9)
    system.corrupt(FILE, 0, 4096 * 1000)
    share = load_file(system, "a", IoDemand(FILE, random_reads=20_000, depth=32))
    counts = sorted((block.count for block in share.corrupt_reads), reverse=True)
    assert sum(counts[:130]) > 0.7 * sum(counts)
    with pytest.raises(ValueError, match="share"):
        system.heat(FILE, 0.0)


def test_df_shows_both(sh, system):
    lines = sh("df -h -t ext4").splitlines()
    assert lines[0].split() == ["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted", "on"]
    assert lines[2].split() == ["/dev/sda1", "916G", "1.1G", "870G", "1%", "/var/local-path-provisioner"]
    assert sh("df -i /").splitlines()[1].split()[0] == "/dev/nvme0n1p2"
    assert sh("df /nowhere") == "df: /nowhere: No such file or directory\n"


def test_lsblk_mount_findmnt_blkid(sh):
    assert "└─sda1        8:1    0 931.5G  0 part /var/local-path-provisioner" in sh("lsblk")
    assert "/dev/sda1 on /var/local-path-provisioner type ext4 (rw,relatime,errors=remount-ro)" in sh("mount")
    assert "/dev/nvme0n1p2 ext4   rw,relatime,errors=remount-ro" in sh("findmnt /")
    assert 'TYPE="ext4"' in sh("blkid /dev/sda1")
    assert "Filesystem state:         clean\n" in sh("tune2fs -l /dev/sda1")
    assert sh("umount /var/local-path-provisioner") == ""
    assert "sda1" not in sh("df")
    assert sh("mount /dev/sda1 /var/local-path-provisioner") == ""
    assert "mounted filesystem" in sh("dmesg | tail -1")
    assert sh("umount /") == "umount: /: target is busy.\n"


def test_iostat_by_intervals(sh, machine, system):
    sh("iostat")
    text = sh("iostat -x 1 2")
    assert text.count("Device ") == 2
    begin = machine.sim.now

    for _ in range(5):
        load_file(system, "a", IoDemand(FILE, random_reads=50))
        machine.sim.run_for(SECOND)
    assert machine.sim.now == begin + 5 * SECOND
    row = next(line for line in sh("iostat -x sda").splitlines() if line.startswith("sda")).split()
    uptime = machine.sim.now / SECOND
    assert float(row[1]) == pytest.approx(250 / uptime, rel=0.01)
    reads, await_ms, queue = float(row[1]), float(row[5]), float(row[21])
    assert queue == pytest.approx(reads * await_ms / 1000, abs=0.02)
    assert float(row[22]) > 5.0


def test_smart_tells_the_story_of_a_sector(sh, machine, system):
    assert "PASSED" in sh("smartctl -H /dev/sda")
    system.spoil(FILE, 0)
    lba = system.sector_of(FILE)
    text = sh(f"dd if=/dev/sda of=/dev/null bs=512 count=8 skip={lba}")
    assert text.startswith("dd: error reading '/dev/sda': Input/output error\n0+0 records in")
    assert f"Error: UNC at LBA = 0x{lba:08x} = {lba}" in sh("smartctl -l error /dev/sda")
    attributes = {line.split()[1]: line.split()[9] for line in sh("smartctl -A /dev/sda").splitlines() if "0x" in line}
    assert attributes["Current_Pending_Sector"] == "1"
    assert attributes["Reported_Uncorrect"] == "1"
    assert f"Buffer I/O error on dev sda, logical block {lba // 8}, async page read" in sh("dmesg")
    assert str(lba // 2) in sh(f"badblocks /dev/sda {lba // 2 + 100} {lba // 2 - 100}").split()
    sh(f"dd if=/dev/zero of=/dev/sda bs=512 count=8 seek={lba} oflag=direct")
    attributes = {line.split()[1]: line.split()[9] for line in sh("smartctl -A /dev/sda").splitlines() if "0x" in line}
    assert (attributes["Current_Pending_Sector"], attributes["Reallocated_Sector_Ct"]) == ("0", "1")
    assert "succeeded" in sh(f"hdparm --read-sector {lba} /dev/sda")


def test_self_tests(sh, machine, system):
    system.spoil(FILE, 0)
    assert "Please wait" in sh("smartctl -t long /dev/sda")
    assert "Self-test routine in progress" in sh("smartctl -l selftest /dev/sda")
    machine.sim.run_for(4 * 3600 * SECOND)
    assert str(system.sector_of(FILE)) in sh("smartctl -l selftest /dev/sda")


def test_nvme_programs(sh, machine):
    disk = machine.disks["nvme0n1"]
    assert "media_errors                           : 0" in sh("nvme smart-log /dev/nvme0")
    disk.sectors.go_bad(100_000_000)
    disk.read(100_000_000, 8)
    machine.sim.run_for(SECOND)
    assert "Media and Data Integrity Errors:    1" in sh("smartctl -A /dev/nvme0")
    assert "Unrecovered Read Error" in sh("smartctl -l error /dev/nvme0n1")
    assert "lba\t\t: 0x5f5e100" in sh("nvme error-log /dev/nvme0")
    assert "/dev/nvme0n1" in sh("nvme list")


def test_proc_and_sys(sh):
    assert len(sh("cat /proc/diskstats").splitlines()[0].split()) == 20
    assert sh("cat /sys/block/sda/queue/rotational") == "1\n"
    assert "/dev/sda1 /var/local-path-provisioner ext4 rw,relatime,errors=remount-ro 0 0" in sh("cat /proc/mounts")
    assert sh("cat /sys/block/sda/device/state") == "running\n"


def test_a_read_only_root_refuses_files(sh, machine):
    machine.files_at("/").metadata_error("ext4_find_entry:1683: inode #2: comm ls: reading directory lblock 0")
    assert sh("touch /root/x") == "touch: cannot touch '/root/x': Read-only file system\n"
    assert "Read-only file system" in sh("echo hi > /root/y")
    assert "ro,relatime" in sh("mount")


def test_fsck_after_the_journal_failed(sh, machine, system):
    assert "clean" in sh("fsck -n /dev/sda1")
    assert "is mounted" in sh("e2fsck -y /dev/sda1")
    system.fail_journal("mongod")
    sh("umount /dev/sda1")
    assert "FILE SYSTEM WAS MODIFIED" in sh("e2fsck -y /dev/sda1")
    assert sh("mount /dev/sda1 /var/local-path-provisioner") == ""
    assert not system.read_only
    assert system.write(FILE, 0, 10).error == ""


def test_dd_measures(sh, machine, system):
    assert "copied" in sh(f"dd if={FILE} of=/dev/null bs=1M count=200")
    before = machine.sim.now
    sh("dd if=/dev/zero of=/var/local-path-provisioner/t bs=1M count=180 oflag=direct")
    assert 0.9 * SECOND < machine.sim.now - before < 2 * SECOND
    assert sh("du -h /var/local-path-provisioner/t").split()[0] == "180M"
    assert sh(f"ls -l {FILE}").split()[4] == str(1 << 30)
    assert sh(f"ls {FOLDER}") == "collection-7.wt\n"
    assert sh(f"du -h {FOLDER}").split()[0] == "1.1G"  # with the folder's own block, rounded up
    assert "No space left" in sh("fallocate -l 900G /var/local-path-provisioner/filler")
    assert "unrecognized operand" in sh("dd foo")


def test_looking_changes_nothing(machine, sh, system):
    system.spoil(FILE, 0)
    load_file(system, "a", IoDemand(FILE, random_reads=50))
    machine.sim.run_for(SECOND // 2)
    sh("df")  # the image store remembers its size until it changes
    before = Snapshot(machine).size_bytes
    for line in ("df", "lsblk -f", "smartctl -a /dev/sda", "cat /proc/diskstats", "iostat -x", "dmesg", "mount"):
        sh(line)
    assert Snapshot(machine).size_bytes == before


def test_a_read_only_root_starts_no_containers(bench, machine):
    machine.files_at("/").metadata_error("ext4_find_entry:1683: inode #2: comm ls: reading directory lblock 0")
    bench.pod("a")
    bench.run(10)
    messages = [event["message"] for event in bench.api.store.objects("events", "shop")]
    assert any("failed to create sandbox root directory" in m and "read-only file system" in m for m in messages)


def test_a_slow_root_drive_slows_starts(bench, machine):
    healthy = machine.start_delay_ns()
    machine.files_at("/")
    assert machine.start_delay_ns() == healthy == 0
    machine.disks["nvme0n1"].fail_slow(slow.bandwidth(1_000_000))
    assert machine.start_delay_ns() > 15 * SECOND


def test_a_full_disk_takes_no_images(bench, machine):
    got = []
    machine.run(["fallocate", "-l", "84G", "/var/filler"])
    machine.run(["fallocate", "-l", "1700M", "/var/filler2"])
    machine.images.pull("acme/app:9.9", got.append)
    bench.run(60)
    assert len(got) == 1
    assert got[0].image is None
    assert got[0].error.endswith("no space left on device")


def test_what_is_built_says_the_same_as_what_is_not(bench, machine):
    bench.pod("a")
    bench.run(10)
    before = machine.disk_usage()
    assert machine.built_storage is None
    machine.files_at("/")
    assert machine.disk_usage() == before == machine.files_at("/").usage()


def test_a_new_drive_needs_a_file_system(sh, machine, system):
    machine.disks["sda"].fail_stop()
    load_file(system, "a", IoDemand(FILE, random_reads=1))
    machine.sim.run_for(100 * SECOND)
    machine.disks["sda"].replace()
    assert system.read(FILE, 0, 1).error == "ENOENT"
    assert system.allocate(FILE, 1) == "EROFS"
    assert sh("umount /var/local-path-provisioner") == ""
    assert "wrong fs type" in sh("mount /dev/sda1 /var/local-path-provisioner")
    assert "Filesystem UUID" in sh("mkfs.ext4 /dev/sda1")
    assert sh("mount /dev/sda1 /var/local-path-provisioner") == ""
    assert system.allocate(FILE, 1 << 20) == ""
    assert "PASSED" in sh("smartctl -H /dev/sda")
