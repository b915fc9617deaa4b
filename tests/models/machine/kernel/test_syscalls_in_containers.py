"""Limits and injected failures as processes in containers meet them: by reading, writing, forking, telling the time."""

from simcluster.engine import SECOND
from simcluster.engine.clock import DAY
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.kernel import cgroupfiles
from tests.clusters.onemachine import one_machine, start

MIB = 1 << 20


def run(server, line):
    return execute.run(server, ("sh", "-c", line))


def test_a_share_of_reads_fails_and_only_on_the_target():
    node = one_machine()
    server, other = start(node, "web"), start(node, "other")
    run(server, "echo hi > /tmp/a; echo hi > /tmp/b")
    run(other, "echo hi > /tmp/a")
    node.os.syscalls.inject("read", "EIO", 0.5, container_id=server.container_id, path="/tmp/a")
    answers = [run(server, "cat /tmp/a") for _ in range(40)]
    failed = [answer for answer in answers if answer.code]
    assert 10 <= len(failed) <= 30
    assert "Input/output error" in failed[0].stderr
    assert all(run(server, "cat /tmp/b").stdout == "hi\n" for _ in range(10))
    assert all(run(other, "cat /tmp/a").stdout == "hi\n" for _ in range(10))


def test_writes_fail_too():
    node = one_machine()
    server = start(node, "web")
    number = node.os.syscalls.inject("write", "ENOSPC", 1.0, comm="", path="/data")
    assert "No space left on device" in run(server, "mkdir /data; echo hi > /data/x").stderr
    node.os.syscalls.remove(number)
    assert run(server, "echo hi > /data/x; cat /data/x").stdout == "hi\n"


def test_shared_memory_is_bounded():
    node = one_machine()
    server = start(node, "web")
    node.os.shm.resize("uid-web", 1000)
    assert run(server, "printf '%0900d' 1 > /dev/shm/a; ls /dev/shm").stdout == "a\n"
    assert node.os.shm.used("uid-web") == 900
    assert "No space left on device" in run(server, "printf '%0200d' 1 > /dev/shm/b").stderr
    assert run(server, "rm /dev/shm/a; printf '%0200d' 1 > /dev/shm/b; cat /dev/shm/b | wc -c").stdout == "200\n"
    assert "shmem 200\n" in cgroupfiles.read(server, "memory.stat")


def test_a_pod_without_pids_cannot_fork():
    node = one_machine()
    server = start(node, "web")
    assert run(server, "echo a | cat").stdout == "a\n"
    before = int(cgroupfiles.read(server, "pids.current"))
    node.os.pids.set_limit("uid-web", before)
    refused = run(server, "echo a | cat; echo $?")
    assert "can't fork: Resource temporarily unavailable" in refused.stderr
    assert cgroupfiles.read(server, "pids.events") != "max 0\n"
    assert cgroupfiles.read(server, "pids.max") == "max\n"
    group = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_web.slice"
    assert node.file(f"/sys/fs/cgroup/{group}/pids.max") == f"{before}\n"
    node.os.pids.set_limit("uid-web", None)
    assert run(server, "echo a | cat").stdout == "a\n"
    assert int(cgroupfiles.read(server, "pids.current")) == before


def test_a_container_reads_the_clock_of_its_node():
    node = one_machine()
    server = start(node, "web")
    node.control("stop", "chrony")
    node.os.clock.step(-2 * DAY)
    node.sim.run_for(SECOND)
    assert run(server, "date +%F").stdout == "2026-02-28\n"
    node.os.syscalls.inject("clock", "EINVAL", 1.0)
    assert run(server, "date").code == 1
