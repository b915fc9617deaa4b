"""A disk that becomes slow under a store: from the drive to the users, by itself; nothing of it without the fault."""

from __future__ import annotations

import pytest

from simcluster import tasks
from simcluster.agents.runbook.drives import drives
from simcluster.engine import SECOND
from simcluster.eval.episode.episode import Episode
from simcluster.eval.episode.start import Starts
from simcluster.faults.incident import Incident
from simcluster.faults.target import ImpossibleTarget
from simcluster.tasks.model import resolve
from simcluster.world import World

TASK = "disk_fail_slow_hotel_reservation"
NS = "hotel-reservation"
STARTS = Starts(keep=8)


def paged() -> Episode:
    return STARTS.start(TASK, 0)


def seen_by_iostat(episode: Episode) -> dict[str, tuple[float, float]]:
    said = episode.node(episode.task.truth.ref.name).sh("iostat -dxy 10 1").stdout
    return {name: (waits_ms, busy) for name, waits_ms, busy in drives(said)}


def share_of_users(world: World, seconds: int = 30) -> float:
    stats = next(iter(world.traffic.users.values())).window(world.sim.now - seconds * SECOND, world.sim.now)
    return stats.ok / stats.sent


def test_a_slow_drive_from_the_device_to_the_users() -> None:
    episode = paged()
    node = episode.node(episode.task.truth.ref.name)
    assert "HighRequestLatency hotel-reservation/reservation" in episode.alert
    assert "NotReady" not in episode.alert
    seen = seen_by_iostat(episode)
    assert seen["sda"][0] > 1000.0
    assert seen["sda"][1] > 95.0
    assert seen["nvme0n1"][0] < 10.0
    assert "PASSED" in node.sh("smartctl -H /dev/sda").stdout
    assert "sda" not in node.sh("dmesg | grep -i -e error -e timeout -e reset").stdout
    now = node.sh("vmstat 1 2").stdout.splitlines()[-1].split()
    assert int(now[1]) >= 20
    assert int(now[15]) > 50
    log = episode.kubectl(f"logs -n {NS} deployment/mongodb-reservation --tail=20").stdout
    assert '"msg":"Slow query"' in log
    assert '"planSummary":"IXSCAN { hotelId: 1 }"' in log
    errors = next(iter(episode.world.traffic.users.values())).window(0, episode.world.sim.now).errors
    assert errors["timeout"] > 100
    pods = episode.kubectl(f"get pods -n {NS} --no-headers").stdout.splitlines()
    assert all(line.split()[1] == "1/1" for line in pods)
    assert share_of_users(episode.world) < 0.96


def test_without_the_fault_the_drive_is_in_use_and_fast() -> None:
    task = tasks.load(TASK)
    world = STARTS.healthy(task, 0)
    task = resolve(task, world)
    begun = world.now
    world.run_for(240 * SECOND)
    machine = world.machines[task.truth.ref.name]
    disk = machine.disks["sda"]
    before = disk.counted()
    world.run_for(60 * SECOND)
    after = disk.counted()
    reads = after.reads - before.reads
    assert 300 < reads < 700  # 8 % of 100 requests a second
    assert (after.read_ns - before.read_ns) / reads < 12e6
    assert 0.02 < (after.busy_ns - before.busy_ns) / (60 * SECOND) < 0.15
    assert share_of_users(world) > 0.999
    for each in world.machines.values():
        for container in each.runtime.containers():
            text = "\n".join(line.text for line in container.log.read() if line.t_ns > begun)
            assert "Slow query" not in text, container.spec.pod_name
            assert "i/o timeout" not in text, container.spec.pod_name
    users = next(iter(world.traffic.users.values())).window(world.sim.now - 60 * SECOND, world.sim.now)
    assert users.latency_ms_p50 < 10.0
    assert users.latency_ms_p99 < 25.0


def test_another_drive_ends_it() -> None:
    episode = paged()
    machine = episode.world.machines[episode.task.truth.ref.name]
    episode.kubectl(f"scale -n {NS} deployment/mongodb-reservation --replicas=0")
    episode.wait("10s")
    system = machine.files_at("/var/local-path-provisioner")
    machine.mounts.unmount("/var/local-path-provisioner")
    system.disk.replace()
    system.format()
    assert machine.mounts.mount("sda1", "/var/local-path-provisioner") == ""
    assert not episode.incident.still_present()
    episode.kubectl(f"scale -n {NS} deployment/mongodb-reservation --replicas=1")
    episode.wait("30s")
    episode.kubectl(f"rollout restart -n {NS} deployment/reservation")
    episode.wait("45s")
    assert share_of_users(episode.world) > 0.99


def test_impossible_slowness_is_refused_with_the_reason() -> None:
    task = tasks.load(TASK)
    world = STARTS.healthy(task, 0)
    step = resolve(task, world).incident[0]

    def refused(**params: object) -> str:
        kept = {"claim": "reservation-pvc", **params}
        with pytest.raises((ImpossibleTarget, ValueError)) as caught:
            Incident(world, NS, (step.model_copy(update={"params": kept}),)).check()
        return str(caught.value)

    assert "a drive as new is no fault" in refused(factor=1)
    assert "the nearest that fits is 100000 times as slow" in refused(factor=1e7)
    assert "belong together" in refused(every_ms=1000)
    assert "a hdd has no garbage collector" in refused(collected=0.5)
    with pytest.raises(ImpossibleTarget, match="cannot become slow twice"):
        Incident(world, NS, (step, step)).check()
