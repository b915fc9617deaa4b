"""Manifests of static pods are parsed once; the pods made of them share nothing."""

from __future__ import annotations

import pytest

from simcluster.control.kubelet.staticpods import ManifestError, static_pod

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system, labels: {tier: control-plane}}
spec:
  containers:
  - {name: etcd, image: "registry.k8s.io/etcd:3.5.16-0"}
"""


def test_pods_of_one_text_are_independent() -> None:
    one, two = (static_pod(MANIFEST, "/etc/kubernetes/manifests/etcd.yaml", node, 0) for node in ("a", "b"))
    assert (one["metadata"]["name"], two["metadata"]["name"]) == ("etcd-a", "etcd-b")
    assert one["metadata"]["uid"] != two["metadata"]["uid"]
    assert one["metadata"]["labels"] is not two["metadata"]["labels"]
    assert len(one["spec"]["tolerations"]) == len(two["spec"]["tolerations"]) == 1
    again = static_pod(MANIFEST, "/etc/kubernetes/manifests/etcd.yaml", "a", 0)
    assert again == one


def test_mistakes_are_reported_in_the_same_words_every_time() -> None:
    texts = []
    for _ in range(2):
        with pytest.raises(ManifestError) as refused:
            static_pod("kind: Pod\n  metadata: {", "/m/x.yaml", "a", 0)
        texts.append(str(refused.value))
    assert texts[0] == texts[1]
    assert "mapping values are not allowed here" in texts[0]
