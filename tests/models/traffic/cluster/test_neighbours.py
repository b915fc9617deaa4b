"""A storm in one part of a cluster leaves users of another part alone, in fine ticks and in leaps."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.callgraph import PORT, REPOSITORY, application_of
from simcluster.models.traffic.graph import spec_of
from tests.clusters.handmade import HandmadeCluster


def test_users_beside_a_standing_storm_are_answered() -> None:
    service = {"queue": {"bound": 1000}, "operations": {"o": {"work": {"law": "exponential", "mean": "5ms"}}}}
    services = {"sick": service, "sound": service}
    spec = spec_of({"name": "two", "services": services, "load": {"u": {"target": "sick", "open": {"rate": 1}}}})
    cluster = HandmadeCluster()
    cluster.catalog.add(application_of(spec))
    for name in services:
        cluster.service(name, PORT, ())
        cluster.pod(f"{name}-0", f"{REPOSITORY}/two/{name}:v1")
        cluster.service(name, PORT, (f"{name}-0",))
    cluster.run(3)
    sick = cluster.traffic.add_users("sick", "shop", "sick", PORT, rps=400, timeout_ns=SECOND, retries=3)
    sound = cluster.traffic.add_users("sound", "shop", "sound", PORT, rps=50, timeout_ns=SECOND)
    cluster.run(40)
    start = cluster.sim.now
    cluster.run(20)

    assert cluster.traffic.hot is not None
    assert cluster.traffic.hot.stands_still
    assert sick.window(start, cluster.sim.now).success_ratio < 0.01
    assert sound.window(start, cluster.sim.now).success_ratio == pytest.approx(1.0, abs=0.08)
