"""Pools, blocks and routes of Calico."""

from __future__ import annotations

import pytest

import simcluster
from simcluster.apps.calico_system.routes import REFLECTOR, missing, sessions
from simcluster.apps.calico_system.selector import matches
from simcluster.engine import SECOND
from simcluster.models.machine.addressblocks import AddressBlocks, NoAddress, Pool

NO_MESH = """
apiVersion: crd.projectcalico.org/v1
kind: BGPConfiguration
metadata: {name: default}
spec: {nodeToNodeMeshEnabled: false}
"""


def node(name: str, reflector: bool = False, **labels: str) -> dict:
    notes = {REFLECTOR: "244.0.0.1"} if reflector else {}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}, "annotations": notes}}


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("all()", True),
        ("has(rr)", True),
        ("!has(rr)", False),
        ("rr == 'yes' && zone != 'b'", True),
        ("", False),
        ("rr", False),
    ],
)
def test_selectors(selector: str, chosen: bool) -> None:
    assert matches(selector, {"rr": "yes", "zone": "a"}) == chosen


def test_routes_come_by_the_mesh_or_by_a_reflector() -> None:
    plain, labelled = [node("a"), node("b"), node("c")], [node("a", True, rr="1"), node("b"), node("c")]
    peers = [{"spec": {"nodeSelector": "all()", "peerSelector": "has(rr)"}}]
    assert missing("b", plain, sessions(plain, [], True)) == ()
    assert missing("b", plain, sessions(plain, [], False)) == ("a", "c")
    assert missing("b", labelled, sessions(labelled, peers, False)) == ()
    assert missing("b", plain, sessions(plain, peers, False)) == ("a", "c")
    weak = [node("a", rr="1"), *labelled[1:]]  # a peer without a cluster ID passes nothing on
    assert missing("b", weak, sessions(weak, peers, False)) == ("c",)


def test_blocks_are_claimed_borrowed_or_refused() -> None:
    blocks = AddressBlocks()
    blocks.configure([Pool("10.0.0.0/29", 30)], strict=False)
    assert [blocks.assign("a", f"u{n}") for n in range(5)] == [f"10.0.0.{n}" for n in range(5)]
    assert blocks.assign("b", "v") == "10.0.0.5"  # borrowed: a has both
    blocks.configure([Pool("10.0.0.0/29", 30)], strict=True)
    with pytest.raises(NoAddress, match="No more free affine blocks and strict affinity enabled"):
        blocks.assign("b", "w")
    blocks.release("10.0.0.2")
    assert blocks.assign("a", "x") == "10.0.0.2"
    blocks.configure([], strict=True)
    with pytest.raises(NoAddress, match="no configured Calico pools for node a"):
        blocks.assign("a", "y")


def test_a_cluster_goes_by_its_resources() -> None:
    box = simcluster.sandbox(nodes=2)
    world = box.world
    world.deploy("calico-system", "calico-system")
    world.run_for(45 * SECOND)
    box.kubectl("create deployment web --image=nginx --replicas=4")
    box.wait("30s")
    pods = list(world.api.store.objects("pods", "default"))
    assert all(pod["status"]["podIP"].startswith("192.168.") for pod in pods)
    box.kubectl("apply -f -", stdin=NO_MESH)
    box.wait("20s")
    one, other = pods[0], next(pod for pod in pods if pod["spec"]["nodeName"] != pods[0]["spec"]["nodeName"])
    ends = one["spec"]["nodeName"], other["spec"]["nodeName"]
    assert world.network.path(*ends, one["status"]["podIP"], other["status"]["podIP"]).cut
    assert not world.network.path(*ends).cut  # nodes reach each other
    box.kubectl('patch bgpconfigurations default --type=merge -p \'{"spec":{"nodeToNodeMeshEnabled":true}}\'')
    box.wait("20s")
    assert not world.network.path(*ends, one["status"]["podIP"], other["status"]["podIP"]).cut
    box.kubectl('patch ippool default-ipv4-ippool --type=merge -p \'{"spec":{"disabled":true}}\'')
    box.wait("10s")
    box.kubectl("scale deployment web --replicas=5")
    box.wait("20s")
    assert (
        "no configured Calico pools" in box.kubectl("get events --field-selector reason=FailedCreatePodSandBox").stdout
    )
