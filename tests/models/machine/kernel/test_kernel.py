"""Descriptors, ports, processes, shared memory, injected failures, parameters, watchdogs."""

import pytest

from simcluster.engine import SECOND
from tests.clusters.onemachine import one_machine, said, start

MIB = 1 << 20


def test_a_process_meets_its_limit_of_descriptors_and_the_systems():
    node = one_machine()
    server = start(node, "web")
    node.os.descriptors.set_limit(server, 64)
    assert node.os.open(server, count=40) == ""
    assert node.os.open(server, count=20) == "EMFILE"
    admitted = node.os.connections(server, 1.0, 40.0)
    assert admitted.cause == "EMFILE"
    assert admitted.text == "accept4: too many open files"
    assert admitted.dropped == pytest.approx(1 - 10 / 40)
    node.os.close(server, 40)
    assert node.os.connections(server, 1.0, 40.0).dropped == 0.0
    node.os.sysctls.set("fs.file-max", 2950)
    assert node.os.open(server, count=10) == "ENFILE"
    server.kill()
    assert node.os.descriptors.held(server) == 0
    with pytest.raises(ValueError, match=r"fs\.nr_open"):
        node.os.descriptors.set_limit(server, 2_000_000)


def test_leaked_descriptors_grow_with_the_work_done():
    node = one_machine()
    server = start(node, "web")
    before = node.os.descriptors.held(server)
    node.os.descriptors.leak(server, 3.0)
    server.use_cpu(20 * SECOND)
    assert node.os.descriptors.held(server) == before + 60
    assert (
        len(node.run(["lsof", "-p", str(server.pid)]).stdout.splitlines()) == before + 63
    )  # a heading, its folder and its program besides


def test_ephemeral_ports_run_out_after_a_minute_of_short_connections():
    node = one_machine()
    client = start(node, "client")
    node.os.namespaces.set(client.spec.pod_uid, {"net.ipv4.ip_local_port_range": "32768 33767"})
    assert node.os.connections(client, 0.0, 0.0, outgoing_per_s=50.0).refused == 0.0
    version = node.network.version
    node.sim.run_for(30 * SECOND)
    assert node.os.connections(client, 0.0, 0.0, outgoing_per_s=50.0).refused > 0.0
    assert node.network.version > version
    answer = node.os.connections(client, 0.0, 0.0, outgoing_per_s=50.0)
    assert (answer.cause, answer.text) == ("EADDRNOTAVAIL", "connect: cannot assign requested address")
    node.os.connections(client, 0.0, 0.0, outgoing_per_s=5.0)
    node.sim.run_for(70 * SECOND)
    assert node.os.connections(client, 0.0, 0.0, outgoing_per_s=5.0).refused == 0.0


def test_forks_stop_at_the_pods_and_the_machines_limit():
    node = one_machine()
    server = start(node, "web")
    node.os.pids.set_limit("uid-web", 40)
    assert node.os.fork(server, 20) == ""
    assert node.os.fork(server, 20) == "EAGAIN"
    assert "cgroup: fork rejected by pids controller" in said(node)[0]
    node.os.reap(server, 20)
    node.os.pids.set_limit("uid-web", None)
    node.os.sysctls.set("kernel.pid_max", 400)
    assert node.os.fork(server, 100) == "EAGAIN"


def test_shared_memory_has_64_mib_unless_a_volume_is_mounted_there():
    node = one_machine()
    server = start(node, "db")
    assert node.os.shared_memory(server, 60 * MIB) == ""
    assert node.os.shared_memory(server, 70 * MIB) == "ENOSPC"
    assert node.os.shared_bytes() == 60 * MIB


def test_injected_failures_hit_their_target_at_their_rate_and_leave_no_trace():
    node = one_machine()
    server, other = start(node, "web"), start(node, "other")
    rule = node.os.syscalls.inject("open", "EIO", 0.25, container_id=server.container_id, path="/data")
    errors = [node.os.open(server, "/data/f") for _ in range(400)]
    assert errors.count("EIO") == pytest.approx(100, abs=25)
    assert node.os.open(server, "/database") == node.os.open(other, "/data/f") == ""
    assert node.os.syscalls.share("open", server, path="/data/f") == 0.25
    node.os.syscalls.remove(rule)
    assert node.os.syscalls.failure("open", server, path="/data/f") is None
    for wrong in (("launch", "EIO", 0.5), ("open", "EWHAT", 0.5), ("open", "EIO", 0.0)):
        with pytest.raises(ValueError, match=r"injected|no error|probability"):
            node.os.syscalls.inject(*wrong)


def test_sysctl_refuses_as_the_kernel_does():
    node = one_machine()
    assert node.run(["sysctl", "net.core.somaxconn"]).stdout == "net.core.somaxconn = 4096\n"
    assert node.run(["sysctl", "-w", "net.core.somaxconn=128"]).stdout == "net.core.somaxconn = 128\n"
    assert node.run(["sysctl", "-n", "net.core.somaxconn"]).stdout == "128\n"
    assert "Invalid argument" in node.run(["sysctl", "-w", "kernel.pid_max=12"]).stderr
    missing = node.run(["sysctl", "net.what"])
    assert (missing.stderr, missing.code) == ("sysctl: cannot stat /proc/sys/net/what: No such file or directory\n", 1)
    assert len(node.run(["sysctl", "-a"]).stdout.splitlines()) > 40


def test_a_backlog_that_overflows_drops_and_warns_once():
    node = one_machine()
    server = start(node, "web")
    assert node.os.backlog(server, 8080, 100.0, 10.0, 128) == 0.0
    assert node.os.backlog(server, 8080, 256.0, 10.0, 128) == 0.5
    node.os.backlog(server, 8080, 512.0, 10.0, 128)
    assert said(node) == [
        "TCP: request_sock_TCP: Possible SYN flooding on port 8080. Sending cookies.  Check SNMP counters."
    ]
    node.sim.run_for(10 * SECOND)
    assert "TcpExtListenDrops               75" in node.run(["nstat"]).stdout


def test_watchdogs_speak_at_their_periods():
    node = one_machine()
    node.os.lockup(2, 50, "migration/2", 28)
    server = start(node, "web")
    assert node.cpu_share(server) < 3.0  # of four: one spins in the kernel
    node.sim.run_for(100 * SECOND)
    assert node.cpu_share(server) > 3.8
    lines = said(node)
    assert lines[0] == "watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [migration/2:28]"
    for _ in range(12):
        node.os.hung("jbd2/sda1-8", 411, 120)
    assert said(node)[len(lines)] == "INFO: task jbd2/sda1-8:411 blocked for more than 120 seconds."
    assert sum("blocked for more" in line for line in said(node)) == 10  # kernel.hung_task_warnings
    with pytest.raises(ValueError, match="no CPU 9"):
        node.os.lockup(9, 50, "x", 1)


def test_proc_sys_is_written_through_the_shell():
    node = one_machine()
    assert node.run(["tee", "/proc/sys/net/core/somaxconn"], "512\n").code == 0
    assert node.run(["cat", "/proc/sys/net/core/somaxconn"]).stdout == "512\n"
    assert "Invalid argument" in node.run(["tee", "/proc/sys/kernel/pid_max"], "3\n").stderr
