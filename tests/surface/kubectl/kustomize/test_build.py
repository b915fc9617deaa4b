"""`kubectl kustomize` and `-k`: generators with hashes, transformers, patches, order, refusals."""

from __future__ import annotations

import pytest

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import KubectlError
from simcluster.surface.kubectl.kustomize import build
from simcluster.surface.kubectl.kustomize.generators import content_hash

BASE = {
    "base/kustomization.yaml": """
resources: [deployment.yaml, service.yaml]
configMapGenerator:
- name: config
  literals: [LEVEL=info]
""",
    "base/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: shop/web:1.0
        envFrom: [{configMapRef: {name: config}}]
""",
    "base/service.yaml": """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
""",
}
OVERLAY = """
resources: [../base]
namespace: prod
namePrefix: blue-
commonLabels: {team: shop}
labels:
- pairs: {tier: front}
commonAnnotations: {note: hi}
images:
- {name: shop/web, newName: registry/web, newTag: "2.0"}
replicas:
- {name: web, count: 3}
configMapGenerator:
- name: config
  behavior: merge
  literals: [MODE=fast]
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      template:
        spec:
          containers:
          - {name: web, resources: {limits: {memory: 64Mi}}}
- target: {kind: Service, name: w.*}
  patch: |-
    - {op: replace, path: /spec/ports/0/port, value: 8080}
"""


def built(files: dict[str, str], folder: str, *, legacy: bool = False) -> dict[str, Json]:
    return {obj["kind"]: obj for obj in build(files, folder, legacy=legacy)}


@pytest.mark.parametrize(
    ("obj", "suffix"),
    [
        # The names that the documentation of Kubernetes shows for these contents.
        ({"kind": "ConfigMap", "data": {"application.properties": "FOO=Bar\n"}}, "g4hk9g2ff8"),
        ({"kind": "ConfigMap", "data": {"FOO": "Bar"}}, "42cfbf598f"),
        (
            {
                "kind": "Secret",
                "type": "Opaque",
                "data": {"password.txt": "dXNlcm5hbWU9YWRtaW4KcGFzc3dvcmQ9c2VjcmV0Cg=="},
            },
            "2kdd8ckcc7",
        ),
        ({"kind": "Secret", "type": "Opaque", "data": {"username": "YWRtaW4=", "password": "c2VjcmV0"}}, "8c5228dkb9"),
    ],
)
def test_hashes(obj: Json, suffix: str) -> None:
    assert content_hash(obj) == suffix


def test_an_overlay_over_a_base() -> None:
    found = built({**BASE, "over/kustomization.yaml": OVERLAY}, "over")
    config, deployment, service = found["ConfigMap"], found["Deployment"], found["Service"]
    assert config["data"] == {"LEVEL": "info", "MODE": "fast"}
    name = config["metadata"]["name"]
    assert name == f"blue-config-{content_hash(config)}"
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"] == [{"configMapRef": {"name": name}}]
    assert container["image"] == "registry/web:2.0"
    assert container["resources"] == {"limits": {"memory": "64Mi"}}
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["selector"]["matchLabels"] == {"app": "web", "team": "shop"}
    assert deployment["metadata"] == {
        "name": "blue-web",
        "namespace": "prod",
        "labels": {"team": "shop", "tier": "front"},
        "annotations": {"note": "hi"},
    }
    assert service["spec"] == {"selector": {"app": "web", "team": "shop"}, "ports": [{"port": 8080}]}


def test_legacy_order_and_the_order_of_apply() -> None:
    assert list(built(BASE, "base", legacy=True)) == ["ConfigMap", "Service", "Deployment"]
    assert list(built(BASE, "base")) == ["Deployment", "Service", "ConfigMap"]


def test_generators_from_files_and_options() -> None:
    files = {
        "k/kustomization.yaml": """
generatorOptions: {disableNameSuffixHash: true, labels: {made: yes-it-is}}
configMapGenerator:
- {name: c, files: [app.conf, other=app.conf], envs: [app.env]}
secretGenerator:
- {name: s, type: kubernetes.io/basic-auth, literals: [username=u, password='p=q']}
""",
        "k/app.conf": "a=1\n",
        "k/app.env": "# comment\nX=1\nY=2=3\n",
    }
    found = built(files, "k")
    assert found["ConfigMap"]["data"] == {"app.conf": "a=1\n", "other": "a=1\n", "X": "1", "Y": "2=3"}
    assert found["ConfigMap"]["metadata"] == {"name": "c", "labels": {"made": "yes-it-is"}}
    assert found["Secret"]["data"] == {"username": "dQ==", "password": "cD1x"}


def test_references_follow_names() -> None:
    files = {
        "k/kustomization.yaml": "namespace: n\nnameSuffix: -v2\nresources: [all.yaml]\n",
        "k/all.yaml": """
apiVersion: v1
kind: ServiceAccount
metadata: {name: bot}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: bind}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: bot, namespace: old}]
---
apiVersion: v1
kind: Namespace
metadata: {name: old}
""",
    }
    found = built(files, "k")
    assert found["RoleBinding"]["roleRef"]["name"] == "reader-v2"
    assert found["RoleBinding"]["subjects"] == [{"kind": "ServiceAccount", "name": "bot-v2", "namespace": "n"}]
    assert found["Namespace"]["metadata"]["name"] == "n"


def test_a_patch_may_delete() -> None:
    patch = "patches:\n- patch: '{apiVersion: v1, kind: Service, metadata: {name: web}, $patch: delete}'\n"
    found = built({**BASE, "k/kustomization.yaml": "resources: [../base]\n" + patch}, "k")
    assert "Service" not in found


@pytest.mark.parametrize(
    ("files", "folder", "text"),
    [
        ({}, "nope", "must build at directory: not a valid directory: evalsymlink failure on 'nope'"),
        ({"k/a.yaml": "{}"}, "k", "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization'"),
        ({"k/kustomization.yaml": "resource: [a]\n"}, "k", 'invalid Kustomization: json: unknown field "resource"'),
        ({"k/kustomization.yaml": "resources: [a.yaml]\n"}, "k", "accumulating resources from 'a.yaml'"),
        ({"k/kustomization.yaml": "resources: [../k]\n"}, "k", "cycle detected"),
        ({"k/kustomization.yaml": "helmCharts: []\n"}, "k", "not built in"),
        (
            {"k/kustomization.yaml": "patches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: x}}'}]\n"},
            "k",
            "no matches for Id Pod.v1.[noGrp]/x.[noNs]",
        ),
    ],
)
def test_refusals(files: dict[str, str], folder: str, text: str) -> None:
    with pytest.raises(KubectlError) as caught:
        build(files, folder, legacy=True)
    assert text in caught.value.text
