"""Kustomizations of every sort over one base, right ones and wrong ones: what is built, pinned whole."""

from __future__ import annotations

from simcluster.surface.kubectl.errors import KubectlError
from simcluster.surface.kubectl.kustomize import build
from simcluster.surface.kubectl.printers.yaml import to_yaml
from tests.pins import Pins

APP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a: b}, annotations: {c: d}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: robot
      initContainers: [{name: i, image: "busybox@sha256:0123"}]
      containers:
      - {name: web, image: "shop/web:1.0",
         envFrom: [{configMapRef: {name: config}}], env: [{name: K, valueFrom: {secretKeyRef: {name: keys, key: k}}}]}
      - {name: side, image: busybox}
      volumes: [{name: c, configMap: {name: config}}, {name: s, secret: {secretName: keys}},
        {name: p, persistentVolumeClaim: {claimName: files}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: robots}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: robot, namespace: default}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: files}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules: [{host: h, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 2}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 0 * * *",
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "shop/web:1.0"}]}}}}}
"""
FILES = {
    "base/kustomization.yaml": (
        "resources: [app.yaml]\nconfigMapGenerator: [{name: config, literals: [A=1]}]\n"
        "secretGenerator: [{name: keys, literals: [k=v]}]\n"
    ),
    "base/app.yaml": APP,
    "over/file.txt": "two\nlines\n",
    "over/vars.env": "# remark\nX=1\n\nY=two words\nZ\n",
    "over/patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 4}\n",
    "over/json.yaml": "- {op: add, path: /metadata/labels/x, value: y}\n",
    "over/broken.yaml": "a: [",
    "part/kustomization.yaml": (
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -part\npatches: [{path: p.yaml}]\n"
    ),
    "part/p.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: NodePort}\n",
}
OVERLAYS = (
    "",
    "namespace: prod",
    "namePrefix: blue-\nnameSuffix: -v2",
    "commonLabels: {team: x}",
    "commonAnnotations: {n: m}",
    "labels: [{pairs: {l: m}}]",
    "labels: [{pairs: {l: m}, includeSelectors: true}]",
    "namespace: prod\nnamePrefix: a-",
    "labels: [{pairs: {l: m}, includeTemplates: true}]",
    "replicas: [{name: web, count: 5}]",
    "components: [../part]",
    "replicas: [{name: none, count: 5}]",
    "images: [{name: shop/web, newTag: v2}]",
    "resources: [none.yaml]",
    "images: [{name: busybox, newName: r/b, digest: 'sha256:99'}, {name: shop/web, newName: x/y}]",
    "resources: [../over]",
    "images: [{name: none, newTag: v2}]",
    "configMapGenerator: [{name: config, behavior: merge, literals: [B=2]}]",
    "configMapGenerator: [{name: config, behavior: replace, literals: [B=2]}]",
    "sortOptions: {order: fifo}",
    "configMapGenerator: [{name: config, literals: [B=2]}]",
    "sortOptions: {order: legacy}",
    "buildMetadata: [originAnnotations]",
    "configMapGenerator: [{name: none, behavior: merge, literals: [B=2]}]",
    "bogus: 1",
    "patches: [{path: patch.yaml}]",
    "configMapGenerator: [{name: files, files: [file.txt, k=file.txt], envs: [vars.env]}]",
    "patches: [{path: none.yaml}]",
    "configMapGenerator: [{name: f, files: [none.txt]}]",
    "configMapGenerator: [{name: f, literals: [bad]}]",
    "configMapGenerator: [{name: f, literals: ['q=\"x\"', 'r= s']}]",
    "configMapGenerator: [{literals: [a=b]}]",
    (
        "generatorOptions: {disableNameSuffixHash: true, labels: {g: h}, annotations: {i: j}, "
        "immutable: true}\nconfigMapGenerator: [{name: f, literals: [a=b]}]"
    ),
    ("secretGenerator: [{name: t, type: kubernetes.io/tls, literals: [a=b], options: {disableNameSuffixHash: true}}]"),
    "patchesStrategicMerge: [patch.yaml]",
    "patchesJson6902: [{target: {version: v1, kind: Service, name: web}, path: json.yaml}]",
    "patches: [{target: {kind: Deployment}, path: json.yaml}]",
    "patches: [{path: broken.yaml}]",
    "patches: [{path: json.yaml}]",
    "patches: [{target: {labelSelector: a=b}, patch: '[{op: remove, path: /metadata/labels}]'}]",
    "vars: [{name: X}]",
    "patches: [{target: {name: none}, patch: '[{op: remove, path: /x}]'}]",
    "resources: [../base, ../base]",
    "- a",
    "patches: [{target: {kind: Deployment}, patch: '[{op: remove, path: /no/such}]'}]",
    "resources: [../base/app.yaml]",
    "a: [",
    'patches: [{target: {kind: Deployment}, patch: \'{"spec": {"$patch": "delete"}}\'}]',
    "helmCharts: [{name: x}]",
    (
        "patches: [{target: {kind: Deployment}, options: {allowNameChange: true}, patch: "
        '\'{"metadata": {"name": "z"}}\'}]'
    ),
    "patches: [{patch: 'kind: Service\\napiVersion: v1\\nmetadata: {name: web}\\n$patch: delete\\n'}]",
    "crds: [x.yaml]",
)


def test_answers(pins: Pins) -> None:
    outcome: list[str] = []
    for overlay in OVERLAYS:
        resources = "" if "resources" in overlay or overlay.startswith(("- ", "a: [")) else "resources: [../base]\n"
        for legacy in (False, True):
            outcome.append(f"> {overlay!r} {'sorted' if legacy else ''}")
            files = {**FILES, "over/kustomization.yaml": resources + overlay}
            try:
                for obj in build(files, "over", legacy=legacy):
                    outcome += ["---", *to_yaml(obj).splitlines()]
            except KubectlError as wrong:
                outcome.append(f"! {wrong}")
    for folder in ("none", "part", "base"):
        try:
            outcome.append(f"> {folder}: {len(build(FILES, folder, legacy=True))}")
        except KubectlError as wrong:
            outcome.append(f"> {folder} ! {wrong}")
    pins.hold("answers.txt.xz", outcome)
