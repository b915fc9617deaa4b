"""Slow cores, stolen time, neighbours, quota statistics, leaks, and the files that show them."""

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.kernel import cfs, cgroupfiles
from simcluster.models.machine.shell.tree import FileTree
from tests.clusters.onemachine import one_machine, said, start

MIB = 1 << 20
MS = 1_000_000


def test_slow_cores_do_less_work_for_the_same_cpu_time():
    node = one_machine()
    server = start(node, "web", cpu_limit=1.0)
    node.set_cpu_speed(0.5, "thermal")
    assert server.cpu_cores() == 0.5
    assert "CPU0: Core temperature is above threshold, cpu clock is throttled (total events = 1)" in said(node)
    server.use_cpu(SECOND)
    assert server.cpu_ns == 2 * SECOND
    assert "cpu MHz\t\t: 1250.000" in node.file("/proc/cpuinfo")
    with pytest.raises(ValueError, match="speed"):
        node.set_cpu_speed(0.0)


def test_stolen_time_and_neighbours_take_from_containers():
    node = one_machine()
    server = start(node, "web", cpu_request=1.0)
    whole = server.cpu_cores()
    node.cpu.steal(0.25)
    assert server.cpu_cores() == pytest.approx(whole - 1.0)
    node.cpu.steal(0.0)
    node.burden("backup", 4.0, memory_bytes=512 * MIB)
    assert server.cpu_cores() == pytest.approx(4.0 * 157 / 257)  # kubepods.slice of 4 cores against system.slice
    before = node.cpu_ns()
    node.sim.run_for(10 * SECOND)
    assert node.cpu_ns() - before > 10 * SECOND
    top = node.run(["top", "-b", "-n1"]).stdout
    assert "backup" in top.splitlines()[7]
    node.unburden("backup")
    assert server.cpu_cores() == whole
    assert node.cpu_ns() - before > 10 * SECOND


def test_a_host_process_that_holds_too_much_is_killed_first():
    node = one_machine()
    same = {"memory_request": 2048 * MIB, "memory_limit": 2048 * MIB, "cpu_request": 1.0, "cpu_limit": 1.0}
    server = start(node, "web", **same)  # Guaranteed: oom_score_adj -997
    server.set_memory(2000 * MIB)
    node.burden("miner", 0.1, memory_bytes=6000 * MIB)
    assert server.running
    assert not node.processes
    assert any(line.startswith("Out of memory: Killed process") and "(miner)" in line for line in said(node))


def test_one_core_and_four_threads_stall_75_of_100_ms():
    one = cfs.period(1.0, 4, 400 * MS)
    assert one == (100 * MS, 75 * MS, 300 * MS)
    assert one.throttled
    assert not cfs.period(1.0, 4, 90 * MS).throttled
    assert not cfs.period(4.0, 4, 400 * MS).throttled


def test_the_share_of_throttled_periods_is_the_chance_that_demand_exceeds_the_quota():
    assert cfs.throttled_share(1.0, 50 * MS, 0.0) == 0.0
    assert cfs.throttled_share(0.3, 50 * MS, 0.0) == 1.0
    assert 0.0 < cfs.throttled_share(1.0, 80 * MS, 20 * MS) < 0.3


def test_cpu_stat_and_other_cgroup_files():
    node = one_machine()
    server = start(node, "web", cpu_limit=0.5, memory_limit=256 * MIB)
    node.sim.run_for(10 * SECOND)
    server.use_cpu(4 * SECOND, 2 * SECOND)
    found = dict(line.split() for line in cgroupfiles.read(server, "cpu.stat").splitlines())
    assert (found["usage_usec"], found["throttled_usec"]) == ("4000000", "2000000")
    assert 0 < int(found["nr_throttled"]) <= int(found["nr_periods"]) <= 100
    assert cgroupfiles.read(server, "cpu.max") == "50000 100000\n"
    assert cgroupfiles.read(server, "memory.max") == f"{256 * MIB}\n"
    assert cgroupfiles.read(server, "pids.max") == "max\n"
    assert cgroupfiles.read(server, "what") is None
    assert FileTree(server).read("/sys/fs/cgroup/cpu.max") == "50000 100000\n"
    assert "cpu.stat" in FileTree(server).entries("/sys/fs/cgroup")


def test_a_leak_grows_with_work_until_the_kernel_kills():
    node = one_machine()
    server = start(node, "web", memory_limit=100 * MIB)
    server.set_memory(40 * MIB)
    server.leak(10 * MIB)
    server.use_cpu(3 * SECOND)
    assert server.memory_bytes == 70 * MIB
    server.set_memory(45 * MIB)
    assert server.memory_bytes == 75 * MIB
    server.use_cpu(3 * SECOND)
    assert server.reason == "OOMKilled"
    assert server.oom_kills == 1


def test_proc_files_agree_with_free():
    node = one_machine()
    text = node.file("/proc/meminfo")
    total = int(text.split()[1])
    shown = node.run(["free"]).stdout.splitlines()[1].split()
    assert int(shown[1]) == total == node.memory_bytes >> 10
    assert abs(int(shown[1]) - int(shown[2]) - int(shown[3]) - int(shown[5])) <= 2
    for path in ("/proc/loadavg", "/proc/net/snmp", "/proc/pressure/cpu", "/proc/sys/fs/file-nr"):
        assert node.file(path)
    assert node.file("/proc/what") is None


def test_a_low_clock_and_corrected_errors_add_up_and_only_the_clock_shows_in_it() -> None:
    node = one_machine()
    server = start(node, "web", cpu_limit=1.0)
    node.power.hold(0.4)
    node.dimms.err(3.0)  # 0.4 s of each second in firmware
    assert server.cpu_cores() == pytest.approx(0.4 * (1.0 - 3.0 * 0.133))
    assert "cpu MHz\t\t: 1000.000" in node.file("/proc/cpuinfo")
    node.sim.run_for(60 * SECOND)
    assert "EDAC MC0: 30 CE memory read error" in "\n".join(said(node))
    assert node.file("/sys/devices/system/edac/mc/mc0/ce_count") == "180\n"
    node.dimms.err(0.0)
    node.power.hold(1.0)
    assert server.cpu_cores() == 1.0


def test_the_event_log_tells_of_errors_when_there_were_some() -> None:
    node = one_machine()
    node.dimms.err(1.0)
    assert not node.sel.entries
    node.sim.run_for(11 * SECOND)
    assert [entry.what for entry in node.sel.entries] == ["Correctable ECC logging limit reached"]
