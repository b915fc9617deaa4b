"""Limits and injected failures as processes in containers meet them: by reading, writing, forking, telling the time."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from simcluster.engine import SECOND
from simcluster.engine.clock import DAY
from simcluster.faults import registry
from simcluster.faults.system_calls.system_call import CallParams
from simcluster.models.machine.imagetools import execute
from simcluster.models.machine.kernel import cgroupfiles
from simcluster.models.machine.kernel.calltable import CALLS, PROBES
from simcluster.models.machine.kernel.errors import NUMBER
from simcluster.models.machine.runtime import RuntimeFailure
from simcluster.models.machine.shell.container import ShellProgram
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


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("nanosleep", "sleep 5; date +%S", "00\n"),
        ("prlimit", "ulimit -n 20", "error setting limit: Operation not permitted"),
        ("setns", "true", "error executing setns process"),
    ],
)
def test_calls_of_shells_and_of_the_runtime_fail(name, line, said):
    node = one_machine()
    server = start(node, "web")
    number = node.os.syscalls.inject(name, CALLS[name], 1.0, container_id=server.container_id)
    try:
        answer = node.runtime.execute(server, ("sh", "-c", line)).result
        heard = answer.stdout + answer.stderr
    except RuntimeFailure as failure:
        heard = str(failure)
    assert said in heard
    node.os.syscalls.remove(number)
    assert said not in str(node.runtime.execute(server, ("sh", "-c", line)))


@pytest.mark.parametrize("name", ["mmap", "brk"])
def test_a_process_that_gets_no_memory_ends(name):
    node = one_machine()
    server, other = start(node, "web"), start(node, "other")
    node.os.syscalls.inject(name, "ENOMEM", 1.0, container_id=server.container_id)
    for container in (server, other):
        container.set_memory(container.memory_bytes + MIB)
    assert (server.running, server.exit_code, other.running) == (False, 2, True)
    assert "cannot allocate memory" in server.message or "cannot allocate memory" in server.log.read()[-1].text


def test_a_socket_that_is_refused_is_no_connection():
    node = one_machine()
    server = start(node, "web")
    node.os.syscalls.inject("socket", "EACCES", 0.5)
    assert node.os.connections(server, 0.0, 0.0, outgoing_per_s=1.0).refused == 0.5
    assert {node.os.connect(server) for _ in range(20)} == {"", "EACCES"}


@pytest.mark.parametrize("name", PROBES)
def test_every_known_name_acts_or_says_what_fits(name):
    probe = PROBES[name]
    if probe.why:
        with pytest.raises(ValueError, match="the nearest that fits is"):
            CallParams(call=name)
        assert probe.nearest.split(" ")[0] in registry.ids()
    else:
        found = CallParams(call=name)
        assert (found.call, found.errno, found.probability) == (probe.call, probe.errno, probe.probability)
        assert found.call in CALLS
        assert found.errno in NUMBER
    assert len(PROBES) == 47


def test_who_follows_a_file_that_cannot_be_read_says_so_once_and_goes_on():
    node = one_machine()
    script = "echo one > /tmp/a; (sleep 10; echo two >> /tmp/a; sleep 10; echo three >> /tmp/a) & exec tail -F /tmp/a"
    server = start(node, "web")
    server.program = ShellProgram(
        server, ("sh", "-c", script), cast(Any, SimpleNamespace(program_named=lambda *_: None))
    )
    server.program.start()
    node.sim.run_for(5 * SECOND)
    number = node.os.syscalls.inject("read", "EIO", 1.0, container_id=server.container_id, path="/tmp/a")
    node.sim.run_for(10 * SECOND)
    node.os.syscalls.remove(number)
    assert server.running
    node.sim.run_for(10 * SECOND)
    lines = [line.text for line in server.log.read()]
    assert lines == ["starting", "one", "tail: read error: Input/output error", "two", "three"]
