"""Mounting NFS exports: by the node, so with the node's names and the node's routes.

Nothing in this world keeps the data of an export: where a server answers, the mount succeeds and
is an empty directory. Source: pkg/volume/nfs, k8s.io/mount-utils (mount_linux.go), mount.nfs(8).
"""

from __future__ import annotations

from simcluster.models.machine.names import is_address
from simcluster.models.machine.network import Network

_PORT = 2049
_PATH = "/var/lib/kubelet/pods/{}/volumes/kubernetes.io~nfs/{}"


def nfs_problem(network: Network, node: str, server: str, export: str, pod_uid: str, volume: str) -> str:
    """Why an export cannot be mounted, in mount's words; empty if it can."""
    address = server if is_address(server) else network.outside.get(server, "")
    if not address:
        why = f"mount.nfs: Failed to resolve server {server}: Name or service not known"
    else:
        route = network.route(node, address, _PORT)
        reached = [network.connect(backend) for backend in route.backends] or [route.outcome]
        if "ok" in reached:
            return ""
        why = "mount.nfs: Connection refused" if "refused" in reached else "mount.nfs: Connection timed out"
    arguments = f"-t nfs {server}:{export} {_PATH.format(pod_uid, volume)}"
    return f"mount failed: exit status 32\nMounting command: mount\nMounting arguments: {arguments}\nOutput: {why}\n"
