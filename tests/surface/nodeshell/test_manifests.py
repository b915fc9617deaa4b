"""kubectl on a control plane finds the node's files, as an operator who has logged in types them."""

from __future__ import annotations

import simcluster

MANIFEST = "kubectl create configmap a --from-literal=x=1 --dry-run=client -o yaml > /root/a.yaml"


def test_manifests_lie_on_the_node() -> None:
    box = simcluster.sandbox(nodes=1, seed=1)
    shell = box.node("control-plane").sh
    assert shell(MANIFEST).exit_code == 0
    assert shell("kubectl apply -f /root/a.yaml").stdout == "configmap/a created\n"
    assert shell("mkdir /root/m && mv a.yaml m/ && cd /root && kubectl apply -f m").stdout == "configmap/a configured\n"
    absent = shell("kubectl apply -f /root/a.yaml")
    assert (absent.exit_code, absent.stderr) == (1, 'error: the path "/root/a.yaml" does not exist\n')
    made = shell(
        "echo hi > /tmp/b; kubectl create configmap b --from-file=/tmp/b; kubectl get cm b -o jsonpath={.data.b}"
    )
    assert made.stdout == "configmap/b created\nhi\n"
