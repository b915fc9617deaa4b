"""Machines: cores shared by weight, the OOM killer, systemd, the runtime's failures."""

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.kernel.cgroups import group_of
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.network import Network
from simcluster.models.machine.runtime import RuntimeFailure
from simcluster.surface.protocols import Host
from tests.clusters.nodes import ScriptedCatalog

MIB = 1 << 20


def machine(**more):
    sim = Simulation()
    spec = MachineSpec("worker-1", "172.18.0.3", **more)
    return LinuxMachine(sim, spec, Network(), ImageRegistry(sim), ScriptedCatalog())


def run(node, name, env=(), **spec):
    uid = f"uid-{name}"
    full = ContainerSpec("shop", name, uid, "c", "acme/app:1.0", env=tuple(env), **spec)
    sandbox = node.runtime.create_sandbox("shop", name, uid, group=group_of(full))
    container = node.runtime.create_container(sandbox, full, 0)
    node.runtime.start_container(container)
    return container


def test_alone_a_container_gets_its_limit():
    node = machine()
    assert run(node, "a", cpu_limit=0.5).cpu_cores() == 0.5
    assert run(node, "b").cpu_cores() == pytest.approx(3.9)


def test_cores_are_shared_by_requests_when_all_want_more():
    node = machine(cpu_cores=2)
    node.cpu.system = 0
    small, large = run(node, "s", cpu_request=0.5), run(node, "l", cpu_request=1.5)
    node.report_demand(small, 2.0)
    node.report_demand(large, 2.0)
    assert small.cpu_cores() == pytest.approx(2.0 * 20 / (20 + 59))  # cpu.weight of 0.5 and of 1.5 cores
    assert large.cpu_cores() == pytest.approx(2.0 * 59 / (20 + 59))
    node.report_demand(large, 0.4)
    assert small.cpu_cores() == pytest.approx(1.6)
    large.kill()
    assert small.cpu_cores() == pytest.approx(2.0)


def test_a_modest_neighbour_leaves_its_share_to_the_greedy():
    node = machine(cpu_cores=3)
    node.cpu.system = 0
    modest, greedy, other = (run(node, name, cpu_request=1.0) for name in "mgo")
    node.report_demand(modest, 0.2)
    node.report_demand(greedy, 3.0)
    node.report_demand(other, 3.0)
    assert greedy.cpu_cores() == pytest.approx(1.4, abs=1e-6)


def test_memory_beyond_the_limit_is_killed_and_the_kernel_says_so():
    node = machine()
    container = run(node, "fat", memory_limit=64 * MIB, memory_request=32 * MIB)
    before = node.memory_used()
    container.set_memory(50 * MIB)
    assert node.memory_used() == before + 50 * MIB
    container.set_memory(65 * MIB)
    assert (container.exit_code, container.reason) == (137, "OOMKilled")
    assert node.memory_used() == before
    kernel = [line.text for line in node.log if line.identifier == "kernel"]
    assert "app invoked oom-killer" in kernel[0]
    assert kernel[2].startswith(f"Memory cgroup out of memory: Killed process {container.pid} (app)")


def test_oom_score_follows_quality_of_service():
    node = machine(memory_bytes=16 << 30)
    assert node.oom_score(run(node, "besteffort")) == 1000
    assert node.oom_score(run(node, "burstable", memory_request=1 << 30)) == 938
    same = {"cpu_request": 1.0, "cpu_limit": 1.0, "memory_request": MIB, "memory_limit": MIB}
    assert node.oom_score(run(node, "guaranteed", **same)) == -997


def test_runc_dies_below_its_own_need():
    node = machine()
    with pytest.raises(RuntimeFailure, match=r"container init was OOM-killed \(memory limit too low\?\): unknown"):
        node.runtime.create_sandbox("shop", "tiny", "uid", memory_limit=5 * MIB)


def test_systemd_speaks_and_obeys():
    node = machine()
    host: Host = node  # type: ignore[assignment]
    assert host.control("stop", "containerd") == ""
    unit = host.unit("containerd.service")
    assert unit is not None
    assert not unit.active
    assert not node.runtime.up
    with pytest.raises(RuntimeFailure, match=r"dial unix /run/containerd/containerd\.sock"):
        node.runtime.create_sandbox("shop", "x", "uid")
    texts = [line.text for line in node.journal()]
    assert "Stopped containerd.service - containerd container runtime." in texts
    host.control("start", "containerd")
    assert node.runtime.up
    assert unit.pid > 2000
    assert host.control("start", "nope") == "Failed to start nope.service: Unit nope.service not found."


def test_stopping_containerd_leaves_containers_running():
    node = machine()
    container = run(node, "a", env=(("LISTEN", "80"),))
    node.control("stop", "containerd")
    assert container.running
    assert node.network.connect((container.sandbox.address, 80)) == "ok"


def test_cpu_counter_never_falls_and_reading_changes_nothing():
    node = machine(role="control-plane")
    last = node.cpu_ns()
    for _ in range(300):
        node.sim.run_for(SECOND)
        now = node.cpu_ns()
        assert 100_000_000 < now - last < 260_000_000
        assert node.cpu_ns() == now
        last = now


def test_addresses_are_given_back():
    node = machine()
    first = node.runtime.create_sandbox("shop", "a", "uid-a").address
    assert first == "10.244.1.2"
    node.runtime.stop_sandbox("uid-a")
    assert node.network.connect((first, 80)) == "timeout"
    assert node.runtime.create_sandbox("shop", "b", "uid-b").address == "10.244.1.3"


def test_host_network_pods_share_the_nodes_address():
    node = machine()
    sandbox = node.runtime.create_sandbox("shop", "p", "uid-p", host_network=True)
    spec = ContainerSpec("shop", "p", "uid-p", "c", "acme/app:1.0", env=(("LISTEN", "10256"),))
    node.runtime.start_container(node.runtime.create_container(sandbox, spec, 0))
    assert node.network.connect(("172.18.0.3", 10256)) == "ok"
    assert node.network.connect(("172.18.0.3", 10250)) == "ok"
    node.control("stop", "kubelet")
    assert node.network.connect(("172.18.0.3", 10250)) == "refused"
