"""Hotel Reservation on machines that fail: each chain from device to users; nothing of it without the fault."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.faults import registry
from simcluster.faults.incident import Incident
from simcluster.faults.steps import IncidentStep
from simcluster.faults.target import ImpossibleTarget
from simcluster.tasks.model import Task, resolve
from simcluster.world import World

NS = "hotel-reservation"
SECTORS = "latent_sector_errors_hotel_reservation"
CORRUPT = "silent_corruption_hotel_reservation"
POWER = "machine_fail_stop_hotel_reservation"
STARTS = Starts(keep=8)


def paged(task_id: str) -> Episode:
    return STARTS.start(task_id, 0)


def node_of(episode: Episode) -> str:
    return episode.task.truth.ref.name


def without_fault(task_id: str) -> tuple[World, Task]:
    """The same incident, but for its fault."""
    task = tasks.load(task_id)
    world = STARTS.healthy(task, 0)
    task = resolve(task, world)
    Incident(world, NS, tuple(step for step in task.incident if not step.fault)).start()
    world.run_for(150 * SECOND)
    return world, task


def logs(episode: Episode, deployment: str) -> str:
    pods = episode.kubectl(f"get pods -n {NS} -l io.kompose.service={deployment} -o name").stdout.split()
    return "".join(episode.kubectl(f"logs {pod} -n {NS}").stdout for pod in pods)


def share_of_users(world: World) -> float:
    stats = next(iter(world.traffic.users.values())).window(world.sim.now - 20 * SECOND, world.sim.now)
    return stats.ok / stats.sent


def test_bad_sectors_from_the_drive_to_the_users() -> None:
    episode = paged(SECTORS)
    node = node_of(episode)
    assert "KubePodNotReady hotel-reservation/mongodb-rate" in episode.alert
    shell = episode.node(node)
    said = shell.sh("dmesg").stdout
    assert "ata1.00: error: { UNC }" in said
    assert "I/O error, dev sda, sector" in said
    smart = shell.sh("smartctl -A /dev/sda").stdout
    pending = next(line for line in smart.splitlines() if "Current_Pending_Sector" in line)
    assert int(pending.split()[-1]) > 0
    assert "Input/output error" in logs(episode, "mongodb-rate")
    episode.wait("30s")
    store = episode.kubectl(f"get pods -n {NS} -l io.kompose.service=mongodb-rate --no-headers").stdout.split()
    assert (store[1], store[2] in ("CrashLoopBackOff", "Error"), int(store[3]) >= 2) == ("0/1", True, True)
    assert share_of_users(episode.world) < 0.6


def test_wrong_data_are_known_to_the_store_alone() -> None:
    episode = paged(CORRUPT)
    shell = episode.node(node_of(episode))
    assert "error" not in shell.sh("dmesg | grep -i -e ata -e sda -e I/O").stdout
    smart = shell.sh("smartctl -A /dev/sda").stdout
    assert next(line for line in smart.splitlines() if "Current_Pending_Sector" in line).split()[-1] == "0"
    assert "checksum" in logs(episode, "mongodb-rate")
    assert share_of_users(episode.world) < 0.6


@pytest.mark.parametrize("task_id", [SECTORS, CORRUPT])
def test_without_the_fault_nobody_notices(task_id: str) -> None:
    world, task = without_fault(task_id)
    machine = world.machines[task.truth.ref.name]
    assert not [line.text for line in machine.journal() if "I/O error" in line.text or "UNC" in line.text]
    for each in world.machines.values():
        for container in each.runtime.containers():
            text = "\n".join(line.text for line in container.log.read())
            assert "Input/output error" not in text, container.spec.pod_name
            assert "checksum" not in text, container.spec.pod_name
    assert world.available(NS)
    assert share_of_users(world) > 0.99


def test_zeros_in_place_of_a_bad_sector_are_not_the_data() -> None:
    episode = paged(SECTORS)
    node = node_of(episode)
    shell = episode.node(node)
    sector = shell.sh("dmesg").stdout.rpartition("dev sda, sector ")[2].split()[0]
    for number in range(int(sector), int(sector) + 16, 8):
        done = shell.sh(f"hdparm --yes-i-know-what-i-am-doing --write-sector {number} /dev/sda")
        assert "succeeded" in done.stdout
    episode.kubectl(f"delete pod -n {NS} -l io.kompose.service=mongodb-rate")
    episode.wait("30s")
    text = logs(episode, "mongodb-rate")
    assert "Input/output error" not in text
    assert "checksum" in text
    assert not episode.incident.still_present()  # the sectors can be read again: what is left is damage to the data


def test_a_machine_without_power_is_silent_and_comes_back() -> None:
    episode = paged(POWER)
    node = node_of(episode)
    before = len(list(episode.world.machines[node].journal()))
    refused = episode.node(node).sh("uptime")
    assert (refused.exit_code, refused.stderr) == (255, f"ssh: connect to host {node} port 22: No route to host\n")
    bmc = f"ipmitool -I lanplus -H {node}-bmc -U admin -P admin chassis power"
    other = episode.node("control-plane")
    assert other.sh(f"{bmc} status").stdout == "Chassis Power is off\n"
    episode.wait("60s")
    assert len(list(episode.world.machines[node].journal())) == before
    assert f"{node} " in episode.kubectl("get nodes | grep NotReady").stdout or "NotReady" in (
        episode.kubectl("get nodes").stdout
    )
    assert share_of_users(episode.world) < 0.1
    assert other.sh(f"{bmc} on").stdout == "Chassis Power Control: Up/On\n"
    episode.wait("120s")
    assert "NotReady" not in episode.kubectl("get nodes").stdout
    assert "up 0 min" in episode.node(node).sh("uptime").stdout or "up 1 min" in episode.node(node).sh("uptime").stdout
    assert episode.world.available(NS)


@pytest.mark.slow
def test_a_machine_that_is_given_up_may_stay_off() -> None:
    episode = paged(POWER)
    node = node_of(episode)
    world = episode.world
    taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    episode.wait("60s")
    episode.kubectl(f"taint node {node} {taint}")
    episode.wait("30s")
    episode.kubectl(f"delete pods -n {NS} --force --grace-period=0 --field-selector spec.nodeName={node}")
    for claim in world.api.store.objects("persistentvolumeclaims", NS):
        volume = world.api.store.get("persistentvolumes", "", claim["spec"]["volumeName"])
        assert volume is not None
        if volume["metadata"]["annotations"]["local.path.provisioner/selected-node"] != node:
            continue
        name = claim["metadata"]["name"]
        store = f"mongodb-{name.removesuffix('-pvc')}"
        text = (
            f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec:\n"
            "  accessModes: [ReadWriteOnce]\n  storageClassName: local-path\n"
            "  resources: {requests: {storage: 1Gi}}\n"
        )
        episode.kubectl(f"scale deployment/{store} -n {NS} --replicas=0")
        episode.kubectl(f"delete pvc {name} -n {NS} --wait=false")
        episode.wait("15s")
        episode.kubectl(f"apply -n {NS} -f -", text)
        episode.kubectl(f"scale deployment/{store} -n {NS} --replicas=1")
    episode.wait("60s")
    episode.kubectl(
        f"rollout restart -n {NS} deployment geo profile rate recommendation reservation search user frontend"
    )
    episode.wait("90s")
    assert not episode.incident.still_present()
    episode.finish()
    assert episode.report.mitigation.passed, episode.report.mitigation.explain()
    assert share_of_users(world) > 0.99


def test_impossible_faults_are_refused_with_the_reason() -> None:
    task = tasks.load(SECTORS)
    world = STARTS.healthy(task, 0)
    step = resolve(task, world).incident[0]
    node = step.target.name if step.target else ""

    def refused(*steps: IncidentStep) -> str:
        with pytest.raises(ImpossibleTarget) as caught:
            Incident(world, NS, steps).check()
        return str(caught.value)

    elsewhere = step.model_copy(
        update={"target": step.target and step.target.model_copy(update={"name": "control-plane"})}
    )
    assert "no volume of claim rate-pvc lies on Node/control-plane" in refused(elsewhere)
    assert "has no file nothing" in refused(
        step.model_copy(update={"params": {"claim": "rate-pvc", "files": "nothing"}})
    )
    long = {**step.params, "blocks": 1000}
    assert "bytes, fewer than 4096000" in refused(step.model_copy(update={"params": long}))
    other = step.model_copy(update={"fault": "silent_corruption"})
    assert "cannot be unreadable and silently wrong at once" in refused(step, other)
    off = step.model_copy(update={"fault": "machine_fail_stop", "params": {}})
    assert refused(step, off).startswith(
        f"Node/{node} is off: nothing else can fail there; the nearest that fits is Node/"
    )
    for fault, params in (("latent_sector_errors", {"blocks": 0}), ("silent_corruption", {"offset": 100})):
        assert step.target is not None
        spec = registry.load(fault)
        with pytest.raises(ValueError, match=f"fault {fault}: params"):
            registry.build(spec, step.target.resolve(world, NS)[0], NS, {**step.params, **params})
