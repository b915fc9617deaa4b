"""A CSI driver as its manifests install it, from a claim to a mounted volume and back."""

from simcluster.engine import SECOND
from simcluster.world import World

DRIVER = """
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: disk.example.com}
spec: {attachRequired: true}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: disk-node, namespace: kube-system}
spec:
  selector: {matchLabels: {app: disk-node}}
  template:
    metadata: {labels: {app: disk-node}}
    spec:
      containers:
        - {name: plugin, image: registry.k8s.io/example/disk:v1.2.0, args: [--maxvolumespernode=4]}
        - name: registrar
          image: registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.13.0
          args: [--kubelet-registration-path=/var/lib/kubelet/plugins/disk.example.com/csi.sock]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: disk-controller, namespace: kube-system}
spec:
  selector: {matchLabels: {app: disk-controller}}
  template:
    metadata: {labels: {app: disk-controller}}
    spec:
      containers:
        - {name: plugin, image: registry.k8s.io/example/disk:v1.2.0}
        - {name: provisioner, image: registry.k8s.io/sig-storage/csi-provisioner:v5.1.0}
        - {name: attacher, image: registry.k8s.io/sig-storage/csi-attacher:v4.8.0}
        - {name: resizer, image: registry.k8s.io/sig-storage/csi-resizer:v1.12.0}
"""
STORE = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: "nginx:1.25", volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: 1Gi}}}
"""


def test_a_claim_of_a_driver_becomes_a_mounted_volume_that_grows() -> None:
    world = World(5, workers=2)
    world.apply(DRIVER)
    world.run_for(30 * SECOND)
    world.apply(STORE)
    world.run_for(60 * SECOND)
    pod = world.api.store.get("pods", "default", "db-0")
    assert pod is not None
    assert pod["status"]["phase"] == "Running"
    reasons = [e["reason"] for e in world.api.store.objects("events", "default")]
    assert {"Provisioning", "ProvisioningSucceeded", "SuccessfulAttachVolume"} <= {*reasons}
    other = world.fork()
    grown = '{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}'
    other.kubectl().run(f"patch pvc data-db-0 --type merge -p '{grown}'")
    other.run_for(60 * SECOND)
    claim = other.api.store.get("persistentvolumeclaims", "default", "data-db-0")
    assert claim is not None
    assert claim["status"]["capacity"] == {"storage": "2Gi"}
    world.apply(STORE.replace("replicas: 1", "replicas: 0"))
    world.run_for(60 * SECOND)
    assert world.api.store.objects("volumeattachments.storage.k8s.io") == []
