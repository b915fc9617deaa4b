"""The components of a cluster may do what they do, by the roles it starts with."""

from __future__ import annotations

import pytest

from simcluster.api.authorization import Authorizer, Question
from simcluster.api.errors import ApiError
from simcluster.api.request import User
from simcluster.engine import SECOND
from simcluster.world import World

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: c
        image: nginx:1.27
        envFrom: [{configMapRef: {name: settings}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
"""


def test_nothing_a_component_does_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    require = Authorizer.require

    def watched(self: Authorizer, user: User, question: Question) -> None:
        try:
            require(self, user, question)
        except ApiError as error:
            refused.append(error.message)
            raise

    monkeypatch.setattr(Authorizer, "require", watched)
    world = World(1)
    kubectl = world.kubectl()
    assert kubectl.run("create namespace shop").exit_code == 0
    world.apply(MANIFEST, namespace="shop")
    world.run_for(20 * SECOND)
    assert world.available("shop")
    for command in ("scale deploy/web --replicas=1 -n shop", "rollout restart deploy/web -n shop", "delete ns shop"):
        assert kubectl.run(command).exit_code == 0, command
        world.run_for(20 * SECOND)
    assert refused == []


def test_roles_of_a_new_cluster() -> None:
    kubectl = World(1, addons=False).kubectl()
    listed = kubectl.run("get clusterroles -o name").stdout.split()
    assert "clusterrole.rbac.authorization.k8s.io/system:controller:deployment-controller" in listed
    assert len(listed) > 60
    assert "Error from server (Forbidden)" in kubectl.run("get nodes --as=nobody").stderr
