from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from simcluster.api.objects import Json, is_terminating
from simcluster.engine import SECOND, fork
from simcluster.engine.content import ContentError, UnknownName, load_content
from simcluster.noise.plan import NoisePlan, Profile, ids, load, mechanisms
from simcluster.noise.spared import Spared
from tests.clusters.shop import NAMESPACE, ShopWorld

KILLS = Profile.model_validate({"id": "kills", "description": "pods go", "disturbances": [{"mechanism": "pod_kill"}]})


class Aim(NamedTuple):
    kind: str
    name: str


def gone(world: ShopWorld) -> list[str]:
    pods: list[Json] = [dict(pod) for pod in world.api.store.objects("pods", NAMESPACE)]
    alive = [pod["metadata"]["name"].split("-")[0] for pod in pods if not is_terminating(pod)]
    return [app for app in ("cart", "frontend", "geo") if app not in alive]


def test_the_first_disturbance_comes_between_60_and_300_s_then_every_300_s() -> None:
    firsts = []
    for seed in range(12):
        world = ShopWorld(seed)
        start = world.sim.now
        plan = NoisePlan(world, KILLS, NAMESPACE)
        plan.start()
        world.run_for(701 * SECOND)
        times = [(at - start) // SECOND for at, _, _ in plan.done]
        firsts.append(times[0])
        assert 60 <= times[0] <= 300
        assert times[1] - times[0] == 300
    assert len(set(firsts)) > 6


def test_what_the_incident_touches_is_spared() -> None:
    for seed in range(6):
        world = ShopWorld(seed)
        spared = Spared.of(world, NAMESPACE, [Aim("Deployment", "cart"), Aim("Service", "geo")])
        plan = NoisePlan(world, KILLS, NAMESPACE, spared)
        plan.start()
        world.run_for(700 * SECOND)
        assert gone(world) == ["frontend"]
        assert len(plan.done) == 1


def test_pods_of_a_faulted_node_are_spared() -> None:
    world = ShopWorld()
    plan = NoisePlan(world, KILLS, NAMESPACE, Spared.of(world, NAMESPACE, [Aim("Node", "worker-1")]))
    plan.start()
    world.run_for(1300 * SECOND)
    assert gone(world) == ["frontend"]


def test_an_incident_at_what_all_share_spares_the_whole_namespace() -> None:
    world = ShopWorld()
    plan = NoisePlan(world, KILLS, NAMESPACE, Spared.of(world, NAMESPACE, [Aim("ResourceQuota", "memory")]))
    plan.start()
    world.run_for(1300 * SECOND)
    assert not plan.done
    assert gone(world) == []


def test_several_at_once_are_of_several_kinds() -> None:
    world = ShopWorld()
    data = {
        "id": "two",
        "description": "x",
        "at_once": 2,
        "disturbances": [{"mechanism": "pod_kill"}, {"mechanism": "note"}],
    }
    plan = NoisePlan(world, Profile.model_validate(data), NAMESPACE)
    plan.start()
    world.run_for(700 * SECOND)
    instants = Counter(at for at, _, _ in plan.done)
    assert set(instants.values()) == {2}
    assert {kind for _, kind, _ in plan.done} == {"pod_kill", "note"}


def test_silence_lasts() -> None:
    world = ShopWorld()
    plan = NoisePlan(world, load("default"), NAMESPACE)
    plan.start()
    plan.silence()
    world.run_for(1000 * SECOND)
    assert gone(world) == []


def test_no_plan_is_no_noise_and_a_fork_has_the_same_noise() -> None:
    world = ShopWorld(3)
    plan = NoisePlan(world, load("default"), NAMESPACE)
    plan.start()
    world.run_for(50 * SECOND)
    other_world, other = fork((world, plan))
    for one in (world, other_world):
        one.run_for(400 * SECOND)
    assert list(plan.done) == list(other.done)
    assert world.sim.digest.hex() == other_world.sim.digest.hex()


def test_it_is_done_under_a_name_that_clusters_have() -> None:
    world = ShopWorld()
    NoisePlan(world, load("default"), NAMESPACE).start()
    world.run_for(400 * SECOND)
    assert not [o for r in world.api.store.resources() for o in world.api.store.objects(r) if "noise" in repr(o)]


def test_profiles_are_checked(tmp_path: Path) -> None:
    assert "default" in ids()
    with pytest.raises(UnknownName, match="did you mean default"):
        load("defalt")
    path = tmp_path / "p.yaml"
    path.write_text("id: p\ndescription: x\nduration: 130s\ndisturbances:\n  - {mechanism: pod_kill}\n")
    with pytest.raises(ContentError, match="at most 120s"):
        load_content(path, Profile)
    path.write_text("id: p\ndescription: x\nat_once: 2\ndisturbances:\n  - {mechanism: pod_kill}\n")
    with pytest.raises(ContentError, match="at_once must not be above the number of disturbances, 1"):
        load_content(path, Profile)
    path.write_text("id: p\ndescription: x\nduration: 60s\ndisturbances:\n  - {mechanism: pod_kill, duration: 61s}\n")
    with pytest.raises(ContentError, match="at most that of the profile"):
        load_content(path, Profile)
    path.write_text("id: p\ndescription: x\ndisturbances:\n  - {mechanism: pod_kil}\n")
    with pytest.raises(ContentError, match=r"p.yaml:4: .*did you mean pod_kill"):
        load_content(path, Profile)
    path.write_text("id: p\ndescription: x\ndisturbances:\n  - {mechanism: pod_kill, params: {usr: x}}\n")
    with pytest.raises(ContentError, match="pod_kill"):
        load_content(path, Profile)


def test_every_mechanism_is_in_a_profile() -> None:
    used = {kind.mechanism for profile in ids() for kind in load(profile).disturbances}
    assert used == set(mechanisms())
