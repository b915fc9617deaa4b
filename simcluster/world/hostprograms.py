"""Programs of a node beside its tools: etcdctl, kubeadm, and what the kubelet and the runtime say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.machine.container import Container
from simcluster.models.machine.hardware import NodeIdentity
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.tree import FileTree
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.place import Call
from simcluster.world import kubeadm
from simcluster.world.etcdctl import EtcdCtl

if TYPE_CHECKING:
    from simcluster.world.clusterview import ClusterView


#: What these say of themselves, and where what runs already is in the way of a second one.
_VERSIONS = {
    "kubelet": ("Kubernetes {kubelet}\n", "listen tcp 127.0.0.1:10248: bind: address already in use"),
    "containerd": ("containerd github.com/containerd/containerd v{runtime} 57f17b0a6295a39009d861b89e3b3b87b005ca27\n",
                   "timeout waiting on boltdb"),
    "runc": ("runc version 1.2.2\ncommit: v1.2.2-0-g7cb36325\nspec: 1.2.0\ngo: go1.22.9\nlibseccomp: 2.5.5\n",
             "flag needed"),
}  # fmt: skip


def _version(name: str, args: list[str]) -> Outcome:
    """`kubelet --version` and its kin; to run a second one fails on what the first one holds."""
    text, held = _VERSIONS[name]
    if args and args[0] in ("--version", "-v"):
        runtime = NodeIdentity("", "", "").container_runtime.rpartition("/")[2]
        return Outcome(text.format(kubelet=kubeadm.VERSION, runtime=runtime))
    return Outcome("", f"{name}: {held}\n", 1)


class HostPrograms:
    """What nodes have of these: kubeadm everywhere, etcdctl on those of the control plane."""

    def __init__(self, world: ClusterView) -> None:
        self._world = world

    def names(self, node: str) -> tuple[str, ...]:
        """Programs that are installed on a node."""
        machine = self._world.machines.get(node)
        if machine is None:
            return ()
        has_etcd = machine.files.is_folder("/etc/kubernetes/pki/etcd")
        return ("kubeadm", *_VERSIONS, "etcdctl") if has_etcd else ("kubeadm", *_VERSIONS)

    def run(self, node: str, call: Call) -> Outcome | None:
        """Run one of them; None if the node has none of this name."""
        if call.name not in self.names(node):
            return None
        machine = self._world.machines[node]
        if call.name == "kubeadm":
            return kubeadm.run(self._world, machine, call.args)
        if call.name in _VERSIONS:
            return _version(call.name, call.args)
        tree = NodeTree(machine)

        def read_file(name: str) -> str:
            return tree.read(call.path(name)).text

        return EtcdCtl(self._world, machine, read_file).run(call.args, call.env)

    def in_container(self, container: Container, argv: tuple[str, ...]) -> Outcome | None:
        """etcdctl in etcd's own container, whose certificates are mounted; None of any other command."""
        env = (
            dict(word.split("=", 1) for word in argv[1:] if "=" in word and word[0] != "-") if argv[0] == "env" else {}
        )
        words = [word for word in argv[1:] if "=" not in word or word[0] == "-"] if argv[0] == "env" else list(argv)
        if not words or words[0].rpartition("/")[2] != "etcdctl":
            return None
        machine = self._world.machines[container.machine.name]
        tree = FileTree(container)
        node = NodeTree(machine)

        def read_file(path: str) -> str:
            """A file of the container; what is mounted of the node lies there."""
            for mount in container.mounts:
                if mount.host and path.startswith(mount.path.rstrip("/") + "/"):
                    return node.read(mount.host.rstrip("/") + path[len(mount.path.rstrip("/")) :]).text
            return tree.read(path)

        return EtcdCtl(self._world, machine, read_file).run(words[1:], {**container.spec.environment, **env})
