"""A node that runs out of memory or disk: conditions, evictions, the kernel's killer, image collection."""

import pytest

from simcluster.models.machine.shell.tree import FileTree
from tests.clusters.nodes import NodeBench

MIB = 1 << 20


@pytest.fixture
def bench():
    bench = NodeBench()
    bench.run(3)
    return bench


def hog(bench, name, memory, **spec):
    bench.pod(name, {"MEMORY": str(memory)}, **spec)


def node_condition(bench, kind):
    node = bench.api.store.get("nodes", "", bench.machine.name)
    return next(c for c in node["status"]["conditions"] if c["type"] == kind)


def node_events(bench):
    return [e["reason"] for e in bench.api.store.objects("events") if e["involvedObject"]["kind"] == "Node"]


def test_memory_pressure_evicts_the_worst_pod(bench):
    machine = bench.machine
    hog(bench, "small", 50 * MIB)
    bench.run(8)
    free = machine.memory_bytes - machine.memory_used()
    hog(bench, "big", free - 60 * MIB)
    bench.run(16)
    pod = bench.get("big")
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["reason"] == "Evicted"
    message = pod["status"]["message"]
    assert message.startswith("The node was low on resource: memory. Threshold quantity: 100Mi, available: ")
    assert "Container c was using " in message
    assert message.endswith("request is 0, has larger consumption of memory. ")
    assert any(c["type"] == "DisruptionTarget" for c in pod["status"]["conditions"])
    assert bench.get("small")["status"]["phase"] == "Running"
    bench.run(10)
    pressure = node_condition(bench, "MemoryPressure")
    assert (pressure["status"], pressure["reason"]) == ("True", "KubeletHasInsufficientMemory")
    assert {"EvictionThresholdMet", "NodeHasInsufficientMemory"} <= set(node_events(bench))
    # BestEffort pods are turned away as long as the node says so: five minutes.
    bench.pod("late")
    bench.run(2)
    assert bench.get("late")["status"]["reason"] == "Evicted"
    assert bench.get("late")["status"]["message"] == ("Pod was rejected: The node had condition: [MemoryPressure]. ")
    bench.run(320)
    assert node_condition(bench, "MemoryPressure")["status"] == "False"


def test_the_kernel_kills_when_it_cannot_wait(bench):
    machine = bench.machine
    hog(bench, "huge", machine.memory_bytes)
    bench.run(6)
    state = bench.container_status("huge")
    ended = state["state"].get("terminated") or state["lastState"].get("terminated")
    assert ended["reason"] == "OOMKilled"
    assert "SystemOOM" in node_events(bench)
    assert any("Out of memory: Killed process" in line.text for line in machine.log)


def test_a_full_disk_removes_images_then_pods(bench):
    bench.machine.images.preload("acme/unused:1.0")
    bench.kubelet.image_gc.start()
    bench.pod("a")
    bench.run(6)
    assert bench.machine.run(["fallocate", "-l", "82G", "/var/filler"]).code == 0
    bench.run(25)
    assert bench.machine.images.find("acme/unused:1.0") is None
    assert node_condition(bench, "DiskPressure")["status"] == "True"
    assert bench.get("a")["status"]["reason"] == "Evicted"
    assert "low on resource: ephemeral-storage" in bench.get("a")["status"]["message"]
    bench.machine.run(["rm", "/var/filler"])
    bench.run(330)
    assert node_condition(bench, "DiskPressure")["status"] == "False"


def test_images_are_collected_above_the_high_threshold(bench):
    bench.machine.images.preload("acme/unused:1.0")
    bench.kubelet.image_gc.start()
    bench.run(200)
    used = bench.machine.run(["df"]).stdout
    assert "/dev/nvme0n1p2" in used
    bench.kubelet.eviction.stop()
    bench.machine.run(["fallocate", "-l", "78G", "/var/filler"])
    bench.run(310)
    assert bench.machine.images.find("acme/unused:1.0") is None


def test_termination_messages(bench):
    env = {"EXIT_AFTER": "1", "EXIT_CODE": "3"}
    bench.pod("speaks", env, terminationMessagePolicy="FallbackToLogsOnError")
    bench.run(5)
    status = bench.container_status("speaks")
    ended = status["state"].get("terminated") or status["lastState"].get("terminated")
    assert ended["message"] == "starting\n"


