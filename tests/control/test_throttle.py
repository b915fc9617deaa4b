"""A controller's client asks no faster than its bucket is filled."""

from __future__ import annotations

from simcluster.control.throttle import TokenBucket
from simcluster.engine import MILLISECOND, SECOND, Simulation
from simcluster.world import World
from simcluster.world.profile import Profile

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 60
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1.27"}]}
"""


def test_a_bucket_gives_its_burst_at_once_and_then_its_rate() -> None:
    sim = Simulation(0)
    bucket = TokenBucket(sim, 20, 30)
    assert [bucket.take(1) for _ in range(30)] == [0] * 30
    assert bucket.take(1) == 50 * MILLISECOND
    assert bucket.take(2) == 150 * MILLISECOND
    sim.run_for(SECOND)
    assert bucket.take(17) == 0
    assert bucket.take(1) == 50 * MILLISECOND
    bucket.take(-1)  # one that was not needed
    sim.run_for(3 * SECOND)
    assert bucket.take(30) == 0


def test_syncs_wait_for_tokens_where_a_profile_says_how_many_there_are() -> None:
    made: dict[str, int] = {}
    for name, profile in (
        ("usual", None),
        ("limited", Profile(parameters={"controller.qps": 5, "controller.burst": 5})),
    ):
        world = World(0, profile=profile)
        for number in range(4):
            world.apply(MANIFEST.replace("web", f"web-{number}").replace("60", "2"))
        begin = world.sim.now
        while len(world.api.store.objects("pods", "default")) < 8:
            world.run_for(100 * MILLISECOND)
            assert world.sim.now < begin + 60 * SECOND
        made[name] = world.sim.now - begin
    # the last two pods come after twelve requests for six others and their Events, of which five may come at once
    assert made["usual"] <= 500 * MILLISECOND
    assert (12 - 5) * SECOND // 5 <= made["limited"] < 12 * SECOND
