"""Texts compared with those that kubectl 1.32.5 prints for the same objects."""

from __future__ import annotations

import base64

import pytest

from simcluster.engine import SECOND
from simcluster.surface.protocols import Outcome
from simcluster.world import World

_OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: zoo}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx, parameters: {apiGroup: k8s.example.com, kind: Params, name: lb}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: zoo}
rules:
- {apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}
- {apiGroups: [apps], resources: [deployments/scale], resourceNames: [web], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: urls}
rules: [{nonResourceURLs: [/metrics, /a], verbs: [get, post]}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: csi}
spec:
  capacity: {storage: 8Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-123, fsType: ext4, volumeAttributes: {a: b, c: d}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: iscsi}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], iscsi: {targetPortal: 1.2.3.4, iqn: "iqn.x:y", lun: 0}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: zoo}
spec: {hard: {pods: "10"}, scopes: [BestEffort]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np, namespace: zoo}
spec: {podSelector: {}, ingress: [{ports: [{protocol: TCP, port: 32000, endPort: 32768}]}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: zoo}
imagePullSecrets: [{name: regcred}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds, namespace: zoo}
spec:
  selector: {matchLabels: {app: ds}}
  template: {metadata: {labels: {app: ds}}, spec: {containers: [{name: c, image: "a/b:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: ext, namespace: zoo}
spec: {type: ExternalName, externalName: db.example.com}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: s-10, namespace: zoo, labels: {n: "10", t: s-10}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: s-2, namespace: zoo, labels: {n: "9", t: s-2}}
"""
#: A request of jane of devs and ops for a.example.com and 10.0.0.1, DER in base64.
_REQUEST = (
    "MIIBGTCBvwIBADAsMQ0wCwYDVQQKDARkZXZzMQwwCgYDVQQKDANvcHMxDTALBgNVBAMMBGphbmUwWTATBgcqhkjOPQIBBggqhkjO"
    "PQMBBwNCAASeWrfoxH4nI3sGCBfcPFr5wuNKWgSskNilq5NVG0j1cmGuHYgeVoWP7rNfB8k/FmzPw3Zjpa2PbaxlESNn/WWuoDEw"
    "LwYJKoZIhvcNAQkOMSIwIDAeBgNVHREEFzAVgg1hLmV4YW1wbGUuY29thwQKAAABMAoGCCqGSM49BAMCA0kAMEYCIQCXF/jU1K/4"
    "WXiM2R9ENANVYPX3PUhmRRdoE/RT/1PAmwIhAIYYTkRqRjzCz3xh6kJfVHeS6Trty3xwxS3w8gVy8jtn"
)


@pytest.fixture(scope="module")
def world() -> World:
    made = World(1, workers=1)
    made.apply(_OBJECTS)
    made.run_for(2 * SECOND)
    return made


def run(world: World, command: str) -> Outcome:
    return world.kubectl(namespace="zoo").run(command)


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("ingressclass nginx", ("Controller:   k8s.io/ingress-nginx", "Parameters:", "  APIGroup:  k8s.example.com")),
        (
            "role r",
            (
                "  deployments.apps/scale  []                 [web]           [*]",
                "  pods/log                []                 []              [get list]",
                "  pods                    []                 []              [get list]",
            ),
        ),
        (
            "clusterrole urls",
            (
                "             [/a]               []              [get]",
                "             [/metrics]         []              [get]",
                "             [/a]               []              [post]",
            ),
        ),
        (
            "pv csi",
            (
                "    VolumeHandle:      vol-123",
                "    ReadOnly:          false",
                "    VolumeAttributes:      a=b",
                "                           c=d",
            ),
        ),
        ("pv iscsi", ("    ISCSIInterface      default", "    FSType:             ")),
        ("sc fast", ("AllowedTopologies:     ", "  Term 0:              zone in [a, b]")),
        ("netpol np", ("    To Port Range: 32000-32768/TCP",)),
        ("sa robot", ("Image pull secrets:  regcred (not found)", "Mountable secrets:   <none>")),
        ("ds ds", ("Name:           ds", "Selector:       app=ds")),
        ("svc ext", ("IP Families:       <none>",)),
        (
            "quota q",
            (
                "Scopes:     BestEffort",
                " * Matches all pods that do not have resource requirements set. These pods have a best effort quality "
                "of service.",
                "Resource  Used  Hard",
            ),
        ),
    ],
)
def test_descriptions(world: World, command: str, lines: tuple[str, ...]) -> None:
    assert "\n".join(lines) + "\n" in run(world, f"describe {command}").stdout


def test_a_missing_namespace_is_what_is_missing(world: World) -> None:
    for command in ("get pod x", "describe pod x", "label pod x a=b", "rollout restart deploy x", "exec x -- ls"):
        result = world.kubectl(namespace="nowhere").run(command)
        assert result.stderr == 'Error from server (NotFound): namespaces "nowhere" not found\n', command


def test_texts_sort_by_their_characters_and_quantities_by_value(world: World) -> None:
    assert run(world, "get cm -l t --sort-by=.metadata.labels.t -o name").stdout == "configmap/s-10\nconfigmap/s-2\n"
    assert run(world, "get cm -l t --sort-by=.metadata.labels.n -o name").stdout == "configmap/s-2\nconfigmap/s-10\n"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("get pod/", "error: arguments in resource/name form must have a single resource and name\n"),
        ("get a/b/c", "error: arguments in resource/name form may not have more than one slash\n"),
        ("get --raw nope", 'error: --raw must be a valid URL path: parse "nope": invalid URI for request\n'),
        ("logs ds/ds -c nope", "error: container nope is not valid for pod "),
        ("patch cm s-2 -p bad", "Error from server (BadRequest): json: cannot unmarshal string into Go value of type "),
        ("set image cm/s-2 a=b", "error: configmaps/s-2 the object is not a pod or does not have a pod template: *v1."),
        ("create job j --from=deploy/x --image=y", "error: either --image or --from must be specified\n"),
        ("create cj x", 'error: required flag(s) "image", "schedule" not set\n'),
        ("run x --image=B", 'error: Invalid image name "B": invalid reference format\n'),
        ("apply foo", "error: Unexpected args: [foo]\nSee 'kubectl apply -h' for help and examples\n"),
        ("expose ds ds --port=1", "error: cannot expose a DaemonSet.apps\n"),
        ("rollout history pod/x --as-uid=5", "error: requesting uid, groups or user-extra for admin without imperson"),
        ("delete pod x --all", "error: name cannot be provided when a selector is specified\n"),
        ("events --for nope/x", 'the server doesn\'t have a resource type "nope"\n'),
    ],
)
def test_refusals(world: World, command: str, text: str) -> None:
    result = run(world, command)
    assert result.exit_code == 1
    assert result.stderr.startswith(text)


def test_several_objects_of_one_run(world: World) -> None:
    made = run(world, "label cm s-2 s-10 x=y --dry-run=client -o yaml").stdout
    assert made.count("---\n") == 1
    old = run(world, "create cm c --from-literal=b=1 --from-literal=a=2 --dry-run=client -o json").stdout
    assert old.index('"kind"') < old.index('"apiVersion"') < old.index('"metadata"') < old.index('"data"')
    assert "name: c-" in run(world, "create cm c --from-literal=a=b --append-hash --dry-run=client -o yaml").stdout


def test_a_request_for_a_certificate_is_read(world: World) -> None:
    pem = f"-----BEGIN CERTIFICATE REQUEST-----\n{_REQUEST}\n-----END CERTIFICATE REQUEST-----\n"
    text = base64.b64encode(pem.encode()).decode()
    fork = world.fork()
    fork.apply(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: csr}\n"
        f"spec: {{request: {text}, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth], "
        "expirationSeconds: 86400}\n"
    )
    assert run(fork, "describe csr csr").stdout.endswith(
        "Requested Duration:  24h\nStatus:              Pending\nSubject:\n"
        "  Common Name:    jane\n  Serial Number:  \n  Organization:   devs\n                  ops\n"
        "Subject Alternative Names:\n         DNS Names:     a.example.com\n         IP Addresses:  10.0.0.1\n"
        "Events:  <none>\n"
    )
