"""What components in this process write on short ways is what their requests would have written."""

from __future__ import annotations

import hashlib
import marshal

import pytest

from simcluster.api.client import Client
from simcluster.control.kubelet.uplink import Uplink
from simcluster.engine import SECOND
from simcluster.world import World
from simcluster.world.world import default_nodes

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {note: x}}
    spec:
      initContainers: [{name: wait, image: busybox, command: [sh, -c, "sleep 1"]}]
      containers:
        - {name: main, image: nginx, resources: {requests: {cpu: 50m}}}
        - {name: broken, image: "nosuchhost.local/x:1"}
"""


def _lived() -> tuple[str, str, int]:
    """Digest of a world with a Deployment, of all that it stores, and how many writes its server has answered."""
    world = World(5, nodes=default_nodes(2), addons=False)
    world.apply(MANIFEST)
    world.run_for(25 * SECOND)
    world.kubectl().run("scale deploy/web --replicas=2")
    world.run_for(15 * SECOND)
    store, stored = world.api.store, hashlib.sha256()
    for resource in store.resources():
        for obj in store.objects(resource):
            stored.update(marshal.dumps(dict(obj), 2))
    return world.sim.digest.hex(), stored.hexdigest(), sum(world.api.served.counts.values())


def test_short_ways_lead_where_requests_lead() -> None:
    short = _lived()
    with pytest.MonkeyPatch.context() as patch:
        for kind in (Client, Uplink):
            patch.setattr(kind, "_reaches", lambda self: False)
        assert _lived() == short
