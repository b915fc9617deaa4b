"""A retry storm among real kubelets: probes fail behind the queue, the autoscaler answers the load."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.models.apps.callgraph import application_of, as_yaml, manifests_of
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.models.traffic.graph import spec_of
from simcluster.world import World

SHOP = spec_of(
    {
        "name": "shop",
        "services": {
            "web": {
                "workers": 4,
                "blocking": False,
                "operations": {
                    "page": {
                        "work": {"law": "exponential", "mean": "1ms"},
                        "steps": [{"call": {"service": "db", "timeout": "1s", "retries": {"attempts": 4}}}],
                    }
                },
            },
            "db": {
                "replicas": 2,
                "blocking": False,
                "queue": {"bound": 400},
                "operations": {"query": {"work": {"law": "exponential", "mean": "10ms"}}},
            },
        },
        "load": {"users": {"target": "web", "open": {"rate": 100}}},
    }
)
PROBE = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5}
TARGET = {"type": "AverageValue", "averageValue": "500m"}
SCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "db"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "db"},
        "minReplicas": 2,
        "maxReplicas": 6,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}},
            }
        ],
    },
}


def shop(probe: str = "", extra: list[dict[str, Any]] | None = None) -> World:
    world = World(workers=2)
    world.catalog.add(application_of(SHOP))
    world.catalog.publish(world.registry)
    objects = manifests_of(SHOP)
    for each in objects:
        if probe and each["kind"] == "Deployment" and each["metadata"]["name"] == "db":
            each["spec"]["template"]["spec"]["containers"][0][probe] = PROBE
    world.apply(as_yaml(objects + (extra or [])))
    world.run_for(40 * SECOND)
    world.traffic.add_users("people", "default", "web", 8080, rps=110)
    world.run_for(20 * SECOND)
    return world


def users(world: World) -> UserLoad:
    return world.traffic.users["default/people"]


def goodput(world: World, seconds: int) -> float:
    stats = users(world).window(world.sim.now - seconds * SECOND, world.sim.now)
    return stats.ok / stats.sent


def spike(world: World) -> None:
    users(world).rps = 400.0
    world.run_for(10 * SECOND)
    users(world).rps = 110.0


@pytest.fixture(scope="module")
def plain() -> Snapshot[World]:
    return Snapshot(shop())


def test_a_spike_is_over_and_its_storm_is_not(plain: Snapshot[World]) -> None:
    world = plain.restore()
    assert goodput(world, 15) > 0.99
    spike(world)
    world.run_for(60 * SECOND)

    assert goodput(world, 30) < 0.1
    pods = [p for p in world.api.store.objects("pods", "default") if p["metadata"]["name"].startswith("db-")]
    assert len(pods) == 2
    assert all(c["restartCount"] == 0 for p in pods for c in p["status"]["containerStatuses"])


def test_a_restart_of_those_who_call_does_not_end_it(plain: Snapshot[World]) -> None:
    world = plain.restore()
    spike(world)
    world.run_for(20 * SECOND)
    world.kubectl().run(["rollout", "restart", "deployment/web"])
    world.run_for(60 * SECOND)

    assert goodput(world, 20) < 0.5


def test_liveness_probes_fail_behind_the_queue() -> None:
    world = shop("livenessProbe")
    spike(world)
    world.run_for(40 * SECOND)

    pods = [p for p in world.api.store.objects("pods", "default") if p["metadata"]["name"].startswith("db-")]
    said = [e.get("message") or e.get("note") for e in world.api.store.objects("events", "default")]
    assert sum(c["restartCount"] for p in pods for c in p["status"]["containerStatuses"]) >= 1
    assert any("Liveness probe failed" in text and "deadline exceeded" in text for text in said if text)


def test_the_autoscaler_answers_the_load() -> None:
    world = shop(extra=[SCALER])
    users(world).rps = 170.0
    world.run_for(120 * SECOND)

    replicas = world.client("kubernetes-admin", "test").get("deployments.apps", "default", "db")["spec"]["replicas"]
    assert replicas >= 4
    assert goodput(world, 20) > 0.99
