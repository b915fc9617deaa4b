"""What a node has counted is the integral of what happened: it never runs backwards, and repairs leave it its past."""

from __future__ import annotations

from simcluster.engine import MINUTE, SECOND, fork
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.storage import IoDemand, load_file, slow
from tests.clusters.counting import Watch, counters
from tests.clusters.onemachine import one_machine, start


def busy(node: Machine, watch: Watch, seconds: int, cores: float = 0.7) -> None:
    """A while of work on whatever runs: CPU time, connections, bytes, reads and writes; looked at in between."""
    for second in range(seconds):
        for container in node.containers():
            if container.running:
                node.report_demand(container, cores)
                container.use_cpu(int(cores * SECOND), int(0.1 * SECOND))
                node.os.connections(container, 20.0 + second % 3, 30.0, outgoing_per_s=5.0)
                if node.disks["sda"].present:
                    files = node.files_at("/var/local-path-provisioner/x")
                    demand = IoDemand(random_reads=20.0, read_bytes=81920.0, writes=10.0, fsyncs=2.0, depth=8)
                    load_file(files, container.container_id, demand)
        node.nics["eth0"].report("pods", 2e6 + second * 1e4, 3e6)
        node.sim.run_for(SECOND * 7 // 10)
        if second % 8 == 0:
            watch.look()
        node.sim.run_for(SECOND * 3 // 10)
        if second % 8 == 3:
            watch.look()


def test_nothing_runs_backwards_through_faults_repairs_and_a_reboot() -> None:
    node = one_machine()
    web, database = start(node, "web", cpu_limit=1.0, memory_limit=256 << 20), start(node, "db")
    watch = Watch(node)
    web.set_memory(100 << 20)
    busy(node, watch, 20)
    # Faults of everything that has counters, one after the other, each mended again.
    web.set_memory(50 << 20)
    database.set_memory(300 << 20)
    node.steal_cpu(0.4)
    busy(node, watch, 8)
    node.steal_cpu(0.0)
    node.burden("batch", 3.0, memory_bytes=1 << 30)
    busy(node, watch, 8)
    node.unburden("batch")
    node.nics["eth0"].degrade(loss=0.05, bandwidth_bps=20_000_000)
    busy(node, watch, 8)
    node.nics["eth0"].repair()
    busy(node, watch, 4)
    node.nics["eth0"].cut()
    busy(node, watch, 4)
    node.nics["eth0"].repair()
    busy(node, watch, 4)
    for disk in node.disks.values():
        disk.fail_slow(slow.flaky(slow.constant(50.0), 5 * SECOND, 5 * SECOND))
    busy(node, watch, 12)
    for disk in node.disks.values():
        disk.recover()
    busy(node, watch, 4)
    node.disks["sda"].hang(6 * SECOND)
    busy(node, watch, 8)
    node.os.lockup(1, 25, "kworker/1:1", 77)
    busy(node, watch, 8)
    node.cooling.impair(0.1)
    busy(node, watch, 30, cores=1.9)
    node.cooling.impair(1.0)
    busy(node, watch, 30)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 170)
    node.os.backlog(web, 80, 9000.0, 300.0)
    busy(node, watch, 12)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 131072)
    node.os.backlog(web, 80, 10.0, 300.0)
    busy(node, watch, 4)
    web.set_memory(255 << 20)
    busy(node, watch, 4)
    web.set_memory(300 << 20)  # the kernel kills it
    busy(node, watch, 4)
    assert not web.running
    assert watch.watched > 500
    before = counters(node)
    node.power.cut()
    node.sim.run_for(10 * SECOND)
    node.power.give()
    node.sim.run_for(2 * MINUTE)
    watch.look()
    after = counters(node)
    assert after["/proc/uptime up"] < before["/proc/uptime up"]
    assert all(after[f"/proc/stat cpu.{at}"] < 25000 for at in range(8))
    assert after["/sys/class/net/eth0/statistics/rx_bytes "] < before["/sys/class/net/eth0/statistics/rx_bytes "]
    assert after["nstat TcpPassiveOpens"] < before["nstat TcpPassiveOpens"]
    start(node, "again")
    busy(node, watch, 8)
    assert len(watch.grown) > 250


def test_a_copy_counts_on_from_the_same_past() -> None:
    node = one_machine()
    start(node, "web")
    watch = Watch(node)
    busy(node, watch, 7)
    twin = fork(node)
    assert counters(twin) == counters(node)
    twin.sim.run_for(8 * SECOND)
    node.sim.run_for(3 * SECOND)
    watch.look()
    node.sim.run_for(5 * SECOND)
    assert counters(twin) == counters(node)


def test_a_repaired_fault_leaves_its_past_behind() -> None:
    node, spared = one_machine(), one_machine()
    for each in (node, spared):
        each.nics["eth0"].report("pods", 1e6, 1e6)
    node.nics["eth0"].degrade(loss=0.1)
    node.steal_cpu(0.5)
    node.cooling.impair(0.1)
    for each in (node, spared):
        each.sim.run_for(10 * SECOND)
    node.nics["eth0"].repair()
    node.steal_cpu(0.0)
    node.cooling.impair(1.0)
    for each in (node, spared):
        each.sim.run_for(10 * SECOND)
    found, none = counters(node), counters(spared)
    assert found["/proc/stat cpu.7"] == 10 * 100 * node.cpu_cores // 2
    assert found["nstat TcpRetransSegs"] == int(10 * (1e6 + 14_000) / 900 * 0.1 / 0.9)
    assert found["ethtool rx_errors"] == int(10 * (1e6 + 9_000) / 900 * 0.1)
    assert found["sel entries"] == 2
    for name in ("/proc/stat cpu.7", "nstat TcpRetransSegs", "ethtool rx_errors", "sel entries"):
        assert none[name] == 0


def test_times_of_a_cpu_are_its_uptime_and_all_together_what_was_used() -> None:
    node = one_machine()
    web = start(node, "web")
    node.steal_cpu(0.2)
    for _ in range(300):
        node.report_demand(web, 1.4)
        web.use_cpu(1400 * SECOND // 1000)
        node.sim.run_for(SECOND)
    each = node.os.times.each()
    for times in each:
        assert abs(sum(times) - 300 * SECOND) < 10_000
    whole = node.os.times.all()
    used = whole.user + whole.system
    assert abs(used - node.cpu_ns()) < 8 * SECOND  # what has not been passed on yet
    assert whole.steal == 300 * SECOND * node.cpu_cores // 5
    assert len({times.user for times in each}) == node.cpu_cores  # a program runs where it was woken
    assert max(times.user for times in each) > 1.1 * min(times.user for times in each)
