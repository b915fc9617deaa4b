from __future__ import annotations

from simcluster.apps.cases import Users
from simcluster.engine import SECOND
from simcluster.eval.worlds.healthy import HEALTHY, Place
from simcluster.faults import registry
from simcluster.faults.target import ObjectRef


def test_a_ramp_is_climbed_by_others_who_wait_for_answers_and_go_home_again() -> None:
    world = HEALTHY.deployed(Place("storefront", "storefront", Users(entry="gateway", rps=30), observed=False), 0)
    params = {"factor": 2.0, "ramp": "20s", "lasts": "10s", "mix": {"home": 1.0}, "concurrency": 50}
    spike = registry.build(registry.load("load_spike"), ObjectRef(kind="Service", name="gateway"), "storefront", params)
    spike.check(world)
    begun = world.sim.now
    spike.inject(world)
    world.run_for(SECOND)
    (old,) = (one for one in world.traffic.users.values() if one.rps == 30.0)
    (new,) = (one for one in world.traffic.users.values() if one is not old)
    assert (new.rps, new.mix, new.concurrency) == (3.0, (("home", 1.0),), 50)
    world.run_for(19 * SECOND)
    assert new.rps == 30.0
    world.run_for(11 * SECOND)
    assert new.rps == 0.0
    sent = [new.window(begun + at * SECOND, begun + (at + 10) * SECOND).sent for at in (0, 10, 20)]
    assert 0 < sent[0] < sent[1] < sent[2]
    assert old.rps == 30.0
