"""The Node object, its Lease, and the kubelet stopped and started again."""

import pytest

from simcluster.api import quantity
from simcluster.api.backends import LogOptions
from simcluster.api.errors import ApiError
from simcluster.api.objects import condition
from simcluster.engine import SECOND, fork
from tests.clusters.nodes import NodeBench

LEASES = "leases.coordination.k8s.io"


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.machine.images.preload("acme/app:1.0")
    bench.run(3)
    return bench


def node(bench):
    return bench.api.store.get("nodes", "", "worker-1")


def renewed(bench):
    return bench.api.store.get(LEASES, "kube-node-lease", "worker-1")["spec"]["renewTime"]


def test_registration(bench):
    found = node(bench)
    assert found["metadata"]["labels"]["kubernetes.io/hostname"] == "worker-1"
    assert found["spec"]["podCIDR"] == "10.244.1.0/24"
    status = found["status"]
    assert quantity.to_bytes(status["capacity"]["memory"]) == 8 << 30
    assert quantity.to_bytes(status["allocatable"]["memory"]) == (8 << 30) - (100 << 20)
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert status["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.7.24"
    assert len(status["nodeInfo"]["machineID"]) == 32
    assert status["images"][0]["names"][1] == "docker.io/acme/app:1.0"
    assert [reason for reason, _, _ in bench.events("worker-1")] == [
        "Starting",
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
        "NodeAllocatableEnforced",
        "NodeReady",
    ]


def test_the_lease_is_renewed_every_ten_seconds_and_the_status_every_five_minutes(bench):
    first, version, writes = renewed(bench), node(bench)["metadata"]["resourceVersion"], bench.kubelet.client.writes
    bench.run(100)
    assert renewed(bench) > first
    assert node(bench)["metadata"]["resourceVersion"] == version
    assert bench.kubelet.client.writes - writes in (9, 10)
    bench.run(220)
    assert node(bench)["metadata"]["resourceVersion"] != version


def test_containerd_down_is_reported_after_half_a_minute_and_pods_run_on(bench):
    bench.pod(env={"LISTEN": "8080"}, readinessProbe={"httpGet": {"path": "/ok", "port": 8080}})
    bench.run(5)
    bench.machine.control("stop", "containerd")
    bench.run(29)
    assert condition(node(bench), "Ready")["status"] == "True"
    bench.run(12)
    ready = condition(node(bench), "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "KubeletNotReady",
        "container runtime is down",
    )
    assert bench.conditions()["Ready"] == "True"
    bench.run(160)
    assert "PLEG is not healthy: pleg was last seen active 3m" in condition(node(bench), "Ready")["message"]
    reasons = [reason for reason, _, _ in bench.events("worker-1")]
    assert "ContainerGCFailed" in reasons
    assert "NodeNotReady" in reasons
    bench.machine.control("start", "containerd")
    bench.run(12)
    assert condition(node(bench), "Ready")["status"] == "True"


def test_new_pods_cannot_start_while_containerd_is_down(bench):
    bench.machine.control("stop", "containerd")
    bench.pod()
    bench.run(25)
    assert [(r, n) for r, _, n in bench.events()] == [("FailedCreatePodSandBox", 1)]
    assert "dial unix /run/containerd/containerd.sock: connect: no such file or directory" in bench.events()[0][1]
    bench.machine.control("start", "containerd")
    bench.run(20)
    assert bench.container_status()["ready"]


def test_a_stopped_kubelet_leaves_containers_alone(bench):
    bench.pod(env={"LISTEN": "8080"}, readinessProbe={"httpGet": {"path": "/ok", "port": 8080}})
    bench.run(5)
    uid = bench.get()["metadata"]["uid"]
    before = bench.machine.runtime.newest(uid, "c")
    bench.machine.control("stop", "kubelet")
    seen, writes = renewed(bench), bench.kubelet.client.writes
    bench.run(120)
    assert renewed(bench) == seen
    assert bench.kubelet.client.writes == writes
    assert before.running
    bench.machine.control("start", "kubelet")
    bench.run(20)
    assert renewed(bench) > seen
    assert bench.machine.runtime.newest(uid, "c") is before
    assert bench.container_status()["restartCount"] == 0
    assert bench.conditions()["Ready"] == "True"


def test_after_a_restart_dead_containers_are_noticed_and_orphans_reaped(bench):
    bench.pod("dies")
    bench.pod("deleted", {"TERM": "0"})
    bench.run(5)
    dies, deleted = (bench.get(name)["metadata"]["uid"] for name in ("dies", "deleted"))
    bench.machine.control("stop", "kubelet")
    bench.machine.runtime.newest(dies, "c").kill()
    bench.admin.delete("pods", "shop", "deleted", grace_period_s=0)
    bench.run(30)
    assert bench.container_status("dies")["restartCount"] == 0
    bench.machine.control("start", "kubelet")
    bench.run(10)
    assert bench.container_status("dies")["restartCount"] == 1
    assert bench.container_status("dies")["ready"]
    assert deleted not in bench.machine.runtime.runs


def test_a_status_that_somebody_else_changed_is_restated(bench):
    bench.pod(env={"LISTEN": "8080"})
    bench.run(5)
    conditions = [{**c, "status": "False"} if c["type"] == "Ready" else c for c in bench.get()["status"]["conditions"]]
    patch = {"status": {"conditions": conditions}}
    bench.admin.patch("pods", "shop", "app", patch, kind="merge", subresource="status")
    assert bench.conditions()["Ready"] == "False"
    bench.run(11)
    assert bench.conditions()["Ready"] == "True"


def test_logs_and_their_errors(bench):
    bench.pod(env={"EXIT_AFTER": "3"})
    bench.pod("bad", image="acme/app:does-not-exist")
    bench.run(3)
    read = bench.servers.logs
    assert read(bench.get(), LogOptions("c")) == "starting\n"
    assert read(bench.get(), LogOptions("c", timestamps=True)).startswith("2026-03-02T09:00:0")
    with pytest.raises(ApiError, match='previous terminated container "c" in pod "app" not found'):
        read(bench.get(), LogOptions("c", previous=True))
    with pytest.raises(ApiError, match='container "c" in pod "bad" is waiting to start: '):
        read(bench.get("bad"), LogOptions("c"))
    bench.run(6)
    assert read(bench.get(), LogOptions("c", previous=True)) == "starting\n"
    bench.machine.control("stop", "kubelet")
    with pytest.raises(ApiError) as error:
        read(bench.get(), LogOptions("c"))
    assert error.value.message == (
        'Get "https://172.18.0.3:10250/containerLogs/shop/app/c": '
        "dial tcp 172.18.0.3:10250: connect: connection refused"
    )


def test_exec(bench):
    bench.pod()
    bench.run(4)
    assert bench.servers.exec(bench.get(), "c", ["cat", "/etc/hostname"], "").stdout == "app"
    assert bench.servers.exec(bench.get(), "c", ["false"], "").code == 1
    with pytest.raises(ApiError) as error:
        bench.servers.exec(bench.get(), "c", ["nonexistent-tool"], "")
    assert error.value.message.endswith('exec: "nonexistent-tool": executable file not found in $PATH: unknown')


def test_stats_read_and_change_nothing(bench):
    bench.pod()
    bench.run(5)
    container = bench.machine.runtime.newest(bench.get()["metadata"]["uid"], "c")
    container.use_cpu(5 * SECOND)
    container.set_memory(1 << 20)
    digest = bench.sim.digest.hex()
    (usage,) = bench.kubelet.stats()
    assert (usage.namespace, usage.name) == ("shop", "app")
    assert usage.containers["c"] == (5 * SECOND, 1 << 20, container.started_ns)
    assert bench.kubelet.node_stats() == bench.kubelet.node_stats()
    assert bench.sim.digest.hex() == digest


def test_a_fork_has_the_same_future():
    bench = NodeBench(seed=3)
    bench.pod("live", {"LISTEN": "8080", "FAIL": "/x"}, livenessProbe={"httpGet": {"path": "/x", "port": 8080}})
    bench.pod("crash", {"EXIT_AFTER": "0.5"})
    bench.pod("bad", image="acme/app:does-not-exist")
    bench.run(7.77)
    twin = fork(bench)
    bench.run(100)
    twin.run(100)
    assert twin.sim.digest.hex() == bench.sim.digest.hex()


def test_quiet_pods_cost_no_writes(bench):
    probe = {"httpGet": {"path": "/ok", "port": 8080}}
    for index in range(10):
        bench.pod(f"app-{index}", {"LISTEN": "8080"}, readinessProbe=probe, livenessProbe=probe)
    bench.run(40)
    writes = bench.kubelet.client.writes
    bench.run(300)
    assert bench.kubelet.client.writes - writes <= 32  # thirty leases, one or two node statuses
