"""An application with a past: many hands, old rollouts, and today the same manifests as a young one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simcluster.api.objects import ApiObject
from simcluster.apps.history import PLAIN, Change, History, history_of, world_age
from simcluster.apps.registry import applications
from simcluster.engine import MINUTE, Snapshot, parse_rfc3339
from simcluster.engine.clock import DAY, HOUR
from simcluster.engine.content import ContentError, load_content
from simcluster.models.apps.folder import AppFolder
from simcluster.world import World

APP = "storefront"
DEPLOYED = ("deployments.apps", "services")


@pytest.fixture(scope="module")
def aged() -> Snapshot[World]:
    world = World(5)
    world.deploy(APP, APP, 58 * DAY)
    return Snapshot(world)


@pytest.fixture
def world(aged: Snapshot[World]) -> World:
    return aged.restore()


def of(world: World, resource: str) -> list[ApiObject]:
    return world.api.store.objects(resource, APP)


def age_of(world: World, found: ApiObject) -> int:
    return world.now - parse_rfc3339(found["metadata"]["creationTimestamp"])


def wanted(world: World) -> dict[tuple[str, str], str]:
    """What is deployed, but for the mark that `rollout restart` leaves."""
    found = {}
    for resource in DEPLOYED:
        for each in of(world, resource):
            spec = json.loads(json.dumps(each["spec"]))
            spec.get("template", {}).get("metadata", {}).pop("annotations", None)
            found[resource, each["metadata"]["name"]] = json.dumps(spec, sort_keys=True)
    return found


def test_today_it_is_what_the_manifests_say(world: World) -> None:
    young = World(5)
    young.deploy(APP, APP)
    young.run_for(MINUTE)
    assert wanted(world) == wanted(young)


def test_it_has_lived(world: World) -> None:
    ages = {each["metadata"]["name"]: age_of(world, each) for each in of(world, "replicasets.apps")}
    assert len(ages) > 2 * len(of(world, "deployments.apps"))
    assert max(ages.values()) == pytest.approx(58 * DAY, rel=0.01)
    pods = sorted(age_of(world, pod) // HOUR for pod in of(world, "pods"))
    assert pods[0] == 0  # the youngest pod is of an innocent rollout
    assert pods[-1] == 44 * 24
    managers = {
        entry["manager"] for each in of(world, "deployments.apps") for entry in each["metadata"]["managedFields"]
    }
    assert {"kubectl-client-side-apply", "kubectl-rollout", "finops-labeler", "kube-controller-manager"} <= managers
    booted = {name: (world.now - machine.booted_ns) // DAY for name, machine in world.machines.items()}
    assert booted["worker-1"] == 30
    assert booted["worker-2"] == 58
    assert all(age_of(world, event) <= HOUR for event in world.api.store.objects("events"))


def test_users_are_served_as_in_a_young_one(world: World) -> None:
    users = world.add_users(APP, "gateway", 70.0)
    world.run_for(90 * 10**9)
    stats = users.window(world.now - MINUTE, world.now)
    assert stats.sent > 3500
    assert stats.ok == stats.ended


def test_it_has_the_same_future_in_a_copy(world: World) -> None:
    other = world.fork()
    for each in (world, other):
        each.run_for(20 * 10**9)
    assert world.sim.digest.hex() == other.sim.digest.hex()


@pytest.mark.parametrize("folder", applications(), ids=lambda folder: folder.path.name)
def test_histories_fit_their_manifests(folder: AppFolder) -> None:
    for change in history_of(folder).changes:
        assert change.manifests(folder.text("manifests.yaml")) or not folder.text("manifests.yaml")


def test_bad_histories_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.yaml"
    first = "{age: 9d, user: a, apply: {}}"
    for changes, why in (
        ("{age: 9d, user: a}", "exactly one of apply, kubectl and reboot"),
        ("{age: 9 days, user: a, apply: {}}", "is no age"),
        ('{age: 9d, user: a, apply: {"x": "y"}}', "the last that does applies those of today"),
        (f"{first}, {{age: 10d, user: b, kubectl: [get pods]}}", "the oldest first"),
    ):
        path.write_text(f"changes: [{changes}]\n")
        with pytest.raises(ContentError, match=why):
            load_content(path, History)
    with pytest.raises(ValueError, match="which read 'y' once"):
        Change(age=DAY, user="a", apply={"x": "y"}).manifests("z")
    assert PLAIN.changes[0].age == 30 * DAY


@pytest.mark.parametrize("text", ["11h", "301d", "1w", "-2d", ""])
def test_no_cluster_is_so_old(text: str) -> None:
    with pytest.raises(ValueError, match=r"old|no age"):
        world_age(text)
