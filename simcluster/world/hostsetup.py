"""The files that kubeadm leaves on the nodes of a cluster: kubeconfigs, certificates, manifests.

Certificates and keys are only texts of the right form: nothing here verifies them.
"""

from __future__ import annotations

from simcluster.models.machine.cni import CniConfig
from simcluster.models.machine.machine import Machine

_KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
healthzBindAddress: 127.0.0.1
healthzPort: 10248
kind: KubeletConfiguration
podPidsLimit: 1024
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
"""


#: Who changed what, without what components of the cluster do by themselves.
_AUDIT = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: None
  users: ["system:kube-scheduler", "system:kube-controller-manager", "system:apiserver"]
- level: None
  resources:
  - {group: "", resources: [events]}
  - {group: events.k8s.io}
  - {group: coordination.k8s.io, resources: [leases]}
- level: Metadata
"""


def host_files(machine: Machine, address: str) -> None:
    """What every node has. `address` is the API server's host and port."""
    files, identity = machine.files, machine.identity
    files.write("/etc/hostname", machine.name + "\n")
    files.write("/etc/hosts", f"127.0.0.1\tlocalhost\n{machine.address}\t{machine.name}\n")
    files.write("/etc/os-release", f'PRETTY_NAME="{identity.os_image}"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n')
    files.write("/etc/machine-id", identity.machine_id + "\n")
    files.write("/etc/resolv.conf", "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n")
    files.write("/var/lib/kubelet/config.yaml", _KUBELET)
    machine.runtime.cni = CniConfig(files, machine.pod_cidr)
    files.write("/etc/kubernetes/kubelet.conf", kubeconfig(address, f"system:node:{machine.name}"))


def control_plane_files(machine: Machine, address: str, manifests: dict[str, str]) -> None:
    """What `kubeadm init` writes on a node of the control plane. `manifests`: file name -> text."""
    files = machine.files
    key = machine.sim.stream("pki", machine.name)
    secret = key.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64)
    files.make_folder("/etc/kubernetes/pki/etcd", parents=True)
    files.write("/etc/kubernetes/audit-policy.yaml", _AUDIT)
    for name in _CERTIFICATES:
        kind = "RSA PRIVATE KEY" if name.endswith(".key") else "PUBLIC KEY" if name.endswith(".pub") else "CERTIFICATE"
        files.write(f"/etc/kubernetes/pki/{name}", f"-----BEGIN {kind}-----\n{secret}\n-----END {kind}-----\n")
    users = {
        "admin": "kubernetes-admin",
        "controller-manager": "system:kube-controller-manager",
        "scheduler": "system:kube-scheduler",
    }
    for name, user in users.items():
        files.write(f"/etc/kubernetes/{name}.conf", kubeconfig(address, user))
    for name, text in manifests.items():
        full = text.replace("$ADDRESS", machine.address).replace("$NODE", machine.name)
        files.write(f"/etc/kubernetes/manifests/{name}", full)


def kubeconfig(address: str, user: str) -> str:
    """A kubeconfig file of kubeadm's form; `address` is the API server's host and port."""
    return f"""apiVersion: v1
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: https://{address}
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: {user}
  name: {user}@kubernetes
current-context: {user}@kubernetes
kind: Config
preferences: {{}}
users:
- name: {user}
"""


_PAIRS = (
    *("apiserver", "apiserver-etcd-client", "apiserver-kubelet-client", "ca", "front-proxy-ca", "front-proxy-client"),
    *("etcd/ca", "etcd/healthcheck-client", "etcd/peer", "etcd/server"),
)
_CERTIFICATES = (*(f"{name}.{kind}" for name in _PAIRS for kind in ("crt", "key")), "sa.key", "sa.pub")