def test_a_pod_that_fills_its_volume_is_evicted(bench):
    volumes = [{"name": "cache", "emptyDir": {"sizeLimit": "1Ki"}}]
    bench.pod("writer", spec={"volumes": volumes}, volumeMounts=[{"name": "cache", "mountPath": "/cache"}])
    bench.run(8)
    container = bench.machine.runtime.newest(bench.get("writer")["metadata"]["uid"], "c")
    FileTree(container).write("/cache/big", "x" * 2000)
    bench.run(15)
    status = bench.get("writer")["status"]
    assert status["reason"] == "Evicted"
    assert status["message"] == 'Usage of EmptyDir volume "cache" exceeds the limit "1Ki". '


@pytest.mark.parametrize(
    ("limit", "written", "logged", "said"),
    [
        ("1Mi", 2 << 20, 0, "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "),
        ("1Mi", 0, 2 << 20, "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "),
        ("1Mi", 0, 1 << 19, ""),
    ],
)
def test_a_pod_that_keeps_more_than_its_limit_on_the_node_is_evicted(bench, limit, written, logged, said):
    bench.pod("writer", resources={"limits": {"ephemeral-storage": limit}})
    bench.run(8)
    container = bench.machine.runtime.newest(bench.get("writer")["metadata"]["uid"], "c")
    if written:
        FileTree(container).write("/big", "x" * written)
    if logged:
        container.write("x" * logged)
    bench.run(11)
    status = bench.get("writer")["status"]
    assert (status.get("reason", ""), status.get("message", "")) == ("Evicted" if said else "", said)


def test_one_container_above_its_own_limit_takes_the_pod_with_it(bench):
    bounded = [
        {"name": name, "image": "acme/app:1.0", "resources": {"limits": {"ephemeral-storage": limit}}}
        for name, limit in (("c", "1Mi"), ("d", "8Mi"))
    ]
    bench.pod("pair", spec={"containers": bounded})
    bench.run(8)
    FileTree(bench.machine.runtime.newest(bench.get("pair")["metadata"]["uid"], "c")).write("/big", "x" * (2 << 20))
    bench.run(11)
    status = bench.get("pair")["status"]
    assert status["message"] == 'Container c exceeded its local ephemeral storage limit "1Mi". '


def test_sidecars_stop_one_after_another(bench):
    slow = [{"name": "TERM_AFTER", "value": "2"}]
    names = ("first", "second")
    side = [{"name": name, "image": "acme/app:1.0", "restartPolicy": "Always", "env": slow} for name in names]
    bench.pod("crew", spec={"initContainers": side})
    bench.run(12)
    uid = bench.get("crew")["metadata"]["uid"]
    runs = [bench.machine.runtime.newest(uid, name) for name in ("first", "second")]
    assert all(run is not None and run.running for run in runs)
    bench.admin.delete("pods", bench.get("crew")["metadata"]["namespace"], "crew")
    bench.run(10)
    assert runs[0].finished_ns - runs[1].finished_ns >= 2_000_000_000


def reconfigure(bench, text):
    bench.machine.files.write("/var/lib/kubelet/config.yaml", text)
    bench.machine.units.control("restart", "kubelet.service")
    bench.run(4)


def test_a_soft_threshold_waits_for_its_grace_period(bench):
    hog(bench, "big", 200 * MIB)
    bench.run(8)
    free = bench.machine.memory_bytes - bench.machine.memory_used()
    text = f"evictionSoft: {{memory.available: {(free + 50 * MIB) >> 20}Mi}}\n"
    text += "evictionSoftGracePeriod: {memory.available: 1m30s}\nevictionMaxPodGracePeriod: 5\n"
    reconfigure(bench, text)
    bench.run(40)
    assert node_condition(bench, "MemoryPressure")["status"] == "True"
    assert bench.get("big")["status"]["phase"] == "Running"
    bench.run(80)
    assert bench.get("big")["status"]["reason"] == "Evicted"


def test_pid_pressure(bench):
    bench.pod("a")
    bench.run(5)
    most = min(bench.machine.os.sysctls.number(name) for name in ("kernel.pid_max", "kernel.threads-max"))
    reconfigure(bench, f'evictionHard: {{memory.available: 100Mi, nodefs.available: 10%, pid.available: "{most}"}}\n')
    bench.run(25)
    condition = node_condition(bench, "PIDPressure")
    assert (condition["status"], condition["reason"]) == ("True", "KubeletHasInsufficientPID")
    said = bench.get("a")["status"]["message"]
    assert said.startswith(f"The node was low on resource: pids. Threshold quantity: {most}")
