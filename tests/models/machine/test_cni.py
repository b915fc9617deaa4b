"""The node's CNI configuration, and what its kubelet says without one."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.cni import FOLDER, AddressRange
from simcluster.world.world import World

FILE = f"{FOLDER}/10-kindnet.conflist"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}, namespace: default}}\nspec: {{nodeName: worker-1, {1}}}\n---\n"
CONTAINERS = "containers: [{name: c, image: nginx}]"


@pytest.fixture(scope="module")
def world() -> World:
    return World(0, workers=1)


def _phase(world: World, name: str) -> str:
    pod = world.api.store.get("pods", "default", name)
    assert pod is not None
    return str(pod["status"]["phase"])


@pytest.mark.parametrize("text", ["", "no json", '{"plugins": [{}]}', "[]"])
def test_a_node_without_a_usable_one_gives_no_networks(world: World, text: str) -> None:
    broken = world.fork()
    files = broken.machines["worker-1"].files
    before = files.read(FILE)
    if text:
        files.write(FILE, text)
    else:
        files.remove(FILE)
    broken.apply(POD.format("own", CONTAINERS) + POD.format("host", f"hostNetwork: true, {CONTAINERS}"))
    broken.run_for(20 * SECOND)
    assert (_phase(broken, "own"), _phase(broken, "host")) == ("Pending", "Running")
    why = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin"
    node = broken.api.store.get("nodes", "", "worker-1")
    assert node is not None
    ready = next(c for c in node["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["message"]) == ("False", f"{why} returns error: cni plugin not initialized")
    messages = [e["message"] for e in broken.api.store.objects("events", "default") if e["reason"] == "NetworkNotReady"]
    assert messages == [f"network is not ready: {ready['message']}"]
    files.write(FILE, before)
    broken.run_for(10 * SECOND)
    assert _phase(broken, "own") == "Running"


def test_addresses_come_from_the_range_in_the_file(world: World) -> None:
    other = world.fork()
    files = other.machines["worker-1"].files
    files.write(FILE, files.read(FILE).replace("10.244.1.0/24", "10.99.0.0/30"))
    other.apply("".join(POD.format(f"p{number}", CONTAINERS) for number in range(3)))
    other.run_for(15 * SECOND)
    pods = other.api.store.objects("pods", "default")
    assert [address for pod in pods if (address := pod["status"].get("podIP"))] == ["10.99.0.2"]
    full = "no IP addresses available in range set: 10.99.0.1-10.99.0.2"
    events = other.api.store.objects("events", "default")
    assert any(full in event["message"] for event in events if event["reason"] == "FailedCreatePodSandBox")


def test_a_range() -> None:
    assert (AddressRange("10.244.1.0/24").address(7), AddressRange("10.1.0.0/16").size) == ("10.244.1.7", 65534)
    assert str(AddressRange("10.99.0.8/29")) == "10.99.0.9-10.99.0.14"


def test_a_node_that_comes_back_makes_its_sandboxes_anew(world: World) -> None:
    rebooted = world.fork()
    rebooted.apply(POD.format("p", CONTAINERS))
    rebooted.run_for(10 * SECOND)
    power = rebooted.machines["worker-1"].power
    power.cut()
    power.give()
    rebooted.run_for(120 * SECOND)
    events = [e for e in rebooted.api.store.objects("events", "default") if e["reason"] == "SandboxChanged"]
    assert [(e["involvedObject"]["name"], e["message"]) for e in events] == [
        ("p", "Pod sandbox changed, it will be killed and re-created.")
    ]
