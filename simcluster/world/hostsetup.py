"""The files that kubeadm leaves on the nodes of a cluster: kubeconfigs, certificates, manifests.

Certificates are those of `models.machine.certificate`; keys are only texts of the right form.
"""

from __future__ import annotations

from base64 import b64encode

from simcluster.engine.clock import DAY
from simcluster.models.machine.certificate import Certificate, blocks, read
from simcluster.models.machine.cni import CniConfig
from simcluster.models.machine.kernel.clock import BACKDATED_NS
from simcluster.models.machine.kernel.sysctlfiles import SHIPPED
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


#: Accounts of Ubuntu Server 24.04 as it is installed, those of its services among them.
_PASSWD = "".join(
    f"{name}:x:{uid}:{gid}:{name}:{home}:{shell}\n"
    for name, uid, gid, home, shell in (
        ("root", 0, 0, "/root", "/bin/bash"), ("daemon", 1, 1, "/usr/sbin", "/usr/sbin/nologin"),
        ("bin", 2, 2, "/bin", "/usr/sbin/nologin"), ("sys", 3, 3, "/dev", "/usr/sbin/nologin"),
        ("sync", 4, 65534, "/bin", "/bin/sync"), ("mail", 8, 8, "/var/mail", "/usr/sbin/nologin"),
        ("www-data", 33, 33, "/var/www", "/usr/sbin/nologin"), ("backup", 34, 34, "/var/backups", "/usr/sbin/nologin"),
        ("nobody", 65534, 65534, "/nonexistent", "/usr/sbin/nologin"),
        ("systemd-network", 998, 998, "/", "/usr/sbin/nologin"), ("messagebus", 101, 101, "/nonexistent",
        "/usr/sbin/nologin"), ("syslog", 102, 102, "/nonexistent", "/usr/sbin/nologin"),
        ("sshd", 105, 65534, "/run/sshd", "/usr/sbin/nologin")
    )
)  # fmt: skip
_GROUP = "root:x:0:\ndaemon:x:1:\nadm:x:4:syslog\nsudo:x:27:\nwww-data:x:33:\nnogroup:x:65534:\n"
_GROUP += "systemd-journal:x:999:\nsystemd-network:x:998:\nsyslog:x:102:\n"


def host_files(machine: Machine, address: str) -> None:
    """What every node has. `address` is the API server's host and port."""
    files, identity = machine.files, machine.identity
    files.write("/etc/hostname", machine.name + "\n")
    files.write("/etc/hosts", f"127.0.0.1\tlocalhost\n{machine.address}\t{machine.name}\n")
    files.write("/etc/os-release", f'PRETTY_NAME="{identity.os_image}"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n')
    files.write("/etc/passwd", _PASSWD)
    files.write("/etc/group", _GROUP)
    files.write("/etc/machine-id", identity.machine_id + "\n")
    files.make_folder("/etc/sysctl.d")
    files.make_folder("/var/backups")
    for path, text in SHIPPED.items():
        files.write(path, text)
    files.write("/etc/resolv.conf", "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n")
    files.write("/var/lib/kubelet/config.yaml", _KUBELET)
    machine.runtime.cni = CniConfig(files, machine.pod_cidr)
    files.write("/etc/kubernetes/kubelet.conf", kubeconfig(address, f"system:node:{machine.name}"))


def control_plane_files(machine: Machine, address: str, manifests: dict[str, str]) -> None:
    """What `kubeadm init` writes on a node of the control plane. `manifests`: file name -> text."""
    files = machine.files
    files.make_folder("/etc/kubernetes/pki/etcd", parents=True)
    files.write("/etc/kubernetes/audit-policy.yaml", _AUDIT)
    for name in CERTIFICATES:
        renew(machine, name)
    for name, kind in (("sa.key", "RSA PRIVATE KEY"), ("sa.pub", "PUBLIC KEY")):
        files.write(f"/etc/kubernetes/pki/{name}", _key_text(machine, name, kind))
    for name, user in CONFIGS.items():
        files.write(f"/etc/kubernetes/{name}.conf", kubeconfig(address, user))
        renew(machine, name, conf=True)
    for name, text in manifests.items():
        full = text.replace("$ADDRESS", machine.address).replace("$NODE", machine.name)
        files.write(f"/etc/kubernetes/manifests/{name}", full)


