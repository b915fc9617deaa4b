"""Disks that pods mount without a claim, and claims that are still to be made."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.control.scheduler.plugins.inlinedisks import are_in_conflict, inline_disks
from simcluster.engine import SECOND
from simcluster.world.world import World


def _pod(**volume: Any) -> dict[str, Any]:
    return {"spec": {"volumes": [{"name": "v", **volume}]}}


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (_pod(gcePersistentDisk={"pdName": "d"}), _pod(gcePersistentDisk={"pdName": "d", "readOnly": True}), True),
        (_pod(gcePersistentDisk={"pdName": "d", "readOnly": True}),) * 2 + (False,),
        (_pod(gcePersistentDisk={"pdName": "d"}), _pod(gcePersistentDisk={"pdName": "e"}), False),
        (_pod(awsElasticBlockStore={"volumeID": "v", "readOnly": True}),) * 2 + (True,),
        (_pod(iscsi={"iqn": "i"}),) * 2 + (True,),
        (_pod(rbd={"monitors": ["a"], "image": "x"}), _pod(rbd={"monitors": ["a"], "image": "y"}), False),
        (_pod(emptyDir={}),) * 2 + (False,),
    ],
)
def test_who_can_be_on_one_node(one: dict[str, Any], other: dict[str, Any], clash: bool) -> None:
    assert are_in_conflict(inline_disks(one), inline_disks(other)) is clash


def test_the_scheduler_refuses_the_node() -> None:
    world = World(0, workers=1)
    disk = "volumes: [{name: v, gcePersistentDisk: {pdName: d}}]"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}, namespace: default}}\nspec: {{{1}{2}}}\n---\n"
    spec = f"containers: [{{name: c, image: nginx}}], {disk}"
    world.apply(pod.format("one", "nodeName: worker-1, ", spec) + pod.format("two", "", spec))
    world.run_for(3 * SECOND)
    two = world.api.store.get("pods", "default", "two")
    assert two is not None
    message = two["status"]["conditions"][0]["message"]
    assert message.startswith("0/2 nodes are available: 1 node(s) had no available disk, 1 node(s) had untolerated")
