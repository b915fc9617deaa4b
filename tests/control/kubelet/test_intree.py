"""Volumes of plugins that the nodes cannot serve."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.world.world import World

TIMED_OUT = "failed to process volumes=[]: context deadline exceeded"
CASES = {
    "gce": ("gcePersistentDisk: {pdName: d}", f"unattached volumes=[v], {TIMED_OUT}"),
    "rbd": ("rbd: {monitors: ['1.2.3.4:1'], image: x}", 'volume "v" err=no volume plugin matched'),
    "iscsi": ("iscsi: {targetPortal: 10.0.0.9, iqn: i, lun: 0}", "sendtargets to portal 10.0.0.9:3260 output: , err"),
    "fc": ("fc: {targetWWNs: [a], lun: 0}", 'MountVolume.WaitForAttach failed for volume "v" : no fc disk found'),
    "socket": ("hostPath: {path: /run/x.sock, type: Socket}", "type check failed: /run/x.sock is not a socket file"),
    "device": ("hostPath: {path: /x, type: CharDevice}", "type check failed: /x is not a character device"),
    "local": (
        "persistentVolumeClaim: {claimName: local}",
        'MountVolume.NewMounter initialization failed for volume "local" : path "/mnt/none" does not exist',
    ),
    "folder": (
        "persistentVolumeClaim: {claimName: folder}",
        'MountVolume.SetUp failed for volume "folder" : hostPath type check failed: /no/such is not a directory',
    ),
}
SOURCES = {"local": "local: {path: /mnt/none}", "folder": "hostPath: {path: /no/such, type: Directory}"}


def _pod(name: str, volume: str) -> str:
    spec = f"{{nodeName: worker-1, containers: [{{name: c, image: nginx}}], volumes: [{{name: v, {volume}}}]}}"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default}}\nspec: {spec}\n---\n"


def _volume(name: str, source: str) -> str:
    term = "{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [worker-1]}]}"
    affinity = f"nodeAffinity: {{required: {{nodeSelectorTerms: [{term}]}}}}"
    common = "accessModes: [ReadWriteOnce], storageClassName: m"
    return (
        f"apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\n"
        f"spec: {{capacity: {{storage: 1Gi}}, {common}, {source}, {affinity}}}\n---\n"
        f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: default}}\n"
        f"spec: {{{common}, volumeName: {name}, resources: {{requests: {{storage: 1Gi}}}}}}\n---\n"
    )


@pytest.fixture(scope="module")
def world() -> World:
    made = World(0, workers=1)
    text = "".join(_volume(name, source) for name, source in SOURCES.items())
    made.apply(text + "".join(_pod(name, volume) for name, (volume, _) in CASES.items()))
    made.run_for(130 * SECOND)
    return made


@pytest.mark.parametrize("name", CASES)
def test_the_pod_stays_and_says_why(world: World, name: str) -> None:
    pod = world.api.store.get("pods", "default", name)
    assert pod is not None
    assert pod["status"]["phase"] == "Pending"
    events = world.api.store.objects("events", "default")
    messages = [e["message"] for e in events if e["involvedObject"]["name"] == name and e["reason"] == "FailedMount"]
    assert any(CASES[name][1] in message for message in messages), messages
