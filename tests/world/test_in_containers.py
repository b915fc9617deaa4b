"""What commands in containers reach: the API server by kubectl, and limits that a script sets for what it starts."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.world import World

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: default}
spec:
  containers:
    - name: main
      image: bitnami/kubectl:latest
      command:
        - sh
        - -c
        - kubectl get configmap kube-root-ca.crt -o name; kubectl get nodes; kubectl wait pod/no --for=delete; sleep 999
---
apiVersion: v1
kind: Pod
metadata: {name: limited, namespace: default}
spec:
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, "ulimit -n; ulimit -n 100; ulimit -n; ulimit -n 7; kubectl get pods; sleep infinity"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""


@pytest.fixture(scope="module")
def world() -> World:
    world = World(2, workers=1)
    world.apply(PODS)
    world.run_for(30 * SECOND)
    return world


def test_kubectl_has_the_rights_of_its_pods_account(world: World) -> None:
    said = world.kubectl().run("logs client").stdout
    assert said.startswith("configmap/kube-root-ca.crt\n")
    assert 'User "system:serviceaccount:default:default" cannot list resource "nodes" in API group ""' in said
    executed = world.kubectl().run("exec client -- kubectl get pods").stderr
    assert 'cannot list resource "pods" in API group "" in the namespace "default"' in executed


def test_a_script_limits_the_files_of_what_it_starts(world: World) -> None:
    lines = world.kubectl().run("logs limited").stdout.splitlines()
    assert lines[:2] == ["1048576", "100"]
    assert "error setting limit" in lines[2]
    assert "kubectl: not found" in lines[3]
    assert "100" in world.kubectl().run("exec limited -- cat /proc/1/limits").stdout
    assert world.kubectl().run("exec limited -- sh -c 'ulimit -n 50; ulimit -n'").stdout == "50\n"
