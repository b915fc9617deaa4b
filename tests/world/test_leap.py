"""Idle time that is skipped leaves what lived time would have left."""

from __future__ import annotations

import pickle

import pytest

from simcluster.api.objects import ApiObject, Json
from simcluster.engine import MINUTE, SECOND, Simulation, Snapshot, format_rfc3339, parse_rfc3339
from simcluster.engine.clock import DAY, HOUR
from simcluster.session.clock import Clock
from simcluster.session.live import Live
from simcluster.session.sandbox import begun_by, sandbox
from simcluster.world import World
from tests.clusters.counting import counters

APP = "hotel-reservation"
SPAN_NS = 60 * DAY + 7 * HOUR + 1_234_567_891

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  ttlSecondsAfterFinished: 86400
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: busybox:1.36, command: [sh, -c, "echo done"]}]
"""


@pytest.fixture(scope="module")
def young() -> Snapshot[World]:
    world = World(3)
    world.deploy(APP, APP)
    world.apply(JOB)
    world.run_for(150 * SECOND)
    return Snapshot(world)


@pytest.fixture(scope="module")
def aged(young: Snapshot[World]) -> Snapshot[World]:
    world = young.restore()
    world.leap(SPAN_NS)
    return Snapshot(world)


@pytest.fixture
def world(aged: Snapshot[World]) -> World:
    return aged.restore()


def restarts(world: World) -> dict[tuple[str, str], list[int]]:
    """Of the containers of every pod, by namespace and uid."""
    return {
        (pod["metadata"]["namespace"], pod["metadata"]["uid"]): [s["restartCount"] for s in containers_of(pod)]
        for pod in world.api.store.objects("pods")
    }


def containers_of(pod: ApiObject) -> list[Json]:
    found: list[Json] = pod["status"]["containerStatuses"]
    return found


def test_nothing_has_happened(young: Snapshot[World], world: World) -> None:
    before = young.restore()
    world.run_for(5 * MINUTE)
    for node in world.api.store.objects("nodes"):
        ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert ready["status"] == "True"
        assert parse_rfc3339(ready["lastTransitionTime"]) < MINUTE
        assert world.now - parse_rfc3339(ready["lastHeartbeatTime"]) < 6 * MINUTE
    for lease in world.api.store.objects("leases.coordination.k8s.io"):
        assert world.now - parse_rfc3339(lease["spec"]["renewTime"]) < 30 * SECOND
        assert not lease["spec"].get("leaseTransitions")
    assert restarts(world) == {name: count for name, count in restarts(before).items() if "default" not in name}
    assert not world.api.store.objects("events")


def test_counters_only_grow_and_versions_with_them(young: Snapshot[World], world: World) -> None:
    before = young.restore()
    known, now = counters(before.machines["worker-1"]), counters(world.machines["worker-1"])
    assert known
    assert {key for key, value in known.items() if now.get(key, value) < value} == set()
    gained, version = world.api.store.version - before.api.store.version, before.api.store.version
    before.run_for(10 * MINUTE)
    assert gained / SPAN_NS == pytest.approx((before.api.store.version - version) / (10 * MINUTE), rel=0.1)
    assert world.api.store.changes_since(version) is None


def test_what_an_operator_sees_agrees_with_its_age(world: World) -> None:
    live = Live(world, Clock())
    node = live.node("worker-1")
    assert " up 60 days,  7:" in node.sh("uptime").stdout
    assert "60 days ago" in node.sh("systemctl status kubelet").stdout
    assert float(node.sh("cat /proc/uptime").stdout.split()[0]) == pytest.approx(world.now / SECOND, abs=5.0)
    assert node.sh("journalctl --list-boots").stdout.count("\n") == 2
    for line in ("get nodes", f"get pods -n {APP}", f"get rs -n {APP}", "get ns kube-system"):
        rows = live.kubectl(f"{line} --no-headers").stdout.splitlines()
        assert rows
        assert all("60d" in row for row in rows)
    assert live.kubectl("get jobs").stdout == ""  # its time to live ended on the second day
    lines = live.kubectl("logs -n kube-system etcd-control-plane --tail=3 --timestamps").stdout.splitlines()
    assert world.now - parse_rfc3339(lines[-1].split()[0]) < 6 * MINUTE
    compacted = live.kubectl("logs -n kube-system etcd-control-plane").stdout.splitlines()
    revisions = [int(line.split('"revision":')[1].split("}")[0]) for line in compacted if "tree index" in line]
    assert len(revisions) == pytest.approx(SPAN_NS / (5 * MINUTE), abs=3)
    assert revisions == sorted(revisions)


def test_cpus_have_been_busy_with_what_was_used_and_are_busy_again(world: World) -> None:
    for machine in world.machines.values():
        before = machine.os.times.all()
        assert before.user + before.system == pytest.approx(machine.cpu_ns(), rel=1e-3)
        each = [sum(one) for one in machine.os.times.each()]
        assert max(each) - min(each) < SECOND
        assert each[0] == pytest.approx(machine.sim.now - machine.booted_ns, rel=1e-6)
    begun = {name: (machine.os.times.all(), machine.cpu_ns()) for name, machine in world.machines.items()}
    world.run_for(60 * SECOND)
    for name, machine in world.machines.items():
        spent = machine.os.times.all().minus(begun[name][0])
        assert spent.user + spent.system == pytest.approx(machine.cpu_ns() - begun[name][1], rel=0.25)
        assert spent.user > 0.2 * SECOND


def test_a_fork_and_a_pickle_have_the_same_future(world: World) -> None:
    other, third = world.fork(), pickle.loads(pickle.dumps(world))
    for each in (world, other, third):
        each.run_for(30 * SECOND)
    assert world.sim.digest.hex() == other.sim.digest.hex() == third.sim.digest.hex()


def test_users_are_served_afterwards(world: World) -> None:
    users = world.add_users(APP, "frontend", 50.0)
    world.run_for(90 * SECOND)
    stats = users.window(world.now - MINUTE, world.now)
    assert stats.sent > 2500
    assert stats.ok == stats.ended


def test_what_cannot_be_skipped_is_refused(world: World) -> None:
    with pytest.raises(ValueError, match="no older than 300 days"):
        world.leap(300 * DAY)
    world.add_users(APP, "frontend", 50.0)
    with pytest.raises(ValueError, match="users of hotel-reservation/frontend are there"):
        world.leap(DAY)


def test_a_sandbox_has_an_age() -> None:
    box = sandbox(0, age="30d", seed=2)
    assert box.kubectl("get nodes --no-headers").stdout.split()[3] == "30d"
    assert box.kubectl("get events -A").stdout == ""
    again = begun_by({**sandbox(0, age="30d", seed=2).log_header()})
    assert again.kubectl("get nodes").stdout == box.kubectl("get nodes").stdout
    for wrong, why in (("400d", "no older than 300 days"), ("old", "is no age")):
        with pytest.raises(ValueError, match=why):
            sandbox(0, age=wrong)


def test_repeating_timers_keep_their_grid_and_appointments_their_instant() -> None:
    sim, fired = Simulation(0), Fired()
    fired.sim = sim
    sim.every(7 * SECOND, fired.note, "grid")
    sim.after(3 * SECOND, fired.note, "near")
    sim.after(DAY, fired.note, "appointment")
    assert sim.appointment(MINUTE) == DAY
    sim.leap(HOUR, MINUTE)
    sim.run_for(7 * SECOND)
    assert fired.noted[:2] == [(HOUR + 3 * SECOND, "near"), (-(-HOUR // (7 * SECOND)) * 7 * SECOND, "grid")]
    sim.leap(22 * HOUR, MINUTE)
    sim.run_until(DAY)
    assert fired.noted[-1] == (DAY, "appointment")
    assert format_rfc3339(sim.now) == "2026-03-03T09:00:00Z"


class Fired:
    """Notes what fires when."""

    sim: Simulation

    def __init__(self) -> None:
        self.noted: list[tuple[int, str]] = []

    def note(self, what: str) -> None:
        self.noted.append((self.sim.now, what))
