"""Programs of a node's host."""

import pytest

from tests.clusters.nodes import NodeBench


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.pod(env={"MEMORY": str(90 << 20)}, resources={"limits": {"memory": "64Mi"}})
    bench.run(10)
    return bench


def out(bench, line):
    result = bench.machine.run(line.split())
    assert result is not None
    assert result.code == 0
    return result.stdout


def test_small_tools(bench):
    assert out(bench, "hostname") == "worker-1\n"
    assert out(bench, "nproc") == "4\n"
    assert out(bench, "uname -r") == "6.8.0-45-generic\n"
    assert out(bench, "free -m").splitlines()[1].split()[1] == "8192"
    assert "load average" in out(bench, "uptime")
    assert out(bench, "df -h -t ext4").splitlines()[1].startswith("/dev/nvme0n1p2")
    assert "kubelet" in out(bench, "ps aux")
    assert bench.machine.run(["emacs"]) is None


def test_the_kernels_words_are_in_dmesg(bench):
    lines = out(bench, "dmesg").splitlines()
    assert any("Memory cgroup out of memory: Killed process" in line for line in lines)
    assert lines[0].startswith("[    ")
    assert out(bench, "dmesg -T").startswith("[Mon Mar  2 09:00:0")


def test_crictl(bench):
    table = out(bench, "crictl ps -a").splitlines()
    assert table[0].split()[:5] == ["CONTAINER", "IMAGE", "CREATED", "STATE", "NAME"]
    assert "Exited" in table[1]
    assert "docker.io/acme/app" in out(bench, "crictl images")
    assert "shop" in out(bench, "crictl pods")
    assert out(bench, f"crictl logs {table[1].split()[0]}") == "starting\n"
    bench.machine.control("stop", "containerd")
    result = bench.machine.run(["crictl", "ps"])
    assert result.code == 1
    assert "containerd.sock" in result.stderr
