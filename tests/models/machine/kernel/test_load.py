"""Load averages, pressure and I/O of groups: what the kernel remembers of the recent past; every tool the same."""

import pytest

from simcluster.engine import MINUTE, SECOND
from simcluster.models.machine.kernel import cgroupfiles
from simcluster.models.machine.storage import IoDemand, load_file
from tests.clusters.onemachine import one_machine, said, start


def share(text, name):
    return float(text.partition(f"{name}=")[2].split()[0])


def wait_for_drive(node, server, seconds, reads=400.0):
    """A process reads at random from the data drive, more than it can do."""
    files = node.files_at("/var/local-path-provisioner/x")
    for _ in range(seconds):
        load_file(files, server.container_id, IoDemand(random_reads=reads, read_bytes=reads * 4096.0, depth=8))
        node.sim.run_for(SECOND)


def test_load_averages_follow_what_runs_and_lag_behind():
    node = one_machine()
    server = start(node, "web")
    node.report_demand(server, 3.0)
    node.sim.run_for(MINUTE)
    one, five, fifteen = node.os.load.averages
    assert one == pytest.approx(3.1 * (1 - 0.3679), rel=0.02)  # 1 - 1/e after a minute, and the daemons
    assert five == pytest.approx(3.1 * (1 - 0.8187), rel=0.03)
    assert node.run(["cat", "/proc/loadavg"]).stdout.split()[:3] == [f"{x:.2f}" for x in (one, five, fifteen)]
    assert f"load average: {one:.2f}, {five:.2f}" in node.run(["uptime"]).stdout


def test_a_quota_stops_tasks_and_stopped_tasks_are_no_load():
    node = one_machine()
    server = start(node, "web", cpu_limit=0.5)
    node.report_demand(server, 3.0)
    for _ in range(60):
        server.use_cpu(SECOND // 2, SECOND // 2)
        node.sim.run_for(SECOND)
    assert node.os.load.averages[0] < 0.6
    top = node.run(["top", "-b", "-n", "1"]).stdout
    assert " 50.0 " in next(line for line in top.splitlines() if line.endswith(" app"))
    assert float(top.partition("%Cpu(s):")[2].split()[0]) == pytest.approx(100 * 0.6 * 0.85 / 4, abs=0.1)
    assert share(cgroupfiles.read(server, "cpu.pressure"), "avg10") == pytest.approx(50.0, abs=1.0)


def test_waiting_for_a_drive_is_iowait_load_and_pressure_in_every_tool():
    node = one_machine()
    server = start(node, "db")
    wait_for_drive(node, server, 120)
    assert node.os.load.averages[0] > 3.0
    pressure = node.run(["cat", "/proc/pressure/io"]).stdout
    assert share(pressure, "avg10") > 90.0
    assert share(cgroupfiles.read(server, "io.pressure"), "avg60") > 80.0
    top = node.run(["top", "-b", "-n", "1"]).stdout
    wait = float(top.partition(" id,")[2].split()[0])
    assert wait > 50.0
    assert next(line for line in top.splitlines() if line.endswith(" app")).split()[7] == "D"
    vmstat = node.run(["vmstat"]).stdout.splitlines()[2].split()
    assert int(vmstat[1]) == 8
    assert int(node.run(["cat", "/proc/stat"]).stdout.splitlines()[0].split()[5]) > 1000
    read = cgroupfiles.read(server, "io.stat").partition("8:0 rbytes=")[2]
    assert int(read.split()[0]) == 400 * 4096 * 120


def test_without_load_nothing_is_felt():
    node = one_machine()
    start(node, "web")
    node.sim.run_for(5 * MINUTE)
    for resource in ("cpu", "io", "memory"):
        assert share(node.run(["cat", f"/proc/pressure/{resource}"]).stdout, "avg300") == 0.0
    assert node.os.load.averages[0] < 0.2
    assert said(node) == []


def test_who_waits_for_a_dumb_drive_hangs():
    node = one_machine()
    server = start(node, "db")
    wait_for_drive(node, server, 5, reads=50.0)
    node.disks["sda"].hang(25 * MINUTE)
    hung = []
    for _ in range(60):
        wait_for_drive(node, server, 5, reads=50.0)
        hung = [line for line in said(node) if "blocked for more" in line]
        if hung or node.disks["sda"].outage is None or node.disks["sda"].outage.disabled:
            break
    assert hung or node.disks["sda"].outage.disabled
    if hung:
        assert hung[0] == f"INFO: task app:{server.pid} blocked for more than 120 seconds."