def renew(machine: Machine, name: str, *, conf: bool = False) -> None:
    """Write a certificate and its key anew: of /etc/kubernetes/pki, or (`conf`) the one in a kubeconfig."""
    files, now = machine.files, max(0, machine.os.clock.now_ns())
    by = "ca" if conf else CERTIFICATES[name]
    subject = CONFIGS[name] if conf else _SUBJECTS.get(name, f"kube-{name}")
    key = f"{machine.name}/{name}/{now}"
    if by:
        signer = read(blocks(files.read(f"/etc/kubernetes/pki/{by}.crt"))[0])
        assert signer is not None, by
        made = Certificate(
            subject, key, signer.subject, signer.key, _names(machine, name), now + 365 * DAY, now - BACKDATED_NS
        )
    else:
        # An authority is the cluster's, not the node's.
        made = Certificate(
            subject, f"cluster/{name}", subject, f"cluster/{name}", (), now + 3650 * DAY, now - BACKDATED_NS
        )
    secret = _key_text(machine, key, "RSA PRIVATE KEY")
    if not conf:
        files.write(f"/etc/kubernetes/pki/{name}.crt", made.pem())
        files.write(f"/etc/kubernetes/pki/{name}.key", secret)
        return
    path = f"/etc/kubernetes/{name}.conf"
    text = files.read(path).partition("  user:\n")[0]
    held = "".join(
        f"    {kind}: {b64encode(value.encode()).decode()}\n"
        for kind, value in (("client-certificate-data", made.pem()), ("client-key-data", secret))
    )
    files.write(path, f"{text}  user:\n{held}")


def _names(machine: Machine, name: str) -> tuple[str, ...]:
    if name == "apiserver":
        inner = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
        return (machine.name, *inner)
    return (machine.name, "localhost") if name in ("etcd/peer", "etcd/server") else ()


def _key_text(machine: Machine, name: str, kind: str) -> str:
    stream = machine.sim.stream("pki", machine.name, name)
    secret = stream.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64)
    return f"-----BEGIN {kind}-----\n{secret}\n-----END {kind}-----\n"


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


#: Certificates of a control plane, and which authority signs each (kubeadm, cmd/kubeadm/app/phases/certs).
CERTIFICATES = {
    "ca": "", "etcd/ca": "", "front-proxy-ca": "", "apiserver": "ca", "apiserver-etcd-client": "etcd/ca",
    "apiserver-kubelet-client": "ca", "etcd/healthcheck-client": "etcd/ca", "etcd/peer": "etcd/ca",
    "etcd/server": "etcd/ca", "front-proxy-client": "front-proxy-ca",
}  # fmt: skip
#: Kubeconfigs, and whose they are.
CONFIGS = {
    "admin": "kubernetes-admin",
    "controller-manager": "system:kube-controller-manager",
    "scheduler": "system:kube-scheduler",
}
_SUBJECTS = {
    "ca": "kubernetes", "etcd/ca": "etcd-ca", "front-proxy-ca": "front-proxy-ca", "apiserver": "kube-apiserver",
    "apiserver-etcd-client": "kube-apiserver-etcd-client", "front-proxy-client": "front-proxy-client",
    "apiserver-kubelet-client": "kube-apiserver-kubelet-client",
    "etcd/healthcheck-client": "kube-etcd-healthcheck-client",
    "etcd/peer": "etcd-peer", "etcd/server": "etcd-server",
}  # fmt: skip
