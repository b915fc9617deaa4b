"""Heat, and what programs leave behind: from the part to the users by itself; nothing of it without the fault."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.eval.episode.start import Starts
from simcluster.faults import registry
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ImpossibleTarget, ObjectRef
from simcluster.models.machine.kernel import cgroupfiles
from simcluster.models.machine.machine import Machine
from simcluster.tasks import load
from simcluster.world import World

NAMESPACE = "boutique"
LONG_NS = 90 * SECOND


@pytest.fixture(scope="module")
def calm() -> Snapshot[World]:
    """A healthy shop, as before every incident."""
    return Snapshot(Starts().healthy(load("nic_fail_slow_online_boutique").model_copy(update={"age": 0}), 5))


@pytest.fixture(scope="module")
def spared(calm: Snapshot[World]) -> World:
    """The same shop, as long without a fault."""
    world = calm.restore()
    world.run_for(LONG_NS)
    return world


def pod_of(world: World, deployment: str) -> dict[str, Any]:
    pods = world.api.store.objects("pods", NAMESPACE)
    found = [dict(p) for p in pods if p["metadata"]["labels"].get("app") == deployment]
    return max(found, key=_created)


def _created(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["creationTimestamp"])


def machine_of(world: World, deployment: str) -> Machine:
    return world.machines[pod_of(world, deployment)["spec"]["nodeName"]]


def fault(fault_id: str, kind: str, name: str, **params: Any) -> Mechanism:
    return registry.build(registry.load(fault_id), ObjectRef(kind=kind, name=name), NAMESPACE, params)


def broken(calm: Snapshot[World], mechanism: Mechanism, lasts_ns: int = LONG_NS) -> World:
    world = calm.restore()
    mechanism.check(world)
    mechanism.inject(world)
    world.run_for(lasts_ns)
    assert mechanism.still_present(world)
    return world


def run(machine: Machine, *argv: str) -> str:
    """What a program of the host prints, and prints later."""
    answer = machine.run(list(argv))
    while answer is not None and not answer.stdout and answer.then:
        answer = machine.run(list(answer.then), answer.then_stdin)
    assert answer is not None
    return answer.stdout


def succeeded(world: World) -> float:
    end = world.sim.now - 2 * SECOND
    return float(world.traffic.users["boutique/frontend"].window(end - 30 * SECOND, end).success_ratio)


def said(world: World, word: str) -> list[str]:
    return [line.text for machine in world.machines.values() for line in machine.journal() if word in line.text]


@pytest.mark.slow
def test_a_processor_without_its_fan_slows_down_all_that_runs_on_it(calm: Snapshot[World], spared: World) -> None:
    node = machine_of(spared, "frontend").name
    busy = calm.restore()
    busy.machines[node].burden("transcode", 3.7, weight=1)
    assert succeeded(busy) > 0.99
    world = broken(Snapshot(busy), fault("thermal_throttling", "Node", node, airflow=0.07), 200 * SECOND)
    machine = world.machines[node]
    assert machine.cooling.temperature_c > 90.0
    assert machine.cpu_speed < 0.5
    kernel_log = run(machine, "dmesg")
    assert "CPU0: Core temperature is above threshold, cpu clock is throttled (total events = " in kernel_log
    assert kernel_log.count("CPU3: Package temperature is above threshold") == 1  # at most once in 300 s
    degrees = re.search(r"Package id 0: \+(\d+)\.0", run(machine, "sensors"))
    assert degrees is not None
    assert int(degrees[1]) == int(machine.cooling.temperature_c)
    clock = run(machine, "turbostat", "--quiet", "-n", "1").splitlines()[1].split()[4]
    shown = re.search(r"cpu MHz\t\t: (\d+)", run(machine, "cat", "/proc/cpuinfo"))
    frequency = run(machine, "cat", "/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq")
    assert shown is not None
    assert int(clock) == int(shown[1]) == int(frequency) // 1000 == max(800, int(2500 * machine.cpu_speed))
    assert "FAN1             | 360 RPM           | cr" in run(machine, "ipmitool", "sdr")
    assert "Fan FAN1 | Lower Critical going low" in run(machine, "ipmitool", "sel", "list")
    assert succeeded(world) < 0.9
    ready = next(c for c in pod_of(world, "frontend")["status"]["conditions"] if c["type"] == "Ready")
    assert ready["status"] in ("True", "False")


def test_a_cool_processor_has_nothing_to_tell(spared: World) -> None:
    assert not said(spared, "temperature")
    for machine in spared.machines.values():
        assert machine.cpu_speed == 1.0
        assert 30.0 < machine.cooling.temperature_c < 60.0
        assert run(machine, "ipmitool", "sel", "list") == "SEL has no entries\n"
        assert " cr\n" not in run(machine, "ipmitool", "sdr")
    assert succeeded(spared) > 0.99


def test_zombies_use_up_the_pids_of_a_pod(calm: Snapshot[World], spared: World) -> None:
    mechanism = fault("pid_exhaustion", "Deployment", "currencyservice", tag="v0.10.4", children=500)
    world = broken(calm, mechanism, 45 * SECOND)
    machine, pod = machine_of(world, "currencyservice"), pod_of(world, "currencyservice")
    uid = pod["metadata"]["uid"]
    zombies = run(machine, "ps", "-eo", "stat,ppid,comm").count("\nZ")
    top = re.search(r"(\d+) zombie", run(machine, "top", "-bn1"))
    container = next(c for c in machine.runtime.containers() if c.spec.pod_uid == uid and c.running)
    current = cgroupfiles.read(container, "pids.current")
    assert 20 < zombies == int(top[1] if top else 0) == int(current or 0) - 12
    group = container.sandbox.group.path(uid)
    assert run(machine, "cat", f"/sys/fs/cgroup/{group}/pids.max") == "1024\n"
    world.run_for(60 * SECOND)
    scope = f"/{group}/cri-containerd-"
    assert said(world, f"cgroup: fork rejected by pids controller in {scope}")
    status = pod_of(world, "currencyservice")["status"]["containerStatuses"][0]
    ended = status["lastState"].get("terminated") or status["state"]["terminated"]
    assert (status["restartCount"] >= 1, ended["reason"], ended["exitCode"]) == (True, "Error", 1)
    dead = [c for c in machine.runtime.runs[uid]["server"] if not c.running]
    assert "Error: spawn /usr/bin/convert EAGAIN" in "\n".join(line.text for line in dead[0].log.read())
    assert not said(spared, "pids controller")
    assert all(not m.os.pids.total(0) - 330 for m in spared.machines.values())


def test_files_in_shared_memory_outlive_their_container(calm: Snapshot[World], spared: World) -> None:
    mechanism = fault("shared_memory_exhaustion", "Deployment", "productcatalogservice", tag="v0.10.4", mib=64)
    world = broken(calm, mechanism, 150 * SECOND)
    machine, pod = machine_of(world, "productcatalogservice"), pod_of(world, "productcatalogservice")
    uid = pod["metadata"]["uid"]
    assert machine.os.shm.used(uid) == 64 << 20
    status = pod["status"]["containerStatuses"][0]
    assert status["restartCount"] >= 2
    runs = machine.runtime.runs[uid]["server"]
    words = "\n".join(line.text for container in runs for line in container.log.read())
    assert "panic: write /dev/shm/render.cache: no space left on device" in words
    world.client("deploy", "kubectl").delete("pods", NAMESPACE, pod["metadata"]["name"])
    world.run_for(60 * SECOND)
    assert machine.os.shm.used(uid) == 0  # the file system went with the pod
    assert spared.machines[machine.name].os.shm.total() == 0


def test_what_cannot_be_is_refused(calm: Snapshot[World]) -> None:
    world = calm.restore()

    def reason(mechanism: Mechanism) -> str:
        with pytest.raises(ImpossibleTarget) as caught:
            mechanism.check(world)
        return str(caught.value)

    assert "stays below 95 °C whatever it does" in reason(fault("thermal_throttling", "Node", "worker-1", airflow=0.9))
    with pytest.raises(ValueError, match="less than 1"):
        fault("thermal_throttling", "Node", "worker-1", airflow=1.0)
    with pytest.raises(ValueError, match="less than or equal to 1000"):
        fault("pid_exhaustion", "Deployment", "currencyservice", tag="v9", children=5000)
    hot = fault("thermal_throttling", "Node", "worker-1", airflow=0.14)
    hot.inject(world)
    assert "does not work as it should already" in reason(hot)
    assert hot.contradiction(fault("thermal_throttling", "Node", "worker-1", airflow=0.2))
    pids = fault("pid_exhaustion", "Deployment", "frontend", tag="v0.10.4", children=50)
    shared = fault("shared_memory_exhaustion", "Deployment", "frontend", tag="v0.10.5", mib=8)
    assert "the image of Deployment/frontend" in pids.contradiction(shared)
    for machine in world.machines.values():
        text = machine.files.read("/var/lib/kubelet/config.yaml")
        machine.files.write("/var/lib/kubelet/config.yaml", text.replace("podPidsLimit: 1024\n", ""))
    assert "no kubelet limits the tasks" in reason(pids)
